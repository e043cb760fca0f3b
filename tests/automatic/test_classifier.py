"""The automatic classifier from end to end."""

# SPDX-License-Identifier: BSD-3-Clause

import pickle
from copy import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_iris, make_blobs, make_classification, make_moons
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fewlabels import FewLabelsClassifier
from fewlabels.automatic import ErrorEstimate, _judge, _kernels
from fewlabels.datasets import hide_labels


def moons(n=300, n_labeled=10, seed=0):
    X, y = make_moons(n, noise=0.08, random_state=seed)
    return X, y, hide_labels(y, n_labeled=n_labeled, random_state=seed)


@pytest.fixture(scope="module")
def fitted():
    X, y_true, y = moons()
    return X, y_true, y, FewLabelsClassifier(random_state=0).fit(X, y)


class TestOnMoons:
    def test_better_than_supervised(self, fitted):
        X, y_true, _, model = fitted
        assert model.score(X, y_true) > 0.97
        assert np.mean(model.baseline_.predict(X) != y_true) > 0.05

    def test_given_labels_stand(self, fitted):
        _, _, y, model = fitted
        assert_array_equal(model.transduction_[y >= 0], y[y >= 0])

    def test_transduction_and_prediction_of_training_rows_agree(self, fitted):
        X, _, y, model = fitted
        unlabeled = y < 0
        assert_array_equal(model.predict(X)[unlabeled], model.transduction_[unlabeled])

    def test_new_rows(self, fitted):
        *_, model = fitted
        X, y, _ = moons(seed=1)
        assert model.score(X, y) > 0.97

    def test_new_rows_alone_or_together(self, fitted):
        *_, model = fitted
        X, _, _ = moons(20, seed=2)
        alone = np.concatenate([model.decision_function(x[None]) for x in X])
        assert_allclose(model.decision_function(X), alone, atol=1e-9)

    def test_probabilities(self, fitted):
        X, _, _, model = fitted
        p = model.predict_proba(X)
        assert_allclose(p.sum(axis=1), 1)
        assert p.min() > 0
        assert p.max() < 1
        assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))

    def test_table(self, fitted):
        *_, model = fitted
        table = model.candidates_
        # Of two columns, each with a kernel of its own, and six forests.
        assert {len(column) for column in table.values()} == {(72 - 7 + 2) * 5 + 6}
        assert_allclose(table["weight"].sum(), 1)
        # Weights make up for the size of outputs, which the log-loss does not see.
        best = table["weight"].argmax()
        assert table["loo_log_loss"][best] < np.median(table["loo_log_loss"])
        assert "rbf" in set(table["family"])

    def test_error_estimates(self, fitted):
        _, y_true, y, model = fitted
        estimate = model.expected_error_
        error = np.mean(model.transduction_[y < 0] != y_true[y < 0])
        # A single label was wrong when held out.
        assert estimate.low < estimate.value / 5
        assert error <= estimate.high
        assert estimate.value < model.baseline_error_.value
        assert model.gain_.low < model.gain_.value < model.gain_.high

    def test_explanation(self, fitted):
        *_, model = fitted
        text = model.explain()
        assert text.startswith("10 labels of 2 classes, 290 rows without a label.")
        assert "neighbour graph" in text
        assert str(model.expected_error_) in text
        low, high = 100 * model.gain_.low, 100 * model.gain_.high
        assert low < 0 < high
        assert (
            "There are too few labels to say whether that helped "
            f"(gain {low:.0f} to {high:.0f} points)." in text
        )

    @pytest.mark.parametrize(
        ("low", "high", "n_labeled", "words"),
        [
            (0.01, 0.2, 20, "That probably helped (gain 1 to 20 points)."),
            (-0.2, -0.01, 20, "That probably hurt (gain -20 to -1 points): use"),
            (-0.1, 0.1, 20, "There are too few labels to say whether that helped (g"),
            (-0.1, 0.1, 21, "It is not clear whether that helped (gain -10 to 10"),
            (np.nan, np.nan, 20, "These labels cannot tell whether that helped."),
        ],
    )
    def test_what_is_said_of_the_gain(self, fitted, low, high, n_labeled, words):
        model = copy(fitted[-1])
        model.gain_ = ErrorEstimate((low + high) / 2, low, high)
        model.labeled_indices_ = np.arange(n_labeled)
        assert words in model.explain()

    def test_same_seed_same_answer(self, fitted):
        X, _, y, model = fitted
        again = FewLabelsClassifier(random_state=0).fit(X, y)
        assert_allclose(again.decision_function(X), model.decision_function(X))

    def test_pickled_model_predicts_new_rows(self, fitted):
        *_, model = fitted
        X, _, _ = moons(30, seed=3)
        again = pickle.loads(pickle.dumps(model))
        assert_allclose(again.decision_function(X), model.decision_function(X))


@pytest.fixture(scope="module")
def fitted_iris():
    """Rows of three classes, some of them copies, and a bank that sees many y."""
    X, y = load_iris(return_X_y=True)
    X, y = np.vstack([X, X[::5]]), np.concatenate([y, y[::5]])
    first = np.where(np.arange(y.size) % 50 == 0, y, -1)
    return FewLabelsClassifier(bank="fast", random_state=0).fit(X, first), X, y


class TestRefitting:
    def test_other_labels_on_the_same_bank(self):
        X, y_true, y = moons()
        other = hide_labels(y_true, n_labeled=30, random_state=5)
        fresh = FewLabelsClassifier(bank="fast", random_state=0).fit(X, other)
        model = FewLabelsClassifier(bank="fast", random_state=0).fit(X, y)
        bank = model._bank
        model.refit_labels(other)
        assert model._bank is bank
        assert_allclose(model.decision_function(X), fresh.decision_function(X))
        assert str(model.expected_error_) == str(fresh.expected_error_)

    @pytest.mark.parametrize(
        "per_class", [(1, 1, 1), (4, 1, 3), (6, 2, 2), (5, 5, 0), (0, 1, 5)]
    )
    @pytest.mark.parametrize("earlier", [(1, 1, 1), (3, 9, 1)])
    def test_nothing_is_left_of_earlier_labels(self, fitted_iris, per_class, earlier):
        model, X, y_true = fitted_iris

        def labels(counts, start):
            y = np.full(y_true.size, -1)
            for c, count in enumerate(counts):
                rows = np.flatnonzero(y_true == c)[start : start + count]
                y[rows] = c
            return y

        y = labels(per_class, 3)
        fresh = FewLabelsClassifier(bank="fast", random_state=0).fit(X, y)
        model.refit_labels(labels(earlier, 0))
        model.members(np.arange(y.size), np.arange(5), max_kept_rows=1000)
        model.refit_labels(labels((2, 2, 2), 9), estimate_error=False).refit_labels(y)
        assert vars(model).keys() == vars(fresh).keys()
        for name in (
            "classes_",
            "transduction_",
            "class_shares_",
            "labeled_indices_",
            "temperature_",
            "label_distributions_",
        ):
            assert_array_equal(getattr(model, name), getattr(fresh, name), name)
        assert model.candidates_.keys() == fresh.candidates_.keys()
        for name, column in fresh.candidates_.items():
            assert_array_equal(model.candidates_[name], column, name)
        for name in ("expected_error_", "baseline_error_", "gain_"):
            assert repr(getattr(model, name)) == repr(getattr(fresh, name))
        assert model.baseline_.name == fresh.baseline_.name
        assert_array_equal(model.baseline_.predict(X), fresh.baseline_.predict(X))
        assert_array_equal(model.predict_proba(X + 0.1), fresh.predict_proba(X + 0.1))
        assert model.explain() == fresh.explain()

    def test_without_a_judgement(self):
        X, y_true, y = moons()
        other = hide_labels(y_true, n_labeled=30, random_state=5)
        fresh = FewLabelsClassifier(bank="fast", random_state=0).fit(X, other)
        model = FewLabelsClassifier(bank="fast", random_state=0).fit(X, y)
        temperature = model.temperature_
        model.refit_labels(other, estimate_error=False)
        assert_allclose(model.decision_function(X), fresh.decision_function(X))
        assert_array_equal(model.transduction_, fresh.transduction_)
        assert model.temperature_ == temperature
        for estimate in (model.expected_error_, model.baseline_error_, model.gain_):
            assert not estimate.is_known
            assert "estimate_error=False" in estimate.note
        assert "unknown" in model.explain()

    def test_classes_may_change(self):
        X, _, y = moons()
        model = FewLabelsClassifier(bank="fast", random_state=0).fit(X, y)
        names = np.array(["left", "right"], dtype=object)[y]
        names[y < 0] = None
        model.refit_labels(names)
        assert_array_equal(model.classes_, ["left", "right"])

    def test_wrong_length(self):
        X, _, y = moons()
        model = FewLabelsClassifier(bank="fast", random_state=0).fit(X, y)
        with pytest.raises(ValueError, match="y has 299 entries but fit has seen 300"):
            model.refit_labels(y[1:])


class TestManyLabels:
    def test_all_rows_labeled(self):
        X, y, _ = moons(200)
        model = FewLabelsClassifier(random_state=0).fit(X, y)
        assert model.score(X, y) > 0.98
        assert model.expected_error_.is_known
        assert "0 rows without a label" in model.explain()

    def test_more_labels_than_are_scored(self, monkeypatch):
        """The choice is made on a sample, the fit on all labels."""
        monkeypatch.setattr(_judge, "MAX_SCORED", 60)
        monkeypatch.setattr(_kernels, "MAX_SOLVED", 150)
        X, y = make_moons(500, noise=0.2, random_state=0)
        holes = np.where(np.arange(500) < 400, y, -1)
        model = FewLabelsClassifier(random_state=0).fit(X, holes)
        assert model.score(X[400:], y[400:]) > 0.93
        assert model.baseline_.predict(X).shape == (500,)

    def test_judging_the_heaviest_kernels(self, monkeypatch):
        monkeypatch.setattr(_judge, "NESTED_BYTES", 8 * 5 * 30**2 * 4)
        X, _, y = moons(n_labeled=30)
        model = FewLabelsClassifier(random_state=0).fit(X, y)
        assert model.expected_error_.value < 0.2

    def test_scoring_in_chunks_changes_nothing(self, monkeypatch):
        X, _, y = moons()
        whole = FewLabelsClassifier(bank="fast", random_state=0).fit(X, y)
        monkeypatch.setattr(_judge, "CHUNK_BYTES", 1)
        chunks = FewLabelsClassifier(bank="fast", random_state=0).fit(X, y)
        assert_allclose(chunks.candidates_["weight"], whole.candidates_["weight"])


class TestOtherTasks:
    def test_supervised_data_is_not_made_worse(self):
        """No clusters and no manifold: the linear rule is all there is to find."""
        X, y = make_classification(
            400, 20, n_informative=10, n_clusters_per_class=1, random_state=0
        )
        holes = hide_labels(y, n_labeled=100, random_state=0)
        model = FewLabelsClassifier(random_state=0).fit(X, holes)
        u = holes < 0
        own = np.mean(model.transduction_[u] == y[u])
        assert own > np.mean(model.baseline_.predict(X)[u] == y[u]) - 0.02

    def test_many_classes(self):
        X, y = make_blobs(400, 10, centers=20, cluster_std=1.5, random_state=0)
        holes = hide_labels(y, n_labeled=60, random_state=0)
        model = FewLabelsClassifier(random_state=0).fit(X, holes)
        assert model.score(X, y) > 0.95
        error = np.mean(model.transduction_[holes < 0] != y[holes < 0])
        assert model.expected_error_.low <= error <= model.expected_error_.high

    def test_balanced_classes(self):
        X, y = make_blobs([450, 50], 5, cluster_std=6.0, random_state=0)
        holes = hide_labels(y, n_labeled=60, random_state=0)
        u = holes < 0
        scores = {}
        for weight in (None, "balanced"):
            model = FewLabelsClassifier(class_weight=weight, random_state=0)
            answers = model.fit(X, holes).transduction_
            scores[weight] = balanced_accuracy_score(y[u], answers[u])
        assert scores["balanced"] > scores[None]

    def test_class_weights_must_be_positive(self):
        X, _, y = moons(60)
        model = FewLabelsClassifier(bank="fast", class_weight={0: 0.0, 1: 1.0})
        with pytest.raises(ValueError, match="must be positive"):
            model.fit(X, y)

    def test_text_like_rows(self):
        rng = np.random.default_rng(0)
        topics = rng.dirichlet(np.full(200, 0.05), size=2)
        y = np.arange(160) % 2
        counts = np.stack([rng.multinomial(40, topics[c]) for c in y]).astype(float)
        holes = np.where(np.arange(160) < 10, y, -1)
        model = FewLabelsClassifier(random_state=0).fit(sparse.csr_array(counts), holes)
        assert np.mean(model.transduction_ == y) > 0.95
        fresh = np.stack([rng.multinomial(40, topics[c]) for c in y]).astype(float)
        assert np.mean(model.predict(sparse.csr_array(fresh)) == y) > 0.95

    @pytest.mark.parametrize("scale", ["auto", "standard", "unit", "none"])
    @pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
    def test_every_scale(self, scale, container):
        X, y = make_blobs(90, 6, centers=3, cluster_std=0.5, random_state=0)
        holes = np.where(np.arange(90) < 12, y, -1)
        model = FewLabelsClassifier(bank="fast", scale=scale, random_state=0)
        assert model.fit(container(X), holes).score(container(X), y) > 0.95

    def test_approximate_neighbours(self):
        pytest.importorskip("faiss")
        X, y_true, y = moons(1000, n_labeled=20)
        model = FewLabelsClassifier(
            bank="fast", neighbors="approximate", random_state=0
        ).fit(X, y)
        assert model.score(X, y_true) > 0.97
        new, y_new, _ = moons(seed=4)
        again = pickle.loads(pickle.dumps(model))  # without the index
        assert again.score(new, y_new) > 0.97

    def test_in_a_pipeline_and_under_cross_validation(self):
        X, y, _ = moons(120)
        model = make_pipeline(
            StandardScaler(), FewLabelsClassifier(bank="fast", random_state=0)
        )
        assert cross_val_score(model, X, y, cv=2).mean() > 0.9

    def test_progress_is_told(self):
        X, _, y = moons(100)
        shares = []
        FewLabelsClassifier(bank="fast", progress=shares.append).fit(X, y)
        assert shares == sorted(shares)
        assert shares[-1] == 1.0

    @pytest.mark.parametrize("budget", [0.5, 100.0])
    def test_memory_budget_changes_nothing_else(self, budget):
        X, _, y = moons()
        default = FewLabelsClassifier(bank="fast", random_state=0).fit(X, y)
        model = FewLabelsClassifier(
            bank="fast", memory_budget=budget, random_state=0
        ).fit(X, y)
        assert_allclose(
            model.decision_function(X), default.decision_function(X), atol=1e-9
        )


class TestWithoutEvidence:
    """Where labels cannot judge, nothing is claimed."""

    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_one_label_of_every_class(self, n_classes):
        X, y = make_blobs(150, 4, centers=n_classes, cluster_std=0.6, random_state=0)
        holes = np.full(150, -1)
        for c in range(n_classes):
            first = np.flatnonzero(y == c)[0]
            holes[first] = c
        model = FewLabelsClassifier(random_state=0).fit(X, holes)
        assert model.score(X, y) > 0.95
        assert not model.expected_error_.is_known
        assert "no class has two labelled rows" in str(model.expected_error_)
        assert not model.gain_.is_known
        assert np.isnan(model.candidates_["loo_log_loss"]).all()
        assert "fixed average" in model.explain()

    def test_one_label_of_each_of_two_clouds(self):
        """No graph separates them in this many dimensions, but clusters do."""
        truth = np.arange(300) % 2
        X = np.random.default_rng(0).normal(size=(300, 60))
        X[:, :20] += 0.54 * (2 * truth[:, None] - 1)
        model = FewLabelsClassifier(bank="fast", random_state=0)
        for first, second in ((0, 1), (10, 31), (100, 201)):
            y = np.full(300, -1)
            y[[first, second]] = truth[[first, second]]
            assert model.fit(X, y).score(X, truth) > 0.95

    def test_a_single_class(self):
        X, _, _ = moons(50)
        with pytest.warns(UserWarning, match="single class"):
            model = FewLabelsClassifier(bank="fast").fit(X, ["a"] * 5 + [None] * 45)
        assert set(model.transduction_) == {"a"}
        assert_array_equal(model.predict_proba(X), np.ones((50, 1)))
        assert "single class" in str(model.expected_error_)
        assert "nothing to choose" in model.explain()

    def test_labels_on_copies_of_one_row(self):
        X, _, _ = moons(50)
        X[:4] = X[0]
        y = np.array([0, 1, 0, 0] + [-1] * 46)
        model = FewLabelsClassifier(bank="fast", random_state=0).fit(X, y)
        assert np.isfinite(model.decision_function(X)).all()
        assert not model.expected_error_.is_known


def degenerate():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5))
    y = np.array([0, 1, 0, 1, 0, 1] + [-1] * 34)
    two_far = np.vstack([X[:20], X[20:] + 1e3])
    many = np.repeat(np.arange(13), 2)
    text = sparse.csr_array(np.where(np.abs(X) > 1, X, 0.0))
    return {
        "copies of every row": (np.repeat(X[:20], 2, axis=0), y),
        "all rows equal": (np.ones((40, 5)), y),
        "all rows zero": (np.zeros((40, 5)), y),
        "two distinct rows": (np.repeat(X[:2], 20, axis=0)[::-1], y),
        "equal rows with different labels": (np.repeat(X[:10], 4, axis=0), y),
        "constant columns": (np.hstack([X, np.ones((40, 3))]), y),
        "one column": (X[:, :1], y),
        "more columns than rows": (rng.normal(size=(40, 200)), y),
        "collinear columns": (np.hstack([X, X, 2 * X]), y),
        "far from the origin": (X + 1e6, y),
        "huge": (X * 1e150, y),
        "tiny": (X * 1e-150, y),
        "one outlier": (np.vstack([X[:-1], np.full((1, 5), 1e8)]), y),
        "columns of different units": (X * [1e-9, 1, 1e3, 1e9, 1], y),
        "binary columns": (np.sign(X) + 1, y),
        "integers": ((10 * X).astype(int), y),
        "float32": (X.astype(np.float32), y),
        "a component without a label": (two_far, y),
        "two rows": (X[:2], y[:2]),
        "three rows": (X[:3], y[:3]),
        "nine rows": (X[:9], y[:9]),
        "all labelled": (X, np.arange(40) % 2),
        "one label of a class": (X, np.array([0] * 5 + [1] + [-1] * 34)),
        "many classes": (X, np.concatenate([many, np.full(14, -1)])),
        "a lattice": (np.argwhere(np.ones((8, 5))).astype(float), y),
        "sparse with zero rows": (text.multiply((np.arange(40) > 3)[:, None]), y),
        "sparse, nothing stored": (sparse.csr_array((40, 5)), y),
    }


@pytest.mark.parametrize("kind", degenerate())
def test_degenerate_input(kind):
    """Nothing raises, nothing warns, every number is finite."""
    X, y = degenerate()[kind]
    model = FewLabelsClassifier(random_state=0).fit(X, y)
    assert set(model.transduction_) <= set(y) - {-1}
    assert np.isfinite(model.decision_function(X)).all()
    new = X * 1.01 if sparse.issparse(X) else X + 0.01 * np.abs(X).max()
    p = model.predict_proba(new)
    assert np.isfinite(p).all()
    assert_allclose(p.sum(axis=1), 1)
    assert np.isfinite(model.baseline_.training_outputs).all()
    estimate = model.expected_error_
    assert 0 <= estimate.low <= estimate.high <= 1
    assert model.explain()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_classes", "options"),
    [
        (2, {"n_labeled": 20}),
        (3, {"per_class": 3}),
        (6, {"n_labeled": 20}),  # most draws have classes with a single label
        (6, {"n_labeled": 50}),
    ],
)
def test_coverage_of_the_expected_error(n_classes, options):
    """Of 40 draws of overlapping classes, unequal ones; 0.9 less two deviations."""
    inside = []
    for seed in range(40):
        rng = np.random.default_rng(7000 + seed)
        shares = 1 / np.arange(1, n_classes + 1)
        y_true = rng.choice(n_classes, size=300, p=shares / shares.sum())
        centers = rng.uniform(1, 3) * rng.normal(size=(n_classes, 4))
        X = centers[y_true] + rng.normal(size=(300, 4))
        if "n_labeled" in options:
            y = np.where(np.arange(300) < options["n_labeled"], y_true, -1)
        else:
            y = hide_labels(y_true, **options, random_state=seed)
        model = FewLabelsClassifier(bank="fast", random_state=0).fit(X, y)
        error = np.mean(model.transduction_[y < 0] != y_true[y < 0])
        expected = model.expected_error_
        assert expected.is_known
        inside.append(expected.low <= error <= expected.high)
    assert np.mean(inside) >= 0.8
