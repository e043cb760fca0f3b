"""What Ray's map_batches and Spark's mapInPandas call, on batches of pandas."""

# SPDX-License-Identifier: BSD-3-Clause

import pickle

import numpy as np
import pandas as pd
from numpy.testing import assert_array_equal
from sklearn.datasets import make_moons

from fewlabels import FewLabelsClassifier
from fewlabels.datasets import hide_labels


def test_a_model_that_was_sent_labels_batches():
    X, y = make_moons(400, noise=0.1, random_state=0)
    y = hide_labels(y, n_labeled=20, random_state=0)
    model = FewLabelsClassifier(bank="fast", random_state=0).fit(X, y)
    shared = pickle.loads(pickle.dumps(model.compact(transduction=False)))
    table = pd.DataFrame(
        np.random.default_rng(0).normal(size=(90, 2)), columns=["a", "b"]
    )

    def spark(batches):
        for batch in batches:
            yield batch.assign(label=shared.predict(batch[["a", "b"]].to_numpy()))

    class Ray:
        def __init__(self, model):
            self.model = model

        def __call__(self, batch):
            rows = np.column_stack([batch[name] for name in ("a", "b")])
            return {**batch, "label": self.model.predict(rows)}

    batches = [table[:40], table[40:41], table[41:]]
    expected = model.predict(table.to_numpy())
    assert_array_equal(pd.concat(spark(iter(batches)))["label"], expected)
    label = Ray(shared)
    answers = [
        label({name: part[name].to_numpy() for name in part})["label"]
        for part in batches
    ]
    assert_array_equal(np.concatenate(answers), expected)
