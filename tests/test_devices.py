"""Where things are computed: the same results on any backend, in the type given."""

# SPDX-License-Identifier: BSD-3-Clause

import pickle
import sys
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs, make_moons

from fewlabels._backend import (
    NUMPY,
    NumpyBackend,
    TensorMixin,
    get_backend,
    is_tensor,
    to_host,
)
from fewlabels.cluster import (
    NormalizedSpectralClustering,
    RLSClustering,
    spectral_relaxation,
)
from fewlabels.datasets import hide_labels
from fewlabels.exceptions import IgnoredParameterWarning
from fewlabels.graphs import (
    SimilarityGraphTransformer,
    make_search,
    nearest_neighbors,
    similarity_graph,
)
from fewlabels.kernels import DenseGram, Kernel, TiledGram, gram_operator
from fewlabels.optimize import conjugate_gradients
from fewlabels.partition import PartitionProblem, local_search
from fewlabels.semi_supervised import (
    HarmonicFunctionClassifier,
    HarmonicFunctionRegressor,
    LaplacianRLSClassifier,
    LaplacianRLSClassifierCV,
    LaplacianRLSRegressor,
    LaplacianSVC,
    S2RLSClassifier,
    harmonic_functions,
)
from tests.helpers import DEVICE, tensor
from tests.partition.problems import random_problem


class Double(NumpyBackend):
    """A device that is none: it computes by NumPy and notes what it was asked for."""

    is_numpy = False
    device = "double"

    def __init__(self):
        self.calls = []

    def __getattribute__(self, name):
        found = super().__getattribute__(name)
        if callable(found) and not name.startswith("_"):
            self.calls.append(name)
        return found


class Foreign:
    """An array of a library that fewlabels has never heard of."""

    def __init__(self, A):
        self.A = np.asarray(A)
        self.shape = self.A.shape

    def __dlpack__(self, **kwargs):
        return self.A.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self.A.__dlpack_device__()

    def __array_namespace__(self, api_version=None):
        return ForeignNamespace


class ForeignNamespace:
    asarray = Foreign


@pytest.fixture(params=["double", "torch"])
def backend(request):
    if request.param == "double":
        return Double()
    pytest.importorskip("torch")
    from fewlabels._backend._torch import torch_backend

    return torch_backend(DEVICE)


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


def rows(n=60, d=3, dtype=np.float64, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)).astype(dtype)


class TestExchange:
    def test_what_is_a_tensor(self):
        assert is_tensor(Foreign(np.ones(3)))
        for other in (np.ones(3), [1.0], csr_array((2, 2)), None, 1.0):
            assert not is_tensor(other)

    def test_arrays_on_the_host_need_no_torch(self):
        assert get_backend(None, Foreign(rows())) is NUMPY

    def test_none_follows_what_is_given(self, torch):
        assert get_backend(None, rows()) is NUMPY
        assert get_backend("cpu", torch.ones(2, 2)) is NUMPY
        assert get_backend(None, torch.ones(2, 2)).device == "cpu"
        assert not get_backend(None, torch.ones(2, 2)).is_numpy

    def test_methods_answer_in_kind(self):
        class Model(TensorMixin):
            device = None

            def fit(self, X, y=None):
                self.seen = type(X), type(y)
                return self

            def predict(self, X):
                return X[:, 0], np.array(["a", "b"])

        model = Model()
        assert model.fit(Foreign(rows()), y=Foreign(np.ones(60))) is model
        assert model.seen == (np.ndarray, np.ndarray)
        numbers, words = model.predict(Foreign(rows(2)))
        assert isinstance(numbers, Foreign)
        assert_array_equal(numbers.A, rows(2)[:, 0])
        assert isinstance(words, np.ndarray)

    def test_no_gpu(self, torch):
        if torch.cuda.is_available():
            pytest.skip("there is one")
        with pytest.raises(ValueError, match="finds no GPU here"):
            nearest_neighbors(rows(), 2, device="cuda")

    def test_no_torch(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "torch", None)
        monkeypatch.delitem(sys.modules, "fewlabels._backend._torch", raising=False)
        with pytest.raises(ImportError, match=r"fewlabels\[gpu\]"):
            nearest_neighbors(rows(), 2, device="cuda")


KERNELS = [
    ("rbf", {"gamma": 0.3}),
    ("rbf", {"gamma": None}),
    ("laplacian", {"gamma": 0.3}),
    ("poly", {"kernel_params": {"degree": 2, "coef0": 0.5}}),
    ("polynomial", {}),
    ("linear", {}),
]


class TestGram:
    @pytest.mark.parametrize(("kernel", "params"), KERNELS)
    @pytest.mark.parametrize("representation", ["dense", "tiled"])
    def test_same_matrix(self, backend, kernel, params, representation):
        X, V = rows(), rows(60, 2, seed=1)
        expected = gram_operator(X, kernel, **params)
        gram = gram_operator(
            X, kernel, representation=representation, device=backend, **params
        )
        for act in (
            lambda gram: gram @ V,
            lambda gram: gram @ V[:, 0],
            lambda gram: gram.centered() @ V,
            lambda gram: gram.diagonal(),
            lambda gram: gram.columns([4, 2]),
            lambda gram: gram.toarray(),
        ):
            assert type(act(gram)) is np.ndarray
            assert_allclose(act(gram), act(expected), rtol=1e-9, atol=1e-12)

    def test_rows_in_odd_units(self, backend):
        X = 1e160 * rows()
        gram = gram_operator(X, representation="tiled", device=backend)
        V = np.ones((60, 1))
        assert_allclose(gram @ V, gram_operator(rows()) @ V, rtol=1e-9)

    def test_the_budget_decides_what_is_held(self, backend):
        X = rows(200)
        assert isinstance(gram_operator(X, device=backend), DenseGram)
        gram = gram_operator(X, memory_budget=0.1, device=backend)
        assert isinstance(gram, TiledGram)

    def test_what_is_asked_of_the_device(self):
        for representation, made in (("tiled", False), ("dense", True)):
            double = Double()
            gram = gram_operator(rows(), representation=representation, device=double)
            assert ("kernel_matrix" in double.calls) == made
            gram @ np.ones((60, 2))
            assert ("kernel_product" in double.calls) != made

    def test_single_precision_stays(self, backend):
        X = rows(dtype=np.float32)
        gram = gram_operator(X, representation="tiled", device=backend)
        assert (gram @ np.ones((60, 1), dtype=np.float32)).dtype == np.float32
        assert (gram @ np.ones((60, 1))).dtype == np.float64

    def test_saved_without_the_device(self, backend):
        for representation in ("dense", "tiled"):
            gram = gram_operator(rows(), representation=representation, device=backend)
            saved = pickle.dumps(gram)
            assert b"torch" not in saved
            assert_allclose(pickle.loads(saved).toarray(), gram.toarray())

    def test_other_kernels_stay_on_the_host(self, backend):
        for X, kernel in ((rows(), "cosine"), (csr_array(rows()), "rbf")):
            with pytest.warns(IgnoredParameterWarning, match="NumPy"):
                gram = gram_operator(X, kernel, device=backend)
            assert_allclose(gram.toarray(), gram_operator(X, kernel).toarray())

    def test_products_that_overflow(self, backend):
        with pytest.raises(ValueError, match="scale X"):
            Kernel("linear").product(
                1e160 * rows(), 1e160 * rows(), np.ones((60, 1)), device=backend
            )

    def test_tensors(self, torch):
        X = rows()
        gram = gram_operator(tensor(X), representation="tiled")
        assert_allclose(gram @ X, gram_operator(X) @ X)
        K = tensor(gram.toarray())
        assert_allclose(DenseGram(K) @ X, gram @ X)
        with pytest.raises(ValueError, match="NaN"):
            DenseGram(torch.full((2, 2), torch.nan))
        with pytest.raises(ValueError, match="square"):
            DenseGram(torch.ones((2, 3)))
        assert DenseGram(torch.ones((2, 2), dtype=torch.int64)).dtype == np.float64

    @pytest.mark.parametrize(("kernel", "params"), KERNELS)
    def test_expansion(self, backend, kernel, params):
        params = dict(params)
        fixed = Kernel(kernel, {**params.pop("kernel_params", {}), **params})
        X, Y, V = rows(20), rows(60, seed=1), rows(60, 2, seed=2)
        assert_allclose(fixed.product(X, Y, V, device=backend), fixed.product(X, Y, V))


class TestSearch:
    @pytest.mark.parametrize("scale", [1.0, 1e160])
    def test_same_neighbors(self, backend, scale):
        X = scale * rows(200)
        found = make_search(X, device=backend)
        for queries in (None, scale * rows(30, seed=1)):
            distances, indices = found.kneighbors(7, queries)
            expected = make_search(X).kneighbors(7, queries)
            assert_allclose(distances, expected[0])
            assert_array_equal(indices, expected[1])

    def test_tensors_come_back(self, torch):
        X = rows()
        distances, indices = nearest_neighbors(tensor(X), 4)
        expected = nearest_neighbors(X, 4)
        assert isinstance(distances, torch.Tensor)
        assert_allclose(to_host(distances), expected[0])
        assert_array_equal(to_host(indices), expected[1])

    def test_foreign_arrays_come_back(self):
        distances, indices = nearest_neighbors(Foreign(rows()), 4)
        expected = nearest_neighbors(rows(), 4)
        assert_array_equal(distances.A, expected[0])
        assert_array_equal(indices.A, expected[1])

    @pytest.mark.parametrize("weight", ["heat", "dot", "local_linear"])
    def test_graph(self, backend, weight):
        X = np.abs(rows())
        W = similarity_graph(X, weight=weight)
        moved = similarity_graph.__wrapped__(X, weight=weight, device=backend)
        assert_allclose(moved.toarray(), W.toarray(), atol=1e-12)

    def test_transformer(self, torch):
        X, new = rows(), rows(9, seed=1)
        expected = SimilarityGraphTransformer().fit(X).transform(new).toarray()
        model = SimilarityGraphTransformer().fit(tensor(X))
        assert_allclose(model.transform(tensor(new)).toarray(), expected)
        saved = pickle.dumps(model)
        assert b"torch" not in saved
        assert_allclose(pickle.loads(saved).transform(new).toarray(), expected)

    def test_what_is_searched_on_the_host(self, backend):
        X = rows()
        for options in ({"metric": "cosine"}, {"kind": "ball"}):
            with pytest.warns(IgnoredParameterWarning, match="Euclidean"):
                make_search(X, device=backend, **options)


def moons(n=120):
    X, truth = make_moons(n, noise=0.05, random_state=0)
    return X, hide_labels(truth, per_class=3, random_state=0)


ESTIMATORS = {
    "LaplacianSVC": LaplacianSVC(),
    "LaplacianSVC, pcg": LaplacianSVC(solver="pcg", solver_params={"tol": 1e-4}),
    "LaplacianSVC, tiles": LaplacianSVC(
        solver="pcg", solver_params={"memory_budget": 0.01}
    ),
    "LaplacianSVC, dense": LaplacianSVC(solver="dense"),
    "LaplacianRLSClassifier": LaplacianRLSClassifier(),
    "LaplacianRLSClassifierCV": LaplacianRLSClassifierCV(gammas=[1.0, 5.0]),
    "S2RLSClassifier": S2RLSClassifier(random_state=0),
    "HarmonicFunctionClassifier": HarmonicFunctionClassifier(),
    "HarmonicFunctionClassifier, cg": HarmonicFunctionClassifier(solver="cg"),
}
OTHERS = {
    "LaplacianRLSRegressor": LaplacianRLSRegressor(),
    "HarmonicFunctionRegressor": HarmonicFunctionRegressor(solver="cg"),
    "RLSClustering": RLSClustering(solver="local_search", random_state=0),
    "NormalizedSpectralClustering": NormalizedSpectralClustering(random_state=0),
}


class TestEstimators:
    @pytest.mark.parametrize("name", [*ESTIMATORS, *OTHERS])
    def test_tensors_in_tensors_out(self, torch, name):
        X, y = moons()
        if name in OTHERS:
            y = np.where(y < 0, np.nan, y)
        model = clone({**ESTIMATORS, **OTHERS}[name])
        args = [y] if "Clustering" not in name else []
        host = clone(model).fit(X, *args)
        new = X[::3] + 0.01
        with warnings.catch_warnings():
            warnings.simplefilter("error", IgnoredParameterWarning)
            model.fit(tensor(X), *map(tensor, args))
            answer = model.predict(tensor(new))
        assert isinstance(answer, torch.Tensor)
        assert_allclose(to_host(answer), host.predict(new), atol=1e-3)
        # Attributes are NumPy's, and the model needs no torch elsewhere.
        saved = pickle.dumps(model)
        assert b"torch" not in saved
        assert_allclose(pickle.loads(saved).predict(new), to_host(answer), atol=1e-6)

    @pytest.mark.parametrize("name", [*ESTIMATORS, *OTHERS])
    def test_foreign_arrays(self, name):
        X, y = moons(40)
        if name in OTHERS:
            y = np.where(y < 0, np.nan, y)
        model = clone({**ESTIMATORS, **OTHERS}[name])
        args = [y] if "Clustering" not in name else []
        expected = clone(model).fit(X, *args).predict(X)
        answer = model.fit(Foreign(X), *map(Foreign, args)).predict(Foreign(X))
        assert_array_equal(answer.A, expected)

    def test_the_device_is_asked(self, monkeypatch):
        double = Double()
        monkeypatch.setattr(
            "fewlabels._backend._choose.get_backend", lambda *given: double
        )
        X, y = moons()
        LaplacianSVC(solver="pcg", solver_params={"memory_budget": 0.01}).fit(X, y)
        assert {"nearest", "kernel_product"} <= set(double.calls)
        double.calls.clear()
        HarmonicFunctionClassifier(solver="cg").fit(X, y)
        assert "nearest" in double.calls

    def test_more_than_two_classes(self, torch):
        X, y = load_iris(return_X_y=True)
        y = hide_labels(y, per_class=4, random_state=0)
        for model in (
            S2RLSClassifier(random_state=0, n_init=4),
            LaplacianSVC(solver="pcg"),
            HarmonicFunctionClassifier(solver="cg", balance="labels"),
        ):
            expected = clone(model).fit(X, y)
            found = model.fit(tensor(X), y)
            assert_array_equal(found.transduction_, expected.transduction_)
            scores = model.score(tensor(X), tensor(y))
            assert scores == pytest.approx(expected.score(X, y))

    def test_words_come_back_as_words(self, torch):
        X, y = moons()
        words = np.array(["no", "yes", None], dtype=object)[y]
        model = LaplacianSVC().fit(tensor(X), words)
        answer = model.predict(tensor(X))
        assert set(answer) == {"no", "yes"}


class TestLocalSearch:
    @pytest.mark.parametrize("seed", range(6))
    @pytest.mark.parametrize("n_classes", [2, 4])
    @pytest.mark.parametrize("balanced", [False, True])
    def test_same_moves_as_the_loop(self, backend, seed, n_classes, balanced):
        problem = random_problem(
            seed,
            n=20 + 3 * seed,
            n_classes=n_classes,
            n_labeled=seed,
            balanced=balanced,
            factor=bool(seed % 2),
            ties=seed % 3 == 0,
        )
        for limit in (None, 50, 0):
            options = {
                "start": "random",
                "n_init": 7,
                "random_state": seed,
                "max_trials": limit,
            }
            alone = local_search(problem, representation="dense", **options)
            together = local_search(problem, device=backend, **options)
            for name, value in vars(alone).items():
                if name != "seconds":
                    assert_array_equal(getattr(together, name), value, err_msg=name)

    def test_some_runs_at_a_time(self, monkeypatch):
        problem = random_problem(0, n=30)
        expected = local_search(problem, "random", 20, 0, representation="dense")
        double = Double()
        monkeypatch.setattr(Double, "room", lambda self: 8 * 30**2)
        found = local_search(problem, "random", 20, 0, device=double)
        assert_array_equal(found.objectives, expected.objectives)

    def test_a_matrix_that_does_not_fit(self, monkeypatch):
        problem = random_problem(0, n=30)
        monkeypatch.setattr(Double, "room", lambda self: 100)
        with pytest.warns(IgnoredParameterWarning, match="does not fit into"):
            local_search(problem, "random", device=Double())
        with pytest.warns(IgnoredParameterWarning, match="factor"):
            local_search(problem, "random", representation="factor", device=Double())

    def test_nothing_is_free(self, backend):
        problem = PartitionProblem.from_factor(np.eye(2), [-1, 1])
        assert local_search(problem, device=backend).y.tolist() == [-1, 1]


class TestConjugateGradients:
    def test_on_tensors(self, backend):
        rng = np.random.default_rng(0)
        A = rng.normal(size=(30, 30))
        A = np.eye(30) + A @ A.T / 60
        B = np.column_stack([rng.normal(size=(30, 3)), np.zeros(30)])
        expected = conjugate_gradients(A, B)
        X, n_iter, converged = conjugate_gradients(
            backend.asarray(csr_array(A)), backend.asarray(B)
        )
        assert (n_iter, converged) == expected[1:]
        assert_allclose(backend.to_numpy(X), expected[0], atol=1e-10)

    @pytest.mark.parametrize("label_weight", [np.inf, 2.0])
    def test_harmonic_functions(self, backend, label_weight):
        X, _ = moons()
        W = similarity_graph(X)
        params = {"label_weight": label_weight, "solver": "cg", "tol": 1e-10}
        expected = harmonic_functions(W, [0, 7, 9], np.eye(3), **params)
        found = harmonic_functions(W, [0, 7, 9], np.eye(3), device=backend, **params)
        assert_allclose(found.values, expected.values, atol=1e-7)


class TestEigenvectors:
    @pytest.mark.parametrize("laplacian", ["symmetric", "random_walk", "unnormalized"])
    def test_same_space(self, backend, laplacian):
        X, _ = make_blobs(700, 5, centers=4, cluster_std=3.0, random_state=0)
        W = similarity_graph(X)
        params = {"laplacian": laplacian, "random_state": 0}
        expected = spectral_relaxation(W, 4, **params)
        found = spectral_relaxation(W, 4, device=backend, **params)
        assert_allclose(found.eigenvalues, expected.eigenvalues, atol=1e-9)
        angles = np.linalg.svd(
            np.linalg.qr(found.vectors)[0].T @ np.linalg.qr(expected.vectors)[0]
        )[1]
        assert_allclose(angles, 1, atol=1e-6)

    def test_several_components(self, backend):
        X = np.vstack([rows(700), rows(650) + 100, rows(20) - 100])
        W = similarity_graph(X)
        found = spectral_relaxation(W, 6, random_state=0, device=backend)
        expected = spectral_relaxation(W, 6, random_state=0)
        assert_allclose(found.eigenvalues, expected.eigenvalues, atol=1e-9)

    def test_kernel_affinity(self, torch):
        X, _ = moons()
        model = NormalizedSpectralClustering(affinity="rbf", gamma=20, random_state=0)
        expected = clone(model).fit(X)
        found = model.fit(tensor(X))
        assert_allclose(
            found.affinity_matrix_, expected.affinity_matrix_, rtol=1e-9, atol=1e-14
        )
