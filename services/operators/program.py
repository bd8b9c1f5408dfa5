"""Program: the operators of one segment for one partition, wired together.

A batch that enters at an input runs through every operator that it reaches, in topological order, as plain function
calls: no queue, no task, no copy. The plan for each input is worked out once. What a program remembers is in `tables`,
named `operator/table`; a fresh program with restored tables goes on where the other stopped. A batch without records
carries a watermark and costs a few microseconds for each operator.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

from services.operators.batch import Batch, merge
from services.operators.calls import Caller, LocalCaller
from services.operators.factory import make, streams_made, streams_read
from services.operators.failure import Failure
from services.operators.operator import Operator
from services.operators.pruning import needless_projections
from services.operators.python import Python
from services.operators.table import Entries, Table
from topics.flow import specs

Probe = Callable[[str, int, int], None]
"""Called after each operator with its name, the number of records that went in and the number that came out."""


@dataclass(frozen=True, slots=True)
class Step:
    """One operator in the plan of one input: what it reads, on which ports, and the streams that it makes."""

    name: str
    operator: Operator
    feeds: tuple[tuple[str, int], ...]
    outputs: tuple[str, ...]


class Program:
    """`inputs` are the streams that come from outside, `outputs` the names of those that go out."""

    def __init__(
        self,
        operators: Mapping[str, specs.OperatorSpec],
        *,
        inputs: Sequence[str],
        outputs: Sequence[str],
        feeds: Mapping[str, Sequence[str]] | None = None,
        allow: Sequence[str] = (),
        caller: Callable[[specs.Python], Caller] | None = None,
        probe: Probe | None = None,
    ) -> None:
        """The operators come in topological order and read the streams that their specs name.

        `feeds` gives other names for what an operator reads, by port: a segment may read one stream by two edges.
        `allow` says which modules python operators may load, if there is no `caller` that sees to it.
        """
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.tried: dict[str, int] = {}
        """How many records of the last batch came to each operator that can fail."""
        self.rows_made = 0
        """By that operator which made most of them of the last batch."""
        self._failures: list[Failure] = []
        self.probe = probe
        call = caller or partial(LocalCaller, allow=allow)
        needless = needless_projections(operators.items(), leaving=outputs)
        self._operators = {
            name: make(name, spec, failures=self._failures, caller=call, needless=name in needless)
            for name, spec in operators.items()
        }
        self.callers = [each.caller for each in self._operators.values() if isinstance(each, Python)]
        self.waits = any(each.waits for each in self.callers)
        """Whether to keep it off an event loop: some operator waits for another process."""
        self._rests = [each.rest for each in self._operators.values() if each.rest is not None]
        reads = {name: tuple((feeds or {}).get(name, streams_read(spec))) for name, spec in operators.items()}
        makes = {name: streams_made(name, spec) for name, spec in operators.items()}
        self._plans = {each: self._plan(each, reads, makes) for each in self.inputs}
        self.slice_records = {name: self._slice_records(plan) for name, plan in self._plans.items()}
        """How many records of each input may go in at a time; None: any number."""
        self.tables: dict[str, Table] = {
            f"{name}/{table_name}": table
            for name, operator in self._operators.items()
            for table_name, table in operator.tables.items()
        }

    def _slice_records(self, plan: Sequence[Step]) -> int | None:
        if self.waits:  # what came of a slice would wait in an open transaction until the others were worked off
            return None
        return min((each for step in plan if (each := step.operator.slice_records) is not None), default=None)

    @property
    def disk_tables(self) -> list[str]:
        """The names of the tables that may live on disk."""
        return [f"{name}/{each}" for name, operator in self._operators.items() for each in operator.disk_tables]

    def process(self, name: str, batch: Batch) -> dict[str, Batch]:
        """Run a batch of the input `name`; returns a batch, perhaps empty, for each output that the input reaches."""
        streams = {name: batch}
        self.tried = {}
        self.rows_made = 0
        for step in self._plans[name]:
            results = [step.operator.process(streams[stream], port) for stream, port in step.feeds]
            first = results[0]
            if isinstance(first, tuple):  # The routes of a split, which has one feed.
                streams.update(zip(step.outputs, first, strict=True))
            else:
                streams[step.outputs[0]] = first if len(results) == 1 else merge(cast(list[Batch], results))
            if isinstance(step.operator, Python):
                self.tried[step.name] = sum(len(streams[stream]) for stream, _ in step.feeds)
            went_out = sum(len(streams[stream]) for stream in step.outputs)
            self.rows_made = max(self.rows_made, went_out)
            if self.probe is not None:
                self.probe(step.name, sum(len(streams[stream]) for stream, _ in step.feeds), went_out)
        return {output: streams[output] for output in self.outputs if output in streams}

    @property
    def has_more(self) -> bool:
        """Whether a batch without records would give more of what time has closed."""
        return any(rest.is_left for rest in self._rests)

    def cut(self, rows_max: int) -> None:
        """From now on give out about so many rows at a time of what time closes: see `has_more`.

        Not where it waits: what came first would wait in an open transaction until the others were worked off.
        """
        for rest in self._rests:
            rest.rows_max = None if self.waits else rows_max

    def take_failures(self) -> list[Failure]:
        """The records that python operators could not process since this was last asked."""
        taken = self._failures.copy()
        self._failures.clear()
        return taken

    def close(self) -> None:
        """No more batches; what is under way in another process is broken off."""
        for each in self.callers:
            each.close()

    def restore(self, name: str, entries: Entries) -> None:
        """Bring some of what a changelog or a snapshot tells into the table of this name."""
        operator, _, table_name = name.partition("/")
        self._operators[operator].restore(table_name, entries)

    def forget(self) -> Iterator[None]:
        """Empty all tables and what is derived from them, a portion with each step; then it is like new."""
        for operator in self._operators.values():
            yield from operator.forget()

    def _plan(
        self, start: str, reads: Mapping[str, tuple[str, ...]], makes: Mapping[str, tuple[str, ...]]
    ) -> tuple[Step, ...]:
        reached = {start}
        plan = []
        for name, operator in self._operators.items():
            feeds = tuple((stream, port) for port, stream in enumerate(reads[name]) if stream in reached)
            if feeds:
                plan.append(Step(name, operator, feeds, makes[name]))
                reached.update(makes[name])
        return tuple(plan)
