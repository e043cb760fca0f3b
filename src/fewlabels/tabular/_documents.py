"""Read the text of documents: plain text, web pages, mails and PDF."""

# SPDX-License-Identifier: BSD-3-Clause

import codecs
import io
import re
from collections.abc import Callable
from email import message_from_bytes, policy
from html.parser import HTMLParser
from typing import Any

from fewlabels.embeddings import UnreadableError
from fewlabels.tabular._decoding import looks_binary, mark_of

# Characters of a text that are kept: a cell of a spreadsheet holds little more.
MAX_CHARACTERS = 30_000
# Larger files are left out: a text of this size is none that a person labels.
MAX_BYTES = 50_000_000
# Read where a text is neither in UTF-8 nor marked as anything else.
FALLBACK = "cp1252"
_CHARSET = re.compile(rb"""charset\s*=\s*["']?([\w-]+)""", re.IGNORECASE)
_HIDDEN = {"script", "style", "template", "noscript"}
_BLOCKS = {"p", "div", "br", "li", "tr", "table", "h1", "h2", "h3", "title", "section"}
_LAX = "replace"


def read_document(
    data: bytes, suffix: str, encoding: str | None = None
) -> tuple[str, str]:
    """Read the text of a file.

    Parameters
    ----------
    data : bytes
        The file.
    suffix : str
        That of its name, such as ".eml"; anything unknown is plain text.
    encoding : str, default=None
        Encoding of plain text; None to find out.

    Returns
    -------
    text : str
        What it says, without tags, headers and surplus space.
    note : {"", "encoding", "cut"}
        What was guessed or left out.

    Raises
    ------
    UnreadableError
        If there is no text in it.
    """
    if len(data) > MAX_BYTES:
        raise UnreadableError(f"larger than {MAX_BYTES // 10**6} MB")
    read = READERS.get(suffix, _plain)
    text, guessed = read(data, encoding)
    text = "\n".join(" ".join(line.split()) for line in text.splitlines())
    text = re.sub(r"\n{3,}", "\n\n", text).replace("\0", "").strip()
    if not text:
        raise UnreadableError("empty" if not data.strip() else "no text in it")
    if len(text) > MAX_CHARACTERS:
        return text[:MAX_CHARACTERS], "cut"
    return text, "encoding" if guessed else ""


def _plain(data: bytes, encoding: str | None) -> tuple[str, bool]:
    """Decode text, and say whether its encoding is a guess."""
    known, bom = mark_of(data, encoding)
    if encoding is None and not bom and b"\0" in data[:4096]:
        known = _wide(data)
    try:
        text = data[len(bom) :].decode(known)
    except UnicodeDecodeError:
        if encoding is not None:
            raise UnreadableError(f"not {encoding} text") from None
        if looks_binary(data):
            raise UnreadableError("binary") from None
        return data.decode(FALLBACK, _LAX), True
    if "\0" in text:
        raise UnreadableError("binary")
    return text, False


def _wide(data: bytes) -> str:
    """Tell UTF-16 without a mark, in which every second byte of Latin text is zero."""
    head = data[:4096]
    for first, codec in ((1, "utf-16-le"), (0, "utf-16-be")):
        zeros = head[first::2].count(0)
        if zeros > 0.4 * len(head) / 2 and not head[1 - first :: 2].count(0):
            return codec
    raise UnreadableError("binary")


class _Page(HTMLParser):
    """Collects what a browser would show."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self._hidden += tag in _HIDDEN
        if tag in _BLOCKS:
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in _HIDDEN and self._hidden > 0
        if tag in _BLOCKS:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(data)


def _shown(page: str) -> str:
    """Return the text of a web page."""
    parser = _Page()
    parser.feed(page)
    parser.close()
    return "".join(parser.parts)


def _html(data: bytes, encoding: str | None) -> tuple[str, bool]:
    named = _CHARSET.search(data[:4096])
    if encoding is None and named and not mark_of(data, None)[1]:
        try:
            found = codecs.lookup(named[1].decode()).name
            return _shown(data.decode(found, _LAX)), False
        except LookupError:
            pass
    text, guessed = _plain(data, encoding)
    return _shown(text), guessed


def _mail(data: bytes, encoding: str | None) -> tuple[str, bool]:
    """Return the subject and the body of a mail, the plain one if there are two."""
    message = message_from_bytes(data, policy=policy.default)
    if not message.keys():
        return _plain(data, encoding)
    subject = str(message.get("subject", ""))
    try:
        body = message.get_body(("plain", "html"))
        content = "" if body is None else body.get_content()
        if body is not None and body.get_content_subtype() == "html":
            content = _shown(content)
    except (LookupError, ValueError, AttributeError, TypeError):
        # An encoding that does not exist, or parts that are none.
        payload = message.get_payload(decode=True)
        content = payload.decode(FALLBACK, _LAX) if isinstance(payload, bytes) else ""
    return f"{subject}\n{content}", False


def _pdf(data: bytes, encoding: str | None) -> tuple[str, bool]:
    try:
        from pypdf import PdfReader
    except ImportError:
        raise UnreadableError('PDF needs pip install "fewlabels[pdf]"') from None
    pages: list[str] = []
    try:
        for page in PdfReader(io.BytesIO(data)).pages:
            pages.append(page.extract_text())
            if sum(map(len, pages)) > MAX_CHARACTERS:
                break
    except Exception as error:  # of which there is no list: files can be anything
        why = str(error).strip().partition("\n")[0] or type(error).__name__
        raise UnreadableError(f"broken or locked PDF ({why[:100]})") from None
    if not any(page.strip() for page in pages):
        raise UnreadableError("no text in it, perhaps a scan")
    return "\n".join(pages), False


READERS: dict[str, Callable[[bytes, str | None], tuple[str, bool]]] = {
    ".html": _html,
    ".htm": _html,
    ".xhtml": _html,
    ".eml": _mail,
    ".pdf": _pdf,
}
TEXT_SUFFIXES = frozenset([".txt", ".text", ".md", ".markdown", ".rst", *READERS])
