"""The rules of the house that a test can enforce."""

# SPDX-License-Identifier: BSD-3-Clause

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import fewlabels

ROOT = Path(fewlabels.__file__).parent
TESTS = Path(__file__).parent

# Imports point downwards only: a package may use those on lower floors, and on its own
# floor nobody but itself. What is not built yet has its floor reserved.
FLOORS = [
    {"_lazy", "_missing", "_progress"},
    {"_sklearn", "exceptions"},
    {"_gpu_loops", "_loops", "_threads"},
    {
        "_distances",
        "_labels",
        "_line_search",
        "_linalg",
        "_params",
        "_result",
        "_words",
    },
    {
        "_classifier",
        "_hide_labels",
        "_inner_model",
        "_kmeans",
        "_regressor",
        "_rows",
        "_svm",
    },
    {"_backend", "_sampling", "embeddings"},
    {"graphs", "kernels", "optimize", "partition", "preprocessing"},
    {
        "cluster",
        "datasets",
        "decomposition",
        "ensemble",
        "feature_selection",
        "opinions",
        "regression",
        "reinforcement",
        "semi_supervised",
        "tensor",
        "transfer",
    },
    {"automatic", "model_selection", "plotting"},
    {"active", "dask"},
    {"tabular"},
    {"studio"},
    {"cli"},
    {"__main__"},
]
FLOOR_OF = {name: floor for floor, names in enumerate(FLOORS) for name in names}

# Two tiers: the core is what learning from few labels needs, and needs nothing of the
# textbook packages, which are classical methods around it.
CORE = {
    "active",
    "automatic",
    "cluster",
    "dask",
    "embeddings",
    "graphs",
    "kernels",
    "model_selection",
    "opinions",
    "partition",
    "preprocessing",
    "semi_supervised",
    "studio",
    "tabular",
}
TEXTBOOK = {
    "decomposition",
    "ensemble",
    "feature_selection",
    "optimize",
    "regression",
    "reinforcement",
    "tensor",
    "transfer",
}

# The base: modules that every floor above may use. Of a package, others use only what
# it exports.
BASE = {name for name in FLOOR_OF if name.startswith("_")} - {"__main__"}

# Loaded inside the functions that need them, never by `import fewlabels.<package>`.
OPTIONAL = (
    "PIL",
    "click",
    "cvxpy",
    "dask",
    "distributed",
    "faiss",
    "fsspec",
    "gymnasium",
    "matplotlib",
    "open_clip",
    "pandas",
    "polars",
    "pynndescent",
    "pypdf",
    "safetensors",
    "sentence_transformers",
    "skactiveml",
    "skops",
    "starlette",
    "tensorly",
    "timm",
    "tokenizers",
    "torch",
    "tqdm",
    "transformers",
    "triton",
    "wordllama",
    "uvicorn",
)
# What a package is made of, and loads in modules that nothing else loads.
MADE_OF = {
    "_backend": {"torch"},
    "_gpu_loops": {"torch", "triton"},
    "cli": {"click"},
    "studio": {"starlette", "uvicorn"},
}


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


@cache
def parsed(root):
    """(name, path, syntax tree) of every file in a folder."""
    paths = sorted(root.rglob("*.py"))
    return [(str(p.relative_to(root)), p, ast.parse(p.read_text())) for p in paths]


def test_imports_point_downwards():
    wrong = []
    for name, path, tree in parsed(ROOT):
        here = package_of(path)
        if here == "__init__":  # the lazy door names everything and imports nothing
            continue
        for imported, _ in imported_modules(tree):
            if imported.startswith("fewlabels."):
                there = imported.split(".")[1]
                if there not in (here, "__version__"):
                    if FLOOR_OF[there] >= FLOOR_OF[here]:
                        wrong.append(f"{name} imports {imported}")
    assert not wrong, "\n".join(wrong)


def test_core_needs_no_textbook_package():
    neither = {"cli", "datasets", "exceptions", "plotting"}
    assert CORE | TEXTBOOK | neither == set(fewlabels._SUBMODULES) | {"cli"}
    wrong = [
        f"{name} imports {imported}"
        for name, path, tree in parsed(ROOT)
        if package_of(path) in CORE | BASE
        for imported, _ in imported_modules(tree)
        if imported.startswith("fewlabels.") and imported.split(".")[1] in TEXTBOOK
    ]
    assert not wrong, "\n".join(wrong)


def test_core_packages_say_so():
    wrong = [
        name
        for name in sorted(CORE)
        if not getattr(fewlabels, name).__doc__.startswith("Core: ")
    ]
    assert not wrong, wrong


def test_no_package_uses_private_names_of_another():
    wrong = []
    for name, path, tree in parsed(ROOT):
        here = package_of(path)
        for imported, _ in imported_modules(tree):
            top, _, inner = imported.partition(".")
            if top != "fewlabels" or not inner or inner == "__version__":
                continue
            there, *rest = inner.split(".")
            private = there.startswith("_") and there not in BASE
            if there != here:
                private = private or any(part.startswith("_") for part in rest)
            if private:
                wrong.append(f"{name} imports {imported}")
    assert not wrong, "\n".join(wrong)


def test_only_one_door_to_private_scikit_learn():
    wrong = [
        f"{name}: {imported} must come through fewlabels._sklearn"
        for name, path, tree in parsed(ROOT)
        for imported, _ in imported_modules(tree)
        if imported.startswith("sklearn.")
        and any(part.startswith("_") for part in imported.split("."))
        and package_of(path) != "_sklearn"
    ]
    assert not wrong, "\n".join(wrong)


def test_only_one_door_for_rows():
    """Checks of arrays come from where collections that do not fit are refused."""
    doors = {
        f"sklearn.utils{module}.{name}"
        for module in ("", ".validation")
        for name in ("check_array", "check_X_y", "validate_data")
    }
    wrong = [
        f"{name}: {imported} must come through fewlabels._sklearn"
        for name, path, tree in parsed(ROOT)
        for imported, _ in imported_modules(tree)
        if imported in doors and package_of(path) != "_sklearn"
    ]
    assert not wrong, "\n".join(wrong)


def test_optional_dependencies_are_imported_where_they_are_used():
    wrong = [
        f"{name} imports {imported} at its top"
        for name, path, tree in parsed(ROOT)
        for imported, at_top in imported_modules(tree)
        if at_top
        and imported.split(".")[0] in OPTIONAL
        and imported.split(".")[0] not in MADE_OF.get(package_of(path), ())
    ]
    assert not wrong, "\n".join(wrong)


def test_no_print_and_no_assert():
    wrong = []
    for name, path, tree in parsed(ROOT):
        for node in ast.walk(tree):
            if isinstance(node, ast.Assert):
                wrong.append(f"{name}:{node.lineno} validate with an exception")
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                if node.func.id == "print" and package_of(path) != "cli":
                    wrong.append(f"{name}:{node.lineno} prints")
    assert not wrong, "\n".join(wrong)


def test_no_global_seed():
    wrong = [
        name for name, path, _ in parsed(ROOT) if "np.random.seed(" in path.read_text()
    ]
    assert not wrong, "\n".join(wrong)


def test_no_comparison_that_asserts_nothing():
    """A bare `np.allclose(a, b)` line compares and forgets."""
    forgetful = {"allclose", "array_equal", "isclose"}
    wrong = [
        f"{name}:{node.lineno}"
        for name, _, tree in parsed(TESTS)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr)
        and (
            isinstance(node.value, ast.Compare)
            or (
                isinstance(node.value, ast.Call)
                and ast.unparse(node.value.func).split(".")[-1] in forgetful
            )
        )
    ]
    assert not wrong, "\n".join(wrong)


def assertions(function):
    """Assert statements of a function, and calls of functions that assert."""
    calls = re.compile(r"_?(assert|check)|(raises|warns)$")
    return [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Assert)
        or (
            isinstance(node, ast.Call)
            and calls.match(ast.unparse(node.func).split(".")[-1])
        )
    ]


def test_every_test_asserts_something():
    wrong = [
        f"{name}: {node.name}"
        for name, _, tree in parsed(TESTS)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and node.name.startswith("test_")
        and not assertions(node)
    ]
    assert not wrong, "\n".join(wrong)


def only_form(node):
    """Whether an assertion is about a shape; an empty one says all there is to say."""
    if not (isinstance(node, ast.Assert) and isinstance(node.test, ast.Compare)):
        return False
    sides = [node.test.left, *node.test.comparators]
    shapes = any(isinstance(s, ast.Attribute) and s.attr == "shape" for s in sides)
    zeros = any(isinstance(e, ast.Constant) and e.value == 0 for e in ast.walk(node))
    return shapes and not zeros


def always_holds(node):
    """Whether an assertion holds whatever the code does: a == a, (a, b), a or True."""
    if isinstance(node, ast.Call):
        sides = [ast.unparse(side) for side in node.args[:2]]
        compares = ast.unparse(node.func).split(".")[-1].startswith("assert_")
        return compares and len(sides) == 2 and sides[0] == sides[1]
    test = node.test
    if isinstance(test, ast.Compare):
        sides = {ast.unparse(s) for s in (test.left, *test.comparators)}
        return len(sides) == 1
    parts = test.values if isinstance(test, ast.BoolOp) else [test]
    return any(isinstance(p, ast.Constant | ast.Tuple | ast.JoinedStr) for p in parts)


def test_every_test_can_fail():
    """A test that looks only at shapes lets any numbers pass."""
    wrong = []
    for name, _, tree in parsed(TESTS):
        for test in ast.walk(tree):
            if isinstance(test, ast.FunctionDef) and test.name.startswith("test_"):
                found = assertions(test)
                if found and all(map(only_form, found)):
                    wrong.append(f"{name}: {test.name} looks at shapes alone")
                held = [node.lineno for node in found if always_holds(node)]
                wrong += [f"{name}:{line} always holds" for line in held]
    assert not wrong, "\n".join(wrong)


def modules_loaded_by(statement):
    code = f"import sys; {statement}; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return {name.split(".")[0] for name in run.stdout.split()}


def test_the_front_door_is_lazy():
    loaded = modules_loaded_by("import fewlabels")
    assert not loaded & {"numba", "numpy", "scipy", "sklearn", *OPTIONAL}


def test_reading_a_table_is_light():
    loaded = modules_loaded_by("from fewlabels.tabular import read_table, write_table")
    assert not loaded & {"numba", "scipy", "sklearn", *OPTIONAL}


def test_packages_load_no_optional_dependency():
    # One process loads them all, so that a package answers for what it adds. pandas
    # and matplotlib come along with scikit-learn only where it uses them.
    code = """
import sys, sklearn.utils, sklearn.metrics
for name in sys.argv[1:]:
    before = set(sys.modules)
    __import__("fewlabels." + name)
    print(name, *sorted({m.split(".")[0] for m in set(sys.modules) - before}))
"""
    run = subprocess.run(
        [sys.executable, "-c", code, *fewlabels._SUBMODULES],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = {line.split()[0]: line.split()[1:] for line in run.stdout.splitlines()}
    assert set(loaded) == set(fewlabels._SUBMODULES)
    wrong = {n: sorted({"numba", *OPTIONAL} & set(m)) for n, m in loaded.items()}
    assert not any(wrong.values()), wrong


def test_every_public_name_is_reachable():
    for name in fewlabels.__all__:
        assert getattr(fewlabels, name) is not None
    for package in fewlabels._SUBMODULES:
        module = getattr(fewlabels, package)
        assert len(set(module.__all__)) == len(module.__all__)
        for name in module.__all__:
            assert getattr(module, name) is not None
    assert set(dir(fewlabels)) == set(fewlabels.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        fewlabels.nothing  # noqa: B018


def test_labelling_a_table_starts_without_other_methods():
    code = "import sys, fewlabels.tabular; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    loaded = set(run.stdout.split())
    for package in ("active", "cluster", "partition", "semi_supervised"):
        assert f"fewlabels.{package}" not in loaded
