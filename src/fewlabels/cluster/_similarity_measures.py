"""Similarities that SciPy and scikit-learn do not have."""

# SPDX-License-Identifier: BSD-3-Clause

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics.pairwise import check_pairwise_arrays, cosine_similarity
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from fewlabels._sklearn import check_array


def regularized_euclidean(X: ArrayLike, Y: ArrayLike | None = None) -> NDArray[Any]:
    r"""Euclidean distances relative to the lengths of the rows.

    .. math:: D(x, y) = \frac{\|x - y\|}{\sqrt{\|x\|^2 + \|y\|^2}}
       = \sqrt{1 - \frac{2 x^\top y}{\|x\|^2 + \|y\|^2}}

    Parameters
    ----------
    X : array-like of shape (n_samples_X, n_features)
        Rows.
    Y : array-like of shape (n_samples_Y, n_features), default=None
        Others; None for the same.

    Returns
    -------
    D : ndarray of shape (n_samples_X, n_samples_Y)
        0 for equal rows (two rows of zeros too), 1 for orthogonal ones, and the largest
        value, :math:`\sqrt 2`, for opposite ones.

    Examples
    --------
    >>> from fewlabels.cluster import regularized_euclidean
    >>> regularized_euclidean([[1.0, 0.0]], [[1, 0], [0, 3], [-1, 0]]).round(3)
    array([[0.   , 1.   , 1.414]])
    """
    X, Y = check_pairwise_arrays(X, Y, dtype=np.float64)
    lengths = row_norms(X, squared=True)[:, None] + row_norms(Y, squared=True)
    # From the difference, not from the inner product: near rows would cancel.
    distances = cdist(X, Y)
    return np.divide(
        distances, np.sqrt(lengths), out=np.zeros_like(distances), where=lengths > 0
    )


def tanimoto_similarity(X: Any, Y: Any = None) -> NDArray[Any]:
    r"""Tanimoto similarity of real vectors.

    .. math:: s(x, y) = \frac{x^\top y}{x^\top x + y^\top y - x^\top y}

    For vectors of zeros and ones this is the Jaccard similarity.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples_X, n_features)
        Rows.
    Y : {array-like, sparse matrix} of shape (n_samples_Y, n_features), default=None
        Others; None for the same.

    Returns
    -------
    S : ndarray of shape (n_samples_X, n_samples_Y)
        1 for equal rows (two rows of zeros too), 0 for orthogonal ones; not less than
        -1/3.

    References
    ----------
    .. [1] T. T. Tanimoto, "An elementary mathematical theory of classification and
       prediction", IBM report (1958).

    Examples
    --------
    >>> from fewlabels.cluster import tanimoto_similarity
    >>> tanimoto_similarity([[1, 1, 0]], [[1, 1, 0], [1, 0, 1], [0, 0, 1]]).round(3)
    array([[1.   , 0.333, 0.   ]])
    """
    X, Y = check_pairwise_arrays(X, Y, dtype=np.float64, accept_sparse="csr")
    products = safe_sparse_dot(X, Y.T, dense_output=True)
    squares = row_norms(X, squared=True)[:, None] + row_norms(Y, squared=True)
    rest = squares - products
    return np.divide(products, rest, out=np.ones_like(products), where=squares > 0)


def confusion_similarity(F: ArrayLike) -> NDArray[np.float64]:
    r"""Similarity of objects that are mistaken for each other.

    .. math:: s(x, y) = \frac{f(x, y)}{f(x, x)} + \frac{f(y, x)}{f(y, y)}

    Parameters
    ----------
    F : array-like of shape (n_objects, n_objects)
        How often the object of the row was taken for that of the column.

    Returns
    -------
    S : ndarray of shape (n_objects, n_objects)
        Symmetric, with a diagonal of 2.

    Examples
    --------
    >>> from fewlabels.cluster import confusion_similarity
    >>> confusion_similarity([[10, 5], [1, 4]])
    array([[2.  , 0.75],
           [0.75, 2.  ]])
    """
    counts: NDArray[Any] = check_array(F, dtype=np.float64, input_name="F")
    right = np.diagonal(counts)
    if counts.shape[0] != counts.shape[1] or (counts < 0).any():
        raise ValueError(
            f"F must be a square matrix of counts, got shape {counts.shape} with least "
            f"value {counts.min()}."
        )
    if not (right > 0).all():
        raise ValueError(
            "F must have a positive diagonal: objects never recognised "
            f"({np.flatnonzero(right <= 0).tolist()}) have no similarity. Leave them "
            "out, or add one to all counts."
        )
    shares = counts / right[:, None]
    return shares + shares.T


def tfidf_similarity(documents: Sequence[Iterable[Hashable]]) -> NDArray[np.float64]:
    """Cosine of TF-IDF vectors: similarity of words, or of syntax.

    Parameters
    ----------
    documents : sequence of iterables
        The items of every sentence: words, or dependency relations such as ``("nsubj",
        "has", "patient")`` from a parser.

    Returns
    -------
    S : ndarray of shape (n_documents, n_documents)
        1 for sentences with the same items in the same proportions, 0 for those that
        share none, and for empty ones.

    See Also
    --------
    semantic_similarity : By concepts.
    combined_similarity : All of them.
    sklearn.feature_extraction.text.TfidfVectorizer : From texts.

    Examples
    --------
    >>> from fewlabels.cluster import tfidf_similarity
    >>> tfidf_similarity([["no", "fever"], ["fever", "no"], ["cough"]]).round(2)
    array([[1., 1., 0.],
           [1., 1., 0.],
           [0., 0., 1.]])
    """
    # Words by number: the vectoriser sorts its vocabulary, and items need no order.
    numbers: dict[Hashable, int] = {}
    coded = [
        [str(numbers.setdefault(item, len(numbers))) for item in document]
        for document in documents
    ]
    if not numbers:
        return np.zeros((len(coded), len(coded)))
    weights = TfidfVectorizer(analyzer=list).fit_transform(coded)
    return cosine_similarity(weights)


def semantic_similarity(
    concepts: Sequence[Iterable[Hashable]],
    concept_similarity: Callable[[Any, Any], float] | None = None,
) -> NDArray[np.float64]:
    r"""Similarity of sentences by the concepts in them.

    Two sentences become vectors over the union of their concepts. The entry of sentence
    A for the concept c is :math:`\max_{a \in A} s(a, c)`, which is 1 where A has c; the
    cosine of the two vectors is the similarity.

    Parameters
    ----------
    concepts : sequence of iterables
        The concepts of every sentence.
    concept_similarity : callable, default=None
        ``concept_similarity(a, b)`` between 0 and 1, symmetric, from a task-specific
        vocabulary; None counts equal concepts only.

    Returns
    -------
    S : ndarray of shape (n_documents, n_documents)
        1 for sentences with the same concepts; 0 where one has none.

    See Also
    --------
    tfidf_similarity : By words or by syntax.

    References
    ----------
    .. [1] Y. Chen, T. A. Lasko, Q. Mei, J. C. Denny, H. Xu, "A study of active learning
       methods for named entity recognition in clinical text", Journal of Biomedical
       Informatics 58 (2015). :doi:`10.1016/j.jbi.2015.09.010`

    Examples
    --------
    >>> from fewlabels.cluster import semantic_similarity
    >>> def related(a, b):
    ...     return 0.5 if {a, b} == {"fever", "chill"} else float(a == b)
    >>> semantic_similarity([["fever"], ["chill"], ["rash"]], related)
    array([[1. , 0.8, 0. ],
           [0.8, 1. , 0. ],
           [0. , 0. , 1. ]])
    """
    sets = [dict.fromkeys(document) for document in concepts]
    numbers = {c: k for k, c in enumerate(dict.fromkeys(c for s in sets for c in s))}
    names = list(numbers)
    related = np.eye(len(names))
    if concept_similarity is not None:
        for i, a in enumerate(names):
            for j in range(i):
                related[i, j] = related[j, i] = concept_similarity(a, names[j])
    members = [np.array([numbers[c] for c in s], dtype=np.intp) for s in sets]
    # Nearest concept of every sentence to every concept of the corpus.
    reach = np.zeros((len(sets), len(names)))
    for row, inside in zip(reach, members, strict=True):
        if inside.size:
            row[:] = related[inside].max(axis=0)
    S = np.zeros((len(sets), len(sets)))
    for i in range(len(sets)):
        for j in range(i + 1):
            if members[i].size and members[j].size:
                union = np.union1d(members[i], members[j])
                a, b = reach[i, union], reach[j, union]
                cosine = a @ b / np.sqrt((a @ a) * (b @ b))
                S[i, j] = S[j, i] = cosine
    return S


def combined_similarity(
    tokens: Sequence[Iterable[Hashable]],
    relations: Sequence[Iterable[Hashable]],
    concepts: Sequence[Iterable[Hashable]],
    concept_similarity: Callable[[Any, Any], float] | None = None,
) -> NDArray[np.float64]:
    """Similarity of sentences by words, syntax and meaning.

    The mean of the TF-IDF cosine of words and dependency relations in one vector, and
    of the semantic similarity.

    Parameters
    ----------
    tokens : sequence of iterables
        The words of every sentence.
    relations : sequence of iterables
        Its dependency relations, from a parser.
    concepts : sequence of iterables
        Its concepts.
    concept_similarity : callable, default=None
        See :func:`semantic_similarity`.

    Returns
    -------
    S : ndarray of shape (n_documents, n_documents)
        Between 0 and 1.

    See Also
    --------
    tfidf_similarity, semantic_similarity : The parts.

    References
    ----------
    .. [1] Y. Chen, T. A. Lasko, Q. Mei, J. C. Denny, H. Xu, "A study of active learning
       methods for named entity recognition in clinical text", Journal of Biomedical
       Informatics 58 (2015). :doi:`10.1016/j.jbi.2015.09.010`

    Examples
    --------
    >>> from fewlabels.cluster import combined_similarity
    >>> tokens = [["patient", "has", "fever"], ["fever", "noted"], ["rash"]]
    >>> relations = [[("obj", "has", "fever")], [("nsubj", "noted", "fever")], []]
    >>> concepts = [["fever"], ["fever"], ["rash"]]
    >>> combined_similarity(tokens, relations, concepts).round(2)
    array([[1. , 0.6, 0. ],
           [0.6, 1. , 0. ],
           [0. , 0. , 1. ]])
    """
    if not len(tokens) == len(relations) == len(concepts):
        raise ValueError(
            f"tokens, relations and concepts are of {len(tokens)}, {len(relations)} "
            f"and {len(concepts)} sentences: pass one entry of each per sentence."
        )
    joint = [
        [("word", word) for word in words] + [("relation", r) for r in related]
        for words, related in zip(tokens, relations, strict=True)
    ]
    return (
        tfidf_similarity(joint) + semantic_similarity(concepts, concept_similarity)
    ) / 2
