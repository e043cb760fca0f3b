"""Weight the candidates of a bank by labels, with nested held-out outputs."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewlabels._progress import ProgressLine
from fewlabels._threads import in_threads
from fewlabels.automatic import _tuned as tuned
from fewlabels.automatic._bank import KernelBank
from fewlabels.automatic._candidates import Candidate
from fewlabels.automatic._held_out import Models, joined_models, kernel_models
from fewlabels.automatic._kernels import BankKernel
from fewlabels.automatic._labeled import Labeled
from fewlabels.automatic._learners import LearnedModels, Learner
from fewlabels.automatic._losses import HeldOutBlocks, Losses, held_out_losses
from fewlabels.automatic._nested import Nested, nested_outputs
from fewlabels.automatic._pool import Pool, pool_of
from fewlabels.automatic._weights import Choice, choose

# With more labels than this, weights are chosen on a sample; the model is then fitted
# to all labels.
MAX_SCORED = 500
# Bytes of inverses held while scoring, and while cross-validating the whole procedure.
CHUNK_BYTES = 2**26
NESTED_BYTES = 2**26
# Columns of the table of candidates, and the losses they average.
SCORES = {
    "loo_squared_error": "single_squared",
    "many_squared_error": "many_squared",
    "loo_log_loss": "single_log",
    "many_log_loss": "many_log",
    "loo_error": "single_wrong",
}


class Judgement(NamedTuple):
    """How the candidates perform on the labelled rows.

    Attributes
    ----------
    labeled : Labeled
        The rows used for scoring, possibly a sample.
    pool : Pool
        The candidates.
    choice : Choice
        Their weights.
    coefs : list
        Coefficients of every kernel on these rows; None for other candidates.
    nested : Nested or None
        Held-out outputs of the whole procedure; None if nothing can be held out, or if
        they were not requested.
    repeated : ndarray of int
        Candidates that the whole procedure was repeated with: all, unless there are so
        many labels that these would not fit into memory.
    """

    labeled: Labeled
    pool: Pool
    choice: Choice
    coefs: list[Any]
    nested: Nested | None
    repeated: NDArray[np.intp]


def judge(
    bank: KernelBank,
    everything: Labeled,
    rng: np.random.RandomState,
    line: ProgressLine,
    *,
    estimate_error: bool = True,
) -> Judgement:
    """Score and weight all candidates, and repeat both without some of the labels."""
    bank.check_whole()
    labeled = everything
    if everything.size > MAX_SCORED:
        labeled = everything.sample(MAX_SCORED, rng)
    candidates = bank.candidates
    pool = pool_of(candidates, bank.kind, np.unique(labeled.codes).size)
    useful = labeled.says_something and len(candidates) > 0
    blocks = HeldOutBlocks.draw(labeled, np.random.RandomState(rng.randint(2**31)))
    n_variants = max((c.ridges.size for c in candidates), default=1)
    size = 8 * n_variants * labeled.size**2  # bytes of the inverses of a kernel
    per_chunk = max(1, CHUNK_BYTES // size)
    keep_all = estimate_error and size * len(candidates) <= NESTED_BYTES
    learned: dict[Candidate, LearnedModels] = {
        c: LearnedModels(c, labeled) for c in candidates if isinstance(c, Learner)
    }
    losses: list[Losses] = []
    coefs: list[Any] = []
    scored: list[Models] = []
    for start in range(0, len(candidates), per_chunk):
        models = models_of(candidates[start : start + per_chunk], labeled, learned)
        coefs += models.coefficients()
        if useful:
            losses.append(held_out_losses(models, labeled, blocks))
        if keep_all:
            scored.append(models)
        line.update(0.7 + 0.1 * start / len(candidates), "scores")
    choice = choose(_joined(losses) if useful else None, labeled, pool, rng)
    nested, repeated = None, np.arange(len(candidates))
    if useful and estimate_error:
        line.update(0.8, "expected error")
        if not keep_all:
            repeated = _heaviest(choice, pool, NESTED_BYTES // size)
            scored = [models_of([candidates[k] for k in repeated], labeled, learned)]
        own = pool if keep_all else pool.of(repeated)
        nested = nested_outputs(joined_models(scored), labeled, own, blocks, rng)
    line.update(0.95, "outputs")
    return Judgement(labeled, pool, choice, coefs, nested, repeated)


def _joined(parts: list[Losses]) -> Losses:
    columns: list[Any] = [
        None if column[0] is None else np.concatenate(column)
        for column in zip(*parts, strict=True)
    ]
    return Losses(*columns)


def _heaviest(choice: Choice, pool: Pool, n_kept: int) -> NDArray[np.intp]:
    """Keep the heaviest candidates whose inverses fit into memory, and the baseline."""
    shares = pool.per_candidate(choice.weights)
    chosen = np.argsort(-shares, kind="stable")[: max(2, n_kept)]
    if choice.baseline >= 0:
        chosen = np.union1d(chosen, pool.candidate_of[choice.baseline])
    return np.sort(chosen)


def models_of(
    candidates: Sequence[Candidate],
    labeled: Labeled,
    learned: Mapping[Candidate, LearnedModels],
) -> Models:
    """Fit candidates to labelled rows, kernels in closed form.

    Models of learners are passed in, since they remember their earlier predictions.
    """
    parts: list[Models] = []
    for _, same in groupby(candidates, lambda c: isinstance(c, BankKernel)):
        group: list[Any] = list(same)
        if isinstance(group[0], BankKernel):
            blocks = in_threads(lambda kernel: kernel.block(labeled.distinct), group)
            diagonal = 1 / labeled.importance
            parts.append(kernel_models(blocks, tuned.RIDGES, labeled.Y, diagonal))
        else:
            parts += [learned[learner] for learner in group]
    return joined_models(parts)


def candidate_table(bank: KernelBank, judgement: Judgement) -> dict[str, NDArray[Any]]:
    """Columns of a table with one line per candidate and ridge."""
    candidate_of = judgement.pool.candidate_of
    names = np.array([c.name for c in bank.candidates], dtype=object)
    families = np.array([c.family for c in bank.candidates], dtype=object)
    table: dict[str, NDArray[Any]] = {
        "candidate": names[candidate_of],
        "family": families[candidate_of],
        "ridge": judgement.pool.ridges.copy(),
    }
    losses = judgement.choice.losses
    v = judgement.labeled.evidence
    v = v / (v.sum() or 1.0)
    for name, field in SCORES.items():
        loss = None if losses is None else getattr(losses, field)
        table[name] = np.full(table["ridge"].size, np.nan)
        if loss is not None:
            table[name] = loss @ v if loss.ndim == 2 else (loss @ v).min(axis=1)
    table["weight"] = judgement.choice.weights
    return table
