"""Docstrings describe the signature they stand under."""

# SPDX-License-Identifier: BSD-3-Clause

import doctest
import inspect
import re
from functools import cache
from pathlib import Path

import pytest
from numpydoc.docscrape import ClassDoc, FunctionDoc

import fewlabels


def public_objects():
    for package in fewlabels._SUBMODULES:
        module = getattr(fewlabels, package)
        for name in module.__all__:
            found = getattr(module, name)
            if getattr(found, "__module__", "").startswith("fewlabels."):
                yield f"{package}.{name}", found


OBJECTS = dict(public_objects())


def public_methods():
    for name, found in OBJECTS.items():
        if inspect.isclass(found):
            for method_name, method in vars(found).items():
                if inspect.isfunction(method) and not method_name.startswith("_"):
                    yield f"{name}.{method_name}", method


METHODS = dict(public_methods())


def parameters_of(function):
    names = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name == "self":
            continue
        prefix = {parameter.VAR_KEYWORD: "**", parameter.VAR_POSITIONAL: "*"}
        names.append(prefix.get(parameter.kind, "") + parameter.name)
    return names


def documented(doc, section="Parameters"):
    return [
        name.strip()
        for entry in doc[section]
        for name in entry.name.split(",")
        if name.strip()
    ]


@cache
def docstring(name):
    found = OBJECTS[name]
    return ClassDoc(found) if inspect.isclass(found) else FunctionDoc(found)


def test_parameters_are_documented():
    wrong = []
    for name, found in OBJECTS.items():
        doc, names = docstring(name), documented(docstring(name))
        if inspect.isclass(found):
            if issubclass(found, tuple | Warning) or not names:
                # Records document their attributes, abstract classes their methods.
                if not doc["Summary"]:
                    wrong.append(f"{name}: no summary")
                continue
        elif not (doc["Returns"] or doc["Yields"]):
            wrong.append(f"{name}: no Returns section")
        if names != parameters_of(found):
            wrong.append(f"{name}: documents {names}, takes {parameters_of(found)}")
    assert not wrong, "\n".join(wrong)


def test_methods_are_documented():
    wrong = []
    for name, method in METHODS.items():
        doc = FunctionDoc(method)
        if not doc["Summary"]:
            wrong.append(f"{name}: no summary")
        if documented(doc) != parameters_of(method):
            wrong.append(
                f"{name}: documents {documented(doc)}, takes {parameters_of(method)}"
            )
    assert not wrong, "\n".join(wrong)


def test_there_is_an_example():
    # Records and abstract classes are shown where they arise.
    wrong = [
        name
        for name, found in OBJECTS.items()
        if not docstring(name)["Examples"]
        and (documented(docstring(name)) or not inspect.isclass(found))
    ]
    assert not wrong, "no Examples section: " + ", ".join(wrong)


def test_constructor_only_assigns():
    """Parameters keep the value they were given, as `clone` requires."""
    wrong = []
    for name, found in OBJECTS.items():
        if hasattr(found, "fit"):
            marker = {p: object() for p in inspect.signature(found).parameters}
            estimator = found(**marker)
            wrong += [
                f"{name}.{parameter}"
                for parameter, value in marker.items()
                if getattr(estimator, parameter) is not value
            ]
    assert not wrong, "changed by the constructor: " + ", ".join(wrong)


def test_the_reference_lists_every_public_name():
    page = Path(__file__).parents[1] / "docs" / "api.rst"
    if not page.exists():
        pytest.skip("the documentation is not part of this distribution")
    listed = set(page.read_text().split())
    for package in fewlabels._SUBMODULES:
        assert set(getattr(fewlabels, package).__all__) <= listed


def examples_that_run(found):
    """Source of the examples in a docstring, without those that are skipped."""
    examples = doctest.DocTestParser().get_examples(inspect.getdoc(found) or "")
    return [e.source for e in examples if not e.options.get(doctest.SKIP)]


def returned_by(function):
    """Names in the annotation of what a function returns."""
    annotation = inspect.signature(function).return_annotation
    return set(re.findall(r"\w+", inspect.formatannotation(annotation)))


# Records: where an example shows a function or a method that returns one.
SHOWN_WHERE_RETURNED = {
    record
    for name, found in {**OBJECTS, **METHODS}.items()
    if inspect.isfunction(found)
    and examples_that_run(OBJECTS.get(".".join(name.split(".")[:2]), found))
    for record in returned_by(found)
}


def test_an_example_runs():
    """Every name has an example that is run with the tests of ``src``.

    That of a record is where it is returned, that of an abstract class is that of a
    class which completes it; warnings and errors are shown where they are raised.
    """
    shown = {name: bool(examples_that_run(found)) for name, found in OBJECTS.items()}
    classes = {name: o for name, o in OBJECTS.items() if inspect.isclass(o)}
    wrong = [
        name
        for name, found in OBJECTS.items()
        if not shown[name]
        and name.split(".")[-1] not in SHOWN_WHERE_RETURNED
        and not (name in classes and issubclass(found, Exception))
        and not any(
            shown[other] and found in inspect.getmro(completed)[1:]
            for other, completed in classes.items()
        )
    ]
    assert not wrong, "no example that runs: " + ", ".join(wrong)
