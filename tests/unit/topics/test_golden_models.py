"""Golden files of models: every kind stays readable, and a change of its bytes is seen in review."""

import runpy
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from topics.catalogue import MODELS
from topics.messages.models import AnyBody

MAKE = runpy.run_path(str(Path(__file__).parents[2] / "golden" / "make_models.py"))
KEYS = list(MAKE["BODIES"])


def test_every_kind_has_a_sample_with_every_field_set() -> None:
    """A field that no golden file holds could change its meaning unnoticed."""
    assert set(get_args(AnyBody)) == {type(body) for body in MAKE["BODIES"].values()}
    for key, body in MAKE["BODIES"].items():
        content = msgspec.json.decode(MAKE["encode"](key))["body"]
        assert {*type(body).__struct_fields__, "kind"} == set(content)


@pytest.mark.parametrize("key", KEYS)
def test_the_newest_golden_file_is_what_this_version_writes(key: str) -> None:
    """Otherwise: run python tests/golden/make_models.py, and look at what has changed."""
    assert MAKE["shapes"](key)[-1].read_bytes() == MAKE["encode"](key)


@pytest.mark.parametrize("key", KEYS)
def test_every_golden_file_is_read(key: str) -> None:
    """Models of earlier versions stay on the topic until their key is written again."""
    for path in MAKE["shapes"](key):
        read = MODELS.codec.decode(path.read_bytes(), topic=MODELS.name, partition=0, offset=0)
        assert key == read.key
        assert key.split("/", maxsplit=1)[0] == read.body.__struct_config__.tag


def test_the_newer_of_two_is_the_one_with_the_later_second_then_batch() -> None:
    """The service writes at least once: a reader must be able to tell a repetition from news."""
    older = MAKE["sample"]("slack/talk")
    assert older.order < msgspec.structs.replace(older, second=older.second + 1, batch=0).order
    assert older.order < msgspec.structs.replace(older, batch=older.batch + 1).order
