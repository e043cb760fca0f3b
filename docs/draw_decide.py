"""Draw the picture of the decision guide: ``python docs/draw_decide.py``."""

# SPDX-License-Identifier: BSD-3-Clause

from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

OUT = Path(__file__).parent / "_static" / "decide.svg"

# What a box is: its face colour.
QUESTION, ANSWER, FIRST, ELSEWHERE = "#fff4d6", "#e1ecf7", "#cfe8cf", "#eeeeee"

BOXES = {  # name: (x, y, text, kind)
    "labels": (51, 97, "How many rows have a label?", QUESTION),
    # no labels
    "pairs": (
        16,
        79,
        "Do you know pairs of rows that\nbelong together, or apart?",
        QUESTION,
    ),
    "constrained": (7, 59, "Constrained-\nSpectralClustering", ANSWER),
    "curved": (25, 59, "Do the groups follow\ncurved shapes?", QUESTION),
    "spectral": (
        13,
        38,
        "NormalizedSpectralClustering;\nmany rows: Nystrom-\nSpectralClustering",
        ANSWER,
    ),
    "gap": (35, 38, "RLSClustering;\nlow rank: the\noptimum, proven", ANSWER),
    # few labels
    "target": (51, 79, "Classes, or numbers?", QUESTION),
    "regressor": (44, 59, "FewLabels-\nRegressor", ANSWER),
    "classifier": (60, 59, "FewLabelsClassifier", FIRST),
    "worse": (60, 38, "Is it worse than baseline_,\nby gain_ or compare()?", QUESTION),
    "use": (51, 18, "Use it.", FIRST),
    "more": (69, 18, "Use baseline_, or ask for\nmore labels: ActiveLearner", ANSWER),
    "know": (83, 59, "Do you know what\nthe data are like?", QUESTION),
    "named": (85, 38, "Compare it with a method\nof the table below.", ANSWER),
    # many labels
    "supervised": (85, 79, "A supervised classifier\nof scikit-learn", ELSEWHERE),
}
ARROWS = [  # from, to, what is said on it
    ("labels", "pairs", "none"),
    ("labels", "target", "few"),
    ("labels", "supervised", "thousands, or nearly all"),
    ("pairs", "constrained", "yes"),
    ("pairs", "curved", "no"),
    ("curved", "spectral", "yes"),
    ("curved", "gap", "no"),
    ("target", "regressor", "numbers"),
    ("target", "classifier", "classes"),
    ("classifier", "worse", ""),
    ("worse", "use", "no, or not known"),
    ("worse", "more", "yes"),
    ("classifier", "know", "then"),
    ("know", "named", "yes"),
]


def draw():
    """Draw all boxes, then the arrows between their edges."""
    figure, ax = plt.subplots(figsize=(12, 7), layout="constrained")
    drawn = {}
    for name, (x, y, text, color) in BOXES.items():
        drawn[name] = ax.text(
            x,
            y,
            text,
            ha="center",
            va="center",
            fontsize=9.5,
            bbox={"boxstyle": "round,pad=0.6", "facecolor": color, "edgecolor": "0.35"},
        )
    for start, end, said in ARROWS:
        ax.annotate(
            "",
            xy=BOXES[end][:2],
            xytext=BOXES[start][:2],
            arrowprops={
                "arrowstyle": "-|>",
                "color": "0.35",
                "patchA": drawn[start].get_bbox_patch(),
                "patchB": drawn[end].get_bbox_patch(),
                "shrinkA": 1,
                "shrinkB": 1,
            },
        )
        middle = [
            (a + b) / 2 for a, b in zip(BOXES[start][:2], BOXES[end][:2], strict=True)
        ]
        ax.text(
            *middle,
            said,
            ha="center",
            va="center",
            fontsize=9,
            style="italic",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0},
        )
    ax.set(xlim=(-1, 101), ylim=(12, 101))
    ax.axis("off")
    return figure


if __name__ == "__main__":
    # The same file from every run.
    plt.rcParams["svg.hashsalt"] = "fewlabels"
    OUT.parent.mkdir(exist_ok=True)
    draw().savefig(OUT, metadata={"Date": None})
