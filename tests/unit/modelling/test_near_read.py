"""What hosts warn of, as tools read it from the topic of models."""

from collections.abc import Callable

import pytest

from services.modelling import near_read
from services.modelling.near_read import TOLD_S, is_of_host, warnings_of_hosts
from topics.catalogue import MODELS
from topics.messages import HotSpotModel, Model

NOW_MS = 1_000_000


def said(ago_s: float, flow: str, host: str | None, in_s: float | None) -> tuple[int, str, bytes | None]:
    """So long ago, by a host or (None) by the service."""
    key = f"hotspot/{flow}" if host is None else f"hotspot/{flow}/{host}"
    body = HotSpotModel(flow, host or "edge-9", "tcp", in_s, -5.0, 0.9)
    model = Model(key, 990, 1, 1, None, NOW_MS, 0, body)
    return int(NOW_MS - ago_s * 1e3), key, MODELS.codec.encode(model, topic=MODELS.name)


@pytest.mark.parametrize(("flow", "keys"), [(None, ["hotspot/calm/b", "hotspot/talk/a"]), ("talk", ["hotspot/talk/a"])])
def test_those_stand_that_were_said_lately_and_not_taken_back(
    topic_of_models: Callable[..., None], flow: str | None, keys: list[str]
) -> None:
    """Of a host that died nobody takes anything back; what it said is old then."""
    records = [
        said(TOLD_S + 1, "talk", "dead", 0.4),
        said(9, "talk", "a", 0.3),
        said(9, "talk", "c", 0.3),
        said(8, "talk", None, 3.0),
        (NOW_MS - 8_000, "rate/talk/tcp", b"no hot spot"),
        said(7, "calm", "b", 0.2),
        said(6, "talk", "c", None),
        (NOW_MS - 5_000, "hotspot/talk/x", b"garbage"),
        (NOW_MS - 5_000, "hotspot/talk/y", None),
        said(4, "talk", "a", 0.5),
    ]
    topic_of_models(near_read, records)
    found = warnings_of_hosts("", now_ms=NOW_MS, flow=flow)
    assert keys == [model.key for model in found]
    assert 0.5 == found[-1].body.in_s, "the last word"


@pytest.mark.parametrize("records", [None, [], [said(60, "talk", "a", 0.3)]])
def test_there_may_be_none(topic_of_models: Callable[..., None], records: list[tuple[int, str, bytes]] | None) -> None:
    topic_of_models(near_read, records)
    assert [] == warnings_of_hosts("", now_ms=NOW_MS)


def test_keys_of_hosts_name_the_host() -> None:
    assert is_of_host("hotspot/talk/edge-1")
    assert not is_of_host("hotspot/talk")
    assert not is_of_host("service/talk/tcp/edge-1")
