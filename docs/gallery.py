"""The order of the examples: those first that newcomers want first."""

# SPDX-License-Identifier: BSD-3-Clause

FIRST = (
    "plot_digits_twenty_labels.py",
    "plot_automatic_label_curve.py",
    "plot_active_learning.py",
    "plot_learning_curve_labels.py",
    "plot_constrained_clustering.py",
    "plot_transfer_no_target_labels.py",
)


class NewcomersFirst:
    """Sorts examples, for sphinx-gallery."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, name):
        """Place an example before or after others."""
        return (FIRST.index(name) if name in FIRST else len(FIRST), name)
