"""The small model's weights for tests: fetched once by the real `pull`, kept outside the repository."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from everthread.models.embedded import weights

NAME = "smollm2-135m"


@cache
def small_weights() -> Path:
    """The file, checked by its hash once per run."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return weights.pull(NAME, folder=home / "everthread-tests", report=lambda progress: None)
