"""The judge of edges has eyes: whatever is done to the blocks that a host's way out makes, the verdict names it."""

from collections.abc import Callable

import msgspec
import pytest

from services.host.edges import EdgeOutput
from services.host.segment_plan import Output
from services.operators.batch import BEGINNING_MS, Batch
from tests.chaos import edges
from tests.chaos.observed import Row
from tests.chaos.verdict import Verdict, judge_edge
from topics.catalogue import EDGE
from topics.messages import Origin

OUTPUT = Output("sums", "stig.flow.f.edge.sums.TO.best.0", partitions=3, sink=None, by=("item",))
PARTITIONS = 2


def batch(partition: int, start: int) -> Batch:
    """Two records each of six items."""
    numbers = range(start, start + 12)
    values = [{"item": f"i{n % 6}", "n": n, "from": partition} for n in numbers]
    return Batch(values, [b"u"] * 12, list(numbers), list(numbers), start)


GIVEN = [[batch(partition, 0), batch(partition, 12)] for partition in range(PARTITIONS)]


def written() -> list[Row]:
    """As a host writes it, from each partition of its segment."""
    rows: list[Row] = []
    for partition, batches in enumerate(GIVEN):
        edge = EdgeOutput(OUTPUT, segment="f.0", partition=partition, epoch=1, failures=[])
        for each in batches:
            origin = Origin("orders", partition, 0)
            for target, block in [*edge.blocks(each, origin), *edge.news(origin)]:
                rows.append(Row(target, len(rows), None, block, 0, []))
    return rows


def judged(rows: list[Row]) -> Verdict:
    verdict = Verdict()
    judge_edge(verdict, OUTPUT.topic, edges.owed(OUTPUT, GIVEN), edges.found(OUTPUT.topic, rows), keeps_order=True)
    return verdict


def changed(row: Row, **fields: object) -> Row:
    block = EDGE.codec.decode(row.value, topic=OUTPUT.topic, partition=row.partition, offset=row.offset)
    value = EDGE.codec.encode(msgspec.structs.replace(block, **fields), topic=OUTPUT.topic)
    return Row(row.partition, row.offset, row.key, value, row.timestamp, row.headers)


def moved(row: Row) -> Row:
    return Row((row.partition + 1) % OUTPUT.partitions, row.offset, row.key, row.value, row.timestamp, row.headers)


def first_and_last(rows: list[Row]) -> tuple[int, int]:
    """The first block and the last of the same way, which have records of the same key."""
    last = max(i for i, row in enumerate(rows) if row.partition == rows[0].partition and i < len(rows) // PARTITIONS)
    assert last > 0
    return 0, last


def swapped(rows: list[Row]) -> list[Row]:
    first, last = first_and_last(rows)
    rows[first], rows[last] = (changed(rows[each], watermark_ms=12) for each in (last, first))
    return rows


def too_sure(rows: list[Row]) -> list[Row]:
    return [changed(rows[0], watermark_ms=13), *rows[1:]]


def without_watermark(rows: list[Row]) -> list[Row]:
    _, last = first_and_last(rows)
    return [changed(row, watermark_ms=BEGINNING_MS) if i == last else row for i, row in enumerate(rows)]


def test_what_a_host_writes_is_good() -> None:
    """Also where one batch goes to several partitions."""
    assert 1 < len({row.partition for row in written()})
    assert [] == judged(written()).problems


@pytest.mark.parametrize(
    ("bug", "counted"),
    [
        (lambda rows: rows[1:], "lost"),
        (lambda rows: [rows[0], *rows], "duplicated"),
        (lambda rows: [moved(rows[0]), *rows[1:]], "wrong"),
        (lambda rows: [changed(rows[0], partition=1), *rows[1:]], "wrong"),
        (without_watermark, "lost"),
        (swapped, "disordered"),
        (too_sure, "disordered"),
    ],
    ids=["block lost", "block twice", "other target", "other sender", "watermark lost", "swapped", "watermark early"],
)
def test_what_befalls_a_block_is_seen(bug: Callable[[list[Row]], list[Row]], counted: str) -> None:
    """Behind the edge, where duplicates are allowed, nobody could tell."""
    assert 0 < getattr(judged(bug(written())), counted)
