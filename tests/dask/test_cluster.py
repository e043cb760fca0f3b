"""A cluster of two processes, one of which is killed in the middle of the work."""

# SPDX-License-Identifier: BSD-3-Clause

import os
import signal
import threading
import time
from pathlib import Path

import dask.array as da
import joblib
import numpy as np
import pytest
from distributed import Client, LocalCluster
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_moons
from sklearn.model_selection import GridSearchCV

import fewlabels.dask._harmonic
import fewlabels.dask._learn
from fewlabels.cluster import RLSClustering
from fewlabels.dask import DaskFewLabelsClassifier, dask_harmonic_functions
from fewlabels.datasets import hide_labels
from fewlabels.model_selection import LabeledKFold, learning_curve_labels
from fewlabels.semi_supervised import RLSClassifier

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

N = 400


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        dashboard_address=":0",
        silence_logs=50,
    ) as running:
        yield running


@pytest.fixture
def client(cluster):
    with Client(cluster) as connected:
        connected.wait_for_workers(2)
        yield connected


@pytest.fixture(autouse=True)
def synchronous():
    """The cluster computes here, whatever the others do."""


def problem():
    X, y_true = make_moons(N, noise=0.08, random_state=0)
    return X, y_true, hide_labels(y_true, n_labeled=12, random_state=0)


class KillOnce:
    """Pass blocks on, but kill the process that meets the first one."""

    def __init__(self, folder, name):
        self.marker = str(Path(folder) / name)

    def __call__(self, block):
        try:
            Path(self.marker).touch(exist_ok=False)
        except FileExistsError:
            return block
        os.kill(os.getpid(), signal.SIGKILL)

    @property
    def happened(self):
        return Path(self.marker).exists()


def lazy(X, kill=None):
    rows = da.from_array(X, chunks=(200, 2))
    return rows if kill is None else rows.map_blocks(kill, dtype=float, meta=X[:0])


def classifier(client, **params):
    return DaskFewLabelsClassifier(
        client=client, sample_size=100, bank="fast", random_state=0, **params
    )


def test_workers_killed_in_every_phase_change_nothing(client, tmp_path, monkeypatch):
    X, _, y = problem()
    expected = classifier(client).fit(lazy(X), y)
    kills = {name: KillOnce(tmp_path, name) for name in ("labels", "rows", "learn")}
    original = fewlabels.dask._learn.learn

    def killing(*args):
        kills["learn"](None)
        return original(*args)

    monkeypatch.setattr(fewlabels.dask._learn, "learn", killing)
    labels = da.from_array(y, chunks=200).map_blocks(
        kills["labels"], dtype=int, meta=y[:0]
    )
    model = classifier(client).fit(lazy(X, kills["rows"]), labels)
    monkeypatch.undo()
    assert all(kill.happened for kill in kills.values())
    assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-9)
    assert model.sample_cost_ == expected.sample_cost_
    kill = KillOnce(tmp_path, "predict")
    p = model.predict_proba(lazy(X, kill)).compute()
    assert kill.happened
    assert_allclose(p, model.predict_proba(X))


def test_a_worker_killed_during_conjugate_gradients(client, tmp_path, monkeypatch):
    X, _, y = problem()
    monkeypatch.setattr(fewlabels.dask._harmonic, "GATHERED_EDGES", 0)
    given = {"tol": 0.02, "random_state": 0, "client": client}
    expected = dask_harmonic_functions(lazy(X), y, **given)
    kill, calls = KillOnce(tmp_path, "product"), Path(tmp_path) / "calls"
    original = fewlabels.dask._harmonic.product

    def killing(*args):
        with calls.open("a") as file:
            file.write(".")
        if calls.stat().st_size > 4:
            kill(None)
        return original(*args)

    monkeypatch.setattr(fewlabels.dask._harmonic, "product", killing)
    solution = dask_harmonic_functions(lazy(X), y, **given)
    assert kill.happened
    assert solution.n_iter == expected.n_iter > 2
    assert_allclose(solution.values.compute(), expected.values.compute(), atol=1e-9)


def test_cancelled_work_is_gone(client):
    def slow(block):
        time.sleep(3)
        return block

    X, _, y = problem()
    rows = da.from_array(X, chunks=(20, 2)).map_blocks(slow, dtype=float, meta=X[:0])

    def tasks():
        return client.run_on_scheduler(lambda dask_scheduler: set(dask_scheduler.tasks))

    before = tasks()  # such as what the test with a killed worker has left
    # A process that was started in the background of a shell hears of no interrupts.
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    # Not by the client's loop, which hears of calls of its own thread alone.
    threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            classifier(client).fit(rows, y)
    finally:
        signal.signal(signal.SIGINT, usual)

    waited = time.monotonic() + 2  # less than one more block would take
    while time.monotonic() < waited:
        left = tasks() - before
        if not left:
            break
        time.sleep(0.1)
    assert not left


def test_a_lost_scheduler_is_told(tmp_path):
    X, _, y = problem()
    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            processes=False,
            dashboard_address=":0",
            silence_logs=50,
        ) as running,
        Client(running, timeout=5) as connected,
    ):

        def slow(block):
            time.sleep(2)
            return block

        rows = da.from_array(X, chunks=(100, 2)).map_blocks(
            slow, dtype=float, meta=X[:0]
        )
        close = (running.scheduler.close,)
        threading.Timer(1.0, connected.loop.add_callback, close).start()
        with pytest.raises(ConnectionError, match="scheduler was lost"):
            classifier(connected).fit(rows, y)


def test_grids_curves_and_restarts_run_on_a_cluster(client):
    X, y_true, _ = problem()
    X, y_true = X[:200], y_true[:200]
    grid = GridSearchCV(
        RLSClassifier(),
        {"alpha": [0.1, 1.0]},
        cv=LabeledKFold(3, random_state=0),
        scoring="accuracy",
    )
    curve = {"n_labels": [4, 8], "n_repeats": 2, "random_state": 0}
    clusters = RLSClustering(n_init=6, random_state=0)
    restarted = clusters.fit(X).labels_
    plain = grid.fit(X, y_true).cv_results_["mean_test_score"]
    local = learning_curve_labels(RLSClassifier(), X, y_true, **curve)
    with joblib.parallel_config("dask"):
        grid.set_params(n_jobs=2).fit(X, y_true)
        away = learning_curve_labels(RLSClassifier(), X, y_true, n_jobs=2, **curve)
        clusters.set_params(n_jobs=2).fit(X)
    assert_array_equal(clusters.labels_, restarted)
    assert_allclose(grid.cv_results_["mean_test_score"], plain)
    assert_allclose(away.scores, local.scores)
    assert np.isfinite(local.scores).all()
