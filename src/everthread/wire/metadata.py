"""Metadata: a few labels that a client hangs on its objects, by OpenAI's rules."""

from __future__ import annotations

import msgspec

from everthread.errors import Malformed
from everthread.wire import json

MOST_LABELS = 16
LONGEST_LABEL = 64
LONGEST_VALUE = 512

LABELS = msgspec.json.Decoder(dict[str, str] | None)


def decode_change(body: bytes) -> dict[str, str]:
    """The labels that an object is to have from now on, by the body that says so."""
    fields = json.fields(body)
    if "metadata" not in fields:
        raise Malformed("metadata is required.", param="metadata")
    return decode(fields["metadata"])


def decode(raw: msgspec.Raw | bytes, param: str = "metadata") -> dict[str, str]:
    """The labels, or Malformed with the one that is not as it must be."""
    labels = json.value(raw, LABELS, param) or {}
    if len(labels) > MOST_LABELS:
        raise Malformed(f"{param} has {len(labels)} keys; the limit is {MOST_LABELS}.", param=param)
    for name, value in labels.items():
        if not 1 <= len(name) <= LONGEST_LABEL:
            raise Malformed(f"A key of {param} is 1 to {LONGEST_LABEL} characters, not {len(name)}.", param=param)
        if len(value) > LONGEST_VALUE:
            raise Malformed(
                f"{param}.{name} is {len(value)} characters; the limit is {LONGEST_VALUE}.", param=f"{param}.{name}"
            )
    return labels
