"""Texts by their meaning."""

# SPDX-License-Identifier: BSD-3-Clause

import sys

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose

from fewlabels.cli import commands
from fewlabels.preprocessing import TableTransformer, _embeddings, embed_texts
from fewlabels.tabular import label_table

# No text shares a word with another of its kind.
TEXTS = {
    "furniture": ["red sofa", "leather couch", "oak table", "wooden chair", "big bed"],
    "tools": ["cordless drill", "steel hammer", "hand saw", "torque wrench", "pliers"],
}
NAMES = [text for texts in TEXTS.values() for text in texts]
KINDS = [kind for kind, texts in TEXTS.items() for _ in texts]
LABELS = [kind if k % 5 < 2 else "" for k, kind in enumerate(KINDS)]


@pytest.fixture
def network():
    pytest.importorskip("wordllama")


@pytest.mark.usefixtures("network")
class TestEmbedTexts:
    def test_rows(self):
        vectors = embed_texts([*NAMES, "", "  "])
        assert vectors.shape == (12, 256)
        assert_allclose(np.linalg.norm(vectors[:10], axis=1), 1.0)
        assert not vectors[10:].any()
        assert embed_texts([]).shape == (0, 256)

    def test_meaning_brings_rows_together(self):
        vectors = embed_texts(NAMES)
        products = vectors @ vectors.T
        nearest = (products - 2 * np.eye(10)).argmax(axis=1)
        same = np.array(KINDS)[nearest] == np.array(KINDS)
        assert same.mean() >= 0.9


@pytest.mark.usefixtures("network")
class TestTransformer:
    def test_words_and_meaning_have_the_same_variance(self):
        transformer = TableTransformer(text=["name"], embed=True, text_weight=3.0)
        features = transformer.fit_transform({"name": NAMES})
        assert_allclose(features, transformer.transform({"name": NAMES}), atol=1e-10)
        names = transformer.get_feature_names_out()
        meaning = np.array(["meaning" in name for name in names])
        assert meaning.sum() == 256
        assert_allclose(features[:, meaning].var(axis=0).sum(), 1.5)
        assert_allclose(features[:, ~meaning].var(axis=0).sum(), 1.5)

    def test_texts_that_are_all_the_same(self):
        features = TableTransformer(text=["name"], embed=True).fit_transform(
            {"name": ["sofa", "sofa", "sofa"], "size": [1.0, 2.0, 4.0]}
        )
        assert np.isfinite(features).all()

    def test_labels_that_words_cannot_tell(self):
        table = {"name": NAMES, "kind": LABELS}
        labeled = label_table(table, "kind", text=["name"], embed=True)
        assert (labeled.labels == np.array(KINDS)).mean() >= 0.9


@pytest.mark.usefixtures("network")
def test_a_saved_model_embeds_new_texts(tmp_path):
    def run(*arguments):
        result = CliRunner().invoke(commands, [str(a) for a in arguments])
        assert result.exit_code == 0, result.stderr
        return result

    table, model = tmp_path / "t.csv", tmp_path / "m.fewlabels"
    rows = zip(NAMES, KINDS, strict=True)
    lines = ["name,kind", *(f"{name},{label}" for name, label in rows)]
    table.write_text("\n".join(lines) + "\n")
    new = tmp_path / "new.csv"
    new.write_text("name\nvelvet armchair\nscrewdriver\n")
    run("fit", table, "-t", "kind", "--text", "name", "--embed", "-o", model)
    found = run("predict", model, new, "-q").stdout.splitlines()
    assert found[1].startswith("velvet armchair,furniture,")
    assert found[2].startswith("screwdriver,tools,")


def test_the_error_names_the_extra(monkeypatch):
    _embeddings._network.cache_clear()
    monkeypatch.setitem(sys.modules, "wordllama", None)
    with pytest.raises(ImportError, match=r"fewlabels\[embeddings\]"):
        embed_texts(["sofa"])
    assert embed_texts([""]).shape == (1, 256)  # nothing to ask for
