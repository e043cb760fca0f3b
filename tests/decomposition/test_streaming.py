"""Subspaces of streams: averaged flows, twins, tracking, and wild rows."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import linalg
from sklearn.base import clone

from fewlabels.decomposition import (
    PAST,
    MinorSubspace,
    OjaSubspace,
    minor_update,
    oja_update,
    past_update,
    subspace_distance,
)
from tests.reference import subspaces as twin

TRACKERS = [
    OjaSubspace(2, random_state=0),
    PAST(2, random_state=0),
    MinorSubspace(2, random_state=0),
    MinorSubspace(2, method="chen", random_state=0),
]


def frame(rng, d, r):
    return linalg.qr(rng.normal(size=(d, r)), mode="economic")[0]


def flow(update, C, W, step, n_steps):
    """The rule averaged over rows: the rows are those of a root of C.

    One row after the other with a small step is the average up to its square.
    """
    rows = linalg.sqrtm(C).real * np.sqrt(C.shape[0])
    return update(np.tile(rows, (n_steps, 1)), W, step / C.shape[0])


class TestAveragedFlow:
    @pytest.fixture
    def problem(self, rng):
        V = frame(rng, 6, 6)
        C = V @ np.diag([4.0, 3.0, 1.0, 0.9, 0.2, 0.1]) @ V.T
        return C, V, frame(rng, 6, 2)

    def test_oja_reaches_the_principal_subspace(self, problem):
        C, V, W = problem
        W = flow(oja_update, C, 0.7 * W, 1e-3, 20_000)
        assert subspace_distance(W, V[:, :2]) < 1e-3
        # The frame becomes orthonormal by itself, up to the size of the step.
        assert_allclose(W.T @ W, np.eye(2), atol=5e-3)
        # Sum of the eigenvalues left out.
        J = np.trace(C) - 2 * np.trace(W.T @ C @ W)
        J += np.trace(W.T @ C @ W @ W.T @ W)
        assert_allclose(J, 1.0 + 0.9 + 0.2 + 0.1, atol=1e-4)

    @pytest.mark.parametrize("method", ["chen", "douglas"])
    def test_minor_rules_reach_the_minor_subspace(self, problem, method):
        C, V, W = problem

        def update(X, W, step):
            return minor_update(X, W, step, method=method)

        W = flow(update, C, W, 1e-3, 30_000)
        assert subspace_distance(W, V[:, -2:]) < 2e-2

    def test_with_the_sign_as_printed_chen_finds_the_principal_subspace(self, problem):
        C, V, W = problem

        def update(X, W, step):
            return minor_update(X, W, -step, method="chen")

        W = flow(update, C, W, 1e-3, 20_000)
        assert subspace_distance(W, V[:, :2]) < 2e-2

    def test_only_douglas_makes_the_frame_orthonormal(self, problem):
        C, _, W = problem
        W = W * [1.3, 0.8]

        def lengths(method):
            new = flow(
                lambda X, W, s: minor_update(X, W, s, method=method), C, W, 1e-3, 20_000
            )
            return linalg.svdvals(new)

        assert_allclose(lengths("douglas"), 1.0, atol=2e-2)
        assert_allclose(lengths("chen"), [1.3, 0.8], rtol=2e-2)

    def test_stationary_points_of_oja(self, problem):
        """Any orthonormal frame of eigenvectors stays, on average."""
        C, V, _ = problem
        W = V[:, [1, 3]]
        assert_allclose(C @ W - W @ (W.T @ C @ W), 0, atol=1e-12)


@given(
    d=st.integers(1, 6), n=st.integers(1, 8), seed=st.integers(0, 1000), data=st.data()
)
def test_loops_and_their_twins(d, n, seed, data):
    r = data.draw(st.integers(1, d))
    rng = np.random.default_rng(seed)
    X, W = rng.normal(size=(n, d)), frame(rng, d, r)
    steps = rng.uniform(0, 0.01, size=n)  # short enough that none is cut
    assert_allclose(oja_update(X, W, steps), twin.oja(X, steps, W), atol=1e-12)
    for method, reference in (("chen", twin.chen), ("douglas", twin.douglas)):
        ours = minor_update(X, W, steps, method=method)
        assert_allclose(ours, reference(X, steps, W), atol=1e-12)
    P = np.eye(r)
    ours = past_update(X, W, P, forgetting=0.9)
    for actual, desired in zip(ours, twin.past(X, 0.9, W, P), strict=True):
        assert_allclose(actual, desired, rtol=1e-9, atol=1e-9)


def test_past_is_weighted_least_squares(rng):
    """W = C_xy C_yy^-1 of its own y, with the start as a prior that fades."""
    n, d, r, beta = 60, 5, 2, 0.95
    X, start = rng.normal(size=(n, d)), frame(rng, d, r)
    W = start
    y = np.empty((n, r))
    P = np.eye(r)
    for t in range(n):
        y[t] = W.T @ X[t]
        W, P = past_update(X[t : t + 1], W, P, forgetting=beta)
    weights = beta ** np.arange(n - 1, -1, -1)
    C_yy = (y * weights[:, None]).T @ y + beta**n * np.eye(r)
    C_xy = (X * weights[:, None]).T @ y + beta**n * start
    assert_allclose(W, C_xy @ linalg.inv(C_yy), atol=1e-9)
    assert_allclose(P, linalg.inv(C_yy), rtol=1e-8)


def test_past_keeps_its_inverse_correlation_positive(rng):
    """Rounding errors of a plain recursion grow until P is anything but positive."""
    X = rng.normal(size=(20_000, 10)) * np.linspace(2, 0.5, 10)
    W, P = past_update(X, frame(rng, 10, 3), np.eye(3))
    values = linalg.eigvalsh(P)
    assert 0 < values[0] < values[-1] < 10 * values[0]
    assert_allclose(W.T @ W, np.eye(3), atol=0.2)


def test_oja_with_noisy_steps(rng):
    """The rate and the number of rows of a run whose error is known."""
    scales = np.sqrt([4.0, 3.0, 1.0, 0.5, 0.3, 0.1])
    X = rng.normal(size=(60_000, 6)) * scales
    W = oja_update(X, frame(rng, 6, 2), 5e-4)
    assert subspace_distance(W, np.eye(6)[:, :2]) < 0.1


def test_past_is_close_after_5000_rows(rng):
    X = rng.normal(size=(5000, 6)) * np.sqrt([4.0, 3.0, 0.1, 0.05, 0.03, 0.01])
    model = PAST(2, forgetting=0.999, random_state=0).fit(X)
    assert subspace_distance(model.components_.T, np.eye(6)[:, :2]) < 0.03


@pytest.mark.parametrize(
    "model", [PAST(2, random_state=0), OjaSubspace(2, random_state=0)]
)
def test_a_rotating_subspace_is_followed(rng, model):
    model = clone(model)
    d, n = 8, 4000
    angles = np.linspace(0, np.pi / 2, n)
    errors = []
    for batch in np.split(np.arange(n), 40):
        rows = np.empty((batch.size, d))
        for i, t in enumerate(batch):
            c, s = np.cos(angles[t]), np.sin(angles[t])
            truth = np.zeros((d, 2))
            truth[0, 0], truth[2, 0] = c, s
            truth[1, 1], truth[3, 1] = c, s
            rows[i] = truth @ (3 * rng.normal(size=2)) + 0.1 * rng.normal(size=d)
        model.partial_fit(rows)
        errors.append(subspace_distance(model.components_.T, truth))
    # The first two axes are where it began, the next two where it ends.
    assert max(errors[10:]) < 0.3
    assert subspace_distance(model.components_.T, np.eye(d)[:, :2]) > 0.9


@pytest.mark.parametrize("model", TRACKERS, ids=str)
class TestEveryTracker:
    def test_cutting_the_stream_makes_no_difference(self, rng, model):
        X = rng.normal(size=(350, 4)) * [3.0, 2.0, 1.0, 0.5]
        X[:3] = 0  # no row yet that says how long rows are
        whole = clone(model).fit(X)
        parts = clone(model)
        for rows in np.split(X, [1, 2, 100, 170, 171, 200]):
            parts.partial_fit(rows)
        assert_allclose(parts.frame_, whole.frame_, atol=1e-9)
        assert parts.n_samples_seen_ == whole.n_samples_seen_ == 350

    @pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
    def test_the_scale_of_rows_makes_no_difference(self, rng, model, scale):
        X = rng.normal(size=(200, 4)) * [3.0, 2.0, 1.0, 0.5]
        one = clone(model).fit(X)
        other = clone(model).fit(scale * X)
        assert subspace_distance(one.components_.T, other.components_.T) < 1e-6

    @pytest.mark.parametrize("n_components", [1, 3])
    def test_wild_rows_do_no_harm(self, rng, model, n_components):
        X = rng.standard_cauchy(size=(3000, 3))
        params = {**model.get_params(), "n_components": n_components}
        if "learning_rate" in params:
            params["learning_rate"] = 10.0
        wild = type(model)(**params).fit(X)
        basis = wild.components_
        assert_allclose(basis @ basis.T, np.eye(n_components), atol=1e-10)
        if "forgetting" not in params:
            assert linalg.norm(wild.frame_, 2) < 1.5

    def test_rows_of_a_smaller_space(self, model):
        """Zero rows, and fewer directions than components."""
        X = np.zeros((5000, 3))
        X[::2, 0] = 1.0
        fitted = clone(model).fit(X)
        assert np.isfinite(fitted.frame_).all()
        assert np.isfinite(fitted.transform(X)).all()

    def test_too_many_components(self, model):
        params = {**model.get_params(), "n_components": 4}
        with pytest.raises(ValueError, match="n_features=3"):
            type(model)(**params).fit(np.ones((5, 3)))

    def test_passes(self, rng, model):
        X = rng.normal(size=(100, 3)) * [2.0, 1.0, 0.5]
        twice = type(model)(**{**model.get_params(), "n_passes": 2}).fit(X)
        again = clone(model).fit(X).partial_fit(X)
        assert_allclose(twice.frame_, again.frame_, atol=1e-12)


def test_bad_arguments():
    X, W = np.ones((4, 3)), np.eye(3)[:, :1]
    with pytest.raises(ValueError, match="W must have one row per feature"):
        oja_update(X, np.eye(2), 0.1)
    with pytest.raises(ValueError, match="P must be square"):
        past_update(X, W, np.eye(2))
    with pytest.raises(ValueError, match="forgetting"):
        past_update(X, W, np.eye(1), forgetting=1.5)
    with pytest.raises(ValueError, match="'chen', 'douglas'"):
        minor_update(X, W, 0.1, method="oja")
