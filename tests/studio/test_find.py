"""Search in all rows, against a slow and obvious twin."""

# SPDX-License-Identifier: BSD-3-Clause

import random

import numpy as np
import pytest

from fewlabels.studio._engine import Guesses
from fewlabels.studio._find import WHERE, Finder, Known, Query

NAMES = ["word", "fixed acidity", "size"]
COLUMNS = [
    np.array(["Oak tree", "fir", "ΟΔΟΣ oak", "", "say: hi"], dtype=object),
    np.array([1.5, 2.0, np.nan, 3.0, -1.0]),
    np.array(["3,5", "x", "10", "", "2"], dtype=object),
]
CODES = np.array([[0, 1], [1, 0], [0, 1], [1, 0], [1, 0]], dtype=np.int16)
SHARES = np.array([[0.9, 0.1], [0.6, 0.4], [0.5, 0.5], [0.99, 0.01], [0.7, 0.3]])


@pytest.fixture
def finder():
    return Finder(NAMES, COLUMNS)


def known(**sets):
    everything = {name: set() for name in WHERE} | sets
    guesses = Guesses(["a", "b"], CODES, SHARES)
    points = np.array([[0.0], [5.0], [1.0], [9.0], [6.0]], dtype=np.float32)
    return Known({1: "b", 4: "a"}, everything, guesses, [4, 1], points)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("", [0, 1, 2, 3, 4]),
        ("oak", [0, 2]),
        ("OAK", [0, 2]),
        ("οδοσ", [2]),
        ("oak -tree", [2]),
        ('"oak tree"', [0]),
        ('"tree oak"', []),
        ("-oak", [1, 3, 4]),
        ("word:oa", [0, 2]),
        ("word=fir", [1]),
        ("-word=fir", [0, 2, 3, 4]),
        ("word=", []),  # no condition: text, as it is
        ('word=""', [3]),
        ("size>3", [0, 2]),
        ("size>=10", [2]),
        ("size<3", [4]),
        ("size<=x", []),
        ('"fixed acidity">1.5', [1, 3]),
        ('"fixed acidity"<0', [4]),
        ("say:", [4]),
        ("say: hi", [4]),
        ("nothing:oak", []),
        ("SIZE=x", [1]),
        ("oak size>3", [0, 2]),
        ('"', []),
        ("-", [4]),
    ],
)
def test_words_and_columns(finder, text, rows):
    assert finder.find(Query(text), known()).tolist() == rows


def test_states_classes_and_confidences(finder):
    now = known(open={0, 2, 3}, flagged={3})
    assert finder.find(Query(where="open"), now).tolist() == [0, 2, 3]
    assert finder.find(Query(where="flagged"), now).tolist() == [3]
    assert finder.find(Query(label="a"), now).tolist() == [4]
    assert finder.find(Query(label="?"), now).tolist() == []
    assert finder.find(Query(guess="a"), now).tolist() == [0, 2]
    assert finder.find(Query(guess="?"), now).tolist() == []
    assert finder.find(Query(low=0.6, high=0.9), now).tolist() == [0, 1, 4]
    assert finder.find(Query(order="unsure"), now).tolist() == [2, 1, 4, 0, 3]
    assert finder.find(Query(order="sure"), now).tolist() == [3, 0, 4, 1, 2]
    assert finder.find(Query(order="latest"), now).tolist() == [4, 1, 0, 2, 3]
    assert finder.find(Query(like=4), now).tolist() == [4, 1, 3, 2, 0]
    assert finder.find(Query("oak", like=4), now).tolist() == [2, 0]
    nothing = Known({}, now.sets, None, [], None)
    assert finder.find(Query(low=0.1), nothing).tolist() == []
    assert finder.find(Query(guess="a", order="sure", like=1), nothing).tolist() == []


def test_random_queries_find_what_a_loop_finds():
    chance = random.Random(0)
    words = ["red", "green", "blue", "x1", "Ärger"]
    cells = [" ".join(chance.choices(words, k=3)) for _ in range(200)]
    sizes = [chance.randrange(10) for _ in range(200)]
    columns = [np.array(cells, dtype=object), np.array(sizes)]
    finder = Finder(["text", "size"], columns)
    nothing = Known({}, {}, None, [], None)
    for _ in range(50):
        word, other = chance.choices(words, k=2)
        bound = chance.randrange(10)
        found = finder.find(Query(f"{word} -text:{other} size>{bound}"), nothing)
        assert found.tolist() == [
            k
            for k in range(200)
            if word.casefold() in cells[k].casefold()
            and other.casefold() not in cells[k].casefold()
            and sizes[k] > bound
        ]


def test_an_empty_table():
    nothing = Known({}, {}, None, [], None)
    assert Finder([], []).find(Query("x"), nothing).size == 0
