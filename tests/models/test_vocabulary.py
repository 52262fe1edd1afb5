"""Tokens of the embedded model, counted without asking it."""

from __future__ import annotations

import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everthread import wiring
from everthread.context.tokens import O200k
from everthread.core.counting import COUNTED_EXACTLY
from everthread.models.embedded import gguf, vocabulary
from everthread.models.embedded.local import Local
from everthread.models.embedded.orders import Listening, Order
from everthread.models.embedded.vocabulary import LETTERS, Vocabulary
from front_door import Client

TEXTS = [
    "",
    " ",
    "Tell me what I said about Lisbon last Friday; it's important, isn't it? We'll see, they'Ve said.",
    "  leading, trailing  \t and\tinner   runs \n\n\n of \r\n\r\n white \u3000\u00a0 space \n ",
    "1 22 333 4444  5 a6b7 3.14159e-10, 2024-02-29, ٣٤٥, Ⅷ½²",
    "x  5\n5  x\t7",
    "def f(x: int) -> str:\n    return f'{x**2:>10}'  # café\n\n\nclass A:\n\tpass\n",
    '{"a":[1,2,{"b":null}],"c":"\\u00e9"}\n<div class="x">&nbsp;</div>',
    "日本語のテキスト、漢字かな交じり文。中文字符测试。한국어 텍스트",
    "العربية עברית हिन्दी पाठ ไทย Ελληνικά Кириллица ñandú e\u0301 ﬁ ſ 'ſ",
    "👍🏽 👩‍👩‍👧‍👦 🇩🇪 ☃️ 🫠",
    "\u200b\u200d\ufeff\u2028\x00\x7f\x85",
    "\x04\x06\x13a\x1d b",  # bytes that the small model has no token for
    "\U00040000\U00090000\U000e0041\U0010ffff",
    "don't<|im_start|>user\n<|endoftext|> <filename>x",
    "a" * 5000,
    "=" * 3000,
    " " * 3000,
    "\n" * 3000,
    "https://example.org/" + "deadBEEF0123" * 300,
    "Donaudampfschifffahrtsgesellschaft" * 50,
]
PIECES = st.sampled_from(
    [*"aZé漢👍🏽'’-_/\\.,<|>1٣ \t\n\r\u3000\u0301", "'s", "'LL", "  ", "\n\n", "word", " the", "你好"]
)
ANY_TEXT = st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=80).map("".join))


@pytest.fixture(scope="module")
def small(small_weights: Path) -> Vocabulary:
    return vocabulary.load(small_weights)


@pytest.fixture(scope="module")
def child(small_weights: Path) -> Iterator[Client]:
    """The small model's own process."""
    with subprocess.Popen(
        [sys.executable, "-m", "everthread.models.embedded.child"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(msgspec.json.encode(Order(str(small_weights), "small", 512, 1, "key")) + b"\n")
        process.stdin.flush()
        yield Client(msgspec.json.decode(process.stdout.readline(), type=Listening).url, "key")
        process.stdin.close()


def tokens_of(child: Client, text: str) -> int:
    answer = child.post("/tokenize", {"content": text, "parse_special": False})
    assert answer.status == 200, answer.body
    return len(answer.json["tokens"])


@pytest.mark.slow
@pytest.mark.parametrize("text", TEXTS, ids=lambda text: ascii(text[:12]))
def test_a_count_is_that_of_the_model(child: Client, small: Vocabulary, text: str) -> None:
    assert small.count(text) == tokens_of(child, text)


@pytest.mark.slow
@settings(max_examples=500, deadline=None)  # another process answers
@given(text=ANY_TEXT)
def test_a_count_is_that_of_the_model_whatever_the_text(child: Client, small: Vocabulary, text: str) -> None:
    assert small.count(text) == tokens_of(child, text)


@pytest.mark.slow
def test_the_rest_of_a_very_long_text_is_taken_to_be_like_its_beginning(small: Vocabulary) -> None:
    whole = "one two three four " * (COUNTED_EXACTLY // 19 + 1)
    once = small.count(whole[:COUNTED_EXACTLY])
    assert small.count(whole[:COUNTED_EXACTLY] * 10) == once * 10


@pytest.mark.slow
def test_weights_that_are_cut_short_are_refused(small_weights: Path, tmp_path: Path) -> None:
    with small_weights.open("rb") as whole:
        start = whole.read(900_000)
    for length in (4, 23, 100, 2_000, 500_000, 900_000):
        cut = tmp_path / f"{length}.gguf"
        cut.write_bytes(start[:length])
        with pytest.raises(gguf.Unreadable, match="cut short"):
            vocabulary.load(cut)


# --- a vocabulary made by hand -----------------------------------------------------------------------------

BYTES = [chr(letter) for letter in LETTERS if LETTERS[letter] not in {0x04, 0x05}]
TOKENS = [*BYTES, "he", "ll", "hell", "hello", "Ġhello", "<|end|>", "<call>"]
KINDS = [1] * (len(TOKENS) - 2) + [3, 4]


def string(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def pair(key: str, kind: int, value: bytes) -> bytes:
    return string(key) + struct.pack("<I", kind) + value


def file(
    *, model: str = "gpt2", pre: str = "qwen2", tokens: list[str] = TOKENS, kinds: list[int] = KINDS, version: int = 3
) -> bytes:
    pairs = [
        pair("general.file_type", 4, struct.pack("<I", 15)),
        pair("general.tags", 9, struct.pack("<IQ", 8, 2) + string("a") + string("b")),
        pair("tokenizer.ggml.model", 8, string(model)),
        pair("tokenizer.ggml.pre", 8, string(pre)),
        pair("tokenizer.ggml.tokens", 9, struct.pack("<IQ", 8, len(tokens)) + b"".join(map(string, tokens))),
        pair("tokenizer.ggml.token_type", 9, struct.pack(f"<IQ{len(kinds)}i", 5, len(kinds), *kinds)),
        pair("general.name", 8, string("last")),
    ]
    return struct.pack("<4sIQQ", b"GGUF", version, 0, len(pairs)) + b"".join(pairs)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "made.gguf"


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("hello hello", 2),
        ("hell he", 3),
        ("\x04hello\x05", 1),  # the model skips bytes that it has no token for
        ("<call>hello<call>", 3),
        ("<|end|>", 7),  # a control token is plain text
        ("\ud800", 3),  # half a character counts as the sign for a broken one
    ],
)
def test_a_vocabulary_is_read_from_the_weights(path: Path, text: str, tokens: int) -> None:
    path.write_bytes(file())
    assert vocabulary.load(path).count(text) == tokens


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "not a GGUF file"),
        (b"PK\x03\x04 something else", "not a GGUF file"),
        (file(version=1), "version is 1"),
        (struct.pack("<4sIQQ", b"GGUF", 3, 0, 2**60), "more than"),
        (struct.pack("<4sIQQQ", b"GGUF", 3, 0, 1, 2**60), "more than"),
        (struct.pack("<4sIQQ", b"GGUF", 3, 0, 1) + pair("odd", 77, b""), "of kind 77"),
        (struct.pack("<4sIQQ", b"GGUF", 3, 0, 1) + pair("odd", 9, struct.pack("<IQ", 5, 2**60)), "more than"),
        (struct.pack("<4sIQQ", b"GGUF", 3, 0, 0), "of an unknown kind"),
        (file(model="llama"), "of an unknown kind .*llama"),
        (file(pre="novel"), "of an unknown kind .*novel"),
        (file(kinds=[1]), "of an unknown kind"),
        (file(tokens=[*TOKENS[:-3], "漢", *TOKENS[-2:]]), "not one of bytes"),
    ],
)
def test_what_is_not_expected_is_refused(path: Path, content: bytes, why: str) -> None:
    path.write_bytes(content)
    with pytest.raises(gguf.Unreadable, match=why):
        vocabulary.load(path)


def test_a_file_that_ends_anywhere_too_early_is_refused(path: Path) -> None:
    whole = file(tokens=TOKENS[-9:], kinds=KINDS[-9:])
    for length in range(4, whole.index(b"general.name") - 8):
        path.write_bytes(whole[:length])
        with pytest.raises(gguf.Unreadable, match="cut short"):
            vocabulary.load(path)


def test_a_file_that_is_not_there_is_refused(path: Path) -> None:
    with pytest.raises(gguf.Unreadable, match="cannot be read: No such file"):
        vocabulary.load(path)


def test_an_unknown_vocabulary_is_estimated_with_a_warning(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path.write_bytes(file())
    local = Local(weights=path, name="made")
    assert isinstance(wiring.counting(wiring.Choice(local, "made", local)), Vocabulary)
    assert not caplog.messages
    path.write_bytes(file(pre="novel"))
    assert isinstance(wiring.counting(wiring.Choice(local, "made", local)), O200k)
    assert "novel" in caplog.text
