"""Golden files of ants: a changed shape must be seen in review and must raise the wire's version."""

import runpy
from pathlib import Path

import msgspec
import pytest

from placement.ants.letters import Letter
from topics.ants.kinds import ANT, KINDS, NEWS

MAKE = runpy.run_path(str(Path(__file__).parents[2] / "golden" / "make_ants.py"))
SAMPLES = MAKE["SAMPLES"]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: MAKE["path_of"](sample).stem)
def test_the_bytes_are_those_of_the_golden_file_and_read_back_equal(sample: object) -> None:
    """Two hosts of one wire version must never read each other's ants differently."""
    kept = MAKE["path_of"](sample).read_bytes()
    assert kept == MAKE["encode"](sample), "raise WIRE_VERSION, then run tests/golden/make_ants.py"
    assert sample == ANT.unpack(msgspec.msgpack.decode(kept))


def test_every_kind_and_all_news_have_a_golden_file_and_there_is_no_other() -> None:
    """A kind without one could change unseen."""
    assert {kind for kind, _ in KINDS.values()} == {type(sample) for sample in SAMPLES}
    assert set(NEWS.values()) == {type(sample.news) for sample in SAMPLES if isinstance(sample, Letter)}
    assert {MAKE["path_of"](sample) for sample in SAMPLES} == set(MAKE["FOLDER"].iterdir())
