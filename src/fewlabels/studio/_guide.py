"""Guidelines for those who label: a Markdown file beside the table."""

# SPDX-License-Identifier: BSD-3-Clause

import os
from hashlib import blake2b
from pathlib import Path
from typing import Any

from fewlabels.studio._journal import StoreError
from fewlabels.studio._requests import Refused


class Guidelines:
    """The guidelines of a table.

    Parameters
    ----------
    path : Path or None
        The file; None where a table has no place on disk.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def read(self) -> dict[str, Any]:
        """Return the text, and which version of it this is."""
        data = b""
        if self._path is not None and self._path.is_file():
            try:
                data = self._path.read_bytes()
            except OSError as error:
                raise StoreError(
                    f"Cannot read {self._path.name}: {error.strerror}."
                ) from None
        return {
            "text": data.decode("utf-8", "replace").removeprefix("\ufeff"),
            "seen": blake2b(data, digest_size=8).hexdigest(),
            "name": None if self._path is None else self._path.name,
        }

    def write(self, text: str, seen: str) -> dict[str, Any]:
        """Replace the text if `seen` is still the version on disk."""
        if self._path is None:
            raise Refused(409, "There is no place to keep guidelines.")
        now = self.read()
        if now["seen"] != seen:
            raise Refused(
                409, f"{now['name']} was changed meanwhile: copy your text and reload."
            )
        part = self._path.with_name(f"{self._path.name}.{os.getpid()}.part")
        try:
            with part.open("wb") as file:
                file.write(text.encode("utf-8", "replace"))
                file.flush()
                os.fsync(file.fileno())
            part.replace(self._path)
        except OSError as error:
            raise StoreError(
                f"The guidelines cannot be saved in {self._path}: {error.strerror}."
            ) from None
        return self.read()
