"""The recorded scenarios, as they went over the wire."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parent / "recorded"


def names() -> list[str]:
    return sorted(path.stem for path in RECORDED.glob("*.json") if path.stem != "tools")


def load(name: str) -> dict[str, Any]:
    """One scenario; the tools a body names are put back in full."""
    recording: dict[str, Any] = json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))
    tools = json.loads((RECORDED / "tools.json").read_text(encoding="utf-8"))
    for step in recording["steps"]:
        for request in step["requests"]:
            body = request.get("body", {})
            if "tools" in body:
                body["tools"] = [tools[name] for name in body["tools"]]
    return recording
