"""The port, by every kind of embedder; then what each kind promises beyond it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncIterator

import numpy as np
import pytest

from embed import held
from everthread.core.embedding import Embedder
from everthread.embed import choose, static, vectors
from everthread.embed.choose import MINILM, NONE, STATIC
from everthread.embed.threaded import Kind, Threaded
from everthread.embed.wordpiece import WordPiece
from everthread.errors import Overloaded, Stopping

pytestmark = pytest.mark.slow

HELD = Kind("held", 4, "embed.held")
BROKEN = Kind("broken", 4, "embed.broken")
MISSING = Kind("missing", 4, "no_such_package.at_all")
ALIKE = [
    ("We decided to use PostgreSQL as our database.", "Which database did we choose?"),
    ("My daughter is allergic to peanuts.", "What food must my child not eat?"),
    ("The deployment failed because the disk was full.", "Why did the release break?"),
    ("I adopted a puppy last weekend.", "Do I have a dog?"),
]


@pytest.fixture(params=[MINILM, STATIC, NONE], ids=lambda kind: kind.name)
async def embedder(request: pytest.FixtureRequest) -> AsyncIterator[Embedder]:
    embedder = Threaded(request.param)
    yield embedder
    await embedder.close()


async def test_a_query_and_an_indexed_text_have_the_same_vector(embedder: Embedder) -> None:
    texts = ["The sea is calm.", "", "日本", "The sea is calm."]
    found = await embedder.embed(texts)
    assert [await embedder.query(text) for text in texts] == found
    assert found[0] == found[3]
    assert await embedder.embed([]) == []


async def test_vectors_are_normalised_and_of_one_length(embedder: Embedder) -> None:
    found = await embedder.embed(["One.", "Two words", "three " * 1000, "Ünïcödé 🎉"])
    if embedder.dimensions:
        for vector in found:
            assert vectors.unpacked(vector).shape == (embedder.dimensions,)
            assert np.linalg.norm(vectors.unpacked(vector)) == pytest.approx(1.0, abs=1e-6)


async def test_nothing_is_similar_to_an_empty_text(embedder: Embedder) -> None:
    empty, blank, word = await embedder.embed(["", " \n\t", "word"])
    assert not any(empty + blank)
    assert len(empty) == len(word)
    assert embedder.similarities(empty, [word, blank]) == [0.0, 0.0]
    assert embedder.similarities(word, [empty]) == [0.0]


async def test_after_closing_it_says_so(embedder: Embedder) -> None:
    await embedder.query("word")
    await embedder.close()
    with pytest.raises(Stopping):
        await embedder.query("word")
    with pytest.raises(Stopping):
        await embedder.embed(["word"])
    await embedder.close()


async def test_a_paraphrase_is_closer_than_anything_else() -> None:
    embedder = Threaded(MINILM)
    statements = await embedder.embed([statement for statement, _ in ALIKE])
    for at, (_, question) in enumerate(ALIKE):
        found = embedder.similarities(await embedder.query(question), statements)
        assert max(range(len(found)), key=found.__getitem__) == at, question
    await embedder.close()


async def test_static_vectors_know_related_words() -> None:
    embedder = Threaded(STATIC)
    query = await embedder.query("Which database do we use?")
    near, far = await embedder.embed(["Our SQL servers are fast.", "The cat sleeps on the sofa."])
    close, distant = embedder.similarities(query, [near, far])
    assert close > distant + 0.1
    await embedder.close()


async def test_minilm_computes_nearly_what_the_reference_pipeline_does() -> None:
    embedder = Threaded(MINILM)
    vector = vectors.unpacked(await embedder.query("The quick brown fox jumps over the lazy dog."))
    assert vector[:6] == pytest.approx(
        [0.0418, 0.0587, 0.0513, 0.0754, 0.0258, -0.0375], abs=0.015
    )  # bytes, not floats
    await embedder.close()


async def test_a_query_overtakes_a_batch() -> None:
    embedder = Threaded(HELD)
    batch = asyncio.create_task(embedder.embed(["wait", "b", "c"]))
    while not held.made or not held.made[-1].begun.is_set():
        await asyncio.sleep(0.001)
    encoder = held.made.pop()
    assert await embedder.query("first") == b"first"
    encoder.go.set()
    assert await batch == [b"wait", b"b", b"c"]
    assert encoder.done == ["first", "wait", "b", "c"]
    await embedder.close()


async def test_too_many_at_once_are_refused_and_the_line_moves_on() -> None:
    embedder = Threaded(HELD, most_queries=2)
    waiting = [asyncio.create_task(embedder.query("wait")) for _ in range(2)]
    while not held.made:
        await asyncio.sleep(0.001)
    with pytest.raises(Overloaded):
        await embedder.query("one more")
    held.made.pop().go.set()
    assert await asyncio.gather(*waiting) == [b"wait", b"wait"]
    assert await embedder.query("again") == b"again"
    await embedder.close()


async def test_closing_waits_for_the_text_at_hand_only() -> None:
    others = set(threading.enumerate())
    embedder = Threaded(HELD)
    batch = asyncio.create_task(embedder.embed(["wait", "never"]))
    while not held.made or not held.made[-1].begun.is_set():
        await asyncio.sleep(0.001)
    encoder = held.made.pop()
    behind = asyncio.create_task(embedder.embed(["behind it"]))
    await asyncio.sleep(0.02)
    closing = asyncio.create_task(embedder.close())
    await asyncio.sleep(0.02)
    encoder.go.set()
    await closing
    for refused in (batch, behind):
        with pytest.raises(Stopping):
            await refused
    assert encoder.done == ["wait"]
    assert not [thread for thread in {*threading.enumerate()} - others if thread.name.startswith("embed-")]


async def test_what_cannot_be_loaded_is_replaced_and_said_so(caplog: pytest.LogCaptureFixture) -> None:
    embedder = Threaded(BROKEN, MISSING, STATIC, NONE)
    assert embedder.name == "broken"
    vector = await embedder.query("word")
    assert (embedder.name, embedder.dimensions) == (STATIC.name, 96)
    assert len(vector) == len(vectors.zero(96))
    assert "broken cannot be loaded, missing instead: the file is broken" in caplog.text
    await embedder.close()


async def test_the_best_that_is_installed_is_chosen() -> None:
    absent = Kind("absent", 4, "embed.held", ("no_such_package",))
    for kinds, name in [((), MINILM.name), ((absent, STATIC), STATIC.name), ((absent,), "none")]:
        embedder = choose.best(*kinds)
        assert embedder.name == name
        await embedder.close()


def test_four_bits_per_dimension_keep_a_vectors_direction() -> None:
    rows = np.random.default_rng(1).normal(size=(20, static.DIMENSIONS)).astype(np.float32)
    encoder = static.Static(*static.quantised(rows), WordPiece({chr(ord("a") + id_): id_ for id_ in range(20)}))
    for text in ("a", "b c", "d t e"):
        exact = vectors.packed(rows[[ord(letter) - ord("a") for letter in text.split()]].sum(axis=0))
        assert vectors.similarities(exact, [encoder.encode(text)])[0] > 0.98


def test_nothing_is_loaded_before_the_first_text() -> None:
    code = (
        "import sys; from everthread.embed import choose; e = choose.best(); print(e.name, e.dimensions);"
        "print([m for m in ('numpy', 'onnxruntime') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["minilm-l6-int8 384", "[]"]
