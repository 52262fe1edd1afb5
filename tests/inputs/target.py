"""What bad requests are sent to."""

from __future__ import annotations

from dataclasses import dataclass

from belongings import Belongings
from upstream import Upstream


@dataclass
class Target:
    url: str
    has: Belongings  # good names, for a request to begin with
    upstream: Upstream
