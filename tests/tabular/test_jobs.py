"""Label, group and ask, on tables in memory."""

# SPDX-License-Identifier: BSD-3-Clause

import io

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import adjusted_rand_score

from fewlabels.datasets import hide_labels
from fewlabels.tabular import (
    EstimatedTable,
    LabeledTable,
    TableError,
    cluster_table,
    label_table,
    load_model,
    read_table,
    save_model,
    suggest_rows,
)
from fewlabels.tabular._candidates import compared_methods
from fewlabels.tabular._targets import read_target, revealing_columns

BLOBS, TRUTH = make_blobs(60, centers=3, cluster_std=0.6, random_state=1)


def blob_table(labels, **columns):
    return {"x": BLOBS[:, 0], "y": BLOBS[:, 1], **columns, "kind": labels}


def holed(names, per_class=3):
    y = hide_labels(
        np.array(names, dtype=object)[TRUTH], per_class=per_class, random_state=0
    )
    return y.tolist()


@pytest.mark.parametrize(
    "names", [["a", "b", "c"], [0, 1, 2], [10.0, 20.0, 30.0], [-1, 0, 1]], ids=str
)
@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame])
def test_labels_come_back_as_they_were(names, make):
    frame = make(blob_table(holed(names)))
    labeled = label_table(frame, "kind", bank="fast", as_frame=False)
    assert_array_equal(labeled.labels, np.array(names, dtype=object)[TRUTH])
    assert type(labeled.labels[0]) in (str, int)  # whole numbers are no floats
    assert labeled.given.sum() == 9
    assert_array_equal(labeled.confidence[labeled.given], 1)
    assert (labeled.confidence > 1 / 3).all()
    assert_allclose(labeled.probabilities.sum(axis=1), 1)
    added = labeled.new_columns()
    assert list(added) == ["kind_predicted", "kind_confidence", "kind_source"]
    assert added["kind_source"].count("given") == 9


def test_truth_values():
    labels = [bool(t) if k < 12 else None for k, t in enumerate(TRUTH)]
    labeled = label_table(blob_table(labels), "kind", bank="fast")
    assert_array_equal(labeled.labels, TRUTH.astype(bool))
    assert type(labeled.labels[-1]) is bool


def test_markers():
    labels = ["?" if v is None else v for v in holed(["a", "b", "c"])]
    labeled = label_table(blob_table(labels), "kind", markers=["?"], bank="fast")
    assert labeled.given.sum() == 9
    whole = [-1 if v is None else v for v in holed([0, 1, 2])]
    labeled = label_table(blob_table(whole), "kind", bank="fast")
    assert labeled.given.sum() == 9
    assert any("-1 is taken as the mark" in note for note in labeled.notes)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([None] * 60, "No row has a label in 'kind'"),
        (["a"] * 5 + [""] * 55, "Each of the 5 labels in 'kind' is 'a'"),
    ],
)
def test_labels_that_teach_nothing(labels, message):
    with pytest.raises(TableError, match=message):
        label_table(blob_table(labels), "kind")


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_frame_comes_back_as_a_frame(make):
    frame = make(blob_table(holed(["a", "b", "c"])))
    labeled = label_table(frame, "kind", bank="fast")
    assert type(labeled) is type(frame)
    predicted = np.asarray(labeled["kind_predicted"])
    assert_array_equal(predicted, np.array(["a", "b", "c"])[TRUTH])
    described = label_table(frame, "kind", bank="fast", as_frame=False)
    assert isinstance(described, LabeledTable)
    marked = make(blob_table([k or "?" for k in holed(["a", "b", "c"])]))
    with pytest.warns(UserWarning, match=r"'\?' \(51 rows\) is taken as the mark"):
        label_table(marked, "kind", bank="fast")


@pytest.mark.parametrize(
    "labels", [(np.arange(60) / 7).tolist(), [*range(40), *[None] * 20]]
)
def test_quantities_are_predicted(labels):
    estimated = label_table(blob_table(labels), "kind", bank="fast")
    assert isinstance(estimated, EstimatedTable)
    assert "is taken as a quantity" in " ".join(estimated.notes)
    given = estimated.given
    assert_array_equal(estimated.numbers[given], np.array(labels, dtype=float)[given])
    assert_array_equal(estimated.low[given], estimated.high[given])
    with pytest.raises(TableError, match="cannot be read as numbers"):
        label_table(blob_table(holed(["a", "b", "c"])), "kind", task="numbers")


def test_numbers_that_are_classes():
    ratings = [None] * 20 + [(k % 9) / 2 for k in range(40)]
    table = read_table(io.BytesIO(b"k\n" + "\n".join(map(str, ratings)).encode()))
    assert len(read_target(table, "k", ["None"]).values) == 9


def test_spellings_are_noted():
    target = read_target(
        read_table(io.BytesIO(b"x,k\n1,Cat\n2,cat\n3,dog \n4,dog\n5,\n")), "k"
    )
    assert target.class_counts == {"dog": 2, "Cat": 1, "cat": 1}
    assert "'Cat', 'cat' differ only in spelling" in target.notes[0]


def test_columns_that_give_labels_away_are_left_out():
    labels = holed(["a", "b", "c"])
    given = [v is not None for v in labels]
    table = blob_table(
        labels,
        copied=[v and v.upper() for v in labels],
        kind_predicted=["a"] * 59 + ["b"],
        kind_confidence_2=np.linspace(0, 1, 60),
        half=[1.5 if g and k % 2 else None for k, g in enumerate(given)],
    )
    labeled = label_table(table, "kind", bank="fast")
    left_out = {c.name for c in labeled.columns if c.kind == "ignored"}
    assert left_out == {"copied", "kind_predicted", "kind_confidence_2"}
    assert_array_equal(labeled.labels, np.array(["a", "b", "c"])[TRUTH])
    assert list(labeled.new_columns()) == [
        "kind_predicted_3",
        "kind_confidence_3",
        "kind_source_3",
    ]
    assert set(revealing_columns(labeled.table, labeled.target)) == left_out
    forced = label_table(table, "kind", categorical=["copied"], bank="fast")
    assert "copied" in {c.name for c in forced.columns if c.is_used}
    with pytest.raises(TableError, match="'kind' holds the labels"):
        label_table(table, "kind", text=["kind"])


def test_one_label_per_class():
    labeled = label_table(blob_table(holed(["a", "b", "c"], 1)), "kind")
    assert np.mean(labeled.labels == np.array(["a", "b", "c"])[TRUTH]) > 0.9
    assert not labeled.model.classifier.expected_error_.is_known


def test_all_rows_labelled():
    names = np.array(["a", "b", "c"])[TRUTH]
    labeled = label_table(blob_table(names), "kind", bank="fast")
    assert_array_equal(labeled.labels, names)
    assert any("nothing was predicted" in note for note in labeled.notes)
    assert labeled.least_sure().size == 0


def test_two_hundred_columns(rng):
    X = rng.normal(size=(60, 200)) + 2 * TRUTH[:, None]
    table = {f"c{k}": column for k, column in enumerate(X.T)}
    labeled = label_table({**table, "kind": holed(["a", "b", "c"])}, "kind")
    assert np.mean(labeled.labels == np.array(["a", "b", "c"])[TRUTH]) > 0.95


def test_progress_is_told():
    told = []
    label_table(
        blob_table(holed(["a", "b", "c"])),
        "kind",
        bank="fast",
        progress=lambda share, what: told.append(share),
    )
    assert told == sorted(told)
    assert told[-1] == 1


def test_methods_are_compared():
    data = load_iris()
    y = hide_labels(data.target.astype(str), per_class=6, random_state=0)
    frame = pd.DataFrame(data.data).assign(kind=y)
    labeled = label_table(frame, "kind", as_frame=False)
    model = labeled.model.classifier
    codes = np.searchsorted(model.classes_, y[labeled.given].astype(str))
    own, baseline, *candidates = compared_methods(model)
    assert own.error is model.expected_error_
    assert baseline.name == f"supervised: {model.baseline_.name}"
    assert_allclose(sum(method.weight for method in candidates), 1.0)
    # Leave-one-out by fitting again, without one label at a time.
    linear = next(m for m in candidates if m.name == "linear")
    within = model.candidates_["candidate"] == "linear"
    ridge = model.candidates_["ridge"][within][
        model.candidates_["weight"][within].argmax()
    ]
    rows = model.labeled_indices_
    K = model._bank.candidates[0].block(model._bank.index[rows])
    wrong = 0
    for left in range(rows.size):
        rest = np.delete(np.arange(rows.size), left)
        Y = np.where(codes[rest, None] == np.arange(3), 1.0, -1.0)
        A = K[np.ix_(rest, rest)] + ridge * np.eye(rest.size)
        outputs = K[left, rest] @ np.linalg.solve(A, Y)
        wrong += outputs.argmax() != codes[left]
    assert_allclose(linear.error.value, wrong / rows.size)
    assert linear.error.low <= linear.error.value <= linear.error.high


def test_clusters_are_found():
    table = {"x": BLOBS[:, 0], "y": BLOBS[:, 1]}
    clustered = cluster_table(table, 3)
    assert adjusted_rand_score(clustered.clusters, TRUTH) == 1
    assert sorted(clustered.sizes) == [1, 2, 3]
    sizes = list(clustered.sizes.values())
    assert sizes == sorted(sizes, reverse=True)
    guessed = cluster_table(table)
    assert len(guessed.sizes) == 3
    assert any("3 groups" in note for note in guessed.notes)


def test_clusters_of_many_rows(monkeypatch):
    monkeypatch.setattr("fewlabels.tabular.grouping.CLUSTER_ROWS", 200)
    X, y = make_blobs(1000, centers=3, cluster_std=0.5, random_state=0)
    clustered = cluster_table(X, 3)
    assert adjusted_rand_score(clustered.clusters, y) > 0.98
    assert "200 of 1,000 rows" in clustered.notes[0]


def test_clusters_of_few_different_rows():
    with pytest.raises(TableError, match="only 2 different rows, fewer than 3"):
        cluster_table({"x": ["a", "b"] * 10}, 3)
    clustered = cluster_table({"x": ["a", "b"] * 10}, 2)
    assert clustered.sizes == {1: 10, 2: 10}
    assert len(cluster_table({"x": [1.5, 1.5, 2.5, 9.0] * 5}, 2).sizes) == 2


def test_questions_differ_from_each_other():
    """Copies of one uncertain row are asked about once."""
    x = [0.0, 0.1, 0.2, 9.8, 9.9, 10.0, *[5.0] * 20]
    kind = ["a", "a", None, None, "b", "b", *[None] * 20]
    rows = suggest_rows({"x": x, "kind": kind}, "kind", 5, bank="fast").rows
    assert rows[0] >= 6
    assert np.unique(np.asarray(x)[rows]).size == rows.size == 3


def test_rows_to_ask_for():
    table = blob_table(holed(["a", "b", "c"]))
    suggestion = suggest_rows(table, "kind", 5, bank="fast")
    assert len(set(suggestion.rows.tolist())) == 5
    labeled = label_table(table, "kind", bank="fast")
    assert not labeled.given[suggestion.rows].any()
    median = np.median(labeled.confidence[~labeled.given])
    assert suggestion.confidence[0] <= median


@pytest.mark.parametrize("labels", [[None] * 60, ["a", *[None] * 59]])
def test_rows_to_ask_for_without_labels(labels):
    suggestion = suggest_rows(blob_table(labels), "kind", 3)
    assert sorted(TRUTH[suggestion.rows]) == [0, 1, 2]
    assert suggestion.guesses == [None] * 3
    everything = suggest_rows(blob_table(labels), "kind", 100)
    assert 50 < everything.rows.size <= 60


def test_nothing_to_ask_for():
    table = blob_table(np.array(["a", "b", "c"])[TRUTH])
    assert suggest_rows(table, "kind", 3, bank="fast").rows.size == 0


def test_class_shares_by_text_or_value():
    labels = [1, 2, 1, 2, *[None] * 56]
    for prior in ({1: 3, 2: 1}, {"1": 0.75, "2": 0.25}):
        labeled = label_table(
            blob_table(labels), "kind", bank="fast", task="classes", class_prior=prior
        )
        assert labeled.model.classifier.class_shares_.tolist() == [0.75, 0.25]
    with pytest.raises(TableError, match="share is given for '3', but 'kind' has no"):
        label_table(blob_table(labels), "kind", class_prior={1: 1, 3: 1})
    numbers = [*(np.arange(20) / 7), *[None] * 40]
    with pytest.raises(TableError, match="only classes have shares"):
        label_table(blob_table(numbers), "kind", class_prior="uniform")


def test_class_shares_do_not_matter_without_classes():
    table = blob_table(["a", *[None] * 59])
    assert suggest_rows(table, "kind", 3, class_prior="uniform").rows.size == 3


class TestOrder:
    """Classes in an order."""

    sizes = tuple(None if k % 3 else "SML"[k // 21] for k in range(60))

    def test_labels_in_a_table(self, tmp_path):
        table = {"x": [k + 0.1 for k in range(60)], "size": list(self.sizes)}
        labeled = label_table(table, "size", bank="fast", ordinal="s, M,L,XL")
        assert labeled.model.classifier.order == ["S", "M", "L", "XL"]
        ranks = ["SML".index(label) for label in labeled.labels]
        assert ranks == sorted(ranks)
        save_model(labeled.model, tmp_path / "size.fewlabels")
        again, _ = load_model(tmp_path / "size.fewlabels").predict(table)
        given = labeled.given
        assert_array_equal(again[~given], labeled.labels[~given])

    @pytest.mark.parametrize(
        ("ordinal", "message"),
        [
            (True, "such as 'S', 'M', 'L' are not numbers"),
            ("S,L", "'size' lacks 'M'"),
            (["S", "M", "L", "M"], "names a class twice"),
        ],
    )
    def test_orders_that_cannot_be(self, ordinal, message):
        table = {"x": [k + 0.1 for k in range(60)], "size": list(self.sizes)}
        with pytest.raises(TableError, match=message):
            label_table(table, "size", bank="fast", ordinal=ordinal)

    def test_numbers_are_put_in_order(self):
        stars = [None if k % 3 else 1 + k // 6 for k in range(60)]
        table = {"x": [k + 0.1 for k in range(60)], "stars": stars}
        labeled = label_table(table, "stars", bank="fast", ordinal=True)
        assert labeled.model.classifier.order == [str(k) for k in range(1, 11)]
