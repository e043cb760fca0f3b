"""The automatic estimators on tensors, which live on a device of torch."""

# SPDX-License-Identifier: BSD-3-Clause

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_digits, load_wine, make_friedman1

from fewlabels import FewLabelsClassifier, FewLabelsRegressor
from fewlabels._backend import to_host
from fewlabels.automatic._recipe import BANKS
from fewlabels.datasets import hide_labels
from tests.helpers import DEVICE, tensor

torch = pytest.importorskip("torch")

SMALL = replace(
    BANKS["default"], rank=40, n_vectors=40, landmarks=20, cluster_runs=3, anchors=60
)


@pytest.fixture(autouse=True)
def small_bank(monkeypatch):
    monkeypatch.setitem(BANKS, "default", SMALL)


def digits(n=700):
    X, y = load_digits(return_X_y=True)
    return X[:n], y[:n], hide_labels(y[:n], per_class=4, random_state=0)


def test_tensors_get_the_answers_of_arrays():
    X, truth, y = digits()
    here = FewLabelsClassifier(random_state=0).fit(X, y)
    there = FewLabelsClassifier(random_state=0).fit(tensor(X), tensor(y))
    # Random starts differ, and with them clusters and eigenvectors, but little else.
    agree = np.mean(here.transduction_ == there.transduction_)
    assert agree > 0.97
    assert len(here._bank.candidates) == len(there._bank.candidates)
    assert np.mean(there.transduction_ == truth) > 0.9


def test_answers_come_in_kind():
    X, _, y = digits(400)
    T = tensor(X)
    model = FewLabelsClassifier(bank="fast", random_state=0).fit(T, y)
    for answer in (model.predict(T), model.predict_proba(T)):
        assert isinstance(answer, torch.Tensor)
        assert answer.device == T.device
    assert isinstance(model.predict(X), np.ndarray)
    np.testing.assert_array_equal(to_host(model.predict(T)), model.predict(X))


def test_words_stay_words():
    X, _, y = digits(300)
    words = np.array([f"digit {c}" if c >= 0 else None for c in y], dtype=object)
    model = FewLabelsClassifier(bank="fast", random_state=0).fit(tensor(X), words)
    answers = model.predict(tensor(X))
    assert isinstance(answers, np.ndarray)
    assert str(answers[0]).startswith("digit ")


@pytest.mark.parametrize("kind", ["table", "text", "pixels"])
def test_a_model_is_saved_without_tensors(kind):
    X, y = load_wine(return_X_y=True) if kind == "table" else digits(300)[::2]
    hidden = y if kind != "table" else hide_labels(y, per_class=4, random_state=0)
    rows = tensor(X)
    model = FewLabelsClassifier(random_state=0)
    if kind == "text":
        # Sparse rows stay with SciPy: the device is asked for by hand.
        model._given_device = DEVICE
        model.fit(csr_array(X), hidden)
        rows = csr_array(X)
    else:
        model.fit(rows, hidden)
    saved = pickle.dumps(model)
    assert b"torch" not in saved
    new = X[::3] + 0.01 * (X[::3] != 0)
    asked = csr_array(new) if kind == "text" else new
    np.testing.assert_allclose(
        pickle.loads(saved).decision_function(asked),
        model.decision_function(asked),
        atol=1e-9,
    )


def test_regression_on_tensors():
    X, target = make_friedman1(500, random_state=0)
    y = target.copy()
    y[60:] = np.nan
    here = FewLabelsRegressor(bank="fast", random_state=0).fit(X, y)
    there = FewLabelsRegressor(bank="fast", random_state=0).fit(tensor(X), y)
    own = here.predict(X)
    answer = to_host(there.predict(tensor(X)))
    assert np.corrcoef(own, answer)[0, 1] > 0.98


def test_no_gpu_is_said():
    if torch.cuda.is_available():
        pytest.skip("there is one")
    X, _, y = digits(100)
    with pytest.raises(ValueError, match="torch finds no GPU here"):
        FewLabelsClassifier(device="cuda").fit(X, y)


def test_sums_in_double_precision_are_taken_in_blocks():
    """Torch makes a copy in double precision of what it adds up so."""
    from torch.utils._python_dispatch import TorchDispatchMode

    sizes = []

    class Sums(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            double = "sum" in func.__name__ and kwargs.get("dtype") == torch.float64
            if double and args[1:] != ([1],):  # rows of a batch are summed as a whole
                sizes.append(args[0].numel())
            return func(*args, **kwargs)

    X = np.random.default_rng(0).normal(size=(6000, 200)).astype(np.float32)
    y = hide_labels((X[:, 0] > 0).astype(int), per_class=5, random_state=0)
    with Sums():
        FewLabelsClassifier(bank="fast", random_state=0).fit(tensor(X), y)
    assert sizes
    assert max(sizes) <= 2**19
