"""Subspaces that follow a stream of rows."""

# SPDX-License-Identifier: BSD-3-Clause

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from sklearn.utils import check_random_state
from sklearn.utils.extmath import row_norms

from fewlabels._params import check_choice, check_number, usual
from fewlabels._sklearn import (
    Interval,
    StrOptions,
    check_array,
    fit_context,
    validate_data,
)
from fewlabels.decomposition._projection import Projection

# Longest step of Oja's rule, times the squared length of the row: with it no row, of
# whatever size, makes the frame grow without bound.
OJA_CAP = 1.0

# P of PAST does not grow beyond this multiple of where it started.
LARGEST_GROWTH = 1e8

MINOR_POWERS = {"chen": 1, "douglas": 2}

# Rows after which the frame of Chen's rule is made orthonormal again: its length grows
# with the square of the step, and its steps with its length.
ROWS_PER_FRAME = 100


def _stream(X: Any, W: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    X = check_array(X, dtype=np.float64, order="C", input_name="X")
    W = np.array(W, dtype=np.float64, order="C", ndmin=2)
    if W.shape[0] != X.shape[1]:
        raise ValueError(
            f"W must have one row per feature: X has {X.shape[1]} features, W has "
            f"shape {W.shape}."
        )
    return X, W


def _nearest_orthonormal(W: NDArray[np.float64]) -> NDArray[np.float64]:
    U, _, Vt = linalg.svd(W, full_matrices=False)
    return U @ Vt


def _steps(step: ArrayLike, n: int) -> NDArray[np.float64]:
    return np.array(np.broadcast_to(np.asarray(step, dtype=np.float64), (n,)))


def oja_update(X: Any, W: Any, step: ArrayLike) -> NDArray[np.float64]:
    r"""Move a frame towards the principal subspace of some rows, by Oja's rule.

    .. math:: y = W^\top x, \qquad W \leftarrow W + b \, (x y^\top - W y y^\top)

    for every row x in turn: a step of stochastic gradient descent on
    :math:`E\|x - W W^\top x\|^2` at an orthonormal W. The rule keeps W near the
    orthonormal frames by itself.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows, in the order in which they come.
    W : array-like of shape (n_features, n_components)
        The frame before.
    step : float or array-like of shape (n_samples,)
        Step b of every row, in units of 1 / (squared length of a row).

    Returns
    -------
    W : ndarray of shape (n_features, n_components)
        The frame after.

    References
    ----------
    .. [1] E. Oja, "Principal components, minor components, and linear neural networks",
       Neural Networks 5 (1992). :doi:`10.1016/S0893-6080(05)80089-9`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.decomposition import oja_update
    >>> X = np.tile([[2.0, 0.0], [0.0, 1.0]], (200, 1))
    >>> W = np.array([[0.6], [0.8]])
    >>> oja_update(X, W, 0.05).round(3)
    array([[1.],
           [0.]])
    """
    from fewlabels._loops.subspaces import oja

    X, W = _stream(X, W)
    oja(X, _steps(step, X.shape[0]), W)
    return W


def past_update(
    X: Any, W: Any, P: Any, *, forgetting: float = 0.99
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Move a frame towards the principal subspace of some rows, by least squares.

    Projection approximation subspace tracking. With :math:`y_t = W_{t-1}^\top x_t` held
    fixed, the frame that minimises

    .. math:: \sum_{t \le T} \beta^{T - t} \|x_t - W y_t\|^2

    is updated by recursive least squares,

    .. math::
        h = P y, \quad g = \frac{h}{\beta + y^\top h}, \quad
        P \leftarrow (P - g h^\top) / \beta, \quad W \leftarrow W + (x - W y) g^\top .

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows, in the order in which they come.
    W : array-like of shape (n_features, n_components)
        The frame before.
    P : array-like of shape (n_components, n_components)
        Inverse of the weighted correlation of y before; the identity, divided by a
        typical squared length of a row, to begin with.
    forgetting : float, default=0.99
        Weight :math:`\beta` of the last row but one, relative to the last.

    Returns
    -------
    W : ndarray of shape (n_features, n_components)
        The frame after. It is only nearly orthonormal.
    P : ndarray of shape (n_components, n_components)
        The inverse correlation after.

    References
    ----------
    .. [1] B. Yang, "Projection approximation subspace tracking", IEEE Transactions on
       Signal Processing 43 (1995). :doi:`10.1109/78.365290`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.decomposition import past_update
    >>> X = np.tile([[2.0, 0.0], [0.0, 1.0]], (200, 1))
    >>> W, P = past_update(X, np.array([[0.6], [0.8]]), np.eye(1))
    >>> W.round(2)
    array([[1.],
           [0.]])
    """
    from fewlabels._loops.subspaces import past

    check_number("forgetting", forgetting, above=0, most=1)
    X, W = _stream(X, W)
    P = np.array(P, dtype=np.float64, order="C", ndmin=2)
    if P.shape != (W.shape[1], W.shape[1]):
        raise ValueError(
            f"P must be square with one row per component, {W.shape[1]}, got shape "
            f"{P.shape}."
        )
    past(X, float(forgetting), np.inf, W, P)
    return W, P


def minor_update(
    X: Any, W: Any, step: ArrayLike, *, method: str = "douglas"
) -> NDArray[np.float64]:
    r"""Move a frame towards the minor subspace of some rows.

    .. math::
        y = W^\top x, \qquad
        W \leftarrow W - b \, \bigl(x y^\top (W^\top W)^p - W y y^\top\bigr)

    with p = 1 for the rule of Chen, Amari and Lin [1]_, which keeps the length of the
    frame as it was (and lets it grow slowly, with the square of the step), and p = 2
    for that of Douglas, Kung and Amari [2]_, which drives it to an orthonormal one.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows, in the order in which they come.
    W : array-like of shape (n_features, n_components)
        The frame before.
    step : float or array-like of shape (n_samples,)
        Step b of every row, in units of 1 / (squared length of a row). It is cut to
        half of that and, where the frame is longer than an orthonormal one, to less.
    method : {"douglas", "chen"}, default="douglas"
        Which rule.

    Returns
    -------
    W : ndarray of shape (n_features, n_components)
        The frame after.

    References
    ----------
    .. [1] T. Chen, S. Amari, Q. Lin, "A unified algorithm for principal and minor
       components extraction", Neural Networks 11 (1998), 385-390.
    .. [2] S. C. Douglas, S.-Y. Kung, S. Amari, "A self-stabilized minor subspace rule",
       IEEE Signal Processing Letters 5 (1998).

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.decomposition import minor_update
    >>> X = np.tile([[2.0, 0.0], [0.0, 1.0]], (400, 1))
    >>> W = np.array([[0.8], [0.6]])
    >>> minor_update(X, W, 0.05).round(3)
    array([[0.],
           [1.]])
    """
    from fewlabels._loops.subspaces import minor

    check_choice("method", method, MINOR_POWERS)
    X, W = _stream(X, W)
    minor(X, _steps(step, X.shape[0]), MINOR_POWERS[method], W)
    return W


class _StreamingSubspace(Projection):
    """A tracker: the frame, its start and its orthonormal version."""

    n_passes: int
    random_state: Any

    _dtypes = (np.float64,)
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **usual("n_components", "random_state"),
        "n_passes": [Interval(Integral, 1, None, closed="left")],
    }

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: None = None) -> Self:
        """Start again and follow the rows, `n_passes` times.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, in the order in which they come.
        y : None
            Ignored.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        X = validate_data(self, X, dtype=np.float64, order="C")
        self._start(X.shape[1])
        for _ in range(self.n_passes):
            self._follow(X)
        self._finish()
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: None = None) -> Self:
        """Follow further rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, in the order in which they come. How a stream is cut into calls makes
            no difference.
        y : None
            Ignored.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        first = not hasattr(self, "frame_")
        X = validate_data(self, X, dtype=np.float64, order="C", reset=first)
        if first:
            self._start(X.shape[1])
        self._follow(X)
        self._finish()
        return self

    def _start(self, n_features: int) -> None:
        self._check_n_components(n_features)
        rng = check_random_state(self.random_state)
        start = rng.normal(size=(n_features, self.n_components))
        # By rows, as the functions take it: the loops are compiled once for both.
        self.frame_ = np.ascontiguousarray(linalg.qr(start, mode="economic")[0])
        self.n_samples_seen_ = 0
        self._mean_square = 0.0

    def _follow(self, X: NDArray[np.float64]) -> None:
        raise NotImplementedError

    def _scaled_steps(
        self, X: NDArray[np.float64], rate: float, cap: float
    ) -> NDArray[np.float64]:
        """Measure steps in units of 1 / (mean squared length of all rows so far)."""
        squares = row_norms(X, squared=True)
        counts = self.n_samples_seen_ + np.arange(1, X.shape[0] + 1)
        totals = self._mean_square * self.n_samples_seen_ + np.cumsum(squares)
        self._mean_square = float(totals[-1] / counts[-1])
        self.n_samples_seen_ += X.shape[0]
        safe = np.where(squares > 0, squares, 1.0)  # a zero row moves nothing anyway
        means = np.where(totals > 0, totals / counts, 1.0)
        return np.minimum(rate / means, cap / safe)

    def _finish(self) -> None:
        # No basis of a subspace is better than another, and this one moves as little
        # as the subspace does.
        self.components_ = _nearest_orthonormal(self.frame_).T


class OjaSubspace(_StreamingSubspace):
    r"""Track the principal subspace of a stream of rows by Oja's rule.

    .. math::
        y = W^\top x, \qquad W \leftarrow W + b \, (x y^\top - W y y^\top), \qquad
        b = \min\left(\frac{\text{learning rate}}{\overline{\|x\|^2}},
        \frac{1}{\|x\|^2}\right)

    A row costs O(n_features n_components) and is then forgotten. The subspace is that
    of the second moments :math:`E[x x^\top]`: the rows are not centred.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the subspace.
    learning_rate : float, default=0.05
        Step, relative to the mean squared length of the rows so far. Larger ones track
        faster and end less exact.
    n_passes : int, default=1
        Number of passes of `fit` over its rows.
    random_state : int, RandomState instance or None, default=None
        Seed of the frame to start from.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal basis of the subspace. Single vectors are not principal components:
        any rotation of them would do.
    frame_ : ndarray of shape (n_features, n_components)
        W, which is nearly orthonormal.
    n_samples_seen_ : int
        Rows followed so far.
    n_features_in_ : int
        Number of features seen in `fit`.

    See Also
    --------
    oja_update : The rule by itself.
    PAST : Faster to converge, for O(n_components^2) more per row.
    sklearn.decomposition.IncrementalPCA : Blocks of rows, centred, nothing forgotten.

    References
    ----------
    .. [1] E. Oja, "Principal components, minor components, and linear neural networks",
       Neural Networks 5 (1992). :doi:`10.1016/S0893-6080(05)80089-9`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.decomposition import OjaSubspace
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 3)) * [3.0, 1.0, 0.1]
    >>> model = OjaSubspace(1, random_state=0)
    >>> for batch in np.split(X, 20):
    ...     model = model.partial_fit(batch)
    >>> bool(abs(model.components_[0, 0]) > 0.98)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_StreamingSubspace._parameter_constraints,
        **usual("learning_rate"),
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        learning_rate: float = 0.05,
        n_passes: int = 1,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.learning_rate = learning_rate
        self.n_passes = n_passes
        self.random_state = random_state

    def _follow(self, X: NDArray[np.float64]) -> None:
        steps = self._scaled_steps(X, self.learning_rate, OJA_CAP)
        self.frame_ = oja_update(X, self.frame_, steps)


class PAST(_StreamingSubspace):
    r"""Track the principal subspace of a stream of rows by recursive least squares.

    Projection approximation subspace tracking: with :math:`y_t = W_{t-1}^\top x_t`,

    .. math:: \min_W \sum_{t \le T} \beta^{T - t} \|x_t - W y_t\|^2

    is solved again with every row, in O(n_features n_components + n_components^2). The
    subspace is that of the second moments :math:`E[x x^\top]`: the rows are not
    centred.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the subspace.
    forgetting : float, default=0.99
        Weight :math:`\beta` of the last row but one, relative to the last: the tracker
        remembers about :math:`1 / (1 - \beta)` rows. 1 forgets nothing.
    n_passes : int, default=1
        Number of passes of `fit` over its rows.
    random_state : int, RandomState instance or None, default=None
        Seed of the frame to start from.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal basis of the subspace. Single vectors are not principal components:
        any rotation of them would do.
    frame_ : ndarray of shape (n_features, n_components)
        W, which is nearly orthonormal.
    inverse_correlation_ : ndarray of shape (n_components, n_components)
        P, the inverse of the weighted correlation of y.
    n_samples_seen_ : int
        Rows followed so far.
    n_features_in_ : int
        Number of features seen in `fit`.

    See Also
    --------
    past_update : The recursion by itself.
    OjaSubspace : Simpler, with a learning rate.

    References
    ----------
    .. [1] B. Yang, "Projection approximation subspace tracking", IEEE Transactions on
       Signal Processing 43 (1995). :doi:`10.1109/78.365290`

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.decomposition import PAST
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3)) * [3.0, 1.0, 0.1]
    >>> model = PAST(1, random_state=0).fit(X)
    >>> bool(abs(model.components_[0, 0]) > 0.98)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_StreamingSubspace._parameter_constraints,
        "forgetting": [Interval(Real, 0, 1, closed="right")],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        forgetting: float = 0.99,
        n_passes: int = 1,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.forgetting = forgetting
        self.n_passes = n_passes
        self.random_state = random_state

    def _start(self, n_features: int) -> None:
        super()._start(n_features)
        self.inverse_correlation_ = np.zeros((self.n_components, self.n_components))
        self._largest_trace = 0.0

    def _follow(self, X: NDArray[np.float64]) -> None:
        from fewlabels._loops.subspaces import past

        self.n_samples_seen_ += X.shape[0]
        if self._largest_trace == 0:  # the scale of the rows is not known yet
            present = np.flatnonzero(np.any(X != 0, axis=1))
            if present.size == 0:
                return
            X = X[present[0] :]
            scale = float(X[0] @ X[0])
            self.inverse_correlation_ = np.eye(self.n_components) / scale
            self._largest_trace = LARGEST_GROWTH * self.n_components / scale
        past(
            X,
            float(self.forgetting),
            self._largest_trace,
            self.frame_,
            self.inverse_correlation_,
        )


class MinorSubspace(_StreamingSubspace):
    r"""Track the minor subspace of a stream of rows: where they vary least.

    .. math::
        y = W^\top x, \qquad
        W \leftarrow W - b \, \bigl(x y^\top (W^\top W)^p - W y y^\top\bigr)

    with p = 1 ("chen") or p = 2 ("douglas"). The subspace is that of the second moments
    :math:`E[x x^\top]`: the rows are not centred. It is found faster the larger the gap
    between the minor eigenvalues and the others is, relative to the sum of all: next to
    a large principal part, it takes many rows.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the subspace.
    method : {"douglas", "chen"}, default="douglas"
        "douglas" drives the frame to an orthonormal one. With "chen" it keeps its
        length up to a drift that grows with the square of the step, and is made
        orthonormal again every 100 rows.
    learning_rate : float, default=0.05
        Step, relative to the mean squared length of the rows so far.
    n_passes : int, default=1
        Number of passes of `fit` over its rows.
    random_state : int, RandomState instance or None, default=None
        Seed of the frame to start from.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal basis of the subspace. Single vectors are not minor components: any
        rotation of them would do.
    frame_ : ndarray of shape (n_features, n_components)
        W.
    n_samples_seen_ : int
        Rows followed so far.
    n_features_in_ : int
        Number of features seen in `fit`.

    See Also
    --------
    minor_update : The rules by themselves.
    MinorComponentAnalysis : From all rows at once.

    References
    ----------
    .. [1] T. Chen, S. Amari, Q. Lin, "A unified algorithm for principal and minor
       components extraction", Neural Networks 11 (1998), 385-390.
    .. [2] S. C. Douglas, S.-Y. Kung, S. Amari, "A self-stabilized minor subspace rule",
       IEEE Signal Processing Letters 5 (1998).

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.decomposition import MinorSubspace
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 3)) * [1.0, 1.0, 0.1]
    >>> model = MinorSubspace(1, random_state=0).fit(X)
    >>> bool(abs(model.components_[0, 2]) > 0.98)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_StreamingSubspace._parameter_constraints,
        "method": [StrOptions(set(MINOR_POWERS))],
        **usual("learning_rate"),
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        method: str = "douglas",
        learning_rate: float = 0.05,
        n_passes: int = 1,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.method = method
        self.learning_rate = learning_rate
        self.n_passes = n_passes
        self.random_state = random_state

    def _follow(self, X: NDArray[np.float64]) -> None:
        start, method = self.n_samples_seen_, self.method
        steps = self._scaled_steps(X, self.learning_rate, np.inf)
        if method == "douglas":
            self.frame_ = minor_update(X, self.frame_, steps)
            return
        # Cut at multiples of all rows seen, so that calls make no difference.
        cuts = np.arange(-start % ROWS_PER_FRAME, X.shape[0], ROWS_PER_FRAME)
        for rows in np.split(np.arange(X.shape[0]), cuts):
            if rows.size == 0:
                continue
            W = minor_update(X[rows], self.frame_, steps[rows], method=method)
            start += rows.size
            at_cut = start % ROWS_PER_FRAME == 0
            self.frame_ = _nearest_orthonormal(W) if at_cut else W
