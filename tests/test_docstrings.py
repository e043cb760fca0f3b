"""Docstrings describe the signature they stand under."""

# SPDX-License-Identifier: BSD-3-Clause

import doctest
import inspect
import re
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


@pytest.mark.parametrize("name", OBJECTS)
def test_parameters_are_documented(name):
    found = OBJECTS[name]
    if inspect.isclass(found):
        doc = ClassDoc(found)
        if issubclass(found, tuple | Warning) or not documented(doc):
            # Records document their attributes, abstract classes their methods.
            assert doc["Summary"]
            return
    else:
        doc = FunctionDoc(found)
        assert doc["Returns"] or doc["Yields"], "no Returns section"
    assert documented(doc) == parameters_of(found)


@pytest.mark.parametrize("name", METHODS)
def test_methods_are_documented(name):
    doc = FunctionDoc(METHODS[name])
    assert doc["Summary"]
    if documented(doc) or parameters_of(METHODS[name]):
        assert documented(doc) == parameters_of(METHODS[name])


@pytest.mark.parametrize("name", OBJECTS)
def test_there_is_an_example(name):
    found = OBJECTS[name]
    doc = ClassDoc(found) if inspect.isclass(found) else FunctionDoc(found)
    if inspect.isclass(found) and not documented(doc):
        assert doc["Summary"]  # records and abstract classes: shown where they arise
    else:
        assert doc["Examples"], "no Examples section"


@pytest.mark.parametrize("name", [n for n, o in OBJECTS.items() if hasattr(o, "fit")])
def test_constructor_only_assigns(name):
    """Parameters keep the value they were given, as `clone` requires."""
    parameters = inspect.signature(OBJECTS[name]).parameters
    marker = {p: object() for p in parameters}
    estimator = OBJECTS[name](**marker)
    for parameter, value in marker.items():
        assert getattr(estimator, parameter) is value


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


@pytest.mark.parametrize("name", OBJECTS)
def test_an_example_runs(name):
    """Every name has an example that is run with the tests of ``src``.

    That of a record is where it is returned, that of an abstract class is that of a
    class which completes it; warnings and errors are shown where they are raised.
    """
    found = OBJECTS[name]
    if examples_that_run(found) or name.split(".")[-1] in SHOWN_WHERE_RETURNED:
        return
    assert inspect.isclass(found), "no example that runs"
    assert issubclass(found, Exception) or any(
        inspect.isclass(other)
        and found in other.__mro__[1:]
        and examples_that_run(other)
        for other in OBJECTS.values()
    ), "no example that runs, neither its own nor where it arises"
