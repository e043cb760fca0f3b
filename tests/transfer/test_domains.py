"""Rows of several domains: stacking, checks and metadata routing."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from fewlabels.transfer import (
    ASOClassifier,
    EigenTransferClassifier,
    FeatureAugmentation,
    HeterogeneousFeatureAugmentation,
    SelfTaughtClassifier,
    TrAdaBoostClassifier,
    TransferComponentAnalysis,
    check_sample_domain,
    stack_domains,
)


class TestStackDomains:
    @pytest.mark.parametrize(
        ("y", "marker"),
        [([0, 1], -1), ([0.0, 1.0], np.nan), (["a", "b"], None), ([True, False], -1)],
    )
    def test_target_without_labels(self, y, marker):
        stacked = stack_domains(np.eye(2), y, np.ones((3, 2)))
        assert stacked.X.shape == (5, 2)
        assert_array_equal(stacked.sample_domain, [1, 1, -2, -2, -2])
        assert_array_equal(stacked.y[2:], np.repeat(marker, 3))

    def test_few_target_labels(self):
        y = stack_domains([[0.0]], ["a"], [[1.0], [2.0]], ["b", None]).y
        assert_array_equal(y, np.array(["a", "b", None], dtype=object))

    def test_different_features_get_columns_of_their_own(self):
        A, B = np.arange(1.0, 5).reshape(2, 2), np.ones((1, 3))
        expected = np.block([[A, np.zeros((2, 3))], [np.zeros((1, 2)), B]])
        assert_array_equal(stack_domains(A, [0, 1], B).X, expected)
        stacked = stack_domains(sparse.csr_array(A), [0, 1], B).X
        assert sparse.issparse(stacked)
        assert_array_equal(stacked.toarray(), expected)

    def test_bad_input(self):
        with pytest.raises(ValueError, match="y_source has 1 entries"):
            stack_domains(np.eye(2), [0], np.eye(2))
        with pytest.raises(ValueError, match="y_target has 1 entries"):
            stack_domains(np.eye(2), [0, 1], np.eye(2), [1])
        with pytest.raises(ValueError, match="different kinds"):
            stack_domains(np.eye(2), [0, 1], np.eye(2), ["a", "b"])


class TestCheckSampleDomain:
    def test_none_is_the_target(self):
        assert_array_equal(check_sample_domain(None, 3), [-2, -2, -2])

    @pytest.mark.parametrize(
        ("domains", "message"),
        [
            ([1, 0], "holds 0"),
            ([1], "has 1 entries but X has 2 rows"),
            ([1, 0.5], "must hold integers"),
            (["s", "t"], "must hold integers"),
        ],
    )
    def test_bad_input(self, domains, message):
        with pytest.raises(ValueError, match=message):
            check_sample_domain(domains, 2)


@pytest.fixture
def shifted(rng):
    X_source, X_target = rng.normal(size=(60, 3)), rng.normal(size=(40, 3))
    y_source, y_target = (X[:, 0] > 0 for X in (X_source, X_target))
    X_target[:, 2] += 4
    return X_source, y_source.astype(int), X_target, y_target.astype(int)


@pytest.mark.parametrize(
    "estimator",
    [
        TrAdaBoostClassifier(),
        ASOClassifier(),
        SelfTaughtClassifier(3),
        EigenTransferClassifier(setting="self_taught"),
        EigenTransferClassifier(setting="cross_category"),
    ],
    ids=str,
)
def test_target_labels_are_asked_for(estimator, shifted):
    X, y, sample_domain = stack_domains(*shifted[:3])
    with pytest.raises(ValueError, match="needs labelled rows of the target"):
        estimator.fit(X, y, sample_domain=sample_domain)


def test_several_targets_must_be_told_apart(shifted):
    X, y, domains = stack_domains(*shifted)
    domains[-10:] = -3
    model = ASOClassifier().fit(X, y, sample_domain=domains)
    assert set(model.coef_) == {1, -2, -3}
    with pytest.raises(ValueError, match="2 target domains"):
        model.predict(X)
    assert model.predict(X, sample_domain=domains).shape == y.shape
    with pytest.raises(ValueError, match="there are rules for"):
        model.predict(X[:1], sample_domain=[-4])


class TestRouting:
    """With metadata routing, pipelines pass domains on without further requests."""

    def test_to_fit(self, shifted):
        X, y, domains = stack_domains(*shifted)
        with sklearn.config_context(enable_metadata_routing=True):
            pipe = make_pipeline(
                TransferComponentAnalysis(3, kernel="linear"), LogisticRegression()
            ).fit(X, y, sample_domain=domains)
        assert_array_equal(pipe[0].domains_, [-2, 1])
        alone = TransferComponentAnalysis(3, kernel="linear")
        Z = alone.fit_transform(X, sample_domain=domains)
        np.testing.assert_allclose(pipe[0].transform(X), Z)

    def test_to_transform(self, shifted):
        X, y, domains = stack_domains(*shifted)
        with sklearn.config_context(enable_metadata_routing=True):
            pipe = make_pipeline(FeatureAugmentation(), LogisticRegression())
            pipe.fit(X, y, sample_domain=domains)
            as_source = pipe.predict_proba(shifted[0], sample_domain=np.ones(60))
            as_target = pipe.predict_proba(shifted[0])
        assert np.abs(as_source - as_target).max() > 1e-3

    def test_a_source_of_other_features_comes_by_its_own_names(self, rng):
        requests = (
            HeterogeneousFeatureAugmentation().get_metadata_routing().fit.requests
        )
        assert requests == {"X_source": True, "y_source": True}


def test_a_source_of_other_features_needs_its_labels(rng):
    with pytest.raises(ValueError, match="Pass both X_source and y_source"):
        HeterogeneousFeatureAugmentation().fit(np.eye(2), [0, 1], X_source=np.eye(2))
