"""Which user functions may be loaded, and what is said about those that may not."""

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from services.operators.functions import FunctionError, load
from topics.flow import specs

RULES = """
def score(record, limit=3):
    return {"score": limit}

def counted(record, state):
    return None

async def later(record):
    return record

def several(record):
    yield record

NUMBER = 5
"""

pytestmark = pytest.mark.usefixtures("forgotten_imports")


@pytest.fixture
def folder(tmp_path: Path) -> str:
    package = tmp_path / "shop"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "rules.py").write_text(RULES)
    (package / "broken.py").write_text("import does_not_exist_anywhere")
    (tmp_path / "json.py").write_text("def dumps(record): return record")
    return f"{tmp_path}/"


def spec(call: str, **options: Any) -> specs.Python:
    return specs.Python("in", call, **options)


def test_a_folder_allows_the_modules_that_lie_in_it(folder: str) -> None:
    """How a user tries a function that lies beside the flow file."""
    assert {"score": 7} == load(spec("shop.rules:score"), allow=[folder])({}, 7)


def test_a_prefix_allows_whole_names_only(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`shop` must not open the door for `shopping_spree`."""
    monkeypatch.syspath_prepend(folder)
    assert {"score": 3} == load(spec("shop.rules:score"), allow=["shop"])({})
    for entry in ("sho", "shop.rule", "shop.rules.more"):
        with pytest.raises(FunctionError, match=r"shop\.rules is not allowed here"):
            load(spec("shop.rules:score"), allow=[entry])


@pytest.mark.parametrize("call", ["os:system", "subprocess:run", "builtins:exec", "__main__:main", "json:dumps"])
def test_nothing_else_can_be_loaded(call: str, folder: str) -> None:
    """A flow file comes from a user; a host must not run what it names just because it is installed.

    `json` lies in the folder, but the import would find Python's own: that is refused too.
    """
    for allow in ([], [folder], ["shop"]):
        with pytest.raises(FunctionError, match="is not allowed here"):
            load(spec(call), allow=allow)


def test_a_package_that_is_spread_over_folders_is_allowed_only_if_all_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without an __init__.py, whoever can write to any folder of the import path could add a module to it."""
    for place in ("ours", "theirs"):
        (tmp_path / place / "spread").mkdir(parents=True)
        (tmp_path / place / "spread" / f"{place}.py").write_text(RULES)
    monkeypatch.syspath_prepend(str(tmp_path / "theirs"))
    for call in ("spread.theirs:score", "spread.ours:score"):
        with pytest.raises(FunctionError, match="is not allowed here"):
            load(spec(call), allow=[f"{tmp_path}/ours/"])
    sys.path.remove(str(tmp_path / "theirs"))
    importlib.invalidate_caches()
    assert {"score": 7} == load(spec("spread.ours:score"), allow=[f"{tmp_path}/ours/"])({}, 7)


def test_a_module_that_a_package_takes_from_elsewhere_is_refused(tmp_path: Path) -> None:
    """The package lies in the folder, but its path leads out of it."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "rules.py").write_text(RULES)
    (tmp_path / "ours" / "leading").mkdir(parents=True)
    (tmp_path / "ours" / "leading" / "__init__.py").write_text(f"__path__.append({str(tmp_path / 'elsewhere')!r})")
    with pytest.raises(FunctionError, match=r"elsewhere/rules\.py, which is not in"):
        load(spec("leading.rules:score"), allow=[f"{tmp_path}/ours/"])


@pytest.mark.parametrize(
    ("call", "options", "message"),
    [
        ("shop.rules:scores", {}, "shop.rules has no function 'scores'; it has: counted, later, score, several"),
        ("shop.rules:NUMBER", {}, "no function 'NUMBER'"),
        ("shop.broken:f", {}, "importing shop.broken failed: ModuleNotFoundError"),
        ("shop.nothing:f", {}, "importing shop.nothing failed: ModuleNotFoundError"),
        ("shop.rules:later", {}, "not async or a generator"),
        ("shop.rules:several", {}, "not async or a generator"),
        ("shop.rules:counted", {}, r"will be called with \(record\): missing a required argument: 'state'"),
        ("shop.rules:counted", {"state": True, "settings": (("x", 1),)}, "unexpected keyword argument 'x'"),
        ("shop.rules:score", {"state": True, "settings": (("limit", 1),)}, "multiple values for argument 'limit'"),
    ],
)
def test_a_mistake_shows_before_the_first_record(call: str, options: Any, message: str, folder: str) -> None:
    """A flow that starts and then sends every record to the dead letters helps nobody."""
    with pytest.raises(FunctionError, match=message):
        load(spec(call, **options), allow=[folder])
