"""Self-taught learning."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import sparse_encode
from sklearn.exceptions import ConvergenceWarning

from fewlabels.transfer import SelfTaughtClassifier, _self_taught, stack_domains
from fewlabels.transfer._self_taught import lasso_codes


@pytest.fixture
def strokes(rng):
    """Rows are sums of few strokes; the classes of the target differ in theirs."""
    atoms = np.eye(12)[:, :8].T + 0.1 * rng.normal(size=(8, 12))
    codes = rng.random((300, 8)) * (rng.random((300, 8)) < 0.3)
    y = np.arange(300) % 2
    codes[np.arange(300), y] += 2
    X = codes @ atoms + 0.02 * rng.normal(size=(300, 12))
    return X[:200], y[:200], X[200:], y[200:]


def fit(strokes, **params):
    X_source, y_source, X_target, y_target = strokes
    few = np.where(np.arange(100) < 20, y_target, -1)
    X, y, domains = stack_domains(X_source, y_source + 3, X_target, few)
    model = SelfTaughtClassifier(10, random_state=0, **params)
    return model.fit(X, y, sample_domain=domains)


@pytest.mark.parametrize("alpha", [0.05, 0.3])
def test_codes_are_optimal(strokes, alpha):
    """The conditions of the lasso: correlations are alpha where a code is used."""
    model = fit(strokes, alpha=alpha)
    X = strokes[2]
    codes = model._codes(X) * model.code_scale_
    residual = (X - model.mean_) / model.scale_ - codes @ model.components_
    correlations = residual @ model.components_.T
    used = codes != 0
    assert used.any()
    assert (~used).any()
    assert_allclose(correlations[used], alpha * np.sign(codes[used]), atol=1e-4)
    assert np.all(np.abs(correlations[~used]) <= alpha + 1e-4)


def dependent_atoms():
    """Ten atoms in about eight dimensions; descent fails for six rows of this draw."""
    rng = np.random.default_rng(0)
    D = rng.normal(size=(10, 8)) @ rng.normal(size=(8, 12))
    D += 1e-2 * rng.normal(size=D.shape)
    D /= np.linalg.norm(D, axis=1)[:, None]
    X = rng.normal(size=(30, 10)) @ D
    return X / np.sqrt((X**2).sum(axis=1).mean()), D


def test_codes_are_optimal_where_atoms_are_dependent():
    X, D = dependent_atoms()
    with pytest.warns(ConvergenceWarning, match="Objective did not converge"):
        sparse_encode(X, D, algorithm="lasso_cd", alpha=0.001, max_iter=10_000)
    codes = lasso_codes(X, D, 0.001)
    exact = sparse_encode(X, D, algorithm="lasso_lars", alpha=0.001)
    values, least = (
        0.5 * ((X - c @ D) ** 2).sum(axis=1) + 0.001 * np.abs(c).sum(axis=1)
        for c in (codes, exact)
    )
    assert np.all(values <= least + 1e-8 * (X**2).sum(axis=1))


def test_codes_without_convergence_name_the_remedy(monkeypatch):
    X, D = dependent_atoms()
    monkeypatch.setattr(
        _self_taught, "sparse_encode", lambda X, D, **kwargs: np.zeros((len(X), len(D)))
    )
    X[0] = 0.0  # the code of this row is right
    with pytest.warns(ConvergenceWarning, match=r"29 of 30 .* fewer n_components"):
        lasso_codes(X, D, 0.01)


def test_labels_of_the_source_are_not_used(strokes):
    model = fit(strokes)
    assert_array_equal(model.classes_, [0, 1])
    assert_array_equal(model.transduction_[:200], strokes[1] + 3)
    assert model.score(strokes[2], strokes[3]) > 0.9
    X_source, y_source, *target = strokes
    shuffled = fit((X_source, y_source[::-1], *target))
    assert_array_equal(shuffled.components_, model.components_)


def test_the_dictionary_comes_from_the_source(strokes):
    model = fit(strokes)
    assert_allclose(model.mean_, strokes[0].mean(axis=0))
    assert_allclose(np.linalg.norm(model.components_, axis=1), 1, atol=1e-6)


def test_equal_rows_of_the_source_teach_nothing(strokes):
    """They have no unit: rows in another one would have other codes."""
    X_source, y_source, X_target, y_target = strokes
    equal = np.tile(X_source[0], (200, 1))
    model = fit((equal, y_source, X_target, y_target))
    assert_allclose(model.mean_, np.vstack([equal, X_target]).mean(axis=0))
    tiny = fit((2.0**-400 * equal, y_source, 2.0**-400 * X_target, y_target))
    assert_array_equal(tiny.transduction_, model.transduction_)
    assert model.score(X_target, y_target) > 0.9
