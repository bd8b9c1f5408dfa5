"""What stands beside a latency: who kept how many processors busy, and how large batches were."""

from pathlib import Path

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder

from services.lab.dataplane.batches import Batches, sizes_bytes, written
from services.lab.dataplane.contestants import BARE_LOOP, OURS
from services.lab.dataplane.latency import Seen, rows
from services.lab.dataplane.parties import BROKER, MACHINE, READER, SENDER, SIDE, Used, cores, used

CONTROL = 1 << 5


def test_a_share_is_processor_time_over_time() -> None:
    """Half a core for 5 s are 2.5 s of processor time; what was used before does not count."""
    begin = Used(100.0, {BROKER: 40.0, SIDE: 1.0})
    end = Used(105.0, {BROKER: 42.5, SIDE: 1.5})
    assert {BROKER: 0.5, SIDE: 0.1} == pytest.approx(cores(begin, end))


def test_all_parties_are_looked_at() -> None:
    """Also the bench itself, which reads; and the machine, on which others may be at work."""
    seen = used(brokers=[], side=[], sender=0).cpu_s
    assert [BROKER, SIDE, SENDER, READER, MACHINE] == list(seen)
    assert 0 < seen[READER] <= seen[MACHINE]


def test_rows_say_what_latency_cost_by_side() -> None:
    """The median with the lowest and the highest; ratios of trials next to each other."""
    ours = [
        Seen(10.0, 50.0, {BROKER: 0.5, SIDE: 0.3}, 20.0, 400.0),
        Seen(30.0, 70.0, {BROKER: 0.7, SIDE: 0.4}, 40.0, 200.0),
        Seen(20.0, 60.0, {BROKER: 0.6, SIDE: 0.2}, 30.0, 300.0),
    ]
    bare = [Seen(bare_ms, 50.0, {BROKER: 0.25, SIDE: 0.5}, 10.0, 800.0) for bare_ms in (10.0, 10.0, 5.0)]
    found = {row.measure: row for row in rows(0.5, {OURS: ours, BARE_LOOP: bare})}
    at = "latency at 50% load"
    ratio = found[f"{at}, p50: {OURS} over {BARE_LOOP}"]
    assert (3.0, (1.0, 4.0), BARE_LOOP) == (ratio.value, ratio.spread, ratio.baseline)
    assert 2.0 == found[f"{at}, p50: median of {OURS} over median of {BARE_LOOP}"].value
    broker = found[f"{at}, {BROKER}: {OURS}"]
    assert (0.6, "cores", None, (0.5, 0.7), 3) == (
        broker.value,
        broker.unit,
        broker.baseline,
        broker.spread,
        broker.repetitions,
    )
    assert 0.5 == found[f"{at}, {SIDE}: {BARE_LOOP}"].value
    size, rate = found[f"{at}, a batch of results: {OURS}"], found[f"{at}, batches of results: {OURS}"]
    assert (30.0, "records", 300.0, "batches/s") == (size.value, size.unit, rate.value, rate.unit)


def batch(records: int, *, attributes: int = 0) -> bytes:
    """As a broker keeps it."""
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=0,
        is_transactional=0,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=100_000,
    )
    for number in range(records):
        builder.append(number, 0, None, b"value", [])
    built = bytearray(builder.build())
    built[21:23] = attributes.to_bytes(2, "big")
    return bytes(built)


def partition(folder: Path, name: str, *batches: bytes) -> Path:
    path = folder / name / "00000000000000000000.log"
    path.parent.mkdir(exist_ok=True)
    with path.open("ab") as file:
        file.write(b"".join(batches))
    return path


def test_batches_are_counted_between_two_looks(tmp_path: Path) -> None:
    """Those of the warm-up are not; nor are markers of transactions, other topics, and what is only half written."""
    partition(tmp_path, "sink-0", batch(7))
    partition(tmp_path, "sink-1")
    begin = sizes_bytes([tmp_path], "sink")
    partition(tmp_path, "sink-0", batch(3), batch(1, attributes=CONTROL), batch(5))
    partition(tmp_path, "sink-1", batch(4), batch(9)[:30])
    partition(tmp_path, "sink-changelog-0", batch(100))
    assert Batches(3, 12) == written(begin, sizes_bytes([tmp_path], "sink"))


def test_a_partition_that_is_new_counts_from_its_beginning(tmp_path: Path) -> None:
    """Its file is made with its first batch."""
    begin = sizes_bytes([tmp_path], "sink")
    partition(tmp_path, "sink-2", batch(2), batch(2))
    assert Batches(2, 4) == written(begin, sizes_bytes([tmp_path], "sink"))
