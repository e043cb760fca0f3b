"""Label a table in the browser: the next most useful row, and a live honest error."""

# SPDX-License-Identifier: BSD-3-Clause

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fewlabels.studio._run import Studio, serve

__all__ = ["Studio", "serve"]


def __getattr__(name: str) -> Any:
    # The server is made of Starlette and uvicorn, which only the studio needs.
    if name not in __all__:
        raise AttributeError(f"module 'fewlabels.studio' has no attribute {name!r}")
    try:
        from fewlabels.studio import _run
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("starlette", "uvicorn"):
            raise
        raise ImportError(
            'The studio needs Starlette and uvicorn: pip install "fewlabels[studio]".'
        ) from None
    return getattr(_run, name)
