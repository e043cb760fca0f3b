"""The network of `prior/` and its twin in NumPy."""

# SPDX-License-Identifier: BSD-3-Clause

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[1] / "prior"


@pytest.fixture
def prior(monkeypatch):
    if not FOLDER.exists():
        pytest.skip("the network is not part of the distribution")
    monkeypatch.syspath_prepend(str(FOLDER))


def test_numpy_answers_as_torch(prior):
    torch = pytest.importorskip("torch")
    from inference import NAME_SIZE, Network
    from network import PriorNetwork

    torch.manual_seed(0)
    network = PriorNetwork(size=64, n_layers=2, n_heads=2, hidden=128)
    for weight in network.parameters():
        torch.nn.init.normal_(weight, std=0.2)
    cells, classes = torch.randn(1, 40, 7, 6), torch.randint(0, 3, (1, 40))
    marks = torch.nn.functional.one_hot(classes, 3)
    marks[:, 10:] = 2
    torch.manual_seed(1)
    names = torch.randn(1, 1, 4, NAME_SIZE)[0, 0].numpy()
    torch.manual_seed(1)
    with torch.no_grad():
        expected = network(cells, marks, 30)[0].numpy()
    weights = {name: value.numpy() for name, value in network.state_dict().items()}
    pairs = torch.nn.functional.pad(cells[0], (0, 0, 0, 1)).reshape(40, 4, 12)
    rows, codes = pairs.permute(1, 0, 2).numpy(), classes[0].numpy().copy()
    codes[10:] = -1
    context = Network(weights).context(rows[:, :30], names, codes[:30], 3)
    np.testing.assert_allclose(context.logits, expected[:30], atol=1e-5)
    np.testing.assert_allclose(context(rows[:, 30:]), expected[30:], atol=1e-5)


def test_drawn_tables_have_the_form_of_real_cells(prior):
    torch = pytest.importorskip("torch")
    from draw import CELL_SIZE, MECHANISMS, Sizes, draw_tables

    torch.manual_seed(0)
    sizes = Sizes(60, 5, 3, 9, 60, per_class=True)
    for kind in MECHANISMS:
        drawn = draw_tables(6, sizes, torch.device("cpu"), [kind])
        assert drawn.cells.shape == (6, 60, 5, CELL_SIZE)
        assert torch.isfinite(drawn.cells).all()
        assert set(drawn.cells[..., 4:].sum(-1).flatten().tolist()) == {1.0}
        labels = torch.nn.functional.one_hot(drawn.classes[:, :9], 3).sum(1)
        assert labels.max() <= 9
        assert drawn.classes.max() < 3


@pytest.fixture
def real(prior, tmp_path):
    """Six tables whose last column tells the first two apart, and holes."""
    torch = pytest.importorskip("torch")
    from real import RealTables

    rng, arrays = np.random.RandomState(0), {}
    for k in range(6):
        level = rng.randint(3, size=100)
        number = level + 0.01 * rng.randn(100)
        holes = np.where(rng.rand(100) < 0.2, np.nan, rng.randn(100))
        arrays[f"values_{k}"] = np.stack([level, number, holes], 1).astype(np.float16)
        arrays[f"category_{k}"] = np.array([True, False, False])
        arrays[f"telling_{k}"] = np.array([1.0, 1.0, 0.0], np.float32)
    np.savez(tmp_path / "real.npz", names=np.arange(6), **arrays)
    return RealTables(tmp_path / "real.npz", torch.device("cpu"))


def test_real_tables_ask_for_one_column_and_show_others(real):
    torch = pytest.importorskip("torch")
    from draw import CELL_SIZE, Sizes, draw_tables

    torch.manual_seed(0)
    sizes = Sizes(80, 3, 3, 9, 80, per_class=True)
    X, category, y = real.draw(50, sizes)
    assert X.shape == (50, 80, 3)
    assert y.unique().tolist() == [0, 1, 2]
    # What is asked for is a category or a number, and the other one of them is shown.
    assert 0 < category[:, :2].any(1).sum() < 50
    # Two columns are left to show; a third one is one of them with its rows mixed.
    first, third = X[:, :, 0].nan_to_num(), X[:, :, 2].nan_to_num()
    assert (first.sort(1).values == third.sort(1).values).all()
    assert (first != third).any(1).all()
    drawn = draw_tables(50, sizes, torch.device("cpu"), real=real, share=1.0)
    assert drawn.cells.shape == (50, 80, 3, CELL_SIZE)
    assert torch.isfinite(drawn.cells).all()
    # None fits where tables have more rows, columns or classes than those.
    assert real.share(Sizes(101, 3, 3, 9, 80, True), 0.4) == 0
    assert real.share(Sizes(80, 6, 3, 9, 80, True), 0.4) == 0
    assert real.share(sizes, 0.4) == pytest.approx(0.4 * 6 / 50)


def test_classes_of_real_columns_follow_them(real):
    torch = pytest.importorskip("torch")
    from real import cut_in_order

    torch.manual_seed(0)
    table, target = torch.zeros(20, dtype=int), torch.zeros(20, dtype=int)
    level = torch.randint(0, 3, (20, 60)).float()
    names = real.merged(table, target, level, 2)
    for mine, given in zip(names, level, strict=True):
        assert all(mine[given == k].unique().numel() == 1 for k in range(3))
        assert mine.unique().numel() == 2
    number = torch.randint(0, 10, (20, 60)).float()
    classes = cut_in_order(number, 4)
    for mine, given in zip(classes, number, strict=True):
        runs = mine[given.argsort()]
        assert (runs[1:] != runs[:-1]).sum() == mine.unique().numel() - 1


def test_cells_do_not_depend_on_the_unit_of_a_column(prior):
    from inference import fit_cells

    rng = np.random.RandomState(0)
    X = np.column_stack([rng.randn(80), rng.randint(0, 2, (80, 3)), rng.randn(80, 5)])
    columns = [np.array([0]), np.array([1, 2, 3]), np.arange(4, 9)]
    cells = fit_cells(X, columns, np.random.RandomState(1))(X)
    assert cells.shape == (2, 80, 12)
    X[:, 0] = 1000 * X[:, 0] + 7
    moved = fit_cells(X, columns, np.random.RandomState(1))(X)
    np.testing.assert_allclose(moved, cells, atol=1e-5)


def test_steps_of_muon_are_orthogonal(prior):
    torch = pytest.importorskip("torch")
    from muon import orthogonal

    torch.manual_seed(0)
    made = orthogonal(torch.randn(3, 16, 40)).float()
    values = torch.linalg.svdvals(made)
    assert values.min() > 0.3
    assert values.max() < 1.4


def test_fused_attention_over_columns(prior):
    """In Triton's interpreter, beside attention of torch, with its gradient."""
    pytest.importorskip("triton")
    code = """
import torch
from columns import fused
from network import among_columns

torch.manual_seed(0)
for length in (1, 3, 13, 33, 64):
    x = torch.randn(2, length, 7, 3 * 64, requires_grad=True)
    expected, found = among_columns(x, 2), fused(x, 2)
    gradient = torch.randn_like(expected)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)
    (one,) = torch.autograd.grad(expected, x, gradient)
    (two,) = torch.autograd.grad(found, x, gradient)
    torch.testing.assert_close(two, one, atol=1e-5, rtol=1e-4)
"""
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": str(FOLDER)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
