"""Examples are not looked for in modules whose library is not installed."""

# SPDX-License-Identifier: BSD-3-Clause

from importlib.util import find_spec

MADE_OF = {"torch": "fewlabels/_backend/_torch.py", "triton": "fewlabels/_gpu_loops/*"}

collect_ignore_glob = [
    modules for library, modules in MADE_OF.items() if find_spec(library) is None
]
