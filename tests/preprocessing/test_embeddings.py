"""Texts by their meaning."""

# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose
from scipy.sparse import issparse

from fewlabels.cli import commands
from fewlabels.embeddings import _protocol, _texts, _weights
from fewlabels.preprocessing import (
    TableError,
    TableTransformer,
    _embeddings,
    _text_encoders,
    embed_texts,
)
from fewlabels.tabular import label_table, read_table

# No text shares a word with another of its kind.
TEXTS = {
    "furniture": ["red sofa", "leather couch", "oak table", "wooden chair", "big bed"],
    "tools": ["cordless drill", "steel hammer", "hand saw", "torque wrench", "pliers"],
}
NAMES = [text for texts in TEXTS.values() for text in texts]
KINDS = [kind for kind, texts in TEXTS.items() for _ in texts]
LABELED = list(zip(NAMES, KINDS, strict=True))
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
    def test_words_and_meaning_are_views_of_the_same_variance(self):
        transformer = TableTransformer(text=["name"], embed=True, text_weight=3.0)
        table = {"name": NAMES, "size": np.arange(10.0) ** 0.5}
        features = transformer.fit_transform(table)
        assert_allclose(features, transformer.transform(table), atol=1e-10)
        names = transformer.get_feature_names_out()
        assert len(names) == features.shape[1]
        views = transformer.feature_views_
        assert list(views) == ["words", "meaning", "words and meaning"]
        for weights in views.values():
            assert weights[names == "size"] == 1.0
            assert_allclose((features * weights).var(axis=0).sum(), 4.0)
        meaning = np.array(["meaning" in name for name in names])
        assert meaning.sum() == 256
        assert not views["words"][meaning].any()
        assert not (views["meaning"] * ~meaning)[names != "size"].any()

    def test_words_of_texts_alone_stay_sparse(self):
        plain = TableTransformer(text=["name"]).fit_transform({"name": NAMES})
        transformer = TableTransformer(text=["name"], embed=True)
        features = transformer.fit_transform({"name": NAMES})
        assert issparse(features)
        words, meaning, both = transformer.feature_views_.values()
        assert_allclose(features[:, words > 0].toarray(), plain.toarray())
        assert meaning.sum() == 256
        assert not (words * both).any()
        assert (both > 0).sum() > 256
        again = transformer.transform({"name": NAMES})
        assert_allclose(features.toarray(), again.toarray(), atol=1e-10)
        assert len(transformer.get_feature_names_out()) == features.shape[1]

    @pytest.mark.parametrize("texts", [["x", "x", "y"], ["?", "!", "."]])
    def test_texts_without_words(self, texts):
        table = {"name": texts, "size": [1.0, 2.0, 4.0]}
        transformer = TableTransformer(text=["name"], embed=True)
        assert np.isfinite(transformer.fit_transform(table)).all()
        alone = TableTransformer(text=["name"], embed=True)
        assert np.isfinite(alone.fit_transform({"name": texts}).toarray()).all()

    def test_an_empty_text_is_average(self):
        transformer = TableTransformer(text=["name"], embed=True)
        transformer.fit({"name": [*NAMES, ""]})
        empty = transformer.transform({"name": [""]}).toarray()[0]
        assert not empty[transformer.feature_views_["meaning"] > 0].any()

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
    run("fit", table, "-t", "kind", "--text", "name", "-o", model)
    found = run("predict", model, new, "-q").stdout.splitlines()
    assert found[1].startswith("velvet armchair,furniture,")
    assert found[2].startswith("screwdriver,tools,")


class Vowels:
    """An embedder that counts vowels, and how often it was asked."""

    name, version, takes, n_dimensions = "vowels", "1", "text", 5
    asked = 0

    def read(self, data):
        return data.decode()

    def embed(self, items):
        self.asked += len(items)
        return np.array([[text.count(v) for v in "aeiou"] for text in items])


def test_vectors_are_computed_once(tmp_path):
    embedder = Vowels()
    first = embed_texts(["sofa", "bed", "sofa", "", " bed"], embedder, cache=tmp_path)
    assert embedder.asked == 2
    again = embed_texts(["bed", "table"], embedder, cache=tmp_path)
    assert embedder.asked == 3
    assert_allclose(first[1], again[0])
    assert_allclose(first[4], again[0])
    assert not first[3].any()


def test_models_of_files_keep_vectors_beside_them(tmp_path, monkeypatch):
    embedder = Vowels()
    for module in (_embeddings, _text_encoders):
        monkeypatch.setattr(module, "load_embedder", lambda name, **_: embedder)
    path = tmp_path / "names.csv"
    path.write_text("name,kind\n" + "".join(f"{n},{k}\n" for n, k in LABELED))
    for _ in range(2):
        label_table(read_table(path), "kind", text=["name"], embed="vowels")
    assert embedder.asked == 10
    assert [p.name for p in tmp_path.iterdir() if p.is_dir()] == [".fewlabels"]


@pytest.mark.usefixtures("network")
def test_scripts_that_the_vectors_do_not_know_are_told():
    greek = ["κόκκινος καναπές", "δερμάτινος καναπές", "σφυρί και πριόνι"] * 4
    with pytest.warns(UserWarning, match=r"55% of 22 texts .* \(mostly Greek\)"):
        TableTransformer(text=["name"], embed=True).fit({"name": NAMES + greek})


def test_the_error_names_the_extra(monkeypatch):
    _protocol._loaded.cache_clear()
    monkeypatch.setattr(_weights, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"fewlabels\[embeddings\]"):
        embed_texts(["sofa"])
    table = {"name": NAMES, "kind": LABELS}
    labeled = label_table(table, "kind", text=["name"])  # by words only
    assert not any(
        "meaning" in n for n in labeled.model.transformer.get_feature_names_out()
    )
    with pytest.raises(ImportError, match=r"fewlabels\[embeddings\]"):
        label_table(table, "kind", text=["name"], embed=True)
    monkeypatch.setattr(Vowels, "takes", "picture")
    monkeypatch.setattr(_embeddings, "load_embedder", lambda name, **_: Vowels())
    with pytest.raises(TableError, match="takes picture, no texts"):
        label_table(table, "kind", text=["name"], embed="vowels")


def test_other_weights_are_refused_and_told(monkeypatch):
    pytest.importorskip("wordllama")
    _protocol._loaded.cache_clear()
    monkeypatch.setattr(_texts, "_WORDLLAMA", dict.fromkeys(_texts._WORDLLAMA, "0"))
    with pytest.raises(ValueError, match="does not hold the weights"):
        embed_texts(["sofa"])
    labeled = label_table({"name": NAMES, "kind": LABELS}, "kind", text=["name"])
    assert any("by words only" in note for note in labeled.notes)
