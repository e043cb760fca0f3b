"""A table that is not like the one of the model: said, and less sure, or refused."""

# SPDX-License-Identifier: BSD-3-Clause

import json

import numpy as np
import pytest

from tests.cli.test_commands import fewlabels, read, text_of

N = 200


def houses(n, seed):
    """Prices, towns and sizes; the dear and large ones are bought by few."""
    rng = np.random.default_rng(seed)
    price = rng.lognormal(3, 0.5, n)
    size = price * rng.uniform(0.8, 1.2, n)
    town = rng.choice(["Oslo", "Rome", "Bonn"], n)
    return {
        "price": [f"{v:.2f}" for v in price],
        "size": [f"{v:.1f}" for v in size],
        "town": town.tolist(),
        "sold": [("no", "yes")[int(v < 20)] for v in price],
    }


def write(path, columns):
    rows = [list(columns), *zip(*columns.values(), strict=True)]
    path.write_text(text_of(rows))
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    table = houses(N, 0)
    table["sold"][40:] = [""] * (N - 40)
    path = write(folder / "houses.csv", table)
    model = folder / "sold.fewlabels"
    fewlabels("fit", path, "-t", "sold", "-o", model, "--bank", "fast")
    return model


def changed(how, n=30):
    table = houses(n, 1)
    del table["sold"]
    match how:
        case "cents":
            table["price"] = [f"{100 * float(v):.0f}" for v in table["price"]]
        case "thousand":
            table["size"] = [f"{1000 * float(v):.0f}" for v in table["size"]]
        case "category":
            table["town"] = ["Lima"] * n
        case "one town":
            table["town"] = ["Oslo"] * n
        case "empty":
            table["price"] = [""] * n
        case "other rows":  # every column alone is as it was
            table["size"] = table["size"][::-1]
            order = np.argsort([float(v) for v in table["price"]])
            sizes = sorted((float(v) for v in table["size"]), reverse=True)
            for row, size in zip(order, sizes, strict=True):
                table["size"][row] = f"{size:.1f}"
    return table


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("cents", ["Column 'price' is ", "about 100 times as large"]),
        ("thousand", ["Column 'size' is ", "about 1,000 times as large"]),
        (
            "category",
            ["Column 'town' has categories that the model has never seen", "'Lima'"],
        ),
        ("one town", ["Column 'town' is 'Oslo' in 100 % of the rows"]),
        ("empty", ["Column 'price' has no value in 30 of 30 rows", "in 0 of 200"]),
        (
            "other rows",
            ["differ from the training rows", "two-sample test, p = 0.001"],
        ),
    ],
)
def test_moved(model, tmp_path, how, words):
    path = write(tmp_path / "new.csv", changed(how, 200 if how == "other rows" else 30))
    out, page = tmp_path / "out.csv", tmp_path / "r.html"
    error = fewlabels("predict", model, path, "-o", out, "--report", page).stderr
    for word in words:
        assert word in error
    assert "Warnings" in page.read_text()
    strict = fewlabels("predict", model, path, "--strict", code=1)
    assert words[0] in strict.stderr
    assert strict.stdout == ""
    if how in ("cents", "thousand"):
        same = write(tmp_path / "same.csv", changed("nothing"))
        fewlabels("predict", model, same, "-o", tmp_path / "same_out.csv")
        sure = [
            np.mean([float(row["sold_confidence"]) for row in read(tmp_path / name)])
            for name in ("out.csv", "same_out.csv")
        ]
        assert sure[0] < sure[1] - 0.05
        assert sure[0] < 0.9


@pytest.mark.parametrize("n", [1, 3, 30, 300])
def test_not_moved(model, tmp_path, n):
    path = write(tmp_path / "new.csv", changed("nothing", n))
    result = fewlabels("predict", model, path, "--strict")
    assert "Note:" not in result.stderr


def test_in_batches(model, tmp_path):
    path = write(tmp_path / "new.csv", changed("cents", 100))
    out = tmp_path / "out.csv"
    options = ("--batch-rows", "20")
    result = fewlabels("predict", model, path, "-o", out, *options, "--json")
    notes = json.loads(result.stdout)["notes"]
    assert sum("Column 'price' is " in note for note in notes) == 1
    out.unlink()
    fewlabels("predict", model, path, "-o", out, *options, "--strict", code=1)
    assert not out.exists()


def test_numbers(tmp_path):
    """Their intervals become wider."""
    table = houses(N, 0)
    del table["sold"]
    table["price"][60:] = [""] * (N - 60)
    path = write(tmp_path / "t.csv", table)
    model = tmp_path / "price.fewlabels"
    fewlabels("fit", path, "-t", "price", "-o", model, "--bank", "fast")
    widths = []
    for how in ("nothing", "thousand"):
        new = changed(how)
        del new["price"]
        out = tmp_path / f"{how}.csv"
        fewlabels("predict", model, write(tmp_path / "n.csv", new), "-o", out)
        rows = read(out)
        widths.append(
            np.mean([float(r["price_high"]) - float(r["price_low"]) for r in rows])
        )
    assert widths[1] > 1.5 * widths[0]


class TestShown:
    def test_min_confidence(self, model, tmp_path):
        path = write(tmp_path / "new.csv", changed("nothing"))
        plain, out = tmp_path / "plain.csv", tmp_path / "out.csv"
        fewlabels("predict", model, path, "-o", plain)
        options = ("--min-confidence", "0.9", "--top", "2")
        result = fewlabels("predict", model, path, "-o", out, *options)
        blank = 0
        for row, before in zip(read(out), read(plain), strict=True):
            assert row["sold_confidence"] == before["sold_confidence"]
            sure = float(row["sold_confidence"]) >= 0.9
            assert row["sold_predicted"] == (before["sold_predicted"] if sure else "")
            assert row["sold_source"] == ("predicted" if sure else "unsure")
            other = {"yes": "no", "no": "yes"}[before["sold_predicted"]]
            assert row["sold_predicted_2"] == other
            both = float(row["sold_confidence"]) + float(row["sold_confidence_2"])
            assert both == pytest.approx(1, abs=2e-4)
            blank += not sure
        assert f"without a label {blank}" in result.stderr

    def test_given_labels_stay(self, tmp_path):
        table = houses(N, 0)
        table["sold"][40:] = [""] * (N - 40)
        path, out = write(tmp_path / "t.csv", table), tmp_path / "out.csv"
        options = ("-t", "sold", "--bank", "fast", "-o", out)
        result = fewlabels("label", path, *options, "--min-confidence", "1", "--top", 3)
        rows = read(out)
        assert [r["sold_predicted"] for r in rows[:40]] == table["sold"][:40]
        assert {r["sold_predicted_2"] for r in rows[:40]} == {""}
        assert {r["sold_source"] for r in rows[40:]} <= {"unsure", "predicted"}
        n = sum(r["sold_predicted"] == "" for r in rows)
        assert f"below a confidence of 1: {n} rows." in result.stderr
        # What this run wrote is not learned from by the next one.
        again = fewlabels("label", out, *options[:4], "--top", "2").stderr
        for end in ("predicted", "predicted_2", "confidence_2"):
            assert f"Column 'sold_{end}' is left out: written by" in again

    def test_in_batches(self, tmp_path):
        table = houses(N, 0)
        table["sold"][40:] = [""] * (N - 40)
        path, out = write(tmp_path / "t.csv", table), tmp_path / "out.csv"
        options = ("-t", "sold", "--bank", "fast", "-o", out, "--batch-rows", 50)
        error = fewlabels("label", path, *options, "--min-confidence", "0.95").stderr
        rows = read(out)
        n = sum(row["sold_predicted"] == "" for row in rows)
        assert 0 < n < N - 40
        assert f"below a confidence of 0.95: {n} rows." in error
        # Parts of the table are no other tables.
        assert "when the model was fitted" not in error

    def test_numbers_have_none(self, tmp_path):
        path = write(tmp_path / "t.csv", houses(N, 0))
        for option in (("--min-confidence", "0.5"), ("--top", "2")):
            options = ("-t", "price", "--bank", "fast", *option)
            error = fewlabels("label", path, *options, code=1).stderr
            assert f"(given as {option[0]}): ask for neither" in error
