"""Networks that users bring: functions of their own, and those of other libraries."""

# SPDX-License-Identifier: BSD-3-Clause

import hashlib
import importlib
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels.embeddings._pictures import open_picture
from fewlabels.embeddings._protocol import Embedder
from fewlabels.embeddings._texts import TextEmbedder

# Longer sides of pictures are reduced to this for functions that users bring.
LONGEST = 1024


class FunctionEmbedder:
    """Embeds pictures by a function from pictures of Pillow to an array.

    Parameters
    ----------
    name : str
        What to call it.
    function : callable
        From a list of pictures, in red, green and blue, to an array with a row for
        each.
    version : str
        Changes with what the vectors depend on.

    Attributes
    ----------
    takes : str
        "picture".
    n_dimensions : int
        Length of a vector, found by trying.
    """

    takes = "picture"

    def __init__(self, name: str, function: Callable[[Any], Any], version: str) -> None:
        from PIL import Image

        self.name, self.version = name, version
        self._function = function
        grey = Image.new("RGB", (64, 64), "grey")
        self.n_dimensions = self._rows([grey]).shape[1]

    def read(self, data: bytes) -> Any:
        """Read the bytes of a picture."""
        picture = open_picture(data, LONGEST)
        picture.thumbnail((LONGEST, LONGEST))
        return picture

    def embed(self, items: Sequence[Any]) -> NDArray[np.float32]:
        """Compute the vectors of pictures."""
        return self._rows(list(items))

    def _rows(self, items: list[Any]) -> NDArray[np.float32]:
        made = self._function(items)
        if hasattr(made, "detach"):  # of torch
            made = made.detach().cpu().numpy()
        rows = np.asarray(made, dtype=np.float32)
        if rows.ndim != 2 or len(rows) != len(items):
            raise ValueError(
                f"{self.name} returned an array of shape {rows.shape} for "
                f"{len(items)} pictures: return a row for each."
            )
        return rows


def brought_embedder(name: str, takes: str) -> Embedder:
    """Load an embedder that is no part of fewlabels.

    Parameters
    ----------
    name : str
        "timm:NAME", "open_clip:NAME", "open_clip:NAME/WEIGHTS", "transformers:NAME" or
        "sentence-transformers:NAME"; or "MODULE:FUNCTION", which is imported, also
        from the current folder: a function from a list of pictures or texts to an
        array, or something that returns an :class:`Embedder` when called without
        parameters.
    takes : {"picture", "text"}
        What such a function takes.

    Returns
    -------
    embedder : Embedder
        The embedder.
    """
    library, _, rest = name.partition(":")
    if library in LIBRARIES:
        package = {"open_clip": "open-clip-torch"}.get(library, library)
        try:
            with _offline():
                function = LIBRARIES[library](rest)
        except ModuleNotFoundError as error:
            raise ImportError(
                f"The network {name!r} needs {error.name}: pip install {package}."
            ) from None
        except (OSError, RuntimeError, ValueError) as error:
            raise ValueError(
                f"The network {name!r} cannot be loaded ({_first_line(error)}). Its "
                "weights are downloaded only if you set HF_HUB_OFFLINE=0."
            ) from error
        takes = "text" if library == "sentence-transformers" else "picture"
        return EMBEDDERS[takes](name, function, version(package))
    return _own(name, library, rest, takes)


@contextmanager
def _offline() -> Iterator[None]:
    """Let libraries find weights on this computer only, unless the user says more."""
    key = "HF_HUB_OFFLINE"
    given = os.environ.get(key)
    os.environ.setdefault(key, "1")
    try:
        yield
    finally:
        if given is None:
            del os.environ[key]


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".")[:200]


def _own(name: str, module_name: str, attribute: str, takes: str) -> Embedder:
    here = os.getcwd()
    sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
        found: Any = module
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"The network {name!r} cannot be loaded: {error}.") from error
    finally:
        sys.path.remove(here)
    if isinstance(found, Embedder) and not inspect.isclass(found):
        return found
    if not callable(found):
        raise ValueError(f"{name!r} is no function.")
    if not _required(found):
        made = found()
        if isinstance(made, Embedder):
            return made
        raise ValueError(
            f"{name!r} takes no parameters and returns no Embedder: see "
            "fewlabels.embeddings.Embedder."
        )
    file = getattr(module, "__file__", None)
    code = Path(file).read_bytes() if file else b""
    return EMBEDDERS[takes](name, found, hashlib.sha256(code).hexdigest()[:12])


def _required(function: Any) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # of a compiled library
        return ["pictures"]
    places = (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
    )
    return [p.name for p in parameters if p.kind in places and p.default is p.empty]


def _timm(name: str) -> Callable[[Any], Any]:
    """Load a network of timm without its last layer."""
    import timm
    import torch

    network = timm.create_model(name, pretrained=True, num_classes=0).eval()
    about = timm.data.resolve_model_data_config(network)
    prepare = timm.data.create_transform(**about, is_training=False)
    return _batched(torch, prepare, network)


def _open_clip(name: str) -> Callable[[Any], Any]:
    """Load the pictures' half of a network of OpenCLIP."""
    import open_clip
    import torch

    kind, _, weights = name.partition("/")
    if name.startswith("hf-hub:"):
        kind, weights = name, ""
    elif not weights:
        weights = next((t for k, t in open_clip.list_pretrained() if k == kind), "")
    made = open_clip.create_model_and_transforms(kind, pretrained=weights or None)
    network, _, prepare = made
    return _batched(torch, prepare, network.eval().encode_image)


def _transformers(name: str) -> Callable[[Any], Any]:
    """Load a network for pictures of transformers: CLIP, SigLIP, DINO, ViT, ..."""
    import torch
    import transformers

    prepare = transformers.AutoImageProcessor.from_pretrained(name)
    network = transformers.AutoModel.from_pretrained(name).eval()

    def embed(pictures: Any) -> Any:
        inputs = prepare(images=pictures, return_tensors="pt")
        with torch.inference_mode():
            if hasattr(network, "get_image_features"):
                found = network.get_image_features(**inputs)
                return getattr(found, "pooler_output", found)
            found = network(**inputs)
        pooled = getattr(found, "pooler_output", None)
        if pooled is None:
            return found.last_hidden_state[:, 0]
        return pooled.flatten(1)

    return embed


def _batched(torch: Any, prepare: Any, network: Any) -> Callable[[Any], Any]:
    def embed(pictures: Any) -> Any:
        with torch.inference_mode():
            return network(torch.stack([prepare(picture) for picture in pictures]))

    return embed


def _sentence_transformers(name: str) -> Callable[[Any], Any]:
    """Load a network for texts of sentence-transformers."""
    from sentence_transformers import SentenceTransformer

    network = SentenceTransformer(name)
    return lambda texts: network.encode(texts, show_progress_bar=False)


EMBEDDERS: dict[str, Callable[[str, Callable[[Any], Any], str], Embedder]] = {
    "picture": FunctionEmbedder,
    "text": TextEmbedder,
}
LIBRARIES: dict[str, Callable[[str], Callable[[Any], Any]]] = {
    "open_clip": _open_clip,
    "sentence-transformers": _sentence_transformers,
    "timm": _timm,
    "transformers": _transformers,
}
