"""How cells are read shows in files, models and notes."""

# SPDX-License-Identifier: BSD-3-Clause

import io

import numpy as np
import pytest

from fewlabels.tabular import label_table, load_model, read_table, save_model
from fewlabels.tabular.setup import TableSetup

RENTS = b"""rent;size;kind
702;45,5;small
26.002;90;large
1.018;60,5;
827;33,25;small
2.500;95;large
"""


def test_semicolons_speak_for_commas():
    table = read_table(io.BytesIO(RENTS))
    assert table.decimal_sign() == (",", True)
    setup = TableSetup.of("kind")
    encoded = setup.encode(table, setup.read_labels(table))
    rent, size = encoded.transformer.columns_
    np.testing.assert_array_equal(rent.read(table["rent"])[1:3], [26002, 1018])
    np.testing.assert_array_equal(size.read(table["size"])[:2], [45.5, 90])
    assert not encoded.notes
    setup = TableSetup.of("kind", decimal=["rent=."], missing=["size=90"])
    encoded = setup.encode(table, setup.read_labels(table))
    rent, size = encoded.transformer.columns_
    assert rent.read(table["rent"])[1] == 26.002
    assert size.n_missing == 1


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_models_keep_the_notation(tmp_path):
    frame = {
        "at": ["08:00", "09:30", "14:00", "20:15", "21:00", "08:30"],
        "tags": ["a;b", "b", "a;c", "c;b", "a;b", "c"],
        "more": [f'{{"n": {k}, "c": "{"xy"[k % 2]}"}}' for k in range(6)],
        "pressure": ["120/80", "130/85", "110/70", "150/95", "145/90", "118/79"],
        "age": [31, 40, -999, 50, 61, -999],
        "kind": ["low", None, "low", "high", "high", None],
    }
    model = label_table(frame, "kind", bank="fast").model
    save_model(model, tmp_path / "m.fewlabels")
    again = load_model(tmp_path / "m.fewlabels")
    kinds = [column.kind for column in again.columns]
    assert kinds == ["time", "tags", "fields", "vector", "number"]
    assert again.columns == model.columns
    assert list(again.predict(frame)[0]) == list(model.predict(frame)[0])
