"""The rules of the house that a test can enforce."""

# SPDX-License-Identifier: BSD-3-Clause

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import fewlabels

ROOT = Path(fewlabels.__file__).parent
TESTS = Path(__file__).parent
SOURCES = sorted(ROOT.rglob("*.py"))
TEST_FILES = sorted(TESTS.rglob("*.py"))

# Imports point downwards only: a package may use those on lower floors, and on its own
# floor nobody but itself. What is not built yet has its floor reserved.
FLOORS = [
    {"_sklearn", "exceptions"},
    {"_labels", "_line_search", "_linalg", "_loops", "_models", "_progress", "_result"},
    {"_classifier"},
    {"kernels", "graphs", "partition", "optimize"},
    {
        "cluster",
        "datasets",
        "decomposition",
        "ensemble",
        "feature_selection",
        "regression",
        "reinforcement",
        "semi_supervised",
        "tensor",
        "transfer",
    },
    {"model_selection", "plotting"},
    {"active"},
    {"tabular"},
    {"cli"},
    {"__main__"},
]
FLOOR_OF = {name: floor for floor, names in enumerate(FLOORS) for name in names}

# Loaded inside the functions that need them, never by `import fewlabels.<package>`.
OPTIONAL = (
    "click",
    "cvxpy",
    "faiss",
    "gymnasium",
    "matplotlib",
    "pandas",
    "polars",
    "pynndescent",
    "skactiveml",
    "skops",
    "tensorly",
    "torch",
    "tqdm",
)


def package_of(path):
    """The part of the house a file belongs to: 'kernels', '_labels', ..."""
    return path.relative_to(ROOT).with_suffix("").parts[0]


def imported_modules(tree):
    """Yield (dotted name, whether at module level) of everything imported."""
    top_level = set(map(id, tree.body))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, id(node) in top_level
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import"
            yield node.module, id(node) in top_level
            for alias in node.names:
                yield f"{node.module}.{alias.name}", id(node) in top_level


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
class TestEverySource:
    def test_imports_point_downwards(self, path):
        here = package_of(path)
        if here == "__init__":
            pytest.skip("the lazy front door names everything and imports nothing")
        for name, _ in imported_modules(ast.parse(path.read_text())):
            if not name.startswith("fewlabels."):
                continue
            there = name.split(".")[1]
            if there in (here, "__version__"):
                continue
            assert FLOOR_OF[there] < FLOOR_OF[here], f"{here} imports {name}"

    def test_only_one_door_to_private_scikit_learn(self, path):
        if package_of(path) == "_sklearn":
            pytest.skip("this is the door")
        for name, _ in imported_modules(ast.parse(path.read_text())):
            if name.startswith("sklearn."):
                private = [part for part in name.split(".") if part.startswith("_")]
                assert not private, f"{name} must come through fewlabels._sklearn"

    def test_optional_dependencies_are_imported_where_they_are_used(self, path):
        # The command line is made of click, and loaded by nothing else.
        allowed = {"click"} if package_of(path) == "cli" else set()
        for name, at_top in imported_modules(ast.parse(path.read_text())):
            assert not (at_top and name.split(".")[0] in set(OPTIONAL) - allowed), name

    def test_no_print_and_no_assert(self, path):
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            assert not isinstance(node, ast.Assert), "validate with an exception"
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id != "print" or package_of(path) == "cli"

    def test_no_global_seed(self, path):
        assert not re.search(r"np\.random\.seed\(", path.read_text())


@pytest.mark.parametrize("path", TEST_FILES, ids=lambda p: str(p.relative_to(TESTS)))
def test_no_comparison_that_asserts_nothing(path):
    """A bare `np.allclose(a, b)` line compares and forgets."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Expr):
            continue
        assert not isinstance(node.value, ast.Compare), f"line {node.lineno}"
        if isinstance(node.value, ast.Call):
            function = ast.unparse(node.value.func)
            assert function.split(".")[-1] not in {
                "allclose",
                "array_equal",
                "isclose",
            }, f"line {node.lineno}"


@pytest.mark.parametrize("path", TEST_FILES, ids=lambda p: str(p.relative_to(TESTS)))
def test_every_test_asserts_something(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            source = ast.unparse(node)
            assert re.search(r"\bassert|raises|warns|check", source), node.name


def modules_loaded_by(statement):
    code = f"import sys; {statement}; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return {name.split(".")[0] for name in run.stdout.split()}


def test_the_front_door_is_lazy():
    loaded = modules_loaded_by("import fewlabels")
    assert not loaded & {"numba", "numpy", "scipy", "sklearn", *OPTIONAL}


@pytest.mark.parametrize("name", fewlabels._SUBMODULES)
def test_packages_load_no_optional_dependency(name):
    # pandas and matplotlib come along with scikit-learn only where it uses them.
    before = modules_loaded_by("import sklearn.utils, sklearn.metrics")
    loaded = modules_loaded_by(f"import fewlabels.{name}") - before
    assert not loaded & {"numba", *OPTIONAL}


def test_every_public_name_is_reachable():
    for name in fewlabels.__all__:
        assert getattr(fewlabels, name) is not None
    for package in fewlabels._SUBMODULES:
        module = getattr(fewlabels, package)
        assert module.__all__ == sorted(module.__all__)
        for name in module.__all__:
            assert getattr(module, name) is not None
    assert set(dir(fewlabels)) == set(fewlabels.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        fewlabels.nothing  # noqa: B018
