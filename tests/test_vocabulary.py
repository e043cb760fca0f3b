"""One name for each concept, in all public signatures."""

# SPDX-License-Identifier: BSD-3-Clause

import ast
import importlib
import inspect
import re
import sys
import textwrap
from dataclasses import is_dataclass
from functools import cache
from pathlib import Path

import pytest

import fewlabels

# Besides the place where it is computed.
MOST_PARAMETERS = 14

# Names that mean something else where they stand, and why.
EXCEPTIONS = {
    "graphs.graph_kernel(sigma)": "in the formulas of the kernels",
    "graphs.graph_kernel_operator(sigma)": "in the formulas of the kernels",
    "kernels.gamma_from_width(width)": "turns one into the other",
    "reinforcement.evaluate(seed)": "gymnasium's name",
    "reinforcement.train(seed)": "gymnasium's name",
}

# What an estimator chooses for its users: the function leaves it to its caller.
DIFFERENT = {"solver", "method", "random_state"}
# A scale may be asked for without a graph; a linear operator has no working sets.
EXCUSED = {"graphs.auto_bandwidth(n_neighbors)", "regression.gpsr(working_set)"}


def public():
    """Yield (dotted name, object) of all public classes and functions."""
    for package in fewlabels._SUBMODULES:
        module = importlib.import_module(f"fewlabels.{package}")
        for name in module.__all__:
            try:
                found = getattr(module, name)
            except ImportError:  # it needs an extra that is not installed
                continue
            if inspect.isclass(found) or inspect.isroutine(found):
                yield f"{package}.{name}", found


def parameters(found):
    """Parameters of a class or function; exceptions and the like have none."""
    try:
        return inspect.signature(found).parameters
    except ValueError:
        return {}


def is_record(found):
    """Whether a class holds results, whose names are those of attributes."""
    return is_dataclass(found) or (inspect.isclass(found) and issubclass(found, tuple))


def estimators():
    return [pair for pair in public() if hasattr(pair[1], "get_params")]


@cache
def table():
    """Rows of the table in the guide: a name, and what is not said instead of it."""
    guide = Path(__file__).parents[1] / "docs" / "contributing.md"
    if not guide.exists():
        pytest.skip("the documentation is not part of this distribution")
    section = guide.read_text().split("## One vocabulary")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \|.*\|([^|]*)\|$", section, flags=re.MULTILINE)
    return {name: re.findall(r"`(\w+)`", instead) for name, instead in rows}


def test_no_synonyms():
    synonyms = {bad: name for name, instead in table().items() for bad in instead}
    assert len(synonyms) > 60
    assert not synonyms.keys() & table().keys()
    found = {
        f"{where}({name})": f"use {synonyms[name]}"
        for where, found in public()
        if not is_record(found)
        for name in parameters(found)
        if name in synonyms
    }
    assert found.keys() == EXCEPTIONS.keys(), found


def test_the_table_names_what_is_used():
    """Every name of the table in the guide is a parameter somewhere."""
    used = {name for _, found in public() for name in parameters(found)}
    assert len(table()) > 20
    assert table().keys() <= used


def test_a_name_means_one_thing():
    """Shares are no switch, and a graph is given in one way."""
    for where, found in public():
        given = parameters(found)
        if "balance" in given:
            assert not isinstance(given["balance"].default, bool), where
        if hasattr(found, "get_params"):
            assert "graph" not in given, where
        if "laplacian" in given and inspect.isroutine(found):
            assert given["laplacian"].default in ("symmetric", "unnormalized"), where


def test_no_estimator_has_too_many_parameters():
    counts = {
        where: len(parameters(found).keys() - {"device"})
        for where, found in estimators()
    }
    assert len(counts) > 100
    assert not {where: n for where, n in counts.items() if n > MOST_PARAMETERS}


def test_no_name_is_borrowed():
    """What scikit-learn and SciPy have is imported from there."""
    assert not [
        where
        for where, found in public()
        if found.__module__.split(".")[0] != "fewlabels"
    ]


def test_names_are_american():
    """Identifiers say labeled and neighbor; prose says labelled and neighbour."""
    british = re.compile("labell|neighbour|colour", re.IGNORECASE)
    source = Path(fewlabels.__file__).parent
    assert not {
        f"{path.relative_to(source)}: {name}"
        for path in source.rglob("*.py")
        for name in identifiers(ast.parse(path.read_text()))
        if british.search(name)
    }


def identifiers(tree):
    """All names of classes, functions, arguments, variables and attributes."""
    for node in ast.walk(tree):
        for field in ("id", "attr", "name", "arg"):
            if isinstance(name := getattr(node, field, None), str):
                yield name


@cache
def calls(found):
    """Functions of the library that a function or the methods of a class call."""
    module = sys.modules[found.__module__]
    tree = ast.parse(textwrap.dedent(inspect.getsource(found)))
    named = {
        node.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    called = [getattr(module, name, None) for name in named]
    return {inspect.unwrap(f) for f in called if inspect.isfunction(f)}


def forms(estimator, functions):
    """Public functions of its package that a class calls, itself or by private ones."""
    package = ".".join(estimator.__module__.split(".")[:2])
    todo = [base for base in estimator.__mro__ if base.__module__.startswith(package)]
    seen = set(todo)
    while todo:
        for function in calls(todo.pop()) - seen:
            seen.add(function)
            if function.__module__.startswith(package) and function not in functions:
                todo.append(function)
    return [
        function
        for function in functions.keys() & seen
        if function.__module__.startswith(package)
    ]


def test_class_and_function_agree():
    """A class and the functions behind it have the same defaults."""
    functions = {
        inspect.unwrap(found): where
        for where, found in public()
        if inspect.isfunction(found)
    }
    pairs = 0
    different = {}
    for where, estimator in estimators():
        ours = parameters(estimator)
        for function in forms(estimator, functions):
            common = parameters(function).keys() & ours.keys() - DIFFERENT
            pairs += bool(common)
            different |= {
                f"{where}, {functions[function]}({name})": (ours[name].default, default)
                for name in common
                if (default := parameters(function)[name].default)
                is not inspect.Parameter.empty
                and default != ours[name].default
                and f"{functions[function]}({name})" not in EXCUSED
            }
    assert pairs > 60
    assert not different
