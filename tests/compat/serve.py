"""Everthread in front of an upstream, for a program that is not ours: `serve.py HOME UPSTREAM_URL [SETTING=VALUE ...]`.

Prints its address and key as a line of JSON, and ends when its input does."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from front_door import KEY, Everthread


def main(home: str, upstream: str, *given: str) -> None:
    everthread = Everthread(Path(home), upstream, **dict(each.split("=", 1) for each in given))
    sys.stdout.write(json.dumps({"url": f"{everthread.url}/v1", "key": KEY}) + "\n")
    sys.stdout.flush()
    sys.stdin.read()
    everthread.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
