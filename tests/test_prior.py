"""The network of `prior/` and its twin in NumPy."""

# SPDX-License-Identifier: BSD-3-Clause

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
    torch.manual_seed(1)
    names = torch.randn(1, 1, 7, NAME_SIZE)[0, 0].numpy()
    torch.manual_seed(1)
    with torch.no_grad():
        expected = network(cells, classes, 10, 30, 3)[0].numpy()
    weights = {name: value.numpy() for name, value in network.state_dict().items()}
    rows, codes = cells[0].permute(1, 0, 2).numpy(), classes[0].numpy().copy()
    codes[10:] = -1
    context = Network(weights, 2).context(rows[:, :30], names, codes[:30], 3)
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


def test_cells_do_not_depend_on_the_unit_of_a_column(prior):
    from inference import fit_cells

    rng = np.random.RandomState(0)
    X = np.column_stack([rng.randn(80), rng.randint(0, 2, (80, 3)), rng.randn(80, 5)])
    columns = [np.array([0]), np.array([1, 2, 3]), np.arange(4, 9)]
    cells = fit_cells(X, columns, np.random.RandomState(1))(X)
    assert cells.shape == (4, 80, 6)
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
