"""Pictures as people have them."""

# SPDX-License-Identifier: BSD-3-Clause

import io

import numpy as np
import pytest

from fewlabels.embeddings import UnreadableError, _pictures, read_picture
from tests.embeddings.pictures import drawn, needs_pillow

pytestmark = needs_pillow


def saved(array, form="PNG", mode=None, **options):
    from PIL import Image

    image = Image.fromarray(array)
    if mode == "P":
        image = image.quantize(16)
    elif mode is not None:
        image = image.convert(mode)
    file = io.BytesIO()
    image.save(file, form, **options)
    return file.getvalue()


def near(found, expected, tolerance=12):
    return (
        np.abs(found.astype(int) - np.asarray(expected).astype(int)).max() < tolerance
    )


HALVES = np.zeros((32, 32, 3), dtype=np.uint8)
HALVES[:16] = (250, 10, 10)
HALVES[16:] = (10, 10, 250)


@pytest.mark.parametrize(
    ("form", "mode"),
    [
        ("PNG", None),
        ("PNG", "P"),
        ("BMP", None),
        ("GIF", "P"),
        ("TIFF", None),
        ("JPEG", None),
        ("JPEG", "CMYK"),
        ("TIFF", "CMYK"),
        ("PPM", None),
        ("TGA", None),
    ],
)
def test_formats_and_modes_give_the_same_picture(form, mode):
    found = read_picture(saved(HALVES, form, mode), 32)
    assert near(found[2:14], HALVES[2:14])
    assert near(found[18:30], HALVES[18:30])


def test_rotation_of_the_camera_is_undone():
    from PIL import Image

    exif = Image.Exif()
    exif[0x0112] = 6  # turn clockwise to see it upright
    found = read_picture(saved(HALVES, "JPEG", exif=exif), 32)
    upright = np.rot90(HALVES, -1)
    assert near(found[:, 2:14], upright[:, 2:14])


@pytest.mark.parametrize("dtype", [np.uint16, np.int32, np.float32])
def test_deep_grey_is_stretched(dtype):
    grey = np.linspace(100, 4000, 32 * 32).reshape(32, 32).astype(dtype)
    found = read_picture(saved(grey, "TIFF"), 32)
    assert near(found[..., 0], np.linspace(0, 255, 32 * 32).reshape(32, 32), 6)
    assert (found[..., 0] == found[..., 2]).all()
    assert not read_picture(saved(np.full_like(grey, 7), "TIFF"), 32).any()


def test_numbers_that_are_none_are_black():
    grey = np.ones((8, 8), dtype=np.float32)
    grey[:4], grey[0, 0] = 0, np.nan
    assert read_picture(saved(grey, "TIFF"), 8)[0, 0, 0] == 0


@pytest.mark.parametrize("mode", ["RGBA", "LA", "PA"])
def test_transparent_parts_are_white(mode):
    from PIL import Image

    image = Image.new("RGBA", (16, 16), (0, 0, 0, 0))
    image.paste((0, 0, 0, 255), (0, 0, 16, 8))
    file = io.BytesIO()
    if mode == "PA":
        image.convert("P").save(file, "GIF", transparency=0)
    else:
        image.convert(mode).save(file, "PNG")
    found = read_picture(file.getvalue(), 16)
    assert found[13:].min() > 240
    if mode != "PA":
        assert found[:3].max() < 15


def test_the_first_frame_is_taken():
    from PIL import Image

    frames = [Image.new("RGB", (9, 9), colour) for colour in ("red", "blue")]
    file = io.BytesIO()
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:])
    assert near(read_picture(file.getvalue(), 9)[4, 4], (255, 0, 0))


@pytest.mark.parametrize("shape", [(1, 1), (1, 300), (2, 1)])
def test_tiny_and_thin_pictures(shape):
    colour = np.full((*shape, 3), 77, dtype=np.uint8)
    assert (read_picture(saved(colour), 24) == 77).all()


def test_what_is_no_picture_is_named():
    whole = saved(drawn("disc"))
    for data in (b"", b"hello", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n"):
        with pytest.raises(UnreadableError, match="no picture"):
            read_picture(data, 24)
    with pytest.raises(UnreadableError, match="broken"):
        read_picture(whole[: len(whole) // 2], 24)


@pytest.mark.filterwarnings("ignore")
def test_any_damage_is_unreadable_or_a_picture():
    rng = np.random.default_rng(0)
    n_unreadable = 0
    for form in ("PNG", "JPEG", "GIF", "TIFF", "BMP"):
        mode = "P" if form == "GIF" else None
        data = np.frombuffer(saved(drawn("disc", size=16), form, mode), np.uint8)
        for _ in range(60):
            hurt = data[: rng.integers(8, data.size + 1)].copy()
            hurt[rng.integers(0, hurt.size, 3)] = rng.integers(0, 256, 3)
            try:
                found = read_picture(hurt.tobytes(), 8)
            except UnreadableError:
                n_unreadable += 1
                continue
            assert found.shape == (8, 8, 3)
    assert 0 < n_unreadable < 300


@pytest.mark.filterwarnings("ignore")
def test_decompression_bombs_are_refused(monkeypatch):
    from PIL import Image

    file = io.BytesIO()
    Image.new("1", (15_000, 15_000)).save(file, "PNG")
    assert len(file.getvalue()) < 100_000
    with pytest.raises(UnreadableError, match="too large"):
        read_picture(file.getvalue(), 8)
    monkeypatch.setattr(_pictures, "MAX_PIXELS", 500)
    with pytest.raises(UnreadableError, match="40 x 40 pixels are too many"):
        read_picture(saved(drawn("disc")), 8)
    # A photograph is unpacked at a fraction of its size.
    assert read_picture(saved(drawn("disc", size=160), "JPEG"), 8).any()
