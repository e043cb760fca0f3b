"""Rows as they come: all alike, all zero, copied, fewer than features, of any scale."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from fewlabels.decomposition import (
    PAST,
    SVDCCA,
    ElasticNetSparsePCA,
    FisherDiscriminantAnalysis,
    KernelCCA,
    MinorComponentAnalysis,
    MinorSubspace,
    OjaSubspace,
    OneLabelTwoView,
    RobustPCA,
    RowCenterer,
    SparseCCA,
    ZCAWhitening,
)

ONE_VIEW = [
    RobustPCA(random_state=0),
    ElasticNetSparsePCA(2),
    ElasticNetSparsePCA(2, ridge_alpha=np.inf),
    MinorComponentAnalysis(2),
    OjaSubspace(2, random_state=0),
    PAST(2, random_state=0),
    MinorSubspace(2, random_state=0),
    MinorSubspace(2, method="chen", random_state=0),
    RowCenterer(),
    ZCAWhitening(),
    ZCAWhitening(eps=0.1),
]
TWO_VIEWS = [
    SVDCCA(2),
    SVDCCA(2, alpha=0.1),
    SVDCCA(2, solver="eigen"),
    KernelCCA(2),
    KernelCCA(2, kernel="linear"),
    SparseCCA(2),
    OneLabelTwoView(2, n_confident=1),
]

MATRICES = {
    "zeros": lambda rng: np.zeros((6, 4)),
    "ones": lambda rng: np.ones((6, 4)),
    "two rows": lambda rng: rng.normal(size=(2, 4)),
    "copies": lambda rng: np.repeat(rng.normal(size=(2, 4)), 3, axis=0),
    "wide": lambda rng: rng.normal(size=(4, 12)),
    "constant features": lambda rng: rng.normal(size=(9, 4)) * [1, 0, 1, 0] + 0.1,
    "one row apart": lambda rng: (
        np.eye(6)[:, :4] * [[1e3]] * (np.arange(6) == 0)[:, None]
    ),
    "tiny": lambda rng: 1e-150 * rng.normal(size=(9, 4)),
    "huge": lambda rng: 1e50 * rng.normal(size=(9, 4)),
}


@pytest.fixture(params=MATRICES)
def X(request, rng):
    return MATRICES[request.param](rng)


# Missing ranks and empty components are said, as they should be.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.mark.parametrize("estimator", ONE_VIEW, ids=str)
def test_one_view(X, estimator):
    Z = clone(estimator).fit(X).transform(X)
    assert Z.shape[0] == X.shape[0]
    assert np.isfinite(Z).all()


@pytest.mark.parametrize("estimator", TWO_VIEWS, ids=str)
def test_two_views(X, rng, estimator):
    Y = rng.normal(size=(X.shape[0], 3))
    for views in ((X, Y), (Y, X)):
        for Z in clone(estimator).fit(*views).transform(*views):
            assert Z.shape == (X.shape[0], 2)
            assert np.isfinite(Z).all()


@pytest.mark.parametrize("shrinkage", [0.0, 0.2])
def test_classes(X, shrinkage):
    y = np.arange(X.shape[0]) % 2
    model = FisherDiscriminantAnalysis(shrinkage=shrinkage)
    Z = model.fit(X, y).transform(X)
    assert Z.shape == (X.shape[0], 1)
    assert np.isfinite(Z).all()


def test_scale_of_the_views(rng):
    X, Y = rng.normal(size=(2, 30, 3))
    expected = SVDCCA(2).fit(X, Y).canonical_correlations_
    for scale in (1e-100, 1e100):
        found = SVDCCA(2).fit(scale * X, Y).canonical_correlations_
        assert_allclose(found, expected)
