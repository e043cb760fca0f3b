"""Near copies in tables and folders: held out together, and told."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest

from fewlabels.tabular import label_table, read_table
from tests.embeddings.pictures import needs_weights


def mosaic(seed):
    """Draw large rectangles in random colours, no two pictures alike."""
    rng = np.random.default_rng(seed)
    picture = np.full((240, 240, 3), rng.integers(0, 256, 3), dtype=np.uint8)
    for _ in range(12):
        top, left = rng.integers(0, 200, 2)
        height, width = rng.integers(20, 120, 2)
        picture[top : top + height, left : left + width] = rng.integers(0, 256, 3)
    return picture


@needs_weights
@pytest.mark.slow
def test_pictures_saved_again_do_not_make_the_error_smaller(tmp_path):
    """Labels are drawn at random, so that half of all predictions are wrong."""
    from PIL import Image

    for k in range(30):
        image = Image.fromarray(mosaic(k))
        home = tmp_path / ("ab"[k % 2] if k < 10 else "unlabelled")
        home.mkdir(exist_ok=True)
        image.save(home / f"{k}.png")
        if k < 10:
            image.save(home / f"{k} again.jpg", quality=75)
            image.resize((150, 150)).save(home / f"{k} small.jpg", quality=85)
    labeled = label_table(read_table(tmp_path), "label")
    error = labeled.model.classifier.expected_error_
    assert error.value > 0.25
    assert error.high > 0.5
    (note,) = [note for note in labeled.notes if "near copies" in note]
    assert "a/0 again.jpg, a/0 small.jpg, a/0.png" in note


def test_edited_texts_are_told():
    rng = np.random.default_rng(0)
    words = {"a": [f"sun{k}" for k in range(30)], "b": [f"rain{k}" for k in range(30)]}
    texts, labels = [], []
    for k in range(60):
        kind = "ab"[k % 2]
        texts.append(" ".join(rng.choice(words[kind], 12)))
        labels.append(kind if k < 12 else None)
    texts[14] = texts[4] + " indeed"
    labeled = label_table({"text": texts, "kind": labels}, "kind", bank="fast")
    (note,) = [note for note in labeled.notes if "near copies" in note]
    assert "2 rows in 1 group" in note
    assert "row 5, row 15" in note


def test_numbers_have_no_near_copies():
    rng = np.random.default_rng(0)
    data = {f"x{k}": rng.normal(size=40) for k in range(3)}
    data["kind"] = ["a", "b"] * 6 + [None] * 28
    labeled = label_table(data, "kind", bank="fast")
    assert not any("copies" in note for note in labeled.notes)
