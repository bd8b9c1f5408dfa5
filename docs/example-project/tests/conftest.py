"""Brings the fixtures, and says what the Stigmergy of these tests is like."""

from pathlib import Path
from typing import Any

import pytest

pytest_plugins = ["services.testing.fixtures"]


@pytest.fixture(scope="session")
def stigmergy_options() -> dict[str, Any]:
    """Two hosts, and the folder with our functions."""
    return {"hosts": ["edge-1", "core-1"], "functions": Path(__file__).parents[1] / "functions"}
