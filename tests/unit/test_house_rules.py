"""The house rules of DESIGN section 1: imports go services -> topics -> placement, and placement is pure."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LAYERS = {"placement": 0, "topics": 1, "services": 2}
PURE = {"numpy", "scipy", "placement"}
IMPURE_STDLIB = {"time", "random", "os", "socket", "subprocess", "threading", "asyncio", "secrets", "uuid", "pathlib"}
FORBIDDEN_ANYWHERE = {"pickle", "shelve", "marshal", "dill", "cloudpickle"}


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """(line, top-level package) of each import statement, also those inside functions."""
    for statement in ast.walk(ast.parse(path.read_text(), filename=str(path))):
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                yield statement.lineno, alias.name.split(".")[0]
        elif isinstance(statement, ast.ImportFrom):
            assert statement.level == 0, f"{path}:{statement.lineno}: relative import; write the full name"
            yield statement.lineno, (statement.module or "").split(".")[0]


def sources(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


@pytest.mark.parametrize("package", sorted(LAYERS))
def test_imports_go_one_way(package: str) -> None:
    """A brain that knew Kafka could not run in the simulator."""
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in sources(package)
        for line, name in imports(path)
        if LAYERS.get(name, -1) > LAYERS[package]
    ]
    assert [] == wrong


def test_placement_is_pure() -> None:
    """Time and chance are arguments: the same seed must give the same run, bit for bit."""
    import sys

    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in sources("placement")
        for line, name in imports(path)
        if name in IMPURE_STDLIB or (name not in sys.stdlib_module_names and name not in PURE)
    ]
    assert [] == wrong


def test_nothing_unpickles() -> None:
    """Bytes from a topic, from Redis or from a file must never become code."""
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for package in sorted(LAYERS)
        for path in sources(package)
        for line, name in imports(path)
        if name in FORBIDDEN_ANYWHERE
    ]
    assert [] == wrong


def test_no_two_parts_of_services_need_each_other() -> None:
    """Each can be read, and tried, without those that build on it."""
    needs: dict[str, set[str]] = {}
    for path in sources("services"):
        inside = path.relative_to(ROOT / "services").with_suffix("").parts
        needs.setdefault(inside[0], set()).update(_parts_of_services(path) - {inside[0]})
    while free := [
        part for part in needs if not needs[part] & needs.keys() or not any(part in others for others in needs.values())
    ]:
        for part in free:
            del needs[part]
    knot = {part: sorted(others & needs.keys()) for part, others in sorted(needs.items())}
    assert {} == knot, "some of these need each other"


def _parts_of_services(path: Path) -> set[str]:
    """The folders and modules of services that a file imports from."""
    modules: set[str] = set()
    for statement in ast.walk(ast.parse(path.read_text(), filename=str(path))):
        if isinstance(statement, ast.Import):
            modules |= {alias.name for alias in statement.names}
        elif isinstance(statement, ast.ImportFrom):
            modules |= {f"{statement.module}.{alias.name}" for alias in statement.names}
    return {module.split(".")[1] for module in modules if module.startswith("services.")}


@pytest.mark.parametrize("package", sorted(LAYERS))
def test_every_file_says_what_it_is_for(package: str) -> None:
    """A reader opens a file at its top."""
    silent = [
        str(path.relative_to(ROOT))
        for path in sources(package)
        if path.read_text().strip() and ast.get_docstring(ast.parse(path.read_text())) is None
    ]
    assert [] == silent


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_links_to_is_there(page: Path) -> None:
    """A reader who follows a link of ours arrives."""
    links = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text())
    assert [] == [link for link in links if not (page.parent / link).exists()]


def test_what_the_page_of_the_papers_names_is_there() -> None:
    """It is read to find the code of a rule: a file that has moved must move there too."""
    named = re.findall(r"`((?:placement|services|tests)/[^`]*)`", (ROOT / "docs/papers-to-code.md").read_text())
    assert named
    assert [] == [name for name in named if not (ROOT / name).exists()]
