"""A task whose function works in a thread is measured while it does, and that neither disturbs nor ends the host."""

import asyncio
import threading
from typing import Any

import pytest

from services.host import unending
from services.host.reports import Identity, Reports
from services.host.segment_plan import plan_segment
from services.host.task import Task
from services.host.task_context import TaskContext
from services.operators.calls import Answers, Caller, Chunk, LocalCaller
from services.process.clock import BrokerClock
from services.process.ending import end
from tests.unit.host.stand_ins import Publisher
from topics import catalogue
from topics.flow import specs
from topics.flow.file import parse_graph

GRAPH = parse_graph("""
flow: shop
sources: {orders: {topic: orders, key: user}}
operators:
  real: {op: filter, input: orders, where: "n > 0"}
  roots: {python: 'math:sqrt', input: real}
sinks: {out: {input: roots, topic: results}}
""")
PATIENCE_S = 20.0


class Waiting(LocalCaller):
    """Waits at each call until the test lets it go on."""

    waits = True

    def __init__(self, spec: specs.Python, called: threading.Event, may_go: threading.Event) -> None:
        super().__init__(spec, allow=["math"])
        self._called, self._may_go = called, may_go

    def call(self, chunk: Chunk, *more: Any) -> Answers:
        self._called.set()
        assert self._may_go.wait(PATIENCE_S)
        return super().call(chunk, *more)


class Context(TaskContext):
    """Its functions wait."""

    called, may_go = threading.Event(), threading.Event()

    def caller(self, spec: specs.Python) -> Caller:
        return Waiting(spec, self.called, self.may_go)


def test_a_report_takes_nothing_from_the_thread_that_is_at_work(broker: Any, record: Any) -> None:
    """An operator that was counted there for the first time while the loop went through what was counted ended the
    whole host: `dictionary changed size during iteration`."""

    async def story() -> None:
        plan = plan_segment(GRAPH, GRAPH.segments[0].id, {"orders": 1, "results": 1})
        context = Context("127.0.0.1:1")
        task = Task(plan, 0, 3, context, on_room=lambda: None, writer=broker)
        working = asyncio.create_task(task._process("orders", [record(0, b'{"n": 4}')]))
        async with asyncio.timeout(PATIENCE_S):
            while not context.called.is_set():
                await asyncio.sleep(0.01)
        assert [("real", 0)] == [(row.operator, row.arrivals) for row in task.report("a", 7, lag=1)]
        context.may_go.set()
        await working
        assert [("real", 1), ("roots", 1)] == [(row.operator, row.arrivals) for row in task.report("a", 8, lag=0)]

    asyncio.run(story())


def test_a_host_that_stumbles_over_a_measurement_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ended at once, without draining, with all its segments."""
    monkeypatch.setattr(unending, "AGAIN_S", 0.01)
    calls: list[int] = []

    class Stumbling(Reports):
        def _operator_rows(self, second: int) -> Any:
            calls.append(second)
            if len(calls) == 1:
                raise RuntimeError("dictionary changed size during iteration")
            return super()._operator_rows(second)

    async def story() -> None:
        publisher: Any = Publisher()
        running = asyncio.create_task(Stumbling(Identity("a", "1", 1.0), publisher, BrokerClock()).run())
        async with asyncio.timeout(PATIENCE_S):
            while not publisher.sent.get(catalogue.METRICS_HOSTS.name) and not running.done():
                await asyncio.sleep(0.01)
        assert not running.done()
        await end([running])

    asyncio.run(story())
