"""Event time, lateness and watermarks against oracles that look at one record after the other."""

from hypothesis import given, settings
from hypothesis import strategies as st

from services.operators.batch import BEGINNING_MS, Batch
from services.operators.intake import SourceIntake
from services.operators.table import entries_of
from services.operators.watermark import InputWatermarks, Upstream
from topics.flow.specs import Source

LATENESS_MS = 7

# What a partition may hold: most bytes are a time, some a record without a usable one, some no record at all.
BROKEN = {250: b"{", 251: b"[1]", 252: b"", 253: None}
TIMELESS = {245: b'{"t": null}', 246: b'{"t": "soon"}', 247: b'{"u": 1}', 248: b'{"t": true}', 249: b'{"t": 1e40}'}


def raw_of(byte: int) -> bytes | None:
    if byte in BROKEN:
        return BROKEN[byte]
    return TIMELESS.get(byte, b'{"t": %d, "other": [1]}' % (byte % 60))


def fresh() -> SourceIntake:
    source = Source(name="s", topic="t", event_time="t", lateness_ms=LATENESS_MS)
    return SourceIntake(source, fields=frozenset({"t"}))


def moved(intake: SourceIntake, changelog: dict[tuple[str, bytes], bytes | None]) -> SourceIntake:
    """The intake as another host rebuilds it from the changelog."""
    for name, table in intake.tables.items():
        changelog.update({(name, key): value for key, value in table.drain()})
    other = fresh()
    for (name, key), value in changelog.items():
        other.tables[name].restore(entries_of([(key, value)]))
    return other


@settings(max_examples=900)
@given(st.binary(max_size=40), st.binary(max_size=6), st.booleans())
def test_each_record_is_in_time_late_or_failed_by_what_came_before_it(drawn, cuts, moves) -> None:
    """The decision must depend on the partition's order alone, not on batches or on which host reads it."""
    expected: dict[str, list[int]] = {"in time": [], "late": [], "failed": []}
    largest = None
    for offset, byte in enumerate(drawn):
        if byte in BROKEN or byte in TIMELESS:
            expected["failed"].append(offset)
            continue
        time = byte % 60
        if largest is not None and time < largest - LATENESS_MS:
            expected["late"].append(offset)
        else:
            expected["in time"].append(offset)
        largest = time if largest is None else max(largest, time)

    intake, start = fresh(), 0
    changelog: dict[tuple[str, bytes], bytes | None] = {}
    found: dict[str, list[int]] = {"in time": [], "late": [], "failed": []}
    watermark_ms = BEGINNING_MS
    for size in [*(cut % 8 for cut in cuts), len(drawn)]:
        offsets = range(start, min(start + size, len(drawn)))
        start = offsets.stop
        raws = [raw_of(drawn[offset]) for offset in offsets]
        arrivals = intake.read(raws, [None] * len(raws), [0] * len(raws), offsets)
        assert all(time >= watermark_ms for time in arrivals.batch.times)
        first_ms, last_ms = arrivals.batch.span_ms if arrivals.batch.times else (0, 0)
        assert all(first_ms <= time <= last_ms for time in arrivals.batch.times)
        assert [{"t": time} for time in arrivals.batch.times] == arrivals.batch.values
        assert [{"t": time, "other": [1]} for time in arrivals.late.times] == arrivals.late.values
        watermark_ms = arrivals.batch.watermark_ms
        found["in time"] += arrivals.batch.offsets
        found["late"] += arrivals.late.offsets
        found["failed"] += sorted(failure.offset for failure in arrivals.failures)
        intake = moved(intake, changelog) if moves else intake
    assert expected == found
    assert (BEGINNING_MS if largest is None else largest - LATENESS_MS) == watermark_ms


INPUTS = {"a": Upstream(partitions=(0, 1), idle_ms=10), "b": Upstream(partitions=(5,), idle_ms=20)}
SPEAKERS = [("a", 0), ("a", 1), ("b", 5)]


class Listener:
    """The oracle: keeps the whole history and works everything out anew from it each time."""

    def __init__(self) -> None:
        self.said: dict[tuple[str, int], list[int]] = {speaker: [] for speaker in SPEAKERS}
        self.heard_ms: dict[tuple[str, int], int] = {}
        self.reached: dict[str, int] = {"a": BEGINNING_MS, "b": BEGINNING_MS}

    def slowest(self, name: str, now_ms: int) -> int | None:
        """Also starts the patience with partitions that nobody has heard yet."""
        active = []
        for speaker in SPEAKERS:
            if speaker[0] == name:
                self.heard_ms.setdefault(speaker, now_ms)
                if now_ms - self.heard_ms[speaker] < INPUTS[name].idle_ms:
                    active.append(max([BEGINNING_MS, *self.said[speaker]]))
        return min(active) if active else None

    def hear(self, speaker: tuple[str, int], watermark_ms: int, now_ms: int) -> None:
        self.said[speaker].append(watermark_ms)
        self.heard_ms[speaker] = now_ms
        slowest = self.slowest(speaker[0], now_ms)
        assert slowest is not None
        self.reached[speaker[0]] = max(self.reached[speaker[0]], slowest)

    def wait(self, now_ms: int) -> None:
        slowest = {name: self.slowest(name, now_ms) for name in INPUTS}
        active = [each for each in slowest.values() if each is not None]
        for name, each in slowest.items():
            if each is None and active:
                each = min(active)  # noqa: PLW2901 - an idle input follows the slowest that is not
            if each is None:  # nothing speaks at all: as far as anybody had come
                words = [word for speaker in SPEAKERS if speaker[0] == name for word in self.said[speaker]]
                each = max([BEGINNING_MS, *words])  # noqa: PLW2901
            self.reached[name] = max(self.reached[name], each)


@settings(max_examples=700)
@given(st.binary(max_size=60), st.booleans())
def test_an_input_is_as_far_as_its_slowest_partition_that_is_not_idle(drawn, moves) -> None:
    """A silent partition must not stop the flow, and one that speaks again must not turn time back."""
    watermarks, oracle, now_ms = InputWatermarks(INPUTS), Listener(), 0
    for what, passed, time in zip(drawn[::3], drawn[1::3], drawn[2::3], strict=False):
        now_ms += passed % 9
        if what % 4 == 3:
            before = dict(oracle.reached)
            oracle.wait(now_ms)
            expected = [(name, reached) for name, reached in oracle.reached.items() if reached > before[name]]
            assert expected == watermarks.moved(now_ms=now_ms)
            continue
        name, partition = SPEAKERS[what % 4]
        reached = oracle.reached[name]
        batch = Batch([{"n": 1}], [None], [time], [0], max(time - 5, 0))
        in_time, late = watermarks.admit(name, partition, batch, now_ms=now_ms)
        oracle.hear((name, partition), batch.watermark_ms, now_ms)
        assert ([time], []) == ((in_time.times, late.times) if time >= reached else (late.times, in_time.times))
        assert oracle.reached[name] == in_time.watermark_ms == watermarks.watermark_ms(name)
        if moves:
            other = InputWatermarks(INPUTS)
            for table_name, table in watermarks.tables.items():
                other.tables[table_name].restore(entries_of(table.drain()))
            assert oracle.reached == {each: other.watermark_ms(each) for each in INPUTS}
            assert watermarks.tables["partitions"].data == other.tables["partitions"].data
            moves = False
