"""Compiled loops for GPUs, written in Triton: tensors in and out, one file per family.

What :mod:`fewlabels._loops` is on the CPU. Ask :mod:`fewlabels._gpu_loops.fits` first:
the other modules load torch and Triton. Where a loop does not fit, plain torch does the
same. Without a GPU, Triton's interpreter runs the loops, for tests.
"""

# SPDX-License-Identifier: BSD-3-Clause

# Multiply and add in one step: Triton warns unless it is told, and will stop doing so
# by default.
FUSION = {"enable_fp_fusion": True}
