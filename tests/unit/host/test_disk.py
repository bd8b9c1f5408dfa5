"""State on disk is the same state: whatever is put in, changed in place, drained, forgotten and restored."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.host import disk
from services.host.changelog import drained
from services.host.disk import DiskDict, DiskState, StateFullError
from services.host.folder import own_folder
from services.operators.batch import Batch
from services.operators.program import Program
from services.operators.table import Table
from topics.flow.file import parse_graph

KEYS = st.one_of(st.integers(0, 5), st.tuples(st.integers(0, 2), st.sampled_from("ab")))
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), KEYS, st.integers()),
        st.tuples(st.just("change"), KEYS, st.integers()),
        st.tuples(st.just("remove"), KEYS, st.just(0)),
        st.tuples(st.just("drain"), st.just(0), st.just(0)),
    ),
    max_size=40,
)


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing stays in memory after a drain."""
    monkeypatch.setattr(disk, "CACHED_BYTES_MAX", -1)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    with own_folder(tmp_path) as made:
        yield made


@pytest.mark.usefixtures("forgetful")
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture], max_examples=40)
@given(steps=STEPS)
def test_a_table_on_disk_is_a_table_in_memory(folder: Path, steps: list[tuple[str, Any, int]]) -> None:
    """The same changes drain to the same changelog and leave the same entries."""
    memory, on_disk = Table(), Table()
    on_disk.data = DiskDict(folder / "table")
    try:
        for what, key, value in [*steps, ("drain", 0, 0)]:
            for table in (memory, on_disk):
                if what == "put":
                    table.put(key, [value])
                elif what == "remove":
                    table.remove(key)
                elif what == "change" and (kept := table.data.get(key)) is not None:
                    kept.append(value)
                    table.changed.add(key)
            if what == "drain":
                records = on_disk.drain()
                assert sorted(memory.drain()) == sorted(records)
                on_disk.data.settle(records)
            assert memory.data == dict(on_disk.data.items())
            assert set(memory.data) == set(on_disk.data)
    finally:
        on_disk.data.close()


FLOW = """
flow: f
state: {state}
sources:
  s: {{topic: s, event_time: ts}}
operators:
  once: {{op: dedupe, input: s, by: [id], within: 1h}}
  running: {{op: aggregate, input: once, by: [k], emit: {{n: count(), total: sum(n)}}}}
  visits: {{op: aggregate, input: once, by: [k], window: {{gap: 2s}}, emit: {{n: count()}}}}
sinks:
  out: {{input: running, topic: o}}
  seen: {{input: visits, topic: v}}
"""


def program() -> Program:
    graph = parse_graph(FLOW.format(state="disk"))
    specs = {operator.name: operator.spec for operator in graph.operators}
    return Program(specs, inputs=["s"], outputs=["running", "visits"])


@pytest.mark.usefixtures("forgetful")
def test_a_program_gives_the_same_from_disk_as_from_memory(folder: Path) -> None:
    """Dedupe, running aggregates and sessions, drained after every batch."""
    memory, on_disk = program(), program()
    state = DiskState(on_disk, folder / "state")
    assert ["once/kept", "running/windows", "visits/sessions"] == sorted(on_disk.disk_tables)
    for first in range(0, 2_000, 100):
        values = [{"id": i // 2, "k": f"k{i % 37}", "n": i, "ts": 10 * i} for i in range(first, first + 100)]
        times = [value["ts"] for value in values]
        batch = Batch(values, [None] * 100, times, range(first, first + 100), times[-1] - 500)
        assert memory.process("s", batch) == on_disk.process("s", batch)
        expected = {operator: dict(zip(keys, states, strict=True)) for operator, keys, states in drained(memory)}
        assert expected == {
            operator: dict(zip(keys, states, strict=True)) for operator, keys, states in drained(on_disk)
        }
    state.close()
    assert [] == [each for each in folder.iterdir() if each.name != "lock"]


def test_what_a_killed_host_left_is_removed_and_what_a_living_one_has_is_not(tmp_path: Path) -> None:
    """State of a crashed host could fill the disk; that of a neighbour must stay."""
    left = tmp_path / "stig-host-left"
    left.mkdir()
    (left / "lock").touch()
    with own_folder(tmp_path) as living, own_folder(tmp_path) as another:
        assert not left.exists()
        assert living.exists()
        assert another.exists()
    assert [] == list(tmp_path.iterdir())


def test_what_is_only_read_does_not_stay_in_memory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream of nothing but duplicates changes nothing: each key that it looked up stayed until something did."""
    monkeypatch.setattr(disk, "CACHED_BYTES_MAX", 100 * disk.ENTRY_BYTES)
    deduped = program()
    state = DiskState(deduped, folder / "state")
    kept = deduped.tables["once/kept"].data
    most = 0
    for again in (False, True):
        for first in range(0, 2_000, 50):
            values = [{"id": i, "k": "k", "n": 1, "ts": 1} for i in range(first, first + 50)]
            deduped.process("s", Batch(values, [None] * 50, [1] * 50, range(first, first + 50), 0))
            assert again != any(operator == "once" for operator, _, _ in drained(deduped))
            most = max(most, dict.__len__(kept))
    assert most <= 150  # up to the limit, and what came since the drain that found it below
    state.close()


GROWING = """
import sys
from pathlib import Path

import psutil

from services.host.changelog import drained
from services.host.disk import DiskState
from services.operators.batch import Batch
from services.operators.program import Program
from topics.flow.file import parse_graph

FLOW = '{flow: f, sources: {s: {topic: s}}, sinks: {out: {input: last, topic: o}}, operators: {last: \
{op: aggregate, input: s, by: [k], emit: {text: max(text)}}}}'
specs = {operator.name: operator.spec for operator in parse_graph(FLOW).operators}
program = Program(specs, inputs=["s"], outputs=["last"])
if sys.argv[1] == "disk":
    DiskState(program, Path(sys.argv[2]))
process = psutil.Process()
before = most = process.memory_info().rss
for first in range(0, 60_000, 500):
    values = [{"k": n, "text": f"{n:08}" * 300} for n in range(first, first + 500)]
    program.process("s", Batch(values, [None] * 500, [0] * 500, range(first, first + 500), 0))
    list(drained(program))
    most = max(most, process.memory_info().rss)
print((most - before) // 1_000_000)
"""


def test_state_on_disk_takes_a_fraction_of_the_memory(tmp_path: Path) -> None:
    """60,000 entries of 2,400 bytes: 150 MB in memory, where on disk RocksDB's buffers and the last commits count."""
    grown = {
        where: int(
            subprocess.check_output([sys.executable, "-c", GROWING, where, str(tmp_path / "state")], timeout=400)
        )
        for where in ("memory", "disk")
    }
    assert grown["memory"] > 140
    assert grown["disk"] < 100, grown


def test_a_table_that_could_not_be_made_anew_can_be_when_there_is_room(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who begins anew on a full disk, such as a standby, tries again later with the same table."""
    table = DiskDict(folder / "table")

    def full(_table: DiskDict) -> None:
        raise StateFullError("no space left")

    with monkeypatch.context() as patched:
        patched.setattr(DiskDict, "_opened", full)
        with pytest.raises(StateFullError):
            table.clear()
    table.clear()
    table.update({"a": [1]})
    assert [("a", [1])] == list(table.items())
    table.close()
