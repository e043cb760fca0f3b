"""Plots of a report, as inline SVG."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.manifold import TSNE

from fewlabels.tabular._candidates import Method

# Colours that can be told apart even with limited colour vision, in this order.
PALETTE = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#cc79a7",
    "#56b4e9",
    "#d55e00",
    "#7a5195",
    "#8c6d31",
    "#882255",
    "#44aa99",
    "#332288",
    "#999933",
)
REST = "#b4b4b4"
# From unsure to sure.
SHADES = ("#b2182b", "#ef8a62", "#f6c177", "#84b8d8", "#2166ac")
# Rows on a map, and how many of them may be labelled.
MAP_ROWS = 1200
_MAP_LABELS = 300
_SIDE = 420


def map_rows(
    n_rows: int, given: NDArray[np.bool_] | None, random_state: int
) -> NDArray[np.intp]:
    """Choose the rows that a map shows.

    Parameters
    ----------
    n_rows : int
        Rows of the table.
    given : ndarray of bool or None
        Which have a label; these come first.
    random_state : int
        Seed of the sample.

    Returns
    -------
    rows : ndarray of int
        All of them, or a sample, in order.
    """
    if n_rows <= MAP_ROWS:
        return np.arange(n_rows)
    rng = np.random.default_rng(random_state)
    first = np.flatnonzero(given) if given is not None else np.empty(0, dtype=np.intp)
    first = rng.permutation(first)[:_MAP_LABELS]
    others = np.setdiff1d(np.arange(n_rows), first)
    sample = rng.choice(others, MAP_ROWS - first.size, replace=False)
    return np.sort(np.concatenate([first, sample]))


def positions(features: Any, random_state: int) -> tuple[NDArray[Any], str]:
    """Place rows in a plane.

    Parameters
    ----------
    features : {ndarray, csr_array} of shape (n_rows, n_features)
        The rows.
    random_state : int
        Seed.

    Returns
    -------
    plane : ndarray of shape (n_rows, 2)
        In the unit square.
    method : str
        How it was done.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.tabular import positions
    >>> plane, method = positions(np.eye(4), 0)
    >>> plane.shape, method
    ((4, 2), 'principal components')
    """
    n_rows, n_features = features.shape
    if issparse(features):
        size = min(50, n_features - 1, n_rows - 1)
        features = (
            TruncatedSVD(size, random_state=random_state).fit_transform(features)
            if size >= 2
            else features.toarray()
        )
    features = np.asarray(features, dtype=np.float64)
    size = min(50, *features.shape)
    plane = PCA(size, random_state=random_state).fit_transform(features)
    method = "principal components"
    if n_rows >= 30 and size > 2:
        with warnings.catch_warnings():  # equal rows divide zero by zero
            warnings.simplefilter("ignore", RuntimeWarning)
            plane = TSNE(
                perplexity=min(30.0, (n_rows - 1) / 3),
                init="pca" if np.ptp(plane[:, 0]) > 0 else "random",
                max_iter=500,
                random_state=random_state,
            ).fit_transform(plane)
        method = "t-SNE (neighbours stay together, distances between groups say little)"
    if plane.shape[1] < 2:
        rng = np.random.default_rng(random_state)
        spread = 0.05 * (np.ptp(plane) or 1.0)
        plane = np.column_stack([plane, rng.normal(scale=spread, size=n_rows)])
        method = "the only direction there is, spread at random across it"
    plane = plane[:, :2] - plane[:, :2].min(axis=0)
    return plane / (plane.max() or 1.0), method


def colors_of(classes: Sequence[str]) -> dict[str, str]:
    """Give classes colours; if there are many, the last ones share one.

    Parameters
    ----------
    classes : sequence of str
        The classes, the most important first.

    Returns
    -------
    colours : dict of str to str
        One per class.
    """
    few = len(classes) <= len(PALETTE)
    own = len(PALETTE) if few else len(PALETTE) - 1
    return {c: PALETTE[k] if k < own else REST for k, c in enumerate(classes)}


def scatter(
    plane: NDArray[Any],
    colors: Sequence[str],
    titles: Sequence[str],
    rings: NDArray[np.bool_] | None,
    label: str,
) -> str:
    """Draw a map of rows.

    Parameters
    ----------
    plane : ndarray of shape (n_rows, 2)
        Places in the unit square.
    colours : sequence of str
        Of the dots.
    titles : sequence of str
        Tooltips of the dots.
    rings : ndarray of bool or None
        Which dots get a ring.
    label : str
        Description of the plot, for screen readers.

    Returns
    -------
    svg : str
        The picture.
    """
    margin = 14
    size = _SIDE - 2 * margin
    height = margin * 2 + size * float(np.max(plane[:, 1], initial=0.3))
    x = margin + size * plane[:, 0]
    y = height - margin - size * plane[:, 1]
    radius = 4.5 if len(plane) < 200 else 3.2
    ringed = np.zeros(len(plane), dtype=bool) if rings is None else rings
    parts = [
        f'<svg viewBox="0 0 {_SIDE} {height:.0f}" role="img" '
        f'aria-label="{escape(label)}">'
    ]
    for k in np.argsort(ringed, kind="stable"):  # rings on top
        extra = ' class="ring"' if ringed[k] else ""
        r = radius + 1.5 * ringed[k]
        parts.append(
            f'<circle cx="{x[k]:.1f}" cy="{y[k]:.1f}" r="{r:.1f}" '
            f'fill="{colors[k]}"{extra}><title>{escape(titles[k])}</title></circle>'
        )
    parts.append("</svg>")
    return "".join(parts)


def shade(confidence: float) -> str:
    """Colour of a confidence.

    Parameters
    ----------
    confidence : float
        Between 0 and 1.

    Returns
    -------
    colour : str
        One of five.
    """
    return SHADES[min(int(confidence * len(SHADES)), len(SHADES) - 1)]


def legend(entries: Sequence[tuple[str, str]]) -> str:
    """Explain colours.

    Parameters
    ----------
    entries : sequence of (str, str)
        Colours and what they stand for.

    Returns
    -------
    html : str
        A list.
    """
    items = "".join(
        f'<li><span style="background:{color}"></span>{escape(text)}</li>'
        for color, text in entries
    )
    return f'<ul class="legend">{items}</ul>'


def bars(
    rows: Sequence[tuple[str, int, int]],
    colors: dict[str, str],
    parts: tuple[str, str],
) -> str:
    """Plot the number of rows of every class: given ones dark, predicted ones light.

    Parameters
    ----------
    rows : sequence of (str, int, int)
        Class, and two counts.
    colours : dict of str to str
        Of the classes.
    parts : (str, str)
        What the two counts are.

    Returns
    -------
    html : str
        The picture.
    """
    longest = max((a + b for _, a, b in rows), default=1) or 1
    drawn = []
    for name, *counts in rows:
        color = colors.get(name, REST)
        spans = "".join(
            f'<span style="width:{100 * n / longest:.2f}%;background:{color};'
            f'opacity:{shade}"></span>'
            for n, shade in zip(counts, (1, 0.4), strict=True)
        )
        what = ", ".join(
            f"{n:,} {part}" for n, part in zip(counts, parts, strict=True) if n
        )
        drawn.append(
            f'<div class="bar"><span class="name">{escape(shortened(name, 40))}</span>'
            f'<span class="track">{spans}</span>'
            f'<span class="quiet">{escape(what)}</span></div>'
        )
    return f'<div class="bars">{"".join(drawn)}</div>'


def intervals(methods: Sequence[Method]) -> str:
    """Plot the error of every method with its interval.

    Parameters
    ----------
    methods : sequence of Method
        The methods; those without a figure are left out.

    Returns
    -------
    html : str
        The picture; empty where no error is known.
    """
    known = [method for method in methods if method.error.is_known]
    if not known:
        return ""
    top = min(1.0, float(np.ceil(10 * max(m.error.high for m in known)) / 10))
    drawn = []
    for method in known:
        e = method.error
        low, high = 100 * e.low / top, 100 * min(e.high, top) / top
        drawn.append(
            f'<div class="bar {method.kind}">'
            f'<span class="name">{escape(shortened(method.name, 70))}</span>'
            f'<span class="track" title="{escape(str(e))}">'
            f'<span class="span" style="left:{low:.2f}%;width:{high - low:.2f}%">'
            "</span>"
            f'<span class="point" style="left:{100 * e.value / top:.2f}%"></span>'
            "</span></div>"
        )
    step = 0.05 if top <= 0.2 else 0.1 if top <= 0.4 else 0.2
    ticks = "".join(
        f'<span class="tick" style="left:{100 * tick / top:.2f}%">{100 * tick:.0f} %'
        "</span>"
        for tick in np.arange(0, top + 1e-9, step)
    )
    return (
        f'<div class="methods">{"".join(drawn)}<div class="bar quiet"><span '
        'class="name">error, with a 90 % interval</span><span class="track">'
        f"{ticks}</span></div></div>"
    )


def histogram(confidence: NDArray[Any]) -> str:
    """Plot a histogram of the confidence of predictions.

    Parameters
    ----------
    confidence : ndarray of shape (n_predictions,)
        Between 0 and 1.

    Returns
    -------
    svg : str
        The picture.
    """
    edges = np.linspace(0, 1, 21)
    counts, _ = np.histogram(confidence, edges)
    width, height, left = 420, 140, 16
    step = (width - 2 * left) / counts.size
    scale = (height - 50) / max(int(counts.max(initial=0)), 1)
    drawn = [
        f'<svg class="small" viewBox="0 0 {width} {height}" role="img" '
        'aria-label="How confident the predictions are">'
    ]
    for k, count in enumerate(counts.tolist()):
        x = left + k * step
        h = max(scale * count, 1.5 if count else 0)
        drawn.append(
            f'<rect x="{x + 1:.1f}" y="{height - 34 - h:.1f}" width="{step - 2:.1f}" '
            f'height="{h:.1f}" fill="{shade(edges[k] + 0.01)}">'
            f"<title>{count:,} rows</title></rect>"
        )
    for tick in (0, 0.25, 0.5, 0.75, 1):
        drawn.append(
            f'<text x="{left + tick * (width - 2 * left):.1f}" y="{height - 19}" '
            f'text-anchor="middle" class="quiet">{tick:g}</text>'
        )
    drawn.append(
        f'<text x="{width / 2}" y="{height - 5}" text-anchor="middle" class="quiet">'
        "confidence of predicted labels</text></svg>"
    )
    return "".join(drawn)


def shortened(text: Any, length: int) -> str:
    """Cut a text that is too long.

    Parameters
    ----------
    text : object
        What to write.
    length : int
        Characters at most.

    Returns
    -------
    text : str
        In one line.
    """
    line = " ".join(str(text).split())
    return line if len(line) <= length else line[: length - 1] + "…"
