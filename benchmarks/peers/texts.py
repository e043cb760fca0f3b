"""The prose of the page of the comparison."""

# SPDX-License-Identifier: BSD-3-Clause

LEAD_TEXT = """
What one might use instead of fewlabels, on the same rows and labels, with the default
settings of each library. These are means over all sets of [Few labels](#few-labels), of
the methods that have a result on each; seconds are those of one fit.
"""
AFTER_LEAD = """
The cases in which another library is better or faster are listed under [Where to use
something else](#where-to-use-something-else), and [How it was run](#how-it-was-run) has
the conditions.
"""
PROTOCOL_TEXT = """
This page is written by `make peers` (`python benchmarks/peers/run.py`, which needs the
extra `peers` and continues where it stopped), and not edited by hand. Every library
runs on a case in a process of its own, on one thread, and every method in a fork of it.
Seconds are those of one fit with predictions for all training rows, after a fit to
about 80 rows, which loads compiled code. They come from a shared machine: read them as
orders of magnitude. All results are in `benchmarks/results/peers_*.csv`, with the
seconds to import and to warm up, the memory of the fit by itself, the chosen settings
and the warnings. A fit may take two minutes and 8 GiB; a grid is cut after a limit of
its own, 150 seconds here, and grids that were cut are named. The automatic classifier
and S2RLSC were run after the others, on the same cases; so were the Laplacian and
harmonic classifiers under "Few labels", when the default weights of graphs changed, and
on another machine: their seconds and memory cannot be compared. Those weights were
chosen on other splits of half of these sets ([graphs](../../docs/graphs.md)). Errors of
the automatic classifier under "Few labels", defaults, were measured again later: they
are newer than its seconds and memory, and than its growth and its grid, but for the
grid of g241c, g241d, bci and g50c, and their seconds and memory.

Rows are given as the loaders return them. A cell says so if a method was over its limit
of time or memory, failed, or its library was missing. HistGradientBoosting wants 20
rows in a leaf by default, and so predicts one class if there are fewer than 40 labels.
LabelPropagation and LabelSpreading have gamma = 20 by default, which suits rows in two
dimensions and not rows in hundreds: see them under "best of grid". SelfTraining has no
default classifier; it gets an SVC with probabilities. graphlearning has no default
graph; it gets that of its guide, ten neighbours, from scikit-learn's exact search where
rows have more than five features. ModSSC (which needs NumPy below 2.4) and AutoGluon
cannot be installed with the versions that the others need.
"""
LABELS_TEXT = """
Mean error in percent; the smallest of each row is bold. A quarter of the unlabelled
rows is held out of training: these are the new rows. Columns up to Harmonic are
fewlabels, those up to HistGB scikit-learn, `gl` is graphlearning, which does not
predict new rows. SVC and HistGB see the labelled rows only. The last row is the mean
over all rows, for methods that have a result in each.
"""
LATE_TEXT = """
Methods that have run on fewer splits, with three from above on the same splits. "Told
sizes" are methods that are given the true shares of the classes: an upper bound, which
is never bold. sslearn's wrappers have their own classifiers, and their predictions
differ from run to run although `random_state` is set; cleanlab, made for wrong labels
and not for missing ones, has an SVC and fails if a class has fewer labels than its five
folds.
"""
GRID_TEXT = """
The setting with the least error on the unlabelled rows, judged by their TRUE labels,
for fewlabels and for all others alike: what a method could reach, not what anyone would
get. The grids are in `benchmarks/peers/methods.py`, the chosen settings in the CSV
file.
"""
MNIST_TEXT = """
`python benchmarks/peers/mnist.py run`, then `report`: accuracy in percent on all 70,000
digits but the labelled ones, with one, two, three or five labels of every class. The
published figures are those of the authors of Poisson learning, means over 100 draws of
labels (p-Laplace 10). They worked on the codes of a variational autoencoder, which are
not available; ours are on the pixels themselves, and on the codes of an autoencoder of
the same kind, with 400 and 20 units (`benchmarks/mnist_vae.py`). Only the draws are the
same: the first ten of theirs, whose rows have the intended number of labels of each
class in our order of the digits. Our figures are means with one standard deviation over
the draws. "True sizes" are methods that are given the number of rows of each class
(`class_prior`).

With a single label of every class there is nothing to hold out, and the automatic
classifier takes a fixed average; its row on the codes with 10 labels was measured with
an earlier one, which had 83.5 % on the pixels. Codes with 20 columns are taken for a
table, whose average is two thirds supervised: pass `scale="none"`. On codes of a
shorter training (15 epochs; six draws, 2,500 of the rows) the average has 90.6 % with
it and 75.5 % without, and Poisson learning on the same graphs 88.8 %. On the codes and
draws of the table Poisson learning (`GraphRegularizationClassifier(method="poisson")`,
[labels on graphs](../../docs/graph_labels.md)) has 94.1 %. From two labels on the two
are about equal, and given the sizes, on the codes, the automatic classifier comes
within a point of PoissonMBO.
"""
CLUSTERS_TEXT = """
As many clusters as classes; error in percent after the best matching of clusters and
classes. The first four columns are fewlabels. The spectral clusterings of scikit-learn
and graphlearning do not predict new rows.
"""
PARTITION_TEXT = """
The partition problem of `S2RLSClassifier` (Gaussian kernel, gamma as "scale", two
classes, no bounds on their sizes), given to our searches and, as an Ising model with
the same energies, to the samplers of dwave-samplers. The first table has (F - least F
of the column) / least F, the second the seconds from the kernel matrix to the
partition; those of the samplers include the making of their model. "x 10" is ten
restarts or reads, and for TabuSampler a timeout of 1000 ms instead of its 20 ms.
"""
EXACT_TEXT = """
`python benchmarks/peers/exact.py` gives partition problems without labels to SCIP, with
40 seconds each, and to our exact solvers; [the guide](../../docs/clustering.md)
explains the columns.
"""
GROWTH_TEXT = """
Two moons (noise 0.1) with ten labels, or none for the clusterings; defaults. A method
that was over a limit is not run with more rows. The power p is that of seconds = c n^p
between the two largest n with more than 0.05 seconds.
"""
ELSEWHERE_TEXT = """
Every row above in which a peer wins, computed from the same files.
"""
