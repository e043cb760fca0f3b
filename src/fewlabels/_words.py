"""Words for messages: lists of names, counts with their nouns, recurring phrases."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Iterable, Sequence
from difflib import get_close_matches


def listed(names: Iterable[object], limit: int = 12) -> str:
    """Names in quotes, only the first if there are many: ``'a', 'b' and 3 more``."""
    quoted = [repr(str(name)) for name in names]
    if len(quoted) > limit:
        return f"{', '.join(quoted[:limit])} and {len(quoted) - limit} more"
    return ", ".join(quoted)


def plural(count: int, singular: str, plural_form: str | None = None) -> str:
    """Write a count with its noun: ``1,234 rows``."""
    return f"{count:,} {singular if count == 1 else plural_form or singular + 's'}"


def nearest_name(name: str, names: Sequence[str], cutoff: float = 0.5) -> str | None:
    """Find the name that may have been meant; None if there is none."""
    folded = {other.casefold(): other for other in reversed(names)}
    near = get_close_matches(name.casefold(), folded, n=1, cutoff=cutoff)
    return folded[near[0]] if near else None


def indefinite_kernel(found: str) -> str:
    """Say that a kernel matrix is not positive semidefinite, and what to do."""
    return (
        f"The kernel matrix is not positive semidefinite{found}: use another kernel, "
        "or a matrix without its negative part, "
        "fewlabels.kernels.check_semidefinite(K, clip=True) with kernel='precomputed'."
    )
