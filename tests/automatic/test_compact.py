"""Small copies of fitted models, and whether their predictions stay."""

# SPDX-License-Identifier: BSD-3-Clause

import copy
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import skops.io as sio
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits, make_swiss_roll

import fewlabels
from fewlabels import FewLabelsClassifier, FewLabelsRegressor
from fewlabels.automatic import _compact
from fewlabels.automatic._compact import Plain, Rounded
from fewlabels.datasets import hide_labels


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    order = np.random.RandomState(0).permutation(len(y))
    X, y = X[order], y[order]
    holes = hide_labels(y[:1200], per_class=5, random_state=0)
    return X[:1200], holes, X[1200:]


@pytest.fixture(scope="module")
def model(digits):
    X, y, _ = digits
    return FewLabelsClassifier(random_state=0).fit(X, y)


class TestRounded:
    A = np.random.RandomState(0).normal(size=(50, 4)) * [1, 10, 1e-3, 0]

    @pytest.mark.parametrize("integer", [np.uint8, np.uint16])
    def test_by_column(self, integer):
        span = np.ptp(self.A, axis=0)
        error = np.abs(Rounded.by_column(self.A, integer).array - self.A).max(axis=0)
        assert (error <= 0.51 * span / np.iinfo(integer).max).all()

    def test_by_row(self):
        units = np.array([1, 10, 1e-3, 1])
        error = np.abs(Rounded.by_row(self.A, units).array - self.A) / units
        largest = np.abs(self.A / units).max(axis=1, keepdims=True)
        assert (error <= 0.51 * largest / 127).all()

    def test_half(self):
        array = Rounded.half(self.A).array
        assert_allclose(array, self.A, rtol=1e-3, atol=1e-6)

    def test_numbers_are_not_saved_twice(self):
        rounded = Rounded.by_column(np.random.RandomState(0).rand(999, 9), np.uint8)
        before = len(pickle.dumps(rounded))
        expected = rounded.array
        assert len(pickle.dumps(rounded)) == before < 11_000
        assert_array_equal(pickle.loads(pickle.dumps(rounded)).array, expected)


def test_digits_are_small_and_answer_the_same(digits, model):
    X, _, new = digits
    saved = pickle.dumps(model)
    assert len(saved) < 2e6  # 35 MB with all that fit has made
    again = pickle.loads(saved)
    assert_array_equal(again.predict(X), model.predict(X))
    assert_allclose(again.predict_proba(X), model.predict_proba(X), atol=1e-4)
    assert np.mean(again.predict(new) != model.predict(new)) <= 0.002
    assert_array_equal(again.transduction_, model.transduction_)
    assert again.explain() == model.explain()
    assert again.contributions() == model.contributions()
    assert_allclose(again.baseline_.predict(new), model.baseline_.predict(new))
    with pytest.raises(ValueError, match="can only predict"):
        again.refit_labels(model.transduction_)


def test_without_transduction(digits, model):
    X, _, new = digits
    small = model.compact(transduction=False)
    assert len(pickle.dumps(small)) < len(pickle.dumps(model))
    assert not hasattr(small, "transduction_")
    assert np.mean(small.predict(new) != model.predict(new)) <= 0.002
    # Training rows are rows like any other now.
    assert np.mean(small.predict(X) != model.predict(X)) < 0.05
    for ask in (
        lambda: small.label_distributions_,
        lambda: small.distinct_rows_,
        small.errors_above,
        small.class_errors,
    ):
        with pytest.raises(ValueError, match="does not know the training rows"):
            ask()
    assert "Expected error" in small.explain()
    # The same from a copy that still knew them.
    twice = pickle.loads(pickle.dumps(model)).compact(transduction=False)
    assert_array_equal(twice.decision_function(new), small.decision_function(new))


def test_copies_stay_whole(digits, model):
    _, y, new = digits
    for whole in (copy.copy(model), copy.deepcopy(model)):
        assert_array_equal(
            whole.refit_labels(y, estimate_error=False).predict(new), model.predict(new)
        )
        pickle.dumps(whole)


def test_small_sets_are_not_rounded(digits):
    X, y, new = digits
    model = FewLabelsClassifier(random_state=0).fit(X[:300], y[:300])
    again = pickle.loads(pickle.dumps(model))
    expected = model.decision_function(new)
    assert_allclose(again.decision_function(new), expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("budget", [-1.0, 1.0])
def test_every_form_of_a_graph(digits, monkeypatch, budget):
    """The most exact forms are nearly exact, and the smallest are not far off."""
    X, y, new = digits
    monkeypatch.setattr(_compact, "EXACT_ROWS", 100)
    monkeypatch.setattr(_compact, "MAX_CHANGED", budget)
    # On a table, so that forests look at graphs too.
    model = FewLabelsClassifier(scale="standard", random_state=0)
    model.fit(X[:300], y[:300])
    small = model.compact()
    kinds = {type(function).__name__ for function in small._model._functions}
    expected, outputs = model.decision_function(new), small.decision_function(new)
    if budget < 0:
        assert not {"GraphMeans", "PathMeans"} & kinds
        assert_allclose(outputs, expected, atol=2e-3)
    else:
        assert "GraphMeans" in kinds
        changed = outputs.argmax(axis=1) != expected.argmax(axis=1)
        assert np.mean(changed) < 0.05


def test_numbers(monkeypatch):
    monkeypatch.setattr(_compact, "EXACT_ROWS", 100)
    X, t = make_swiss_roll(900, noise=0.1, random_state=0)
    y = np.where(np.arange(500) < 40, t[:500], np.nan)
    model = FewLabelsRegressor(random_state=0).fit(X[:500], y)
    again = pickle.loads(pickle.dumps(model))
    moved = again.predict(X[500:]) - model.predict(X[500:])
    assert np.sqrt(np.mean(moved**2)) < 0.02 * t.std()
    assert_allclose(again.predict(X[:500]), model.predict(X[:500]), rtol=1e-5)


def test_skops_holds_the_same(digits, model):
    *_, new = digits
    data = sio.dumps(model)
    assert len(data) < 2.5e6
    trusted = [*FewLabelsClassifier.saved_types(), "numpy.dtype"]
    again = sio.loads(data, trusted=trusted)
    expected = pickle.loads(pickle.dumps(model)).decision_function(new)
    assert_array_equal(again.decision_function(new), expected)


def test_the_order_of_rows_does_not_matter(digits, model):
    *_, new = digits
    small = model.compact()
    order = np.random.RandomState(1).permutation(len(new))
    assert_allclose(
        small.decision_function(new[order]),
        small.decision_function(new)[order],
        atol=1e-8,
    )


def test_another_process_on_a_disk_that_cannot_be_written_to(digits, model, tmp_path):
    """Nor are there compiled loops on it. A file stands where a folder would be made.

    Permissions would not do: tests may be run by root.
    """
    *_, new = digits
    np.save(tmp_path / "rows.npy", new[:40])
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(model))
    source = Path(fewlabels.__file__).parent
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(source, tmp_path / "fewlabels", ignore=ignored)
    (tmp_path / "fewlabels" / "_loops" / "__pycache__").touch()
    (tmp_path / "home").touch()
    code = (
        "import pickle, sys, numpy as np\n"
        "from fewlabels._loops import trees\n"
        "model = pickle.load(open(sys.argv[1], 'rb'))\n"
        "assert __import__('fewlabels').__file__.startswith(sys.argv[3])\n"
        "sys.stdout.write(' '.join(map(str, model.predict(np.load(sys.argv[2])))))"
    )
    paths = [str(tmp_path / name) for name in ("model.pkl", "rows.npy", "fewlabels")]
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
    environment |= {
        "HOME": str(tmp_path / "home"),
        "XDG_CACHE_HOME": str(tmp_path / "home"),
        "PYTHONPATH": str(tmp_path),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", code, *paths],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == list(map(str, model.compact().predict(new[:40])))


def test_plain_arrays_lie_in_a_row():
    A = np.arange(12.0).reshape(3, 4)[:, ::2]
    assert Plain(A).array.flags.c_contiguous
    assert Plain.single(A).array.dtype == np.float32
