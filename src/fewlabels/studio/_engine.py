"""Learning during a session: predictions, the next questions, errors, a map.

It runs in its own process, see :mod:`fewlabels.studio._worker`, and knows nothing of
pages. Labels come as ``{row: class}``, results are plain values and arrays.
"""

# SPDX-License-Identifier: BSD-3-Clause

import math
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.cluster import MiniBatchKMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.neighbors import NearestNeighbors

from fewlabels.active import ClusterCoverage, FewLabelsSampling, margin
from fewlabels.automatic import bank_for
from fewlabels.studio._rows import answer_columns
from fewlabels.studio._sketch import Guesses, SketchModel
from fewlabels.tabular import (
    Table,
    TargetColumn,
    label_report,
    positions,
    save_model,
    write_table,
)
from fewlabels.tabular.files import output_suffix
from fewlabels.tabular.labeling import predict_table
from fewlabels.tabular.setup import Progress, TableSetup, noting, require_classes

# Tables with more rows than this get a small bank for the first guesses, while the
# full bank is built: 3.6 s against 7.6 s with 20,000 rows of 20 numbers.
QUICK_ROWS = 5_000
# Rows searched for typical ones.
COVER_ROWS = 3_000
# Least certain rows among which the next questions are chosen.
POOL = 400
QUESTIONS = 12
# Rows that t-SNE places; all others are placed between their neighbours among these.
MAP_ROWS = 2_500
# Rows of a group are labelled together: mean size of a group, and most groups.
GROUP_SIZE, MAX_GROUPS = 40, 150
# Rows shown that look like a class with a single label.
LIKE = 6
# Up to this many labels, typical rows alternate with the model's queries.
EXPLORED = 20
# Share of the labels that held-out predictions must meet before others are doubted.
SUPPORT = 0.9
# The most suspicious labels that are shown, and the largest odds.
MAX_SUSPECTS, MAX_ODDS = 20, 1000.0


class Engine:
    """The model of a labelling session.

    Parameters
    ----------
    table : Table
        The table.
    setup : TableSetup
        What to learn and how, as for the commands.
    """

    def __init__(self, table: Table, setup: TableSetup) -> None:
        self.table, self.setup = table, setup
        if setup.target in table.names:
            self.given = setup.read_labels(table)
        else:
            nothing = np.full(table.n_rows, None, dtype=object)
            self.given = TargetColumn(setup.target, nothing, {})
        self._labels: dict[int, str] = {}
        self._is_judged = False
        self._points: NDArray[np.float32] | None = None
        # Guesses of a sketch do until the first bank is built.
        self.model: Any = None
        left_out = answer_columns(table.names, setup.target) | table.derived
        left_out |= set(setup.encoding.get("ignore", ()))
        used = [name for name in table.names if name not in left_out]
        self._sketched = used
        self.sketch = SketchModel([table[name] for name in used])

    # -- once ---------------------------------------------------------------------

    def encode(self) -> None:
        """Turn columns into features."""
        self.encoded = self.setup.encode(self.table, self.given)
        self.features = self.encoded.features

    @property
    def banks(self) -> list[str]:
        """Return the banks to build: first a quick one if the full one is slow."""
        bank = bank_for(self.setup.bank, self.table.n_rows)
        quick = self.table.n_rows > QUICK_ROWS and bank != "fast"
        return ["fast", bank] if quick else [bank]

    def built(self, bank: str, tell: Progress) -> Any:
        """Build a bank of kernels, which needs no labels."""
        model = self.setup.learner(
            self.encoded, self.given, lambda share: tell(share, "learning"), bank
        )
        # The bank depends only on rows; any labels will do until there are real ones.
        with noting([]):
            model.fit(self.features, self._y({0: "?"}), groups=self.encoded.groups)
        model.progress = False
        return model

    def use(self, model: Any) -> None:
        """Learn with this model from now on."""
        self.model = model
        self._sampling = FewLabelsSampling(
            max_candidates=POOL, max_rows=1000, random_state=self.setup.random_state
        )

    def layout(self) -> NDArray[np.float32]:
        """Place all rows in the unit square."""
        n = self.table.n_rows
        rng = np.random.default_rng(self.setup.random_state)
        dense = self._dense()
        if n <= MAP_ROWS:
            plane, _ = positions(dense, self.setup.random_state)
            return plane.astype(np.float32)
        sample = np.sort(rng.choice(n, MAP_ROWS, replace=False))
        placed, _ = positions(dense[sample], self.setup.random_state)
        near = NearestNeighbors(n_neighbors=3).fit(dense[sample])
        distances, found = near.kneighbors(dense)
        weights = 1 / (distances + 1e-6 + 0.05 * distances.mean())
        weights /= weights.sum(axis=1, keepdims=True)
        plane = np.einsum("nk,nkd->nd", weights, placed[found])
        plane += rng.normal(scale=0.004, size=plane.shape)
        plane[sample] = placed
        return np.clip(plane, 0, 1).astype(np.float32)

    def groups(self) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Group similar rows, with their distance to the centre of the group."""
        dense = self.points()
        k = int(np.clip(self.table.n_rows // GROUP_SIZE, 1, MAX_GROUPS))
        kmeans = MiniBatchKMeans(k, n_init=1, random_state=self.setup.random_state)
        distances = kmeans.fit_transform(dense)
        codes = kmeans.labels_
        own = distances[np.arange(codes.size), codes]
        return codes.astype(np.int32), own.astype(np.float32)

    def points(self) -> NDArray[np.float32]:
        """Return rows as points: similar rows are near each other."""
        if self._points is None:
            self._points = np.ascontiguousarray(self._dense(), dtype=np.float32)
        return self._points

    def _dense(self) -> NDArray[Any]:
        """Return the features as a dense array with few columns."""
        if not issparse(self.features) and self.features.shape[1] <= 100:
            return self.features
        size = min(50, *(side - 1 for side in self.features.shape))
        if size < 1:
            return np.asarray(
                self.features.toarray() if issparse(self.features) else self.features
            )
        svd = TruncatedSVD(size, random_state=self.setup.random_state)
        return svd.fit_transform(self.features)

    # -- after every label --------------------------------------------------------

    def cover(self, labels: Mapping[int, str], banned: set[int]) -> list[int]:
        """Choose typical rows of groups without a label."""
        rng = np.random.default_rng(self.setup.random_state)
        n = self.table.n_rows
        known = np.array(sorted(labels), dtype=np.intp)
        known = rng.permutation(known)[: COVER_ROWS // 2]
        rest = np.setdiff1d(np.arange(n), [*labels, *banned])
        if not rest.size:
            return []
        if rest.size > COVER_ROWS - known.size:
            rest = rng.choice(rest, COVER_ROWS - known.size, replace=False)
        rows = np.sort(np.concatenate([known, rest]))
        y = np.where(np.isin(rows, known), 0, -1)
        strategy = ClusterCoverage(
            min(known.size + QUESTIONS, rows.size),
            random_state=self.setup.random_state,
        )
        found = strategy.query(
            self.features[rows], y, n_queries=min(QUESTIONS, rest.size)
        )
        return rows[found.indices].tolist()

    def learn(self, labels: Mapping[int, str], *, judge: bool) -> Guesses | None:
        """Learn from the labels; None with fewer than two classes."""
        self._labels, self._is_judged = dict(labels), judge
        if len(set(labels.values())) < 2:
            return None
        if self.model is None:
            return self.sketch.guesses(labels)
        self.model.refit_labels(self._y(labels), estimate_error=judge)
        self._p = self.model.predict_proba(self.features)
        return Guesses.of([str(c) for c in self.model.classes_], self._p)

    def questions(self, banned: set[int]) -> list[int]:
        """Choose the rows that the model would learn most from."""
        rest = np.setdiff1d(np.arange(self.table.n_rows), [*self._labels, *banned])
        if not rest.size:
            return []
        doubt = margin(self._p[rest])
        pool = rest[np.argsort(-doubt, kind="stable")[:POOL]]
        return self._sampling.query(
            self.features,
            self._y(self._labels),
            n_queries=min(QUESTIONS, pool.size),
            model=self.model,
            candidates=np.sort(pool),
        ).indices.tolist()

    def next_rows(self, labels: Mapping[int, str], banned: set[int]) -> list[int]:
        """Choose the next questions: first to cover the table, then to learn most."""
        if len(set(labels.values())) < 2:
            return self.cover(labels, banned)
        asked = self.questions(banned)
        if len(labels) >= EXPLORED:
            return asked
        # Only typical rows can find classes that have no label yet.
        typical = self.cover(labels, banned)
        pairs = zip(asked, typical, strict=False)
        mixed = [row for pair in pairs for row in pair]
        return list(dict.fromkeys([*mixed, *asked, *typical]))[:QUESTIONS]

    def effects(self) -> dict[str, float]:
        """Measure the effect of each column on the predictions made last."""
        found = self.sketch.effects(self._p, self.setup.random_state)
        return dict(zip(self._sketched, found, strict=False))

    def judgement(self) -> dict[str, Any]:
        """Estimate the errors of the predictions."""
        # A class with a single label has no error: show which rows look like it.
        p, columns = self._p, [str(c) for c in self.model.classes_]
        rest = np.setdiff1d(np.arange(self.table.n_rows), list(self._labels))
        counts = Counter(self._labels.values())
        single = [
            {
                "name": name,
                "rows": rest[np.argsort(-p[rest, k], kind="stable")[:LIKE]].tolist(),
            }
            for k, name in enumerate(columns)
            if counts[name] == 1
        ]
        per_class = [
            {
                "name": str(e.label),
                "given": e.n_given,
                "predicted": e.n_predicted,
                "wrong": e.wrong if e.n_predicted else math.nan,
            }
            for e in self.model.class_errors()
        ]
        model = self.model
        return {
            "labels": len(self._labels),
            "error": _estimate(model.expected_error_),
            "baseline": _estimate(model.baseline_error_),
            "gain": _estimate(model.gain_),
            "classes": per_class,
            "single": single,
        }

    def suspects(self) -> list[dict[str, Any]]:
        """Find labels that the other labels contradict, after judging.

        Only where held-out labels support it: if the model misses many of the others,
        it is more likely to be wrong about this one, too.
        """
        held_out = self.model.suspicious_labels(1.0)
        missed = sum(s.likely != s.label for s in held_out)
        n_labels = len(self._labels)
        if (n_labels - missed + 1) / (n_labels + 2) < SUPPORT:
            return []
        return [
            {
                "row": s.row,
                "label": str(s.label),
                "likely": str(s.likely),
                "odds": min(s.odds, MAX_ODDS),
            }
            for s in self.model.suspicious_labels()[:MAX_SUSPECTS]
        ]

    # -- in the end ---------------------------------------------------------------

    def export(
        self,
        what: str,
        labels: Mapping[int, str],
        tell: Progress,
        typed: str,
        accepted: Mapping[int, str] | None = None,
    ) -> bytes:
        """Make the labelled table, the model or the report, as the page shows them.

        Predictions that were accepted stay as they are, whatever is predicted now.
        """
        if not self._is_judged or self._labels != labels:
            tell(0.0, "learning")
            self.learn(labels, judge=True)
        known = self.given.values
        values = {t: known.get(t, _like(t, known)) for _, t in sorted(labels.items())}
        given = TargetColumn(self.setup.target, self._y(labels), values)
        require_classes(given)
        labeled = predict_table(self.encoded, given, self.model)
        tell(0.9, "writing")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "out" + output_suffix(self.table))
            match what:
                case "table":
                    new = {n: list(v) for n, v in labeled.new_columns().items()}
                    predicted, *_, source = new.values()
                    for row, name in (accepted or {}).items():
                        predicted[row] = values.get(name, name)
                        source[row] = "accepted"
                    write_table(self.table, path, new)
                case "model":
                    save_model(labeled.model, path)
                case _:
                    seed = self.setup.random_state
                    page = label_report(labeled, command=typed, random_state=seed)
                    path.write_bytes(page.encode("utf-8", "xmlcharrefreplace"))
            return path.read_bytes()

    def _y(self, labels: Mapping[int, str]) -> NDArray[Any]:
        y = np.full(self.table.n_rows, None, dtype=object)
        for row, name in labels.items():
            y[row] = name
        return y


def _like(text: str, values: Mapping[str, Any]) -> Any:
    """Read a new class as a number if all others are numbers."""
    if values and all(type(v) is int for v in values.values()):
        try:
            return int(text)
        except ValueError:
            return text
    return text


def _estimate(error: Any) -> dict[str, Any]:
    return {
        "value": None if not error.is_known else float(error.value),
        "low": float(error.low),
        "high": float(error.high),
        "note": error.note,
    }
