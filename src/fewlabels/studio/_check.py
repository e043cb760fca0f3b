"""Check the predictions of a table: draw rows, take their labels, and report."""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import io
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from fewlabels._words import listed, nearest_name, plural
from fewlabels.model_selection import AuditReport, ErrorAudit, ShareEstimate
from fewlabels.preprocessing import Table, TableError
from fewlabels.preprocessing.cells import is_missing, text_of
from fewlabels.studio._exchange import import_labels
from fewlabels.studio._journal import LockedError
from fewlabels.studio._rows import RowKeys, answer_columns, cell_text
from fewlabels.studio._salvage import find_journal
from fewlabels.studio._store import Draw, LabelStore
from fewlabels.tabular import TargetColumn, read_target
from fewlabels.tabular.files import home_of, replacing

# What people write where they do not know.
_UNSURE = frozenset({"?", "??", "???", "-", "--"})


class TableCheck:
    r"""A check of predictions, remembered in the journal of a table.

    The rows of a check have labels of their own, which nobody learns from: neither the
    labelling page, nor ``fewlabels merge``.

    Parameters
    ----------
    table : Table
        The table, read from a file.
    target : str
        The label column.
    source : path-like
        What the table was read from. The journal is that of the labelling page, next
        to it.
    markers : sequence, default=()
        Values that stand for "no label".
    merge_labels : bool, default=False
        Whether labels that differ only in case and spaces are one class.

    Attributes
    ----------
    audit : ErrorAudit or None
        The last check; None where nothing was drawn yet.
    when : str
        When its rows were drawn, in UTC.
    path : Path
        The journal.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from fewlabels.studio import TableCheck
    >>> from fewlabels.tabular import label_table, read_table
    >>> text = "size,kind\n1,s\n2,\n3,\n7,\n8,l\n9,\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "sizes.csv")
    ...     _ = path.write_text(text)
    ...     table = read_table(path)
    ...     check = TableCheck(table, "kind", path)
    ...     rows = check.draw(label_table(table, "kind", bank="fast"), 4)
    ...     problems = check.answer(dict.fromkeys(rows, "s"))
    ...     print(check.report().error)
    ...     check.close()
    50.0 % (50.0 to 50.0 %)
    """

    def __init__(
        self,
        table: Table,
        target: str,
        source: str | os.PathLike[str],
        *,
        markers: Any = (),
        merge_labels: bool = False,
    ) -> None:
        self.table, self.target = table, target
        self.given = read_target(
            table, target, markers, merge=merge_labels, task="classes"
        )
        hidden = answer_columns(table.names, target)
        self._columns = [name for name in table.names if name not in hidden]
        keys = RowKeys(table.names, table.columns)
        self.path, _ = find_journal(home_of(source), keys)
        texts = self.given.texts.tolist()
        try:
            self.store = LabelStore(self.path, keys, target, self._columns, texts)
        except LockedError:
            raise TableError(
                f"Another process is labelling this table ({self.path.name} is in "
                "use): end it first."
            ) from None
        self._begin()

    @classmethod
    def of_page(cls, table: Table, given: TargetColumn, store: LabelStore) -> Self:
        """Make a check on the journal that the labelling page has opened.

        Parameters
        ----------
        table : Table
            The table.
        given : TargetColumn
            Its labels.
        store : LabelStore
            The journal.

        Returns
        -------
        check : TableCheck
            The check.
        """
        check = cls.__new__(cls)
        check.table, check.target, check.given = table, given.name, given
        check.store, check.path, check._columns = store, store.path, store.columns
        check._begin()
        return check

    def _begin(self) -> None:
        draws = sorted(self.store.draws.values(), key=lambda draw: draw.time)
        self.audit: ErrorAudit | None = None
        self.when = ""
        if draws:
            self._take_up(draws[-1])

    def _take_up(self, draw: Draw) -> None:
        """Make the audit of a draw; rows that are gone never get a label."""
        noted = dict(draw.audit)
        n_rows = [len(guesses) for guesses in noted["predicted"]]
        rows = iter(draw.rows)
        gone = iter(range(-1, -len(draw.rows) - 1, -1))
        drawn = [
            [next(gone) if (row := next(rows)) is None else row for _ in range(n)]
            for n in n_rows
        ]
        noted["bounds"] = [(low, high) for low, high in noted["bounds"]]
        self.audit = ErrorAudit(**noted, drawn=drawn, look=draw.look)
        self.when, self._draw = draw.time, draw

    @property
    def n_gone(self) -> int:
        """How many rows of the check the table no longer has."""
        return 0 if self.audit is None else int((self.audit.rows < 0).sum())

    @property
    def labels(self) -> dict[int, str]:
        """Labels of the rows to check, as far as they are known."""
        if self.audit is None:
            return {}
        found = {}
        for row in self.audit.rows.tolist():
            action = self.store.current(row) if row >= 0 else None
            if action is not None and action.do in ("check", "label"):
                if (label := action.label_of(row)) is not None:
                    found[row] = label
        return found

    def draw(
        self,
        labeled: Any,
        n_rows: int = 30,
        *,
        sequential: bool = False,
        level: float = 0.9,
        known: Mapping[str, int] | None = None,
        random_state: Any = None,
    ) -> list[int]:
        """Draw rows to check predictions.

        Parameters
        ----------
        labeled : LabeledTable
            The predictions.
        n_rows : int, default=30
            How many rows.
        sequential : bool, default=False
            Whether more may be drawn later, see :meth:`extend`.
        level : float, default=0.9
            Coverage of the intervals.
        known : dict of str to int, default=None
            Rows of each class whose label is known; those of the table when None.
        random_state : int, RandomState instance or None, default=None
            Seed.

        Returns
        -------
        rows : list of int
            The rows, counted from 0.
        """
        open_rows = [row for row, given in enumerate(labeled.given) if not given]
        if not open_rows:
            raise TableError("Every row has a label already: nothing was predicted.")
        audit = ErrorAudit.draw(
            [text_of(labeled.labels[row]) for row in open_rows],
            labeled.confidence[open_rows],
            n_rows=n_rows,
            sequential=sequential,
            known=self.given.class_counts if known is None else known,
            level=level,
            random_state=random_state,
        )
        noted = {
            name: getattr(audit, name)
            for name in ("sizes", "bounds", "looks", "predicted", "known", "level")
        }
        places = [open_rows[k] for rows in audit.drawn for k in rows]
        self._take_up(self.store.note_draw(places, noted))
        return self.rows

    @property
    def rows(self) -> list[int]:
        """The rows of the check that the table still has."""
        rows = [] if self.audit is None else self.audit.rows.tolist()
        return [row for row in rows if row >= 0]

    def extend(self) -> bool:
        """Ask for more rows; whether there are any."""
        if self.audit is None or not self.audit.extend().size:
            return False
        self.store.note_look(self._draw, self.audit.look)
        return True

    def write(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the rows to check into a file, with room for their labels.

        Predictions are left out: who sees them tends to agree.

        Parameters
        ----------
        path : path-like
            The file, as CSV.
        force : bool, default=False
            Whether to replace a file that exists.
        """
        number, *_ = self.table.free_names(["row"])
        text, known = io.StringIO(), self.labels
        lines = csv.writer(text, lineterminator="\n")
        lines.writerow([number, self.target, *self._columns])
        for row in self.rows:
            cells = [cell_text(self.table[name][row]) for name in self._columns]
            lines.writerow([row + 1, known.get(row, ""), *cells])
        with replacing(str(path), force=force) as file:
            # Spreadsheets know UTF-8 by this mark.
            file.write(text.getvalue().encode("utf-8-sig", "surrogatepass"))

    def read(self, path: str | os.PathLike[str]) -> list[str]:
        """Take the labels that somebody has filled in.

        Parameters
        ----------
        path : path-like
            The file that :meth:`write` wrote.

        Returns
        -------
        problems : list of str
            What could not be used, or may be a mistake.
        """
        path = Path(path)
        try:
            found = import_labels(
                path.read_bytes(),
                path.name,
                self.table,
                self.target,
                label_column=self.target,
            )
        except TableError as error:
            if "no row with a label" in str(error):
                return []
            raise
        problems, wanted = list(found.problems), set(self.rows)
        others = [row + 1 for row in found.labels if row not in wanted]
        if others:
            problems.append(
                f"{plural(len(others), 'label')} in {path.name} of rows that were not "
                f"drawn (row {listed(others, 5)}) cannot count: they were not drawn "
                "at random."
            )
        labels = {row: text for row, text in found.labels.items() if row in wanted}
        return problems + self.answer(labels)

    def answer(self, labels: dict[int, str]) -> list[str]:
        """Keep labels of rows of the check.

        Parameters
        ----------
        labels : dict of int to str
            Labels by row.

        Returns
        -------
        problems : list of str
            Labels that no other row has.
        """
        known, before = self._classes(), self.labels
        folded = {" ".join(name.casefold().split()): name for name in reversed(known)}
        new: dict[str, list[int]] = {}
        strange: dict[str, list[int]] = {}
        for row, text in labels.items():
            text = text.strip()
            if is_missing(text) or text in _UNSURE:
                if row in before:  # somebody is no longer sure
                    self.store.act("clear", [row], how="check")
                continue
            if text not in known:
                text = folded.get(" ".join(text.casefold().split()), _plain(text))
            if text not in known:
                strange.setdefault(text, []).append(row + 1)
            if before.get(row) != text:
                new.setdefault(text, []).append(row)
        for text, rows in new.items():
            self.store.act("check", rows, text, how="check")
        problems = []
        for text, rows in strange.items():
            near = nearest_name(text, known)
            hint = f" Did you mean {near!r}?" if near else ""
            problems.append(
                f"{text!r} (row {listed(rows, 5)}) is no class of {self.target!r} so "
                f"far, and counts as an error.{hint}"
            )
        return problems

    def _classes(self) -> list[str]:
        """Classes that were given or predicted."""
        predicted = [] if self.audit is None else list(self.audit.sizes)
        return list(dict.fromkeys([*self.given.class_counts, *predicted]))

    def learn(self) -> int:
        """Let others learn from the rows of the check; how many there are."""
        by_class: dict[str, list[int]] = {}
        for row, label in self.labels.items():
            if self.store.label_of(row) != label:
                by_class.setdefault(label, []).append(row)
        for label, rows in by_class.items():
            self.store.act("label", rows, label, how="check")
        return sum(map(len, by_class.values()))

    def report(self) -> AuditReport:
        """Bound the error by the labels that are known.

        Returns
        -------
        report : AuditReport
            The error, by class and by confidence, and class shares.
        """
        if self.audit is None:
            raise TableError("No row was drawn yet.")
        return self.audit.report(self.labels)

    def numbers(self) -> dict[str, Any]:
        """Return the report as plain values.

        Returns
        -------
        numbers : dict
            "error", "missing", "by_class", "by_confidence" and "class_shares".
        """
        report = self.report()

        def entry(e: ShareEstimate) -> dict[str, Any]:
            ends = {"value": e.value, "low": e.low, "high": e.high}
            return {**ends, "rows": e.n_rows, "checked": e.n_drawn}

        return {
            "error": entry(report.error),
            "missing": report.n_missing,
            "by_class": {name: entry(e) for name, e in report.by_class.items()},
            "by_confidence": [
                {"least": low, "most": high, **entry(e)}
                for low, high, e in report.by_confidence
            ],
            "class_shares": {name: entry(e) for name, e in report.class_shares.items()},
        }

    def close(self) -> None:
        """Let go of the journal."""
        self.store.close()


def _plain(text: str) -> str:
    """Write 1.0 as 1: spreadsheets add the rest."""
    return text[:-2] if text.endswith(".0") and text[:-2].isdigit() else text
