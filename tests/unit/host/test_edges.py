"""Blocks on their way to an edge: whoever reads it hears how far time has come, whatever becomes of the records."""

from typing import Any

import pytest

from services.host.edges import EdgeOutput
from services.host.segment_plan import Output
from services.operators.batch import Batch
from services.operators.failure import Failure
from topics.catalogue import EDGE
from topics.messages import Origin

TOPIC = "stig.flow.shop.edge.large.TO.pages.0"
ORIGIN = Origin("orders", 0, 0)
TOO_LARGE = {"blob": "x" * EDGE.bytes_max}


def sent(*values: dict[str, Any]) -> Batch:
    """One record a millisecond, and a watermark after them."""
    count = len(values)
    return Batch(list(values), [None] * count, list(range(count)), range(count), 1_000)


def watermarks(blocks: list[tuple[int, bytes]]) -> list[int]:
    return [EDGE.codec.decode(value, topic=TOPIC, partition=at, offset=0).watermark_ms for at, value in blocks]


@pytest.mark.parametrize("values", [[TOO_LARGE], [{"n": 1}, TOO_LARGE]], ids=["the only one", "the last one"])
def test_a_watermark_is_told_also_if_the_record_before_it_is_too_large(values: list[dict[str, Any]]) -> None:
    """It would have been in that record's block; without it windows downstream stay open until time moves on again."""
    failures: list[Failure] = []
    edge = EdgeOutput(Output("large", TOPIC, 1, None, None), segment="shop.1", partition=0, epoch=1, failures=failures)
    blocks = list(edge.blocks(sent(*values), ORIGIN))
    assert 1_000 not in watermarks(blocks)
    assert 1 == len(failures)
    assert [1_000] == watermarks(list(edge.news(ORIGIN)))
    assert [] == list(edge.news(ORIGIN)), "and only once"


def test_a_watermark_that_came_with_records_is_no_news() -> None:
    """A block for each commit and partition would be most of what an edge carries."""
    edge = EdgeOutput(Output("large", TOPIC, 1, None, None), segment="shop.1", partition=0, epoch=1, failures=[])
    assert [1_000] == watermarks(list(edge.blocks(sent({"n": 1}), ORIGIN)))
    assert [] == list(edge.news(ORIGIN))
