"""Read pictures as people have them, with Pillow."""

# SPDX-License-Identifier: BSD-3-Clause

import io
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewlabels.embeddings._protocol import UnreadableError

# Formats by the suffixes of their files. Others are not tried: those that Pillow hands
# to another program, such as PostScript, run what they hold.
FORMATS = {
    "AVIF": (".avif",),
    "BMP": (".bmp", ".dib"),
    "GIF": (".gif",),
    "JPEG": (".jpg", ".jpeg", ".jpe", ".jfif"),
    "JPEG2000": (".jp2", ".j2k"),
    "PNG": (".png", ".apng"),
    "PPM": (".ppm", ".pgm", ".pbm", ".pnm"),
    "TGA": (".tga",),
    "TIFF": (".tif", ".tiff"),
    "WEBP": (".webp",),
}
PICTURE_SUFFIXES = frozenset(s for suffixes in FORMATS.values() for s in suffixes)
# Pixels of a picture that is read, some 300 MB of memory; larger ones, which may be a
# small file that unpacks to fill the memory, are refused. Photographs in JPEG are read
# smaller than they are, and count as that.
MAX_PIXELS = 100_000_000


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise ImportError(
            'Reading pictures needs Pillow: pip install "fewlabels[pictures]".'
        ) from None
    return Image


def read_picture(data: bytes, size: int) -> NDArray[np.uint8]:
    """Read the bytes of a picture as a square in red, green and blue.

    It is turned as its camera says, transparent parts are white, of several frames the
    first is taken, and more than eight bits of grey are stretched from the darkest to
    the brightest. Nothing is cut off: what is not square is squeezed.

    Parameters
    ----------
    data : bytes
        The file.
    size : int
        Pixels of a side.

    Returns
    -------
    picture : ndarray of uint8 of shape (size, size, 3)
        The picture.

    Raises
    ------
    UnreadableError
        If it is no picture, broken, or too large.
    ImportError
        Without the extra ``pictures``.

    Examples
    --------
    >>> from fewlabels.embeddings import read_picture
    >>> read_picture(b"P3 1 1 255 10 20 30", 2).tolist()
    [[[10, 20, 30], [10, 20, 30]], [[10, 20, 30], [10, 20, 30]]]
    """
    square = _pillow().Resampling.BICUBIC, None, 3.0
    return np.asarray(open_picture(data, size).resize((size, size), *square))


def open_picture(data: bytes, size: int) -> Any:
    """Read the bytes of a picture with Pillow, in red, green and blue.

    Parameters
    ----------
    data : bytes
        The file.
    size : int
        Pixels of a side that are enough: photographs in JPEG are unpacked to no more
        than twice as many.

    Returns
    -------
    picture : PIL.Image.Image
        The picture, read as by :func:`read_picture`.

    Raises
    ------
    UnreadableError
        If it is no picture, broken, or too large.
    ImportError
        Without the extra ``pictures``.

    Examples
    --------
    >>> from fewlabels.embeddings import open_picture
    >>> open_picture(b"P3 1 1 255 10 20 30", 100).getpixel((0, 0))
    (10, 20, 30)
    """
    image_module = _pillow()
    image_module.init()
    known = [name for name in FORMATS if name in image_module.OPEN]
    try:
        with image_module.open(io.BytesIO(data), formats=known) as image:
            return _plain(image, size)
    except image_module.UnidentifiedImageError:
        raise UnreadableError("no picture") from None
    except image_module.DecompressionBombError:
        raise UnreadableError("too large to be read") from None
    except (
        OSError,
        SyntaxError,
        ValueError,
        TypeError,
        IndexError,
        KeyError,
        AttributeError,
        ZeroDivisionError,
        OverflowError,
        EOFError,
        MemoryError,
        NotImplementedError,
        struct.error,
    ) as error:
        # What Pillow raises on broken files, of which there is no list.
        raise UnreadableError(f"broken ({str(error) or 'it ends early'})") from None


def _plain(image: Any, size: int) -> Any:
    """Turn a picture as its camera says, and remove transparency and other modes."""
    from PIL import Image, ImageOps

    image.draft("RGB", (size, size))  # JPEG: unpack no more pixels than are needed
    width, height = image.size
    if width * height > MAX_PIXELS:
        raise UnreadableError(f"{width:,} x {height:,} pixels are too many")
    image.load()
    image = ImageOps.exif_transpose(image)
    if image.mode.startswith(("I", "F")):
        image = Image.fromarray(_eight_bits(np.asarray(image, dtype=np.float64)))
    elif image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or (
        "transparency" in image.info
    ):
        image = image.convert("RGBA")
        white = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(white, image)
    return image.convert("RGB")


def _eight_bits(values: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Stretch values from the smallest to the largest; what is no number is black."""
    finite = np.isfinite(values)
    low = values.min(initial=np.inf, where=finite)
    high = values.max(initial=-np.inf, where=finite)
    if not low < high:
        return np.zeros(values.shape, dtype=np.uint8)
    shares = (np.where(finite, values, low) - low) / (high - low)
    return np.rint(255 * shares).astype(np.uint8)
