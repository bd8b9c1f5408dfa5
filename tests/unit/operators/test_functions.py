"""Which user functions may be loaded, and what is said about those that may not."""

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
