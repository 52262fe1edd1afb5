from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.core.embedding import Cosines, Shelf
from everthread.embed import vectors

FLOATS = st.lists(st.floats(-1, 1, width=32), min_size=8, max_size=8)


def one(values: list[float]) -> bytes:
    return vectors.packed(np.array(values, np.float32))


@given(FLOATS)
def test_a_stored_vector_is_normalised_or_zero(values: list[float]) -> None:
    length = float(np.linalg.norm(vectors.unpacked(one(values))))
    assert length == pytest.approx(1.0 if max(map(abs, values)) > 1e-20 else 0.0, abs=1e-6)


@given(FLOATS, st.lists(FLOATS, max_size=5))
def test_a_similarity_is_about_the_cosine(query: list[float], others: list[list[float]]) -> None:
    found = vectors.similarities(one(query), [one(other) for other in others])
    for other, similarity in zip(others, found, strict=True):
        a, b = np.array(query, np.float64), np.array(other, np.float64)
        lengths = float(np.linalg.norm(a) * np.linalg.norm(b))
        if min(max(map(abs, query)), max(map(abs, other))) > 1e-20:
            assert similarity == pytest.approx(float(a @ b) / lengths, abs=0.03)
        assert -1.0001 <= similarity <= 1.0001


def test_many_vectors_are_scanned_in_order() -> None:
    chance = np.random.default_rng(1)
    rows = chance.normal(size=(1000, 384)).astype(np.float32)
    found = vectors.similarities(vectors.packed(rows[700]), [vectors.packed(row) for row in rows])
    assert max(range(1000), key=found.__getitem__) == 700
    assert found[700] == pytest.approx(1.0, abs=1e-4)


def test_a_vector_of_another_space_is_similar_to_nothing() -> None:
    query = one([1.0, 2.0])
    assert vectors.similarities(query, [one([1.0, 2.0, 3.0]), query, b""]) == [0.0, pytest.approx(1.0), 0.0]
    assert vectors.similarities(b"", [query, b""]) == [0.0, 0.0]
    assert vectors.similarities(query, []) == []


def test_vectors_on_a_shelf_are_compared_as_any_others_also_those_added_later() -> None:
    chance = np.random.default_rng(1)
    packed = [vectors.packed(row) for row in chance.normal(size=(300, 24)).astype(np.float32)]
    shelf = Shelf(len(packed[0]), packed[:100])
    for vector in packed[100:]:
        shelf.extend([vector])
        if len(shelf) % 50 == 0:
            assert vectors.similarities(packed[7], shelf) == vectors.similarities(packed[7], packed[: len(shelf)])
    shelf.drop(290)
    assert list(shelf) == packed[290:]
    assert vectors.similarities(packed[299], shelf)[-1] == pytest.approx(1.0, abs=1e-4)


def test_a_shelf_for_another_space_is_similar_to_nothing() -> None:
    shelf = Shelf(len(one([1.0, 2.0])), [one([1.0, 2.0])])
    assert vectors.similarities(one([1.0, 2.0, 3.0]), shelf) == [0.0]
    assert vectors.similarities(one([1.0, 2.0]), Shelf(shelf.size)) == []


def test_a_shelf_is_a_sequence_of_vectors_of_one_length() -> None:
    shelf = Shelf(2, [b"ab", b"cd", b"ef"])
    assert (shelf[0], shelf[-1], shelf[1:]) == (b"ab", b"ef", [b"cd", b"ef"])
    shelf[1] = b"xy"
    assert list(shelf) == [b"ab", b"xy", b"ef"]
    with pytest.raises(IndexError):
        shelf[3]
    with pytest.raises(ValueError, match="not all of the vectors have 2 bytes"):
        shelf.extend([b"ab", b"abc"])
    for at, vector in ((0, b"abc"), (3, b"ab")):
        with pytest.raises(ValueError, match="no place"):
            shelf[at] = vector


@pytest.mark.parametrize("most", [1, 7, 299, 300, 1000])
def test_the_largest_cosines_of_a_shelf_come_in_their_order(most: int) -> None:
    chance = np.random.default_rng(1)
    packed = [vectors.packed(row) for row in chance.normal(size=(100, 24)).astype(np.float32)] * 3
    found = vectors.similarities(packed[7], Shelf(len(packed[0]), packed))
    assert isinstance(found, Cosines)
    places = found.largest(most)
    assert len(places) == len(set(places)) == min(most, 300)
    slowly = Cosines(found).largest(most)
    assert [found[at] for at in places] == [found[at] for at in slowly]
    assert most < 3 or places[:3] == [7, 107, 207], "of equals, the earlier first"
