"""A checkpoint goes with the shape of the sums in it."""

import os
from pathlib import Path

import pytest
from pyspark.sql.types import DoubleType, StructField, StructType

from services.modelling import checkpoint as module
from services.modelling.checkpoint import SHAPE, agree, has_begun, leave_behind, put_aside, shape_of

TWO = StructType([StructField("s0", DoubleType()), StructField("s1", DoubleType())])
THREE = StructType([*TWO.fields, StructField("s2", DoubleType())])


def begun(folder: Path, shape: str | None) -> Path:
    """A checkpoint as Spark leaves it."""
    for part in ("commits", "offsets", "state"):
        (folder / part).mkdir(parents=True)
        (folder / part / "7").write_text("v1")
    if shape is not None:
        (folder / SHAPE).write_text(shape)
    return folder


def test_a_checkpoint_of_the_same_shape_is_gone_on_from(tmp_path: Path) -> None:
    """Nothing is read twice after an ordinary restart."""
    folder = begun(tmp_path / "checkpoint", shape_of(TWO))
    agree(folder, shape_of(TWO))
    assert has_begun(folder)
    assert [folder] == list(tmp_path.iterdir())


@pytest.mark.parametrize("shape", [shape_of(THREE), "half of a sha", None], ids=["another", "torn", "none"])
def test_a_checkpoint_of_another_shape_is_put_aside_before_spark_sees_it(tmp_path: Path, shape: str | None) -> None:
    """Three failures of the query would be half a minute without models, after each upgrade."""
    folder = begun(tmp_path / "checkpoint", shape)
    agree(folder, shape_of(TWO))
    assert not has_begun(folder)
    assert has_begun(tmp_path / "checkpoint.outdated")
    agree(folder, shape_of(TWO))
    assert [folder / SHAPE] == list(folder.iterdir())


def test_a_new_folder_is_given_its_shape_once(tmp_path: Path) -> None:
    """A start that was killed before Spark's first batch is no reason to put anything aside."""
    folder = tmp_path / "models" / "checkpoint"
    for _ in range(2):
        agree(folder, shape_of(TWO))
    put_aside(folder, "unreadable")
    agree(folder, shape_of(TWO))
    assert ["checkpoint", "checkpoint.unreadable"] == sorted(each.name for each in folder.parent.iterdir())


def test_a_checkpoint_older_than_the_window_is_left_behind(tmp_path: Path) -> None:
    """After a night without it models would wait for Spark to work off the night, of which they need two minutes."""
    folder = begun(tmp_path / "checkpoint", shape_of(TWO))
    (folder / "commits" / "8").write_text("v1")
    os.utime(folder / "commits" / "7", (1_000, 1_000))
    os.utime(folder / "commits" / "8", (2_000, 2_000))
    leave_behind(folder, before_ms=1_999_000)
    assert has_begun(folder), "the last batch counts"
    leave_behind(folder, before_ms=2_001_000)
    assert not folder.exists()
    assert has_begun(tmp_path / "checkpoint.outdated")
    leave_behind(folder, before_ms=2_001_000)
    agree(folder, shape_of(TWO))
    assert [folder / SHAPE] == list(folder.iterdir())


def test_what_is_a_gauge_is_part_of_the_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums that are kept of open seconds would be taken for something else."""
    before = shape_of(TWO)
    monkeypatch.setattr(module, "GAUGES", {})
    assert before != shape_of(TWO)


def test_sums_in_another_order_are_another_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    """To Spark all of them are numbers: it would go on, and take one for the other."""
    before = shape_of(TWO)
    monkeypatch.setattr(module, "COLUMNS", {kind: names[::-1] for kind, names in module.COLUMNS.items()})
    assert before != shape_of(TWO)
