"""What a wheel brings along: whoever installs one has no clone beside it."""

import tomllib
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_all_that_code_reads_beside_itself_is_in_the_wheel() -> None:
    """Setuptools takes Python files by itself and all others only where pyproject.toml names them."""
    named = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    files = [
        path.relative_to(ROOT)
        for package in ("placement", "topics", "services")
        for path in sorted((ROOT / package).rglob("*"))
        if path.is_file() and path.suffix != ".py" and "__pycache__" not in path.parts
    ]
    assert files
    left_out = [
        str(file)
        for file in files
        if not any(fnmatch(file.name, pattern) for pattern in named.get(".".join(file.parent.parts), ()))
    ]
    assert [] == left_out
