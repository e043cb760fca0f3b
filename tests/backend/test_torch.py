"""The torch backend compared with NumPy's, in double precision on the CPU."""

# SPDX-License-Identifier: BSD-3-Clause

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, random_array

from fewlabels._backend import NUMPY, KernelFunction, backend_of, get_backend, to_host
from fewlabels._gpu_loops import fits
from fewlabels.automatic._shortest_paths import shortest_paths
from tests.backend.test_numpy import differences
from tests.helpers import DEVICE, tensor

torch = pytest.importorskip("torch")
_torch = pytest.importorskip("fewlabels._backend._torch")

HERE = _torch.torch_backend(DEVICE)


@pytest.fixture(autouse=True)
def tiny_tiles(monkeypatch):
    """Tiles of a few rows, so that there are several."""
    monkeypatch.setattr(_torch, "HOST_BYTES", 4096)


def tensors(*arrays):
    return [tensor(A) for A in arrays]


def assert_same(answer, wanted, **tolerance):
    for own, other in zip(answer, wanted, strict=True):
        np.testing.assert_allclose(to_host(own), other, **tolerance)


def test_torch_has_every_primitive():
    assert differences(HERE) == []


def test_tensors_stay_where_they_are():
    assert backend_of(tensor([1.0])) is HERE
    assert get_backend(None, tensor([1.0])) is HERE
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match="finds no GPU"):
            get_backend("cuda")


def test_arrays_go_and_come_back():
    A = np.arange(6.0).reshape(2, 3)
    for form in (A, A.T, A[:, ::2]):
        np.testing.assert_array_equal(HERE.to_numpy(HERE.asarray(form)), form)
    assert HERE.dtype(HERE.asarray(A, np.float32)) == np.float32
    S = csr_array(random_array((5, 7), density=0.4, random_state=0))
    back = HERE.to_numpy(HERE.asarray(S))
    np.testing.assert_array_equal(back.toarray(), S.toarray())
    assert to_host([{"a": HERE.asarray(A)}])[0]["a"].tolist() == A.tolist()


def test_dense_algebra():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 5)), rng.normal(size=(30, 5))
    values, vectors = HERE.eigh(tensor(X.T @ X))
    wanted, own = NUMPY.eigh(X.T @ X)
    assert_same([values, abs(vectors)], [wanted, abs(own)])
    Q = to_host(HERE.orthonormal(tensor(X)))
    np.testing.assert_allclose(Q, NUMPY.orthonormal(X), atol=1e-12)
    X[:, 1] = X[:, 0]
    Q = to_host(HERE.orthonormal(tensor(X)))
    np.testing.assert_allclose(Q.T @ Q, np.eye(5), atol=1e-12)
    assert_same([HERE.product(*tensors(X, Y.T[:, :3]))], [NUMPY.product(X, Y.T[:, :3])])
    assert_same(
        [HERE.squared_distances(*tensors(X, Y))],
        [NUMPY.squared_distances(X, Y)],
        atol=1e-12,
    )


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 60),
    d=st.integers(1, 6),
    offset=st.sampled_from([0.0, 1e6]),
    digits=st.sampled_from([0, 15]),
)
def test_nearest(seed, n, d, offset, digits):
    rng = np.random.default_rng(seed)
    # Few digits give ties, and far rows lose digits in products.
    X = np.round(rng.normal(size=(n, d)), digits) + offset
    Q = np.round(rng.normal(size=(7, d)), digits) + offset
    k = int(rng.integers(1, n))
    for queries in (None, Q):
        asked = None if queries is None else tensor(queries)
        distances, indices = HERE.nearest(tensor(X), k, asked)
        wanted, _ = NUMPY.nearest(X, k, queries)
        np.testing.assert_allclose(to_host(distances), wanted, atol=1e-8, rtol=1e-12)
        rows = X if queries is None else queries
        found = np.linalg.norm(X[to_host(indices)] - rows[:, None], axis=2)
        np.testing.assert_allclose(found, wanted, atol=1e-8, rtol=1e-12)
        if queries is None:
            assert not np.any(to_host(indices) == np.arange(n)[:, None])
        assert all(len(set(row)) == k for row in to_host(indices))


@given(seed=st.integers(0, 10**6), n=st.integers(2, 30), k=st.integers(1, 4))
def test_graphs(seed, n, k):
    rng = np.random.default_rng(seed)
    k = min(k, n - 1)
    others = [np.delete(np.arange(n), i) for i in range(n)]
    indices = np.array([rng.choice(some, k, replace=False) for some in others])
    values = rng.uniform(0.1, 1.0, size=(n, k))
    V = rng.normal(size=(n, 3))
    W = HERE.symmetrized(*tensors(values, indices))
    wanted = NUMPY.symmetrized(values, indices)
    assert_same([W.to_dense(), W @ tensor(V)], [wanted.toarray(), wanted @ V])
    sources = rng.choice(n, min(n, 3), replace=False)
    assert_same(
        [shortest_paths(*tensors(values, indices), sources)],
        [shortest_paths(values, indices, sources)],
    )
    segments = rng.integers(0, 4, size=n)
    assert_same(
        [HERE.segment_sum(*tensors(V, segments), 4)],
        [NUMPY.segment_sum(V, segments, 4)],
        atol=1e-12,
    )


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "polynomial"])
@pytest.mark.parametrize("m", [1, 5])
def test_kernel_product(kernel, m):
    rng = np.random.default_rng(0)
    X, Y, V = (rng.normal(size=size) for size in ((50, 4), (33, 4), (33, m)))
    function = KernelFunction(kernel, 0.2, 3.0, 0.5)
    assert_same(
        [HERE.kernel_product(*tensors(X, Y, V), function)],
        [NUMPY.kernel_product(X, Y, V, function)],
        atol=1e-12,
    )


@pytest.mark.parametrize(("part", "room"), [(1.0, 15.0), (0.5, 10.0), (0.1, 2.5)])
def test_room_is_what_this_process_may_take(part, room, monkeypatch):
    answers = {
        "mem_get_info": (50.0, 100.0),
        "memory_reserved": 20.0,
        "memory_allocated": 10.0,
        "get_per_process_memory_fraction": part,
    }
    for name, answer in answers.items():
        monkeypatch.setattr(
            torch.cuda, name, lambda place, answer=answer: answer, raising=False
        )
    assert _torch.TorchBackend(torch.device("cuda", 0)).room() == room


def test_fused_kernels_are_for_gpus():
    X = torch.ones((2**13, 3))
    assert not fits.product(X, X, X, "rbf", 1.0)
    assert not fits.nearest(X, X, 5)


@pytest.mark.parametrize("room", [95 * 2**10, 223 * 2**10], ids=["laptop", "server"])
@pytest.mark.parametrize("d", [3, 64, 128, 784])
@pytest.mark.parametrize("strict", [False, True])
def test_tiles_fit_into_shared_memory(room, d, strict):
    pytest.importorskip("triton")
    from fewlabels._gpu_loops import halves, nearest, products

    sizes = (products.STRICT_TILES, products.FAST_TILES, halves.CHUNKED_TILES)
    tiles = [
        (halves.fitting(size, d, block, strict, room), block)
        for size in sizes
        for block in (0, 16, products.MAX_BLOCK)
    ]
    search = halves.fitting(nearest.NEAREST_TILES, d, 0, strict, room, 64)
    assert search.columns > fits.MAX_NEIGHBORS
    for size, block in [*tiles, (search, 0)]:
        assert halves.tile_bytes(size, d, block, strict) <= room
        assert fits.PADDING % size.rows == fits.PADDING % size.columns == 0


@pytest.mark.parametrize(
    "name", ["products", "neighbors", "vectors", "paths", "searches"]
)
def test_fused_kernels_in_the_interpreter(name):
    pytest.importorskip("triton")
    # Triton must know that it interprets before it is loaded.
    run = [sys.executable, "-W", "ignore", "-m", "tests.backend.interpreted", name]
    done = subprocess.run(run, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
