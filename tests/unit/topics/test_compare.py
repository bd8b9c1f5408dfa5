"""Comparing a topic on a cluster with its declaration: every difference is told, with what to do about it."""

import pytest

from topics.admin import Difference, Found, compare
from topics.catalogue import PLACEMENTS

DECLARED = PLACEMENTS.declare()


def found(**changes: str) -> Found:
    return Found(partitions=1, replication=1, settings={**DECLARED.settings(copies=1), **changes})


def test_a_topic_as_declared_has_no_difference() -> None:
    """Brokers report many more settings than we declare; those are not ours to judge."""
    assert [] == compare(DECLARED, found(**{"flush.ms": "1"}), copies=1)


def test_a_missing_topic_is_one_difference() -> None:
    """`stigmergy doctor` lists it like any other."""
    (difference,) = compare(DECLARED, None, copies=1)
    assert Difference("stig.placements", "topic", "present", None) == difference
    assert "stig.placements: not on the cluster; stigmergy up creates it" in str(difference)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("cleanup.policy", "delete"),
        ("cleanup.policy", "compact,delete"),
        ("message.timestamp.type", "CreateTime"),
        ("max.message.bytes", "1000"),
        ("min.insync.replicas", "2"),
        ("compression.type", "zstd"),
    ],
)
def test_every_setting_that_differs_is_told_with_its_remedy(setting: str, value: str) -> None:
    """A registry with cleanup.policy=delete would forget who runs what; it must not be used silently."""
    (difference,) = compare(DECLARED, found(**{setting: value}), copies=1)
    expected = DECLARED.settings(copies=1)[setting]
    assert Difference("stig.placements", setting, expected, value) == difference
    assert f"stig.placements: {setting} is {value}, expected {expected}" == difference.what
    command = f"--alter --topic stig.placements --add-config {setting}={expected}"
    assert f"{difference.what}; set it with kafka-configs {command}" == str(difference)
    assert f"set it with some-tool {command}" == difference.remedy("some-tool")


def test_partitions_and_replication_are_compared_too() -> None:
    """More partitions would send keys elsewhere; fewer copies would lose the registry with one disk."""
    shape = Found(partitions=3, replication=1, settings=DECLARED.settings(copies=3))
    assert [
        Difference("stig.placements", "partitions", "1", "3"),
        Difference("stig.placements", "replication", "3", "1"),
    ] == compare(DECLARED, shape, copies=3)


def test_a_setting_that_the_broker_does_not_report_is_a_difference() -> None:
    """An older broker without a setting that we rely on is not as declared."""
    settings = {name: value for name, value in DECLARED.settings(copies=1).items() if name != "segment.ms"}
    (difference,) = compare(DECLARED, Found(partitions=1, replication=1, settings=settings), copies=1)
    assert ("segment.ms", "unknown to the broker") == (difference.setting, difference.found)
