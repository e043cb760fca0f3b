"""What an embedder is, and where embedders are found by their names."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import entry_points
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from fewlabels._words import listed, nearest_name

# Packages add embedders as entry points of this group: a name, and a callable without
# parameters that returns an embedder.
GROUP = "fewlabels.embedders"
# The ones that come with fewlabels, and what they take.
_OWN = {
    "efficientnet-lite0": "picture",
    "efficientnet-lite1": "picture",
    "efficientnet-lite2": "picture",
    "minilm": "text",
    "wordllama": "text",
}
# Chosen where no name is given.
DEFAULT = {"picture": "efficientnet-lite2", "text": "wordllama"}
# Names of modules that were loaded because the user said so.
_BROUGHT: set[str] = set()


class UnreadableError(ValueError):
    """A file that an embedder cannot read; the message is the reason.

    Examples
    --------
    >>> from fewlabels.embeddings import UnreadableError
    >>> str(UnreadableError("no picture"))
    'no picture'
    """


@runtime_checkable
class Embedder(Protocol):
    """Turns files into vectors, near each other where files are alike.

    Attributes
    ----------
    name : str
        What to call it.
    version : str
        Another one wherever the same file would get another vector: vectors are kept
        by name and version.
    takes : str
        What the files hold: "picture", "text", ...
    n_dimensions : int
        Length of a vector.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels.embeddings import Embedder
    >>> class Lengths:
    ...     name, version, takes, n_dimensions = "lengths", "1", "text", 1
    ...     def read(self, data):
    ...         return data.decode()
    ...     def embed(self, items):
    ...         return np.array([[len(text)] for text in items], dtype=np.float32)
    >>> isinstance(Lengths(), Embedder)
    True
    """

    name: str
    version: str
    takes: str
    n_dimensions: int

    def read(self, data: bytes) -> Any:
        """Read a file; called in several threads.

        Parameters
        ----------
        data : bytes
            The file.

        Returns
        -------
        item : object
            What :meth:`embed` takes, small enough to hold a batch of them.

        Raises
        ------
        UnreadableError
            If it cannot be read.
        """
        ...

    def embed(self, items: Sequence[Any]) -> NDArray[np.float32]:
        """Compute the vectors of a batch.

        Parameters
        ----------
        items : sequence
            What :meth:`read` returned.

        Returns
        -------
        vectors : ndarray of shape (n_items, n_dimensions)
            One row per item, which does not depend on the others.
        """
        ...


def embedder_names(takes: str | None = None) -> list[str]:
    """Name the embedders that can be loaded, if their packages are installed.

    Parameters
    ----------
    takes : str, default=None
        "picture" leaves out own embedders of anything else. What those of other
        packages take is known once they are loaded, so all of them are named.

    Returns
    -------
    names : list of str
        Names for :func:`load_embedder`.

    Examples
    --------
    >>> from fewlabels.embeddings import embedder_names
    >>> "efficientnet-lite0" in embedder_names("picture")
    True
    """
    own = {name for name, what in _OWN.items() if takes in (None, what)}
    return sorted(own | {point.name for point in entry_points(group=GROUP)})


def allow_embedder(name: str) -> str:
    """Let saved models import a network by its name.

    Parameters
    ----------
    name : str
        Such as "MODULE:FUNCTION".

    Returns
    -------
    name : str
        The same.

    Examples
    --------
    >>> from fewlabels.embeddings import allow_embedder
    >>> allow_embedder("my_module:my_network")
    'my_module:my_network'
    """
    _BROUGHT.add(name)
    return name


def load_embedder(
    name: str, *, takes: str = "picture", known: bool = False
) -> Embedder:
    """Load an embedder by its name, and whatever it needs.

    Packages add names as entry points of the group "fewlabels.embedders": a class with
    the attributes and methods of :class:`Embedder`.

    Parameters
    ----------
    name : str
        One of :func:`embedder_names`, or what is embedded ("picture", "text") for the
        default; a network of another library, for pictures as "timm:NAME",
        "open_clip:NAME" or "transformers:NAME" and for texts as
        "sentence-transformers:NAME"; or "MODULE:FUNCTION", which is imported: a
        function from a list of texts, or of pictures of Pillow, to an array with a row
        for each.
    takes : {"picture", "text"}, default="picture"
        What a function of the user's takes.
    known : bool, default=False
        Whether to refuse names of modules that were not loaded before. A saved model
        names its embedder, and must not choose what is imported.

    Returns
    -------
    embedder : Embedder
        The embedder, the same at each call.

    Raises
    ------
    ValueError
        If there is none of this name, or it is not known.
    ImportError
        If its package is not installed.

    Examples
    --------
    >>> from fewlabels.embeddings import load_embedder
    >>> load_embedder("eficientnet-lite0")
    Traceback (most recent call last):
    ValueError: No embedder is called 'eficientnet-lite0'; did you mean ...
    """
    name = DEFAULT.get(name, name)
    if known and ":" in name and name not in _BROUGHT:
        option = "embed" if takes == "text" else "embed_with"
        raise ValueError(
            f"This model was fitted with the network {name!r}, which is imported only "
            f"if you say so: pass {option}={name!r}."
        )
    return _loaded(name, takes)


@cache
def _loaded(name: str, takes: str) -> Embedder:
    if ":" in name:
        from fewlabels.embeddings._brought import brought_embedder

        brought = brought_embedder(name, takes)
        _BROUGHT.add(name)
        return brought
    if name == "wordllama":
        from fewlabels.embeddings._texts import wordllama_embedder

        return wordllama_embedder()
    if name == "minilm":
        from fewlabels.embeddings._bert import minilm_embedder

        return minilm_embedder()
    if name in _OWN:
        from fewlabels.embeddings._efficientnet import lite_embedder

        return lite_embedder(name)
    for point in entry_points(group=GROUP, name=name):
        make: Callable[[], Embedder] = point.load()
        made = make()
        if not isinstance(made, Embedder):
            raise TypeError(
                f"{point.value}, which is to be the embedder {name!r}, is none: see "
                "fewlabels.embeddings.Embedder."
            )
        return made
    names = embedder_names()
    near = nearest_name(name, names)
    hint = f"did you mean {near!r}? There" if near else "there"
    raise ValueError(
        f"No embedder is called {name!r}; {hint} are {listed(names)}, and timm:NAME, "
        "open_clip:NAME, transformers:NAME, sentence-transformers:NAME and "
        "MODULE:FUNCTION."
    )
