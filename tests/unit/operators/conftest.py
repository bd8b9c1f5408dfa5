"""What tests of operators share."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def forgotten_imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Users' modules that a test wrote and loaded are gone after it, so that the next may use their names again."""
    monkeypatch.setattr(sys, "path", sys.path.copy())
    yield
    for name, module in list(sys.modules.items()):
        if (getattr(module, "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]
