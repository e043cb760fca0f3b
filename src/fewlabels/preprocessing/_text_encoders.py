"""Turn the texts of one column into features: words, spelling, meaning."""

# SPDX-License-Identifier: BSD-3-Clause

import warnings
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack, issparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from fewlabels._threads import threads
from fewlabels.embeddings import Embedder, cache_folder, load_embedder
from fewlabels.preprocessing._description import ColumnDescription
from fewlabels.preprocessing._embeddings import embed_texts, script_note
from fewlabels.preprocessing._encoders import CategoryEncoder, ColumnEncoder
from fewlabels.preprocessing._summary import ColumnSummary
from fewlabels.preprocessing.cells import (
    object_array,
    to_texts,
)

# Names of the views of an embedded text.
VIEWS = ("words", "meaning", "words and meaning")


class TextEncoder(ColumnEncoder):
    """Free text: tf-idf of words and character n-grams, or its leading directions.

    N-grams of two to four characters capture languages, endings, misspellings, paths,
    and scripts without spaces between words. Their weight is the share of words that
    occur in no other text.

    Parameters
    ----------
    column : ColumnDescription
        The column.
    max_words : int
        Size of the vocabularies of words and of n-grams.
    n_components : int or None
        How many directions to keep; None to keep all words, as a sparse array.
    weight : float
        Total variance of the features, if there are directions.
    random_state : int
        Seed of the directions.
    """

    def __init__(
        self,
        column: ColumnDescription,
        max_words: int,
        n_components: int | None,
        weight: float,
        random_state: int,
    ) -> None:
        super().__init__(column)
        self.max_words = max_words
        self.n_components = n_components
        self.weight = weight
        self.random_state = random_state

    def fit(self, values: NDArray[Any], whole: ColumnSummary | None = None) -> Any:
        """Find the vocabularies and directions, and encode the column."""
        texts = to_texts(values)
        self.svd: TruncatedSVD | None = None
        self.vectorizers: list[TfidfVectorizer] = []
        many = len(texts) >= 50
        limits = [(2, 0.6), (1, 1.0)] if many else [(1, 1.0)]
        # If n-grams are all rare or all common, they add nothing to words.
        for kind, tried in (({}, limits), (_PIECES, limits[:1])):
            vectorizer = self._vectorizer(texts, kind, tried)
            if vectorizer is not None:
                self.vectorizers.append(vectorizer)
        self.shares = self._shares(texts)
        self.unit = 1.0
        if not self.vectorizers:
            return self._nothing(len(texts))
        words = self._words(texts)
        if self.n_components is None:
            return words
        return self.fit_directions(words, self.n_components)

    def fit_directions(
        self, words: csr_array, n_components: int
    ) -> NDArray[np.float64]:
        """Find the leading directions of tf-idf, and project on them."""
        size = min(n_components, words.shape[1] - 1, words.shape[0] - 1)
        if size < 2:
            features = words.toarray()
        else:
            self.svd = TruncatedSVD(size, random_state=self.random_state)
            # The last digits of products depend on the number of threads, and ties
            # in trees on the last digits.
            with threads(1), warnings.catch_warnings():
                # a division by a variance of zero
                warnings.simplefilter("ignore", RuntimeWarning)
                features = self.svd.fit_transform(words)
        spread = float(np.sqrt(features.var(axis=0).sum()))
        # Rows of tf-idf have length one: less than this is rounding.
        self.unit = spread / np.sqrt(self.weight) if spread > 1e-6 else 1.0
        return features / self.unit

    def _vectorizer(
        self,
        texts: NDArray[Any],
        kind: dict[str, Any],
        limits: list[tuple[int, float]],
    ) -> TfidfVectorizer | None:
        """Learn a vocabulary; if there are no others, of rare and common words."""
        for least, most in limits:
            vectorizer = TfidfVectorizer(
                strip_accents="unicode",
                sublinear_tf=True,
                min_df=least,
                max_df=most,
                max_features=self.max_words,
                dtype=np.float64,
                **kind,
            )
            try:
                return vectorizer.fit(_beginnings(texts, vectorizer))
            except ValueError:  # no word is left
                continue
        return None

    def _words(self, texts: NDArray[Any]) -> csr_array:
        """Concatenate words and n-grams, in rows of length one."""
        parts = [
            vectorizer.transform(_beginnings(texts, vectorizer)) * np.sqrt(share)
            for vectorizer, share in zip(self.vectorizers, self.shares, strict=True)
        ]
        return csr_array(hstack(parts))

    def _shares(self, texts: NDArray[Any]) -> list[float]:
        """Return the weight of n-grams: the share of words in no other text."""
        if len(self.vectorizers) < 2:
            return [1.0] * len(self.vectorizers)
        split = self.vectorizers[0].build_analyzer()
        found = [set(split(text)) for text in texts[:: max(1, len(texts) // 2000)]]
        seen = Counter(word for words in found for word in words)
        shares = [np.mean([seen[w] > 1 for w in words]) for words in found if words]
        covered = float(np.mean(shares)) if shares else 0.0
        return [covered, 1 - covered]

    def _nothing(self, n_rows: int) -> Any:
        if self.n_components is None:
            return csr_array((n_rows, 1))
        return np.zeros((n_rows, 1))

    def transform(self, values: NDArray[Any]) -> Any:
        """Encode new text; unseen words are left out."""
        if not self.vectorizers:
            return self._nothing(values.size)
        words = self._words(to_texts(values))
        return words if self.n_components is None else self.directions(words)

    def directions(self, words: csr_array) -> NDArray[np.float64]:
        """Project tf-idf on the leading directions."""
        features = words.toarray() if self.svd is None else self.svd.transform(words)
        return features / self.unit

    def names(self) -> list[str]:
        """Name the features."""
        name = self.column.name
        if not self.vectorizers:
            return [f"{name}: no words"]
        if self.svd is None or self.n_components is None:
            return [
                f"{name}: {word!r}" if v.analyzer == "char_wb" else f"{name}: {word}"
                for v in self.vectorizers
                for word in v.get_feature_names_out()
            ]
        return [f"{name}: topic {k + 1}" for k in range(self.svd.n_components)]


class EmbeddedTextEncoder(ColumnEncoder):
    """Free text in several views: its words, the embedding of its meaning, and both.

    Where words are kept as they are, their leading directions stand for them beside
    the meaning.

    Parameters
    ----------
    words : TextEncoder
        Of the words, or their leading directions.
    embedder : str
        Name of the embedder.
    n_topics : int
        How many directions of words stand beside the meaning.
    """

    def __init__(self, words: TextEncoder, embedder: str, n_topics: int) -> None:
        super().__init__(words.column)
        self.words = words
        self.embedder = embedder
        self.n_topics = n_topics

    def fit(self, values: NDArray[Any], whole: ColumnSummary | None = None) -> Any:
        """Give words and meaning the same variance, and encode the column."""
        words, texts = self.words.fit(values, whole), to_texts(values)
        if note := script_note(texts, self._embedder(), self.column.name):
            warnings.warn(note, UserWarning, stacklevel=2)
        vectors = self._vectors(texts)
        present = vectors.any(axis=1)
        some = vectors[present] if present.any() else vectors
        self.mean = some.mean(axis=0)
        spread = float(np.sqrt(some.var(axis=0).sum()))
        self.unit = spread / np.sqrt(self.words.weight) if spread > 1e-6 else 1.0
        blocks = [words]
        if issparse(words):
            blocks.append(self.words.fit_directions(words, self.n_topics))
        return self._joined([*blocks, self._meaning(vectors)])

    def _vectors(self, texts: NDArray[Any]) -> NDArray[np.float64]:
        return embed_texts(texts, self._embedder(), cache=cache_folder())

    def _embedder(self) -> Embedder:
        return load_embedder(self.embedder, takes="text", known=True)

    def _meaning(self, vectors: NDArray[Any]) -> NDArray[np.float64]:
        meaning = (vectors - self.mean) / self.unit
        meaning[~vectors.any(axis=1)] = 0.0
        return meaning

    def _joined(self, blocks: list[Any]) -> Any:
        self.widths = [block.shape[1] for block in blocks]
        if not issparse(blocks[0]):
            return np.hstack(blocks)
        return csr_array(hstack([csr_array(block) for block in blocks]))

    def transform(self, values: NDArray[Any]) -> Any:
        """Encode new text."""
        blocks = [self.words.transform(values)]
        if issparse(blocks[0]):
            blocks.append(self.words.directions(blocks[0]))
        return self._joined([*blocks, self._meaning(self._vectors(to_texts(values)))])

    def names(self) -> list[str]:
        """Name the features."""
        topics = self.widths[1] if len(self.widths) == 3 else 0
        sizes = {"topic": topics, "meaning": self.widths[-1]}
        return [
            *self.words.names(),
            *(
                f"{self.column.name}: {what} {k + 1}"
                for what, size in sizes.items()
                for k in range(size)
            ),
        ]

    def views(self) -> dict[str, NDArray[np.float64]]:
        """Return words, meaning, and both, with the same variance."""
        block = np.repeat(np.arange(len(self.widths)), self.widths)
        last = len(self.widths) - 1
        both = np.sqrt(0.5) * (block >= last - 1)
        return dict(
            zip(VIEWS, (1.0 * (block == 0), 1.0 * (block == last), both), strict=True)
        )


_PIECES = {"analyzer": "char_wb", "ngram_range": (2, 4)}
# Characters of a text used for n-grams: enough to recognise a language or a path.
_BEGINNING = 100


def _beginnings(texts: NDArray[Any], vectorizer: TfidfVectorizer) -> NDArray[Any]:
    """Cut texts to the part used for n-grams; words are taken from the whole text."""
    if vectorizer.analyzer == "word":
        return texts
    return object_array([text[:_BEGINNING] for text in texts])


class NamesEncoder(ColumnEncoder):
    """Very many categories: one feature for each frequent one, and their spelling.

    The words of a car model or an occupation are informative even if every single
    category is rare. Both halves have the same variance.

    Parameters
    ----------
    column : ColumnDescription
        The column.
    max_categories : int
        How many categories get a feature of their own.
    max_words : int
        Size of the vocabulary.
    n_components : int
        How many directions represent the spelling.
    random_state : int
        Seed of the directions.
    """

    def __init__(
        self,
        column: ColumnDescription,
        max_categories: int,
        max_words: int,
        n_components: int,
        random_state: int,
    ) -> None:
        super().__init__(column)
        self.levels = CategoryEncoder(column, max_categories)
        self.spelling = TextEncoder(column, max_words, n_components, 1.0, random_state)

    def fit(
        self, values: NDArray[Any], whole: ColumnSummary | None = None
    ) -> NDArray[np.float64]:
        """Fit both halves, and encode the column."""
        levels = self.levels.fit(values, whole)
        spelling = self.spelling.fit(values, whole)
        return np.hstack([levels, spelling]) / np.sqrt(2)

    def transform(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Encode new values; unseen ones count as rare, with their spelling."""
        halves = [self.levels.transform(values), self.spelling.transform(values)]
        return np.hstack(halves) / np.sqrt(2)

    def names(self) -> list[str]:
        """Name the features."""
        return [*self.levels.names(), *self.spelling.names()]
