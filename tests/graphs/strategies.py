"""Awkward inputs: ties, copies, constant features, zero rows, empty graphs."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays


@st.composite
def rows(draw, min_rows=2, max_rows=12):
    """Rows on a coarse grid: many ties and copies, exact in either precision."""
    n = draw(st.integers(min_rows, max_rows))
    # Few features are searched by a tree, many by products of matrices.
    p = draw(st.sampled_from([1, 2, 20]))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    X = draw(arrays(np.int8, (n, p), elements=st.integers(-3, 3)))
    return (X / 4).astype(dtype)


@st.composite
def weights(draw, max_vertices=9):
    """Symmetric weights with zero diagonal, often in several components."""
    n = draw(st.integers(1, max_vertices))
    values = st.sampled_from([0.0, 0.0, 0.0, 0.25, 1.0, 3.0])
    upper = np.triu(draw(arrays(np.float64, (n, n), elements=values)), 1)
    return upper + upper.T
