"""Signatures of webhooks, against the standard's own example and against a second reading of its text."""

from __future__ import annotations

import base64
import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.core.signature import Secret, headers, new_secret, secret, sign
from everthread.errors import Malformed

KEYS = st.binary(min_size=24, max_size=64)
IDS = st.from_regex(r"msg_[A-Za-z0-9_-]{1,40}", fullmatch=True)
TIMES = st.integers(min_value=0, max_value=2**34)


def verify(key: bytes, id_: str, timestamp: int, body: bytes, signatures: str) -> bool:
    expected = hmac.new(key, b".".join([id_.encode(), str(timestamp).encode(), body]), hashlib.sha256).digest()
    return any(
        version == "v1" and base64.b64decode(given) == expected
        for version, given in (each.split(",") for each in signatures.split(" "))
    )


def test_the_example_of_the_reference_library_has_the_same_signature() -> None:
    known = secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    signed = sign(known, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
    assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@given(KEYS, IDS, TIMES, st.binary(max_size=200))
def test_what_is_signed_verifies(key: bytes, id_: str, timestamp: int, body: bytes) -> None:
    assert verify(key, id_, timestamp, body, sign(new_secret(key), id_, timestamp, body))


@given(KEYS, IDS, TIMES, st.binary(min_size=1, max_size=200), st.data())
def test_what_was_changed_afterwards_does_not(
    key: bytes, id_: str, timestamp: int, body: bytes, data: st.DataObject
) -> None:
    signed = sign(new_secret(key), id_, timestamp, body)
    at = data.draw(st.integers(0, len(body) - 1))
    changed = bytearray(body)
    changed[at] ^= 1 << data.draw(st.integers(0, 7))
    other = bytearray(key)
    other[0] ^= 1
    assert not verify(key, id_, timestamp, bytes(changed), signed)
    assert not verify(key, id_, timestamp + 1, body, signed)
    assert not verify(key, id_ + "x", timestamp, body, signed)
    assert not verify(bytes(other), id_, timestamp, body, signed)


@given(st.lists(KEYS, min_size=1, max_size=3), IDS, TIMES, st.binary(max_size=50))
def test_while_secrets_change_each_of_them_verifies(keys: list[bytes], id_: str, timestamp: int, body: bytes) -> None:
    made = headers([new_secret(key) for key in keys], id_, timestamp, body)
    assert (made["webhook-id"], made["webhook-timestamp"]) == (id_, str(timestamp))
    assert all(verify(key, id_, timestamp, body, made["webhook-signature"]) for key in keys)


@given(KEYS)
def test_a_secret_that_was_made_is_taken(key: bytes) -> None:
    made = new_secret(key)
    assert secret(made) == made
    assert base64.b64decode(made.removeprefix("whsec_")) == key


@pytest.mark.parametrize("size", [0, 1, 23, 65, 1000])
def test_a_secret_is_24_to_64_bytes(size: int) -> None:
    with pytest.raises(Malformed) as refused:
        new_secret(bytes(size))
    assert refused.value.param == "deliver.secret"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "whsec_",
        "short",
        "WHSEC_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "whsec_whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwAA",  # no padding
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwAB==",  # bits that mean nothing
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS-",  # the alphabet of URLs
        "whsec_MfKQ9r8GKYqrTwjU PD8ILPZIo2LaLaSw",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSé",
        "whsk_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    ],
)
def test_a_secret_that_receivers_could_read_differently_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(Malformed) as refused:
        secret(text)
    assert "MfKQ" not in refused.value.message


def test_a_secret_without_its_prefix_is_read_as_the_libraries_do() -> None:
    text = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    assert sign(secret(text), "msg_1", 1, b"{}") == sign(secret(f"whsec_{text}"), "msg_1", 1, b"{}")


def test_of_plain_text_the_characters_are_the_key() -> None:
    text = "correct horse battery staple"
    digest = hmac.new(text.encode(), b"msg_1.1.{}", hashlib.sha256).digest()
    assert sign(secret(text), "msg_1", 1, b"{}") == f"v1,{base64.b64encode(digest).decode()}"


def test_nothing_is_signed_with_an_empty_secret() -> None:
    with pytest.raises(Malformed):
        sign(Secret(""), "msg_1", 1, b"{}")
