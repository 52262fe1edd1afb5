"""JSON at the door: valid, not too deep, without NUL, or Malformed."""

from __future__ import annotations

from itertools import count
from typing import Any, TypeVar

import msgspec

from everthread.errors import Malformed

T = TypeVar("T")

DEEPEST = 64
NULL = msgspec.Raw(b"null")

ANYTHING: msgspec.json.Decoder[Any] = msgspec.json.Decoder()
FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])


def fields(body: bytes) -> dict[str, msgspec.Raw]:
    """A JSON object's fields, each still as JSON."""
    if not body.strip():
        raise Malformed("The body is empty; it must be a JSON object.")
    try:
        body.decode()
        found = FIELDS.decode(body)
    except UnicodeDecodeError as error:
        raise Malformed(f"The body is not valid UTF-8 (byte {error.start}).") from error
    except RecursionError as error:
        raise Malformed(f"The body is nested deeper than {DEEPEST} levels.") from error
    except msgspec.MsgspecError as error:
        raise Malformed(f"The body is not a valid JSON object: {error}.") from error
    suspicious = body.count(b"[") + body.count(b"{") > DEEPEST or b"\\u0000" in body
    if suspicious:
        inspect(body)
    return found


def inspect(body: bytes) -> None:
    """Raises Malformed when the JSON is too deep or has a NUL character in a string."""
    level: list[Any] = [value(body, ANYTHING, "body")]
    for depth in count(1):
        if any("\0" in item for item in level if isinstance(item, str)):
            raise Malformed("The body contains a NUL character (\\u0000); no text may.")
        containers = [item for item in level if isinstance(item, dict | list)]
        if not containers:
            return
        if depth > DEEPEST:
            raise Malformed(f"The body is nested deeper than {DEEPEST} levels.")
        level = [child for item in containers for child in children(item)]


def children(item: dict[str, Any] | list[Any]) -> list[Any]:
    return [*item.keys(), *item.values()] if isinstance(item, dict) else item


def value(raw: msgspec.Raw | bytes, decoder: msgspec.json.Decoder[T], param: str) -> T:
    """One field as the type it must have; the message and `param` say which part is not."""
    try:
        return decoder.decode(raw)
    except UnicodeDecodeError as error:
        raise Malformed(f"{param} is not valid UTF-8.", param=param) from error
    except RecursionError as error:
        raise Malformed(f"{param} is nested deeper than {DEEPEST} levels.", param=param) from error
    except msgspec.MsgspecError as error:
        what, _, path = str(error).partition(" - at `$")
        where = param + path.rstrip("`")
        raise Malformed(f"{where}: {what}.", param=where) from error
