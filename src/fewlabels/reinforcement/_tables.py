"""Transitions and rewards of a finite process as one sparse matrix."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

# How far from 1 the probabilities of a row may add up to.
SUM_TOL = 1e-8


class Tables(NamedTuple):
    """A finite process: row s * n_actions + a is action a in state s.

    `transitions` is a CSR matrix of shape (n_states * n_actions, n_states) without rows
    for terminal states and actions that are not available; `rewards` holds the reward
    of each of its entries.
    """

    transitions: sparse.csr_array
    rewards: NDArray[np.float64]
    terminal: NDArray[np.bool_]
    available: NDArray[np.bool_]


def stack_actions(matrices: Any, name: str) -> sparse.csr_array:
    """Bring an array (S, A, S), A sparse matrices or a stacked one to stacked form."""
    if sparse.issparse(matrices):
        stacked = sparse.csr_array(matrices, dtype=np.float64)
        n_rows, n_states = stacked.shape
        if n_states == 0 or n_rows % n_states:
            raise ValueError(
                f"{name} has shape {stacked.shape}; a sparse matrix must have "
                "n_states * n_actions rows, and n_states columns."
            )
        return stacked
    if isinstance(matrices, Sequence) and any(sparse.issparse(m) for m in matrices):
        blocks = [sparse.coo_array(m, dtype=np.float64) for m in matrices]
        n_states, n_actions = blocks[0].shape[0], len(blocks)
        if any(m.shape != (n_states, n_states) for m in blocks):
            raise ValueError(
                f"{name} must hold one square matrix per action, all of one shape; got "
                f"{[m.shape for m in blocks]}."
            )
        rows = np.concatenate([m.row * n_actions + a for a, m in enumerate(blocks)])
        columns = np.concatenate([m.col for m in blocks])
        data = np.concatenate([m.data for m in blocks])
        shape = (n_states * n_actions, n_states)
        return sparse.coo_array((data, (rows, columns)), shape=shape).tocsr()
    dense = np.asarray(matrices, dtype=np.float64)
    if dense.ndim != 3 or dense.shape[0] != dense.shape[2] or 0 in dense.shape:
        raise ValueError(
            f"{name} has shape {dense.shape}; expected (n_states, n_actions, "
            "n_states) with entry [s, a, t] for the way from s by a to t, or one "
            "sparse matrix (n_states, n_states) per action."
        )
    return sparse.csr_array(dense.reshape(-1, dense.shape[2]))


def _entry_rewards(
    rewards: Any, transitions: sparse.csr_array, n_actions: int
) -> NDArray[np.float64]:
    """Reward of every stored transition."""
    n_states = transitions.shape[1]
    rows = np.repeat(np.arange(transitions.shape[0]), np.diff(transitions.indptr))
    is_sparse = sparse.issparse(rewards) or (
        isinstance(rewards, Sequence) and any(sparse.issparse(m) for m in rewards)
    )
    found = None if is_sparse else np.asarray(rewards, dtype=np.float64)
    if found is not None and found.ndim < 3:
        if found.shape == (n_states,):
            found = np.repeat(found[:, None], n_actions, axis=1)
        if found.shape != (n_states, n_actions):
            raise ValueError(
                f"rewards has shape {found.shape}; expected ({n_states},), "
                f"({n_states}, {n_actions}) or ({n_states}, {n_actions}, {n_states})."
            )
        values = found.ravel()[rows]
    else:
        stacked = stack_actions(rewards, "rewards")
        if stacked.shape != transitions.shape:
            raise ValueError(
                f"rewards is of shape {stacked.shape} when stacked, transitions of "
                f"shape {transitions.shape}."
            )
        values = np.asarray(stacked[rows, transitions.indices], dtype=np.float64)
        values = values.reshape(-1)
    if not np.isfinite(values).all():
        raise ValueError("rewards must be finite.")
    return values


def make_tables(
    transitions: Any,
    rewards: Any,
    terminal: ArrayLike | None,
    available: ArrayLike | None,
) -> Tables:
    """Validate a process and bring it to stacked form."""
    stacked = stack_actions(transitions, "transitions").copy()
    stacked.sum_duplicates()
    n_states = stacked.shape[1]
    n_actions = stacked.shape[0] // n_states
    if terminal is None:
        ends = np.zeros(n_states, dtype=bool)
    else:
        found = np.asarray(terminal)
        if found.dtype == bool and found.shape == (n_states,):
            ends = found.copy()
        elif found.ndim == 1 and (found.size == 0 or found.dtype.kind in "iu"):
            ends = np.zeros(n_states, dtype=bool)
            if found.size and not (0 <= found.min() and found.max() < n_states):
                raise ValueError(
                    f"terminal names an unknown state: there are {n_states}."
                )
            ends[found.astype(np.intp)] = True
        else:
            raise ValueError(
                "terminal must hold states, or be a mask of one entry per state."
            )
    if available is None:
        mask = np.ones((n_states, n_actions), dtype=bool)
    else:
        mask = np.array(available, dtype=bool)
        if mask.shape != (n_states, n_actions):
            raise ValueError(
                f"available has shape {mask.shape}; expected {(n_states, n_actions)}."
            )
    if not mask[~ends].any(axis=1).all():
        raise ValueError(
            "available leaves a state without any action; make that state terminal."
        )
    live = (mask & ~ends[:, None]).ravel()
    values = _entry_rewards(rewards, stacked, n_actions)
    # What happens after the end, or by an action that is not there, does not exist.
    lengths = np.diff(stacked.indptr)
    keep = np.repeat(live, lengths) & (stacked.data != 0)
    rows = np.repeat(np.arange(live.size), lengths)[keep]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=live.size))])
    kept = sparse.csr_array(
        (stacked.data[keep], stacked.indices[keep], indptr), shape=stacked.shape
    )
    if not (kept.data > 0).all():  # also refuses what is not a number
        raise ValueError("transitions must be probabilities, none of them negative.")
    off = np.abs(kept.sum(axis=1) - 1)[live]
    if off.size and not off.max() <= SUM_TOL:
        row = np.flatnonzero(live)[np.argmax(off)]
        state, action = divmod(int(row), n_actions)
        raise ValueError(
            f"transitions: the probabilities of action {action} in state {state} add "
            f"up to {kept[[row]].sum():.6g}; they must add up to 1. Name states "
            "where an episode ends in terminal."
        )
    return Tables(kept, values[keep], ends, mask)


def mean_rewards(
    rows: Any, columns: Any, chances: Any, rewards: Any, shape: tuple[int, int]
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Sum chances, and average rewards, where several ways lead to one state."""
    places = (rows, columns)
    transitions = sparse.coo_array((chances, places), shape=shape).tocsr()
    means = sparse.coo_array((chances * rewards, places), shape=shape).tocsr()
    means.data /= transitions.data
    return transitions, means


def tables_from_gymnasium(env: Any) -> Tables:
    """Read the table ``P`` that the toy-text environments of gymnasium carry."""
    table = getattr(getattr(env, "unwrapped", env), "P", None)
    if table is None:
        raise ValueError(
            "This environment has no table P of its transitions; FrozenLake, "
            "CliffWalking and Taxi of gymnasium have one."
        )
    n_states, n_actions = len(table), len(table[0])
    entries = [
        (s * n_actions + a, t, p, r, bool(ended))
        for s in range(n_states)
        for a in range(n_actions)
        for p, t, r, ended in table[s][a]
        if p > 0
    ]
    rows, columns, chances, rewards, ended = map(np.array, zip(*entries, strict=True))
    terminal = np.zeros(n_states, dtype=bool)
    terminal[columns[ended]] = True
    if terminal[columns[~ended & ~terminal[rows // n_actions]]].any():
        # Some states end an episode on one path and not on another, as in Taxi: what
        # ends an episode leads to a state of its own.
        columns[ended] = n_states
        n_states += 1
        terminal = np.arange(n_states) == n_states - 1
    shape = (n_states * n_actions, n_states)
    transitions, means = mean_rewards(rows, columns, chances, rewards, shape)
    return make_tables(transitions, means, terminal, None)
