"""The first thousand cases; `make fuzz` runs two hundred thousand."""

# SPDX-License-Identifier: BSD-3-Clause

import importlib
import inspect
import json
import pkgutil
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.preprocessing import FunctionTransformer

import fewlabels
from tests.robustness import cases, fuzz
from tests.robustness.methods import (
    EXCEPTIONS,
    METHODS,
    Method,
    agree,
    equally_good,
    fit,
    has_unit,
    read,
)
from tests.robustness.problems import WAYS, strange_problem, widened
from tests.robustness.solvers import OTHERS

N_CASES, N_BLOCKS = 1000, 20


@pytest.mark.parametrize("block", range(N_BLOCKS))
def test_all_ways_agree(block):
    size = N_CASES // N_BLOCKS
    seeds = range(block * size, (block + 1) * size)
    reports = {seed: cases.run_case(seed) for seed in seeds}
    wrong = {s: r.detail for s, r in reports.items() if r.outcome == "disagree"}
    assert wrong == {}
    # A refusal is a sentence with a remedy, and the exception.
    refused = [r.detail for r in reports.values() if r.outcome == "refused"]
    assert all(": " in detail for detail in refused)
    assert len(refused) <= 0.1 * size


# What `make fuzz` found, and rounding errors had decided.
@pytest.mark.parametrize(
    ("name", "seed"),
    [
        ("TrAdaBoostClassifier", 50781),
        ("TrAdaBoostClassifier", 52605),
        ("TrAdaBoostClassifier", 59904),
        ("RejectVotingClassifier", 7557),
        ("RejectVotingClassifier", 19620),
        ("DemocraticCoLearningClassifier", 29826),
        ("DemocraticCoLearningClassifier", 41788),
        ("FeatureSimilaritySelector", 14157),
        ("FeatureSimilaritySelector", 21659),
        ("VarianceReduction", 6082),
        ("RLSClassifier linear", 15208),
        ("RLSClassifier linear", 79479),
        ("LaplacianRLSClassifierCV", 21095),
        ("LaplacianRLSRegressor", 53032),
        ("HeterogeneousFeatureAugmentation", 39829),
        ("OneLabelTwoView", 50874),
        ("EigenTransferClassifier", 71962),
        ("NystromFeatures", 617),
        ("NystromFeatures", 818),
        ("CoTrainingClassifier", 23684),
        ("GPSR", 31359),
        ("GPSR", 56044),
        ("PropagatingNearestNeighborClassifier", 33269),
        ("NystromSpectralClustering", 33591),
        ("KernelAlignmentSelector", 50252),
        ("MahalanobisKMeans", 67764),
        ("MahalanobisKMeans", 6564),
        ("FisherLinearClassifier", 78903),
    ],
)
def test_what_once_disagreed(name, seed):
    report = cases.run_estimator(seed, name, wide=False)
    assert (report.outcome, report.detail) == ("agree", "")


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        ("ClusterThenLabelClassifier", 85672),
        ("RLSClassifier linear", 400019),
        ("LaplacianSVC pcg", 121496),
        ("LaplacianSVC dense", 35501),
        ("GraphRegularizationClassifier", 148067),
        ("S2RLSClassifierCV", 102027),
        ("S2RLSClassifierCV", 115420),
        ("SimilarityGraphTransformer", 30645),
        ("FeatureSimilaritySelector", 8431),
        ("FeatureSimilaritySelector", 25605),
        ("FeatureSimilaritySelector", 2002839),
        ("CoTrainingClassifier", 132273),
        ("NystromFeatures", 20228),
        ("HeterogeneousFeatureAugmentation", 55396),
        ("ASOClassifier", 60432),
        ("ASOClassifier", 98446),
        ("SelfTaughtClassifier", 74864),
    ],
)
def test_what_once_disagreed_on_wider_problems(name, seed):
    report = cases.run_estimator(seed, name)
    assert (report.outcome, report.detail) == ("agree", "")


def test_every_public_estimator_is_asked_or_excused():
    public = set()
    for module in pkgutil.iter_modules(fewlabels.__path__):
        if not module.name.startswith("_"):
            package = importlib.import_module(f"fewlabels.{module.name}")
            public |= {
                found
                for name in getattr(package, "__all__", ())
                if inspect.isclass(found := getattr(package, name, None))
                and issubclass(found, BaseEstimator)
                and found.__module__.startswith("fewlabels.")
            }
    asked = {method.make.func for method in METHODS.values()}
    excused = {found for found in public if found.__name__ in EXCEPTIONS}
    assert public == asked | excused
    assert not asked & excused
    assert len(excused) == len(EXCEPTIONS)


def test_all_turn_up_in_a_thousand_cases():
    seen = {cases.method_of(seed) for seed in range(N_CASES)}
    assert seen == {*METHODS, *OTHERS, "certificates"}


@pytest.mark.parametrize("kind", ["decisions", "outputs", "gram", "groups"])
def test_a_wrong_answer_is_noticed(kind):
    method = Method(make=None, kind=kind)
    base = np.array([[1.0, -1.0], [-1.0, 1.0], [0.0, 0.0]])
    assert agree(method, base, base * (1 + 1e-9), single=False)
    assert not agree(method, base, -base, single=False)
    assert not agree(method, base, base * np.nan, single=False)


def test_features_may_be_turned(rng):
    """Eigenvectors of equal eigenvalues are any basis."""
    problem = strange_problem(rng)
    Z = rng.normal(size=(problem.X.shape[0] + problem.X_new.shape[0], 3))
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    base, turned, other = (
        read(Method(make=None, kind="gram"), FunctionTransformer(lambda _, T=T: T), p)
        for T, p in ((Z, problem), (Z @ turn, problem), (Z * [1, 1, 1.01], problem))
    )
    assert agree(Method(make=None, kind="gram"), base, turned, single=False)
    assert not agree(Method(make=None, kind="gram"), base, other, single=False)


def test_decisions_without_a_lead_may_differ():
    base = np.array([[1.0, -1.0], [1e-9, 0.0]])
    method = METHODS["RLSClassifier"]
    assert agree(method, base, base * [[1], [-1]], single=False)


def test_a_target_of_equal_rows_has_no_unit(rng):
    """The source has features of its own, even if a case takes the same."""
    method = METHODS["HeterogeneousFeatureAugmentation"]
    problem = replace(strange_problem(rng), X=np.arange(9.0)[:, None])
    problem = replace(problem, domain=np.r_[np.ones(8), -1])
    assert not has_unit(method, problem)
    assert has_unit(method, replace(problem, domain=-problem.domain))


def test_equally_good_answers_are_told_by_their_value():
    method = METHODS["MahalanobisKMeans"]
    problem = strange_problem(np.random.default_rng(1))
    assert equally_good(
        method, problem, WAYS["scaled"](problem, np.random.default_rng(0))
    )
    assert not equally_good(method, problem, replace(problem, X=problem.X[::2]))
    assert not equally_good(METHODS["TensorKMeans"], problem, problem)


def test_rules_without_any_loss_are_equally_good():
    """The shared subspace is free: it may hold many that separate the rows."""
    method = METHODS["ASOClassifier"]
    mixed = strange_problem(np.random.default_rng(1))
    mixed = replace(mixed, X=np.ones_like(mixed.X))  # which no rule separates
    assert not equally_good(method, mixed, mixed)
    problem, _ = cases.problem_for(
        method, np.random.default_rng(98446), np.random.default_rng([98446, 1])
    )
    other = WAYS["permuted"](problem, np.random.default_rng(0))
    assert equally_good(method, problem, other)


def test_intervals_that_do_not_meet_disagree():
    method = METHODS["RLSClustering"]
    base = np.array([1.0, 2.0])
    assert agree(method, base, np.array([1.9, 3.0]), single=False)
    assert not agree(method, base, np.array([2.1, 3.0]), single=False)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("way", WAYS)
def test_ways_lead_back(way, seed):
    """Another problem holds the same rows."""
    rng = np.random.default_rng(seed)
    problem = widened(strange_problem(rng), rng)
    if "decimal" in problem.kinds and way == "shifted":
        pytest.skip("adding rounds what is not dyadic")
    other = WAYS[way](problem, rng)
    rows, asked = (
        [A.toarray() if hasattr(A, "toarray") else A for A in p.questions]
        for p in (problem, other)
    )
    rows, asked = np.vstack(rows), np.vstack(asked)
    if other.back is not None:
        asked = asked[other.back]
    moved = asked[0, 0] - rows[0, 0] if way == "shifted" else 0.0
    np.testing.assert_array_equal(asked, rows * other.scale + moved)


@pytest.mark.parametrize("seed", [100936, 200162])
def test_certificates_that_were_wrong(seed):
    """A single row, whose rounding errors are a few; planes that have many pivots."""
    assert cases.run_certificate(seed) == cases.Report("certificates", "agree")


def test_a_false_proof_is_noticed():
    problem = strange_problem(np.random.default_rng(30))
    result = fit(METHODS["RLSClustering linear"], problem).result_
    assert cases.is_honest(problem.X, result)
    for wrong in (
        {"lower_bound": result.objective * 1.01},
        {"objective": result.objective * 1.01, "lower_bound": result.objective * 1.01},
        {"y": 1 - result.y[::-1]},
    ):
        assert not cases.is_honest(problem.X, replace(result, **wrong))


class TestDriver:
    @pytest.fixture
    def pages(self, tmp_path):
        """Files for the report, and the arguments that name them."""
        page, table = tmp_path / "page.md", tmp_path / "table.md"
        for path in (page, table):
            path.write_text(f"a {fuzz.MARKS[0]} old {fuzz.MARKS[1]} z")
        return page, table, ("--page", page, "--table", table)

    def run(self, monkeypatch, *arguments):
        monkeypatch.setattr("sys.argv", ["fuzz", "--jobs", "1", *map(str, arguments)])
        fuzz.main()

    def test_shards_add_up(self, monkeypatch, tmp_path, pages):
        page, _, names = pages
        files = [tmp_path / name for name in ("all.json", "first.json", "second.json")]
        for file, first, size in zip(files, (0, 0, 6), (10, 6, 4), strict=True):
            where = ("--out", file, *names)
            self.run(monkeypatch, "--first", first, "--cases", size, *where)
        whole = json.loads(files[0].read_text())
        self.run(monkeypatch, "--merge", *files[:0:-1], *names)
        assert page.read_text().startswith("a ")
        assert "Cases 0 to 9: 10 agree, 0 alone, 0 refused" in page.read_text()
        merged = fuzz.merge([json.loads(file.read_text()) for file in files[1:]])
        for name in ("counts", "heard", "refused", "ranges"):
            assert merged[name] == whole[name]
        with pytest.raises(SystemExit, match="twice"):
            fuzz.merge([whole, json.loads(files[2].read_text())])
        with pytest.raises(SystemExit, match="different versions"):
            fuzz.merge([whole, whole | {"net": "another"}])

    def test_goes_on_where_it_stopped(self, monkeypatch, tmp_path, pages):
        out, (_, table, names) = tmp_path / "fuzz.json", pages
        where = ("--out", out, *names)
        self.run(monkeypatch, "--cases", 5, *where)
        state = json.loads(out.read_text())
        out.write_text(json.dumps(state | {"counts": {"remembered|agree": 5}}))
        self.run(monkeypatch, "--cases", 10, *where)
        assert "| remembered | 5 |" in table.read_text()
        out.write_text(json.dumps(state | {"net": "another"}))  # of older code
        self.run(monkeypatch, "--cases", 5, *where)
        assert json.loads(out.read_text())["counts"] == state["counts"]

    def test_only_some_methods(self, monkeypatch, tmp_path, pages):
        out, (page, _, names) = tmp_path / "fuzz.json", pages
        before = page.read_text()
        where = ("--out", out, *names, "--methods", "GPSR", "RowCenterer")
        self.run(monkeypatch, "--cases", 300, *where)
        counts = json.loads(out.read_text())["counts"]
        assert {key.split("|")[0] for key in counts} == {"GPSR", "RowCenterer"}
        assert page.read_text() == before
        with pytest.raises(SystemExit):
            self.run(monkeypatch, "--methods", "Unknown")

    def test_a_disagreement_is_a_failure(self, monkeypatch, tmp_path, pages):
        file, (_, table, names) = tmp_path / "fuzz.json", pages
        file.write_text(json.dumps(fuzz.empty(0) | {"wrong": ["case 1: A: scaled"]}))
        with pytest.raises(SystemExit, match="case 1: A: scaled"):
            self.run(monkeypatch, "--merge", file, *names)
        assert "A: scaled (case 1)" in table.read_text()

    def test_messages_are_counted_but_for_their_numbers(self):
        heard = {"1 of 2 rows": 3, "1,000.5 of 1e-3 rows": 4, "no rows": 1}
        state = fuzz.empty(0) | {"heard": heard}
        said = [line.split() for line in fuzz.messages(state).splitlines()]
        assert [" ".join(words) for words in said] == [
            "7 heard: … of … rows",
            "1 heard: no rows",
        ]

    def test_disagreements_are_counted_by_kind(self):
        wrong = [
            "case 12: A (far row, copies): scaled",
            "case 3: A (plain): scaled",
            "case 7: ValueError: no (sic): number",
        ]
        state = fuzz.empty(0) | {"wrong": wrong}
        assert "- 2: A: scaled (case 3)\n- 1: ValueError: no:" in fuzz.page(state)
