"""Make the strange picture files that people have."""

# SPDX-License-Identifier: BSD-3-Clause

import struct
import zlib
from io import BytesIO

import numpy as np

from tests.embeddings.pictures import drawn


def _saved(image, kind, **how):
    data = BytesIO()
    image.save(data, kind, **how)
    return data.getvalue()


def bomb(width, height):
    """Claim to be a huge PNG, in a few bytes."""

    def chunk(kind, data):
        check = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0" * 1000))
    return b"\x89PNG\r\n\x1a\n" + body + chunk(b"IEND", b"")


def readable():
    """Yield names and bytes of strange pictures that can be read."""
    from PIL import Image

    image = Image.fromarray(drawn("disc", 1))
    exif = Image.Exif()
    exif[0x0112] = 6
    yield "turned.jpg", _saved(image, "JPEG", exif=exif)
    yield "cmyk.jpg", _saved(image.convert("CMYK"), "JPEG")
    deep = np.asarray(image.convert("L"), dtype=np.uint16) * 200
    yield "16 bit.png", _saved(Image.fromarray(deep), "PNG")
    yield "16 bit.tif", _saved(Image.fromarray(deep), "TIFF")
    other = Image.fromarray(drawn("stripes", 1))
    frames = {"save_all": True, "append_images": [other, image], "duration": 50}
    yield "animated.gif", _saved(image, "GIF", **frames)
    yield "animated.webp", _saved(image, "WEBP", **frames)
    yield "animated.png", _saved(image, "PNG", **frames)
    yield "pages.tif", _saved(image, "TIFF", save_all=True, append_images=[other])
    yield "tiny.png", _saved(image.resize((1, 1)), "PNG")
    yield "thin.png", _saved(image.resize((1, 3000)), "PNG")
    yield "huge.jpg", _saved(image.resize((9000, 7000)), "JPEG")
    yield "transparent.png", _saved(image.convert("RGBA"), "PNG")
    yield "palette.png", _saved(image.convert("P"), "PNG", transparency=0)
    yield "one bit.png", _saved(image.convert("1"), "PNG")
    yield "really a png.jpg", _saved(image, "PNG")
    yield "UPPER.JPEG", _saved(image, "JPEG")
    for name in ("名前 ü é.png", "new\nline.png", "'quotes\" & <b>.png", "-o.png"):
        yield name, _saved(image, "PNG")


def unreadable():
    """Yield names, bytes and a word of the reason of files that cannot be read."""
    from PIL import Image

    whole = _saved(Image.fromarray(drawn("disc", 1)), "PNG")
    yield "empty.png", b"", "no picture"
    yield "text.jpg", b"hello", "no picture"
    yield "cut.png", whole[: len(whole) // 2], "broken"
    yield "postscript.png", b"%!PS-Adobe-3.0 EPSF-3.0\n(x) run\n", "no picture"
    yield "vector.png", b"<svg xmlns='http://www.w3.org/2000/svg'/>", "no picture"
    yield "bomb.png", bomb(60_000, 60_000), "large"
    yield "large.png", bomb(12_000, 12_000), "many"
