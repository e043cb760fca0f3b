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
    "labels": (50, 96, "How many rows have a label?", QUESTION),
    # no labels
    "pairs": (14, 80, "Do you know pairs of rows that\nbelong together, or apart?", QUESTION),
    "constrained": (14, 65, "ConstrainedSpectralClustering", ANSWER),
    "curved": (14, 49, "Do the groups follow\ncurved shapes?", QUESTION),
    "spectral": (14, 34, "NormalizedSpectralClustering\nmany rows: NystromSpectralClustering", ANSWER),
    "gap": (14, 18, "RLSClustering\nproven optimum where the rank is low", ANSWER),
    # few labels
    "target": (50, 80, "Classes, or numbers?", QUESTION),
    "regressor": (50, 65, "FewLabelsRegressor\nLaplacianRLSRegressor", ANSWER),
    "classifier": (50, 49, "FewLabelsClassifier\nread explain()", FIRST),
    "better": (50, 34, "Is it better than baseline_,\nby compare() or gain_?", QUESTION),
    "use": (37, 18, "Use it.", FIRST),
    "more": (63, 18, "Use baseline_, or\nget more labels.", ANSWER),
    # many labels
    "nearly": (86, 80, "Thousands of labels,\nor nearly all rows", QUESTION),
    "supervised": (86, 65, "a supervised classifier\nof scikit-learn", ELSEWHERE),
    "know": (86, 49, "Do you know what the\ndata are like?", QUESTION),
    "named": (86, 34, "a method of the table below,\nby compare() with the\nautomatic classifier", ANSWER),
}
ARROWS = [  # from, to, what is said on it
    ("labels", "pairs", "none"),
    ("labels", "target", "few, most have none"),
    ("labels", "nearly", "many"),
    ("pairs", "constrained", "yes"),
    ("constrained", "curved", "or no"),
    ("curved", "spectral", "yes"),
    ("spectral", "gap", "or no: a gap between two groups"),
    ("target", "regressor", "numbers"),
    ("regressor", "classifier", "or classes"),
    ("classifier", "better", ""),
    ("better", "use", "yes"),
    ("better", "more", "no, or not known"),
    ("nearly", "supervised", ""),
    ("classifier", "know", ""),
    ("know", "named", "yes"),
]


def draw():
    """Draw all boxes, then the arrows between their edges."""
    figure, ax = plt.subplots(figsize=(11, 8), layout="constrained")
    drawn = {}
    for name, (x, y, text, color) in BOXES.items():
        drawn[name] = ax.text(
            x,
            y,
            text,
            ha="center",
            va="center",
            fontsize=10,
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
        middle = [(a + b) / 2 for a, b in zip(BOXES[start][:2], BOXES[end][:2], strict=True)]
        ax.text(
            *middle,
            said,
            ha="center",
            va="center",
            fontsize=9,
            style="italic",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0},
        )
    ax.set(xlim=(-1, 101), ylim=(11, 101))
    ax.axis("off")
    return figure


if __name__ == "__main__":
    # The same file from every run.
    plt.rcParams["svg.hashsalt"] = "fewlabels"
    OUT.parent.mkdir(exist_ok=True)
    draw().savefig(OUT, metadata={"Date": None})
