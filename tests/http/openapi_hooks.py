"""Loaded by schemathesis: half of its requests name something that is really there."""

from __future__ import annotations

import json
import os
from typing import Any
from zlib import crc32

import schemathesis

KNOWN: list[dict[str, str]] = json.loads(os.environ.get("KNOWN_IDS", "[]"))


@schemathesis.hook
def before_call(context: schemathesis.HookContext, case: Any, kwargs: dict[str, Any]) -> None:
    """By what the request itself is, so that it is the same the next time."""
    asked = case.path_parameters
    if not asked:
        return
    chance = crc32(repr((case.method, asked, case.query, case.body)).encode(errors="replace"))
    fitting = [known for known in KNOWN if known.keys() >= asked.keys()]
    often = 8 if case.method == "DELETE" else 2
    if fitting and chance % often == 0:
        asked.update({name: fitting[chance // 8 % len(fitting)][name] for name in asked})
