"""Plain estimators refuse what would not fit into memory."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from sklearn.base import is_regressor

from fewlabels import FewLabelsClassifier, FewLabelsRegressor, unlabeled_mask
from fewlabels.graphs import similarity_graph
from fewlabels.preprocessing import TableTransformer
from fewlabels.semi_supervised import HarmonicFunctionClassifier, RLSClassifier

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

X = np.arange(24.0).reshape(12, 2) % 5
y = np.array([0, 1] * 2 + [-1] * 8)
LAZY = da.from_array(X, chunks=4)
REFUSAL = "pull all of it into memory: use fewlabels.dask.DaskFewLabelsClassifier"


@pytest.mark.parametrize(
    "model",
    [
        FewLabelsClassifier(bank="fast"),
        FewLabelsRegressor(bank="fast"),
        HarmonicFunctionClassifier(),
        RLSClassifier(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_estimators_refuse_lazy_rows_and_labels(model):
    known = np.where(y < 0, np.nan, y) if is_regressor(model) else y
    with pytest.raises(TypeError, match=f"X is a Dask Array.*{REFUSAL}"):
        model.fit(LAZY, y)
    with pytest.raises(TypeError, match="y is a Dask Array"):
        model.fit(X, da.from_array(y))
    model.fit(X, known)
    with pytest.raises(TypeError, match=REFUSAL):
        model.predict(LAZY)


def test_frames_functions_and_masks_refuse_them_too():
    frame = dd.from_pandas(pd.DataFrame({"a": X[:, 0], "b": list("xy") * 6}), 2)
    for refused in (
        lambda: FewLabelsClassifier().fit(frame, y),
        lambda: TableTransformer().fit(frame),
        lambda: similarity_graph(LAZY),
        lambda: unlabeled_mask(da.from_array(y)),
    ):
        with pytest.raises(TypeError, match=REFUSAL):
            refused()
