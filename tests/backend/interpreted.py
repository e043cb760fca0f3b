"""Check the fused kernels without a GPU: python -m tests.backend.interpreted [NAME].

Where the tests' device is a GPU, they are compiled and run there.
"""

# SPDX-License-Identifier: BSD-3-Clause

import os
import sys

from tests.helpers import DEVICE

if DEVICE == "cpu":
    os.environ["TRITON_INTERPRET"] = "1"

import numpy as np
import torch

from fewlabels._backend import to_host
from fewlabels._backend._torch import _kernel, torch_backend
from fewlabels._gpu_loops import fits, partition
from fewlabels._gpu_loops.halves import Tiles
from fewlabels._gpu_loops.nearest import nearest as nearest_rows
from fewlabels._gpu_loops.products import kernel_product, matvec
from fewlabels.automatic._shortest_paths import shortest_paths
from fewlabels.partition import _together, local_search
from tests.partition.problems import random_problem

BACKEND = torch_backend(DEVICE)
TILES = Tiles(32, 64, 4, 2)


def relative_error(answer, wanted):
    return float(torch.linalg.norm(answer - wanted) / torch.linalg.norm(wanted))


def products():
    """Every kernel, with narrow and wide rows, few and many right-hand sides."""
    generator = torch.Generator(DEVICE).manual_seed(0)
    for kernel in ("rbf", "polynomial", "laplacian"):
        for n, d, m in ((70, 5, 1), (70, 16, 3), (270, 130, 1), (70, 3, 140)):
            d = min(d, 5) if kernel == "laplacian" else d  # a loop, and slow here
            X = torch.randn((n, d), generator=generator, device=DEVICE)
            Y = torch.randn((90, d), generator=generator, device=DEVICE)
            V = torch.randn((90, m), generator=generator, device=DEVICE)
            params = (1.0 / d, 3, 0.5)
            K = _kernel(X.double(), Y.double(), kernel, *params)
            for strict, tolerance in ((True, 1e-6), (False, 1e-3)):
                answer = kernel_product(X, Y, V, kernel, *params, strict, tiles=TILES)
                error = relative_error(answer, K @ V.double())
                assert error < tolerance, (kernel, n, d, m, strict, error)


def neighbors():
    """Random rows, queries, rows that are often or always the same."""
    generator = torch.Generator(DEVICE).manual_seed(0)
    X = torch.randn((150, 6), generator=generator, device=DEVICE)
    Q = torch.randn((40, 6), generator=generator, device=DEVICE)
    some = X[:5].repeat(60, 1)
    wide = torch.randn((100, 130), generator=generator, device=DEVICE)
    for rows, queries in ((X, None), (X, Q), (some, None), (wide, None), (0 * X, Q)):
        own = queries is None
        asked = rows if own else queries
        D = torch.cdist(asked.double(), rows.double())
        if own:
            D.fill_diagonal_(torch.inf)
        wanted = torch.topk(D, 9, largest=False).values
        found = nearest_rows(asked, rows, 9, own, rows_at_once=256, tiles=TILES)
        nearest = torch.sort(torch.gather(D, 1, found)).values
        np.testing.assert_allclose(to_host(nearest), to_host(wanted), atol=1e-5)
        assert all(len(set(row.tolist())) == 9 for row in found)


def vectors():
    """Stored matrices whose sides are no multiples of anything."""
    generator = torch.Generator(DEVICE).manual_seed(0)
    for shape in ((37, 1100), (3, 5000), (16, 512)):
        A = torch.randn(shape, generator=generator, device=DEVICE)
        v = torch.randn((shape[1], 1), generator=generator, device=DEVICE)
        wanted = A.double() @ v.double()
        assert relative_error(matvec(A, v), wanted) < 1e-6
        wide = torch.randn(
            (shape[0], shape[1] + 3), generator=generator, device=DEVICE
        )[:, 2:-1]
        wanted = wide.double() @ v.double()
        assert relative_error(matvec(wide, v), wanted) < 1e-6


def paths():
    """Rounds in place end where Dijkstra does."""
    generator = torch.Generator(DEVICE).manual_seed(0)
    keys = torch.rand((40, 40), generator=generator, device=DEVICE).fill_diagonal_(2)
    indices = torch.argsort(keys, dim=1)[:, :3]
    lengths = torch.rand(
        (40, 3), generator=generator, device=DEVICE, dtype=torch.float64
    )
    sources = np.array([0, 7, 9])
    assert fits.paths(lengths, lengths)
    fused = shortest_paths(lengths, indices, sources)
    alone = shortest_paths(to_host(lengths), to_host(indices), sources)
    np.testing.assert_allclose(to_host(fused), alone, rtol=1e-12)


def searches():
    """Moves in one call are those of the compiled loop, with bounds and limits."""
    _together.LONG_BURST, partition.POINTS = 8, 16
    for seed, n_classes in ((0, 2), (1, 3)):
        for balanced in (False, True):
            problem = random_problem(
                seed,
                n=14 + 4 * seed,
                n_classes=n_classes,
                balanced=balanced,
                ties=seed == 0,
            )
            for limit in (None, 17):
                options = {"random_state": seed, "max_trials": limit}
                alone, fused = (
                    local_search(problem, "random", 3, **options, **where)
                    for where in ({"representation": "dense"}, {"device": BACKEND})
                )
                for name, value in vars(alone).items():
                    if name != "seconds":
                        np.testing.assert_array_equal(getattr(fused, name), value)


if __name__ == "__main__":
    for name in sys.argv[1:] or (
        "products",
        "neighbors",
        "vectors",
        "paths",
        "searches",
    ):
        globals()[name]()
