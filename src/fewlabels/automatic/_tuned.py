"""The constants of the automatic estimators that were chosen by measurement.

Each says what it does, on what evidence its value rests, and when it was chosen.
"Sets" means the true error on 23 settings of the benchmark sets in
docs/automatic_measured.md; "first half" means every second one of 35 real tables, with
the other half to report. `benchmarks/constants.py` leaves out, one at a time, those
that can be left out.
Sizes that only trade time for memory stay with the code that has them.
"""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np

# --- Bank: kernels built without labels ---------------------------------------------

# Ridges of every kernel, whose mean diagonal is 1. Sets, 2026-11-15.
RIDGES = np.array([1e-3, 1e-2, 0.1, 1.0, 10.0])
# Neighbours that are searched once for all graphs, and those of the graph of paths.
# Sets, 2026-11-15, without a search over values.
NEIGHBORS = 15
GEODESIC_NEIGHBORS = 5
# Width of the kernel of path lengths, in medians. Sets, 2026-11-15.
GEODESIC_WIDTH = 0.7
# Filters of eigenvalues r of a graph: exp(-HEAT r), and (r + OFFSET)^-p. Sets,
# 2026-11-15, without a search over values.
HEAT = 3.0
OFFSET = 0.1
# A row whose neighbours are more than this many times the usual distance away gets
# weights on the scale of its own distances. The more rows there are, the further away
# those on the fringe lie in units of that distance; with next to nothing joining them
# to the rest, the smoothest functions on a large graph would single out nothing else.
# Moons of 20,000 rows 2.3 -> 1.4 %, COIL20 1.6 -> 0.2 %, 2026-11-16.
FRINGE = 3.0
# New rows get eigenvectors divided by 1 - lambda, which must not be small. A safeguard,
# 2026-11-15.
MIN_GAIN = 0.2
# Components of new rows are stretched by at most this factor. A safeguard, 2026-11-15.
MAX_STRETCH = 3.0
# Kernel of a single column: width in standard deviations, and landmarks at quantiles.
# First half, 2026-11-16.
COLUMN_WIDTH = 0.5
COLUMN_LANDMARKS = 8
# Trees of a forest that is grown again for every block, and of one that predicts.
# First half: more of either changed no mean by 0.1 points, 2026-11-16.
N_TREES_HELD_OUT = 30
N_TREES = 240
# Up to this many columns, dense rows may be a table though nothing marks them as one.
# More are mostly pixels or embeddings, where trees take up to a third more time for no
# gain, unless nine of ten deviations are the same up to SAME_DEVIATION: somebody has
# standardised them, maybe with other rows. First half, 2026-11-16.
FEW_COLUMNS = 100
SAME_DEVIATION = 0.9
# More columns than that, of two values each, are a table unless they look like a
# picture, where columns side by side are alike: in USPS and MNIST at four thresholds,
# their mean correlation was 0.51 to 0.71, in twelve tables of words, categories and
# medians -0.52 to 0.02, and in a questionnaire with blocks of ten like questions 0.30.
# Smaller pictures are too coarse to tell: digits of 8 x 8 pixels had 0.07 to 0.23. As
# tables, four sets of binary columns had errors 0.1 to 2.1 points smaller, 2026-11-17.
PICTURE_CORRELATION = 0.4

# --- Judge: from held-out losses to weights -----------------------------------------

# Up to this many labels count as few, with rules of their own. Sets, 2026-11-15.
FEW = 20
# Held out at once: halves of few labels, fifths of more, and how often. Sets,
# 2026-11-15.
N_HALVES = 20
N_FIFTHS = 2
# Temperatures among which every candidate has its best. Sets, 2026-11-15.
TEMPERATURES = 2.0 ** np.arange(-1, 9)
# Draws of the Bayesian bootstrap, and the factor by which weights fall with every rank.
# Sets, 2026-11-15; 0.7 with few labels changed no mean by 0.1 points, 2026-11-17.
N_DRAWS = 100
DECAY = 0.75
# Of candidates about equal the smoother one: a decade of ridge is worth this share of
# the ranks. Small ridges spoil graph kernels around an odd label, and few labels do not
# show it. Sets, among twenty variants, 2026-11-15; without it tables with 3 labels of
# each class lose 0.5 points, 2026-11-17.
SMOOTHNESS = 0.03
# Stacking of more than a few labels: the prior weighs like this many of them. Sets,
# 2026-11-15; without it tables with 50 and 100 labels lose 0.1 points, 2026-11-17.
STACKING_STRENGTH = 20.0
STACKING_STEPS = 60
# Share of the supervised output with more than a few labels. Sets, among 25 variants,
# 2026-11-15; without it tables with 100 labels lose 0.2 points, 2026-11-17.
INSURANCE = 0.1
# Share of forests and the linear kernel on tables with few labels; with more it falls
# like their number. First half, among 0 to 0.7, 2026-11-16.
FEW_INSURANCE = 0.5
# Where held-out rows say nothing: shares of the families made for it, of supervised
# ones, and of forests with the linear kernel; ridges of supervised kernels, and of all
# others, so large that every label has about the same strength wherever it lies, as in
# Poisson learning. One half of the tables and benchmark sets, 2026-11-16.
FALLBACK_SHARES = {
    "table": (1 / 3, 1 / 3, 1 / 3),
    "text": (0.5, 0.5, 0.0),
    "pixels": (1.0, 0.0, 0.0),
}
SUPERVISED_RIDGE = 0.1
FIXED_RIDGE = 1.0
# Blocks of labels that are left out to judge the whole procedure; from MANY_CLASSES
# classes on, a block takes one label of every class. Sets, 2026-11-15.
N_OUTER = 20
MANY_CLASSES = 5

# --- Answer: class shares, probabilities, errors ------------------------------------

# Class shares are drawn towards those of the labels, which with this many labels per
# class count as much as the unlabelled rows: with few labels, probabilities are too
# rough for more. First half, 2026-11-16.
PULL_LABELS = 3.0
# Temperatures of probabilities, and the one they are drawn towards. Held-out log-loss
# of the benchmark; on 35 tables with one label per class 1.22 with 3, 1.28 with 1.5 and
# 1.24 with 4.5, 2026-11-15.
FINAL_TEMPERATURES = 2.0 ** np.arange(-2, 8.25, 0.25)
USUAL_TEMPERATURE = 3.0
# Final probabilities are drawn towards a lower one, and twice as much: where a few
# held-out rows happen to be predicted correctly, the best one is far too high. Among
# nine by the log-loss with 10 labels, 0.50 -> 0.44, 2026-11-16.
CAUTIOUS_TEMPERATURE = 1.5
CAUTION = 2.0
# No class of a row is certain or impossible. A safeguard, 2026-11-15.
PROBABILITY_FLOOR = 1e-4
# What the expected error is made of, in rows: a labelled row that was held out, all
# unlabelled rows and their doubts, and the errors (and hits) assumed beforehand; and
# how far all of it is trusted for the interval. Width and coverage of intervals, on one
# half of 35 tables and 13 benchmark sets, 2026-11-16.
HELD_OUT_WORTH = 0.4
DOUBT_WORTH = 10.0
PRIOR_ERRORS = 0.75
TRUST = 0.85
# Where holding out costs accuracy, the error falls at most like this power of the
# number of labels: coverage of intervals of many classes, 2026-11-16.
STEEPEST = 1.0
# Labelled rows are not quite independent evidence: each counts as this many for the
# gain over the baseline. Coverage in the benchmark, 2026-11-15.
EFFECTIVE = 0.7
# Of the squared error of a regression: the kurtosis of residuals that is assumed, and
# in how many rows; and how many of its spreads the interval reaches down and up: the
# narrowest with at most 5 % on either side in each of the 12 designs of
# benchmarks/regression_intervals.py; its table has other draws, 2026-11-17.
KURTOSIS = 3.0
KURTOSIS_ROWS = 20
SPREADS_BELOW = 2.6
SPREADS_ABOVE = 4.2
# The error falls like a power of the number of labels. Between 10 and 100 labels of
# eleven benchmark sets the exponent was 0.02 to 2.5 with a median of 0.2, and 0.26 to
# 0.29 in the mean of 35 tables, 2026-11-16.
USUAL_EXPONENT = 0.3
EXPONENT_SPREAD = 0.2
LEAST_EXPONENT, LARGEST_EXPONENT = 0.15, 1.0
# A label is suspicious where the others give another class at least these odds. With
# one label of five wrong, 2 names two thirds of these and one of twenty others (mean
# over six small sets, on which it was chosen); 4 would name half as many of both,
# 2026-11-16.
SUSPICIOUS_ODDS = 2.0
