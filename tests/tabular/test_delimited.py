"""Delimited text comes back byte for byte."""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fewlabels.tabular import TableError, read_table
from fewlabels.tabular._formats._base import as_meant
from fewlabels.tabular._text import guess_delimiter
from fewlabels.tabular.files import encode_table


def read(data, **options):
    return read_table(io.BytesIO(data), **options)


def written(table, **added):
    return b"".join(encode_table(table, added))


def in_quotes(text):
    return '"' + text.replace('"', '""') + '"'


@st.composite
def files(draw):
    """A file, its fields, and how to read it."""
    delimiter = draw(st.sampled_from([",", ";", "\t", "|"]))
    newline = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    plain = st.text(
        st.characters(
            exclude_categories=["Cs", "Cc"], exclude_characters=',;\t|"\ufeff'
        ),
        max_size=6,
    )
    odd = st.text('ab "\n\r,;\t|=é€', max_size=6)
    # A first field of spaces alone would be read as a blank line.
    cell = st.one_of(plain.map(lambda t: (t, t)), odd.map(lambda t: (t, in_quotes(t))))
    width = draw(st.integers(2, 4))
    rows = draw(st.lists(st.tuples(*[cell] * width), min_size=2, max_size=6))
    blank = draw(st.sampled_from(["", newline]))
    lines = [delimiter.join(text for _, text in row) for row in rows]
    body = newline.join(lines) + draw(st.sampled_from(["", newline, newline * 2]))
    mark = draw(st.sampled_from([b"", b"\xef\xbb\xbf"]))
    fields = [[value for value, _ in row] for row in rows]
    options = {"delimiter": delimiter, "header_row": 2 if blank else 1}
    return mark + (blank + body).encode(), fields, options


@given(files())
def test_bytes_survive(case):
    data, fields, options = case
    table = read(data, **options, keep_rows=True)
    delimiter = options["delimiter"]
    fields = [[as_meant(field) for field in row] for row in fields]
    assert [list(row) for row in zip(*table.columns, strict=True)] == fields[1:]
    assert written(table) == data
    added = [f'x"{k}{delimiter}\n' for k in range(len(table))]
    again = read(written(table, new=added), **options, keep_rows=True)
    assert [list(row) for row in zip(*again.columns[:-1], strict=True)] == fields[1:]
    assert list(again.columns[-1]) == added
    # Every record is there as it was, with one field behind it.
    old, new = table.origin.text.records, again.origin.text.records
    for record, longer in zip(old, new, strict=True):
        assert longer.startswith(record + delimiter)


@pytest.mark.parametrize(
    "data",
    [
        b'n,"a ""b""", c\r\n1,"x\r\ny",  2 \r\n\r\n 007 ,1e5,"1,5"',
        "größe;名前\n1,5;ж\n2,5;\n".encode(),
        "größe;Name\n1,5;é\n".encode("utf-16"),
        b"\n\na|b\n1|2\n\n3|4",
    ],
)
def test_odd_files(data):
    assert written(read(data)) == data


def test_an_encoding_given(tmp_path):
    data = "größe;name\n1;ä\n2;ü\n".encode("cp1252")
    table = read(data, encoding="cp1252")
    assert table.names == ["größe", "name"]
    assert written(table, neu=["ö", ""]) == (
        "größe;name;neu\n1;ä;ö\n2;ü;\n".encode("cp1252")
    )
    with pytest.raises(TableError, match=r"not UTF-8 text .* pass encoding='cp1252'"):
        read(data)
    with pytest.raises(TableError, match="no encoding 'nothing'"):
        read(data, encoding="nothing")


def test_short_records_are_filled():
    table = read(b"a,b,c\n1,2,3\n4\n5,6\n")
    assert [list(column) for column in table.columns] == [
        ["1", "4", "5"],
        ["2", "", "6"],
        ["3", "", ""],
    ]
    assert "2 rows had fewer fields" in table.notes[0]
    assert written(table, d=[7, 8, 9]) == b"a,b,c,d\n1,2,3,7\n4,,,8\n5,6,,9\n"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b"  \n\n", "is empty"),
        (b"a,b\n", "2 columns but no row"),
        (b"a,b\n", "names begins with 'a'. If that is not what the file says"),
        (b"a,b\n1,2,3\n", "line 2: 3 fields, but there are 2 columns"),
        (b'a,b\n1,"2\n3,4\n', "quote is opened but not closed"),
        (b'a,b\n"1,2\n3,4\n', "quote is opened but not closed"),
        (bytes(range(256)) * 4, "binary file"),
        (b"\x7fELF\x02\x01\x00\x00\x00" * 100, "binary file"),
    ],
)
def test_what_is_no_table(data, message):
    with pytest.raises(TableError, match=message):
        read(data)


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("a,b\n1,2\n", ","),
        ("a;b\n1,5;2,5\n1,5;2,5\n", ";"),
        ("a\tb c\n1\t2,3\n", "\t"),
        ("a|b|c\n1|2|3\n", "|"),
        ("one column\nof text, with commas\n", ","),
        ('a;b\n"x,y,z";1\n"x,y,z";2\n', ";"),
        ('a;b\n26.68;"1,8 Mio."\n27.68;"2,8 Mio."\n', ";"),
        ("Title\n\na;b\n1, 2;3\n4, 5;6\n", ";"),
        ('a;b,c;d\n1;"2,5";3\n1;"3,5";4\n', ";"),
    ],
)
def test_the_delimiter_is_guessed(text, delimiter):
    assert guess_delimiter(text) == delimiter


def test_a_long_file_is_cut_for_the_guess():
    text = "a;b\n" + "1,5;2\n" * 100_000
    assert guess_delimiter(text) == ";"


def test_very_long_fields():
    field = "x" * 300_000
    table = read(f"a,b\n{field},1\n".encode())
    assert table["a"][0] == field
    assert csv.field_size_limit() > 300_000
