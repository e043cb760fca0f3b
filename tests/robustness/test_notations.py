"""The first fifty tables in the notations of ten countries; `make fuzz` reads 2,000."""

# SPDX-License-Identifier: BSD-3-Clause

import pytest

from tests.robustness import notations
from tests.robustness.written import Country

N_TABLES, N_BLOCKS = 50, 5


@pytest.mark.parametrize("block", range(N_BLOCKS))
def test_cells_are_read_as_written(block):
    size = N_TABLES // N_BLOCKS
    total = notations.run(range(block * size, (block + 1) * size))
    assert total.wrong == 0, "\n".join(total.details)
    assert total.refused == 0, "\n".join(total.details)
    assert total.noted <= 0.05 * total.cells, "\n".join(total.details)


def test_the_net_catches(monkeypatch):
    # With points taken for commas and the other way round, next to nothing is right.
    swapped = {
        name: Country(**{**vars(c), "decimal": ":", "group": ""})
        for name, c in notations.COUNTRIES.items()
    }
    monkeypatch.setattr(notations, "COUNTRIES", swapped)
    total = notations.run(range(10))
    assert total.wrong + total.noted > 0.1 * total.cells
