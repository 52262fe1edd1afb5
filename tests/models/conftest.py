from __future__ import annotations

from pathlib import Path

import pytest
from tests import small_model


@pytest.fixture(scope="session")
def small_weights() -> Path:
    return small_model.small_weights()
