"""Rows that a person checks: intervals that hold whatever the model is."""

# SPDX-License-Identifier: BSD-3-Clause

from itertools import product

import numpy as np
import pytest
from scipy.stats import hypergeom

from fewlabels.model_selection import ErrorAudit, stratified_interval


def worst_case(sizes, drawn, hits, tail):
    """The upper end by trying all counts of the strata: slow and obvious."""
    strata = list(zip(sizes, drawn, hits, strict=True))
    found = sum(N / n * x for N, n, x in strata)
    small = [
        out
        for out in product(*(range(n + 1) for n in drawn))
        if sum(N / n * k for (N, n, _), k in zip(strata, out, strict=True))
        <= found + 1e-7
    ]
    best = 0
    for counts in product(*(range(x, N - n + x + 1) for N, n, x in strata)):
        if sum(counts) > best:
            p = sum(
                np.prod(
                    [
                        hypergeom.pmf(k, N, K, n)
                        for (N, n, _), K, k in zip(strata, counts, out, strict=True)
                    ]
                )
                for out in small
            )
            best = sum(counts) if p > tail else best
    return max(best, sum(hits))


@pytest.mark.parametrize("seed", range(12))
def test_the_upper_end_is_that_of_all_counts(seed):
    rng = np.random.default_rng(seed)
    n_strata = seed % 3 + 1
    sizes = rng.integers(2, [30, 9, 6][n_strata - 1], n_strata)
    drawn = rng.integers(1, np.minimum(sizes, 3) + 1)
    hits = rng.integers(0, drawn + 1)
    expected = worst_case(sizes, drawn, hits, 0.05) / sizes.sum()
    found = stratified_interval(sizes, drawn, hits, level=0.9)
    assert found.high == pytest.approx(expected)
    mirrored = stratified_interval(sizes, drawn, drawn - hits, level=0.9)
    assert mirrored.low == pytest.approx(1 - found.high)


def exact_coverage(sizes, drawn, counts, level):
    """Sum the probabilities of the samples whose interval contains the truth."""
    truth, covered = sum(counts) / sum(sizes), 0.0
    for hits in product(*(range(n + 1) for n in drawn)):
        p = np.prod(
            [
                hypergeom.pmf(x, N, K, n)
                for x, N, K, n in zip(hits, sizes, counts, drawn, strict=True)
            ]
        )
        if p > 0:
            found = stratified_interval(sizes, drawn, hits, level=level)
            covered += p * (found.low - 1e-9 <= truth <= found.high + 1e-9)
    return covered


@pytest.mark.parametrize("counts", [(0, 0, 0), (3, 0, 0), (0, 2, 9), (60, 20, 10)])
def test_coverage_is_at_least_nominal(counts):
    assert exact_coverage((60, 20, 10), (4, 2, 2), counts, 0.9) >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_coverage_is_at_least_nominal_for_any_errors(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(15, 300, 3)
    drawn = rng.integers(2, 9, 3)
    for _ in range(8):
        counts = rng.binomial(sizes, rng.beta(0.4, 0.8, 3))
        assert exact_coverage(sizes, drawn, counts, 0.9) >= 0.9


def simulate(n_audits, n_rows, error_of, seed, **options):
    """Share of audits whose interval covers, for a model of given true errors.

    The error and a class share must be inside at every look, so whenever one stops.
    """
    rng = np.random.default_rng(seed)
    confidence = 1 - 0.5 * rng.beta(0.5, 2.0, 400)
    truth = np.arange(400) % 2
    wrong = rng.random(400) < error_of(1 - confidence)
    predicted = np.where(wrong, 1 - truth, truth)
    covered = np.zeros(4)
    for k in range(n_audits):
        audit = ErrorAudit.draw(
            predicted, confidence, n_rows=n_rows, random_state=k, **options
        )
        inside = within = True
        while True:
            report = audit.report({row: truth[row] for row in audit.rows})
            inside &= report.error.low <= wrong.mean() <= report.error.high
            share = report.class_shares[1]
            within &= share.low <= 0.5 <= share.high
            if not options.get("sequential") or audit.look == 3:
                break
            audit.extend()
        first = report.by_class[0]
        least, most, last = report.by_confidence[-1]
        unsure = (least <= confidence) & (confidence <= most)
        covered += [
            inside,
            first.low <= wrong[predicted == 0].mean() <= first.high,
            last.low <= wrong[unsure].mean() <= last.high,
            within,
        ]
    return covered / n_audits


MODELS = {
    "calibrated": lambda doubt: doubt,
    "always right": lambda doubt: 0 * doubt,
    "always wrong": lambda doubt: 0 * doubt + 1,
    "wrong where sure": lambda doubt: np.where(doubt < 0.02, 0.2, 0.0),
}


@pytest.mark.parametrize("model", ["calibrated", "wrong where sure"])
def test_simulated_audits_cover(model):
    # 0.7 is three standard deviations below 0.9 for 20 audits.
    assert (simulate(20, 16, MODELS[model], 0) >= 0.7).all()


@pytest.mark.slow
@pytest.mark.parametrize("sequential", [False, True])
@pytest.mark.parametrize("model", MODELS)
def test_simulated_audits_cover_at_the_level(model, sequential):
    found = simulate(100, 16, MODELS[model], 1, sequential=sequential)
    # The guarantee, less two standard errors of the simulation.
    assert (found >= 0.9 - 2 * np.sqrt(0.09 / 100)).all()


def test_all_rows_leave_no_doubt():
    predicted = ["a"] * 6 + ["b"] * 4
    audit = ErrorAudit.draw(predicted, np.linspace(0.5, 1, 10), n_rows=99)
    assert audit.rows.tolist() == list(range(10))
    report = audit.report({row: "a" for row in range(10)})
    assert report.error.low == report.error.high == pytest.approx(0.4)
    assert report.by_class["b"].low == 1.0
    assert report.class_shares["a"].low == 1.0
    assert not audit.is_sequential


def test_missing_labels_count_for_either_end():
    audit = ErrorAudit.draw([0] * 100, np.linspace(0.5, 1, 100), n_rows=20)
    rows = audit.rows
    all_right = audit.report({r: 0 for r in rows})
    without = audit.report({r: 0 for r in rows[:15]})
    wrong = audit.report({r: 0 if k < 15 else 1 for k, r in enumerate(rows)})
    assert without.n_missing == 5
    assert without.error.low == all_right.error.low
    assert without.error.high == wrong.error.high
    nothing = audit.report({})
    assert (nothing.error.low, nothing.error.high) == (0, 1)
    assert np.isnan(nothing.error.value)


def test_looks_are_nested_and_end_with_all_rows():
    audit = ErrorAudit.draw(
        [0, 1] * 50, np.linspace(0.5, 1, 100), n_rows=12, sequential=True
    )
    seen, width = set(audit.rows.tolist()), 1.0
    for size in (24, 48, 96, 100):
        new = audit.extend()
        assert not seen & set(new.tolist())
        seen |= set(new.tolist())
        assert len(seen) == size == audit.rows.size
        error = audit.report({row: row % 2 for row in seen}).error
        assert error.width <= width
        width = error.width
    assert width == 0
    assert audit.extend().size == 0


def test_shares_count_known_labels():
    audit = ErrorAudit.draw(["a"] * 10, n_rows=10, known={"a": 5, "b": 5})
    shares = audit.report(dict.fromkeys(range(10), "a")).class_shares
    assert (shares["a"].value, shares["b"].high) == (0.75, 0.25)
    assert shares["a"].n_rows == 20


def test_a_class_that_was_never_predicted_gets_a_share():
    audit = ErrorAudit.draw(["a"] * 50, n_rows=10)
    report = audit.report({r: "c" if k == 0 else "a" for k, r in enumerate(audit.rows)})
    assert report.class_shares["c"].value == pytest.approx(0.1)
    assert set(report.by_class) == {"a"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"predicted": []}, "empty"),
        ({"predicted": [1, 2], "n_rows": 0}, "n_rows"),
        ({"predicted": [1, 2], "level": 1.0}, "level"),
        ({"predicted": [1, 2], "confidence": [0.5]}, "confidence"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        ErrorAudit.draw(**arguments)


def test_other_rows_are_refused():
    audit = ErrorAudit.draw([0] * 100, n_rows=5, random_state=0)
    stranger = next(r for r in range(100) if r not in audit.rows)
    with pytest.raises(ValueError, match="did not draw"):
        audit.report({stranger: 0})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([5], [6], [0]), "drawn <= sizes"),
        (([5], [3], [4]), "hits"),
        (([5] * 4, [1] * 4, [0] * 4), "three strata"),
    ],
)
def test_impossible_counts_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        stratified_interval(*arguments)


def test_strata_without_a_sample_are_unknown():
    found = stratified_interval([50, 50], [50, 0], [0, 0])
    assert (found.low, found.high) == (0.0, 0.5)
    assert found.value == 0.0
