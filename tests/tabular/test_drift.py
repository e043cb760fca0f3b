"""Columns of new tables against those of a model."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest

from fewlabels.preprocessing import Table, describe_columns
from fewlabels.tabular._drift import (
    KEPT_ROWS,
    SeenColumn,
    kept_rows,
    moved_columns,
    rows_apart,
    seen_columns,
)


def seen(values, n=400):
    table = Table.from_frame({"x": values[:n]})
    return seen_columns(table, describe_columns(table)), values[n:]


def moved(columns, values, **options):
    return moved_columns(columns, Table.from_frame({"x": values}), **options)


@pytest.mark.parametrize("n_new", [1, 5, 40, 400])
def test_false_alarms(n_new):
    """In a hundred tables that have not moved, at most one or two seem to have."""
    rng = np.random.default_rng(0)
    alarms = 0
    for k in range(300):
        draws = (
            rng.standard_cauchy(400 + n_new),
            rng.integers(0, 3, 400 + n_new).astype(float),
            np.array([f"t{v}" for v in rng.geometric(0.05, 400 + n_new)], dtype=object),
        )
        columns, new = seen(draws[k % 3])
        alarms += bool(moved(columns, new))
    assert alarms <= 6


@pytest.mark.parametrize("factor", [100, 1000, 0.001])
@pytest.mark.parametrize("n_new", [10, 100])
def test_other_units(factor, n_new):
    values = np.random.default_rng(0).normal(50, 10, 400 + n_new)
    columns, new = seen(values)
    (found,) = moved(columns, factor * new)
    assert f"{1 / factor if factor < 1 else factor:,.0f}" in found.words
    assert found.words.endswith("is it in another unit?")
    assert not moved(columns, new)


def test_a_few_cells_far_off():
    """Where most are zero, others in another unit are a few cells only."""
    rng = np.random.default_rng(0)
    values = np.where(rng.random(800) < 0.05, rng.uniform(1, 9, 800), 0.0)
    columns, new = seen(values)
    assert moved(columns, 1000 * new)
    new[0] *= 1000  # one is a mistake, and no other unit
    assert not moved(columns, new)


def test_parts_are_not_the_whole():
    columns, new = seen(np.random.default_rng(0).permutation(np.arange(800) / 7))
    part = np.sort(new)[:50]
    assert moved(columns, part)
    assert not moved(columns, part, whole=False)
    assert moved(columns, 1000 * part, whole=False)


def test_a_record_can_be_written(tmp_path):
    columns, _ = seen(np.arange(800) / 7)
    assert SeenColumn(**columns[0].as_dict()) == columns[0]


def test_rows():
    """Rows whose columns alone are as they were."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=2000)
    line, other = np.column_stack([x, x]), np.column_stack([x, rng.normal(size=2000)])
    kept = kept_rows(line)
    assert kept.shape == (KEPT_ROWS, 2)
    assert rows_apart(kept, line[1000:]) is None
    assert rows_apart(kept, other) is not None
    assert rows_apart(kept, other[:5]) is None  # too few to tell
