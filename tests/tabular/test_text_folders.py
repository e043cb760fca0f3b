"""Folders of texts, web pages, mails and PDF as tables."""

# SPDX-License-Identifier: BSD-3-Clause

from email.message import EmailMessage

import pytest
from click.testing import CliRunner

from fewlabels.cli import commands
from fewlabels.embeddings import UnreadableError
from fewlabels.preprocessing import TableError
from fewlabels.tabular import read_table
from fewlabels.tabular._documents import MAX_CHARACTERS, read_document
from fewlabels.tabular.file_folders import folder_kind

GARDEN = "the {} in the garden grows green leaves and red flowers"
INVOICE = "please pay the invoice of {} euros by bank transfer"


@pytest.fixture
def mails(tmp_path):
    """Three labelled texts of each kind, and eight without a label."""
    root = tmp_path / "mails"
    for kind, words in (("garden", GARDEN), ("money", INVOICE)):
        (root / kind).mkdir(parents=True)
        for k in range(3):
            (root / kind / f"{k}.txt").write_text(words.format(f"no {k}"))
        for k in range(3, 6):
            (root / f"{kind}{k}.md").write_text(words.format(f"no {k}"))
        mail = EmailMessage()
        mail["Subject"] = words.format("mail")
        mail.set_content("Hello,\nbest wishes")
        mail.add_alternative("<p>Hello<b>!</b></p>", subtype="html")
        (root / f"{kind}6.eml").write_bytes(mail.as_bytes())
    return root


def run(*arguments, code=0):
    result = CliRunner().invoke(commands, [str(a) for a in arguments])
    assert result.exit_code == code, result.output + result.stderr
    return result


def test_a_folder_is_labelled_by_the_command(mails, tmp_path):
    (mails / "empty.txt").write_text(" \n")
    (mails / "noise.txt").write_bytes(bytes(range(256)) * 20)
    (mails / "scan.gif").write_bytes(b"GIF89a")
    (mails / "windows.txt").write_bytes(INVOICE.format("f\u00fcnf").encode("cp1252"))
    into, out = tmp_path / "sorted", tmp_path / "out.csv"
    result = run("label", mails, "-o", out, "--sort-into", into)
    told = result.stderr
    assert "1 file left out, not texts: 'scan.gif'" in told
    assert "empty.txt: empty" in told
    assert "noise.txt: binary" in told
    assert "1 file read as Windows-1252" in told
    assert "(pass --encoding NAME if not so)" in told
    table = read_table(out)
    assert table.names[:4] == ["file", "label", "text", "label_predicted"]
    found = dict(zip(table["file"], table["label_predicted"], strict=True))
    assert len(found) == 15
    for file, label in found.items():
        assert label == ("garden" if "garden" in file else "money")
    assert (into / "garden" / "garden6.eml").exists()


def test_models_label_other_folders(mails, tmp_path):
    model, new = tmp_path / "m.fewlabels", tmp_path / "new"
    new.mkdir()
    (new / "a.html").write_text(
        "<html><head><title>Bill</title><style>garden {}</style></head>"
        f"<body><p>{INVOICE.format(7)}</p></body>"
    )
    run("fit", mails, "-o", model)
    found = run("predict", model, new, "-q").stdout.splitlines()
    assert found[0].startswith("file,label,text,label_predicted")
    assert ",money," in "".join(found[1:])


def test_labels_from_a_table(mails, tmp_path):
    labels = tmp_path / "labels.csv"
    labels.write_text("file,label\ngarden3.md,a\nmoney/1.txt,b\n")
    table = read_table(mails, labels=labels)
    found = dict(zip(table["file"], table["label"], strict=True))
    assert {file: label for file, label in found.items() if label} == {
        "garden3.md": "a",
        "money/1.txt": "b",
    }


def test_short_texts_are_texts(mails):
    described = run("columns", mails).stdout
    assert "text" in described


def test_plain_files_with_one_header_are_parts_of_a_table(tmp_path):
    for k in range(3):
        (tmp_path / f"{k}.txt").write_text(f"size;kind\n{k};a\n{k + 5};b\n")
    assert folder_kind(str(tmp_path)) == ""
    assert read_table(tmp_path).names == ["size", "kind"]
    for k in range(3):
        (tmp_path / f"{k}.txt").write_text(f"Dear Sir,\n\nno {k} is late, sorry\n")
    assert folder_kind(str(tmp_path)) == "text"


def test_a_folder_without_any_text(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"")
    with pytest.raises(TableError, match=r"no text that can be read.*a\.txt: empty"):
        read_table(tmp_path)


class TestDocuments:
    @pytest.mark.parametrize(
        ("data", "expected"),
        [
            ("na\u00efve".encode(), "na\u00efve"),
            ("na\u00efve".encode("utf-8-sig"), "na\u00efve"),
            ("na\u00efve".encode("utf-16"), "na\u00efve"),
            ("plain text".encode("utf-16-le"), "plain text"),
            ("plain text".encode("utf-16-be"), "plain text"),
            ("na\u00efve".encode("cp1252"), "na\u00efve"),
            (b"a  b\t c\r\n\r\n\r\n\r\nd", "a b c\n\nd"),
        ],
    )
    def test_encodings(self, data, expected):
        assert read_document(data, ".txt")[0] == expected

    def test_an_encoding_that_is_given(self):
        data = "\u043f\u0440\u0438\u0432\u0435\u0442".encode("koi8-r")
        assert read_document(data, ".txt", "koi8-r")[0].startswith("\u043f")
        with pytest.raises(UnreadableError, match="not ascii text"):
            read_document(data, ".txt", "ascii")

    def test_pages(self):
        page = (
            '<meta charset="iso-8859-1"><script>var x = "<p>"</script>'
            "<h1>\u00c9cole</h1>one<br>two &amp; three<!-- no -->"
        ).encode("latin-1")
        text = "\u00c9cole\none\ntwo & three"
        assert read_document(page, ".html")[0] == text

    def test_mails_of_old_programs(self):
        head = b"Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\nContent-Type: text/plain; "
        data = head + b"charset=nonsense\n\nhello"
        assert "Gr\u00fc\u00dfe\nhello" in read_document(data, ".eml")[0]
        assert read_document(b"no header here", ".eml")[0] == "no header here"
        page = b"Subject: a\nContent-Type: text/html\n\n<p>b</p>"
        assert read_document(page, ".eml")[0].split() == ["a", "b"]

    def test_long_texts_are_cut(self):
        text, note = read_document(b"word " * MAX_CHARACTERS, ".txt")
        assert (len(text), note) == (MAX_CHARACTERS, "cut")

    def test_pdf(self, monkeypatch):
        pypdf = pytest.importorskip("pypdf")

        def page(text):
            return type("Page", (), {"extract_text": lambda self: text})()

        def reader(*pages):
            return lambda file: type("Reader", (), {"pages": pages})()

        monkeypatch.setattr(pypdf, "PdfReader", reader(page("one"), page("two")))
        assert read_document(b"%PDF-", ".pdf")[0] == "one\ntwo"
        monkeypatch.setattr(pypdf, "PdfReader", reader(page(" ")))
        with pytest.raises(UnreadableError, match="perhaps a scan"):
            read_document(b"%PDF-", ".pdf")
        monkeypatch.undo()
        with pytest.raises(UnreadableError, match="broken or locked PDF"):
            read_document(b"%PDF-1.4 nothing", ".pdf")

    def test_without_the_package_for_pdf(self, monkeypatch):
        monkeypatch.setitem(__import__("sys").modules, "pypdf", None)
        with pytest.raises(UnreadableError, match=r"fewlabels\[pdf\]"):
            read_document(b"%PDF-", ".pdf")
