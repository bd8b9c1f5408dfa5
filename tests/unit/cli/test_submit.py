"""`stigmergy submit`: what it asks before it waits, and what it warns of."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from services.cli import authority, explain, flow_ends, run, submit
from services.cli.flow_ends import end_warnings
from services.cli.flow_ends import flow_ends as ends_of
from services.registry.errors import RegistryError
from services.registry.submit import Submission
from services.registry.view import RegistryView
from topics.flow.file import parse_graph
from topics.messages import FlowRevision, HostRegistration

FLOW = """
flow: shops
sources:
  sales: {{topic: sales, key: shop{at}}}
operators:
  real: {{op: filter, input: sales, where: amount > 0}}
sinks:
  out: {{input: real, topic: shops}}
"""
REGIONS = {"edge-1": "edge", "core-1": "core", "core-2": "core"}


def text(at: str | None = None) -> str:
    return FLOW.format(at="" if at is None else f", at: {at}")


class Cluster:
    """Three hosts, a topic, and perhaps a placement instance. `written`: what the command wrote to the registry."""

    def __init__(self) -> None:
        self.instance: str | None = "p1"
        self.topics = {"sales": 2}
        self.written: list[Any] = []
        self.view = RegistryView()
        for host, region in REGIONS.items():
            self.view.take(
                HostRegistration(host=host, region=region, capacity=1, address="x", boot_id="1", started_ms=0)
            )

    def write(self, _: str, entries: list[tuple[Any, Any]]) -> None:
        for _, message in entries:
            self.view.take(message)
            self.written.append(message)

    def __call__(self, *_: object, **__: object) -> "Cluster":
        return self

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, *_: object) -> None: ...

    def read(self) -> RegistryView:
        return self.view


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cluster:
    made = Cluster()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(authority, "lease_holder", lambda *_: made.instance)
    monkeypatch.setattr(flow_ends, "live_hosts", lambda *_, **__: dict.fromkeys(REGIONS))
    monkeypatch.setattr(submit, "connect", made)
    monkeypatch.setattr(submit, "topic_partitions", lambda _: made.topics)
    monkeypatch.setattr(submit, "followed_registry", made)
    monkeypatch.setattr(submit, "write", made.write)
    return made


def invoke(content: str | bytes, *options: str, app: Any = submit.app) -> Result:
    file = Path("shops.yaml")
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return CliRunner().invoke(app, [str(file), "--bootstrap", "localhost:1", *options])


def test_without_a_placement_instance_it_says_at_once_what_to_do(cluster: Cluster) -> None:
    """It waited a minute, and then asked whether hosts were up. They were."""
    cluster.instance = None
    result = invoke(text(), "--timeout", "0")
    assert isinstance(result.exception, RegistryError)
    assert "no placement instance is active" in result.exception.what
    assert "stigmergy placement --name p1" in result.exception.remedy
    assert "stigmergy run shops.yaml" in result.exception.remedy
    assert [] == cluster.written


def test_an_instance_that_is_about_to_be_active_is_waited_for(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After `up` it answers its health check some moments before it holds the lease."""
    answers = iter([None, None, "p1"])
    monkeypatch.setattr(authority, "lease_holder", lambda *_: next(answers))
    monkeypatch.setattr(submit, "_wait", lambda *_, **__: None)
    assert 0 == invoke(text()).exit_code
    assert [FlowRevision] == [type(each) for each in cluster.written]


def test_who_does_not_wait_may_submit_before_there_is_one(cluster: Cluster) -> None:
    """The flow stands in the registry, for whoever comes."""
    cluster.instance = None
    result = invoke(text(), "--no-wait", "--json")
    assert 0 == result.exit_code, result.output
    assert ([], []) == (json.loads(result.stdout)["created_topics"], json.loads(result.stdout)["warnings"])
    assert [FlowRevision] == [type(each) for each in cluster.written]


def test_a_misspelt_at_is_told_with_the_nearest_name(cluster: Cluster) -> None:
    """The flow runs all the same, but from a host that nobody meant."""
    result = invoke(text("egde"), "--no-wait")
    assert 0 == result.exit_code
    warning = "source sales: at 'egde' is neither a live host nor a region (core, edge); did you mean 'edge'?"
    assert f"warning: {warning}" in result.stderr
    assert [warning] == json.loads(invoke(text("egde"), "--no-wait", "--json").stdout)["warnings"]


@pytest.mark.parametrize("at", [None, "edge", "core-2"])
def test_what_is_there_is_not_warned_of(at: str | None) -> None:
    """Hosts and regions, or no `at` at all."""
    assert [] == end_warnings(parse_graph(text(at)).spec, REGIONS, REGIONS)


def test_a_host_that_is_down_is_not_called_a_slip() -> None:
    """It may come back; and where nobody lives there is nothing to compare with."""
    flow = parse_graph(text("edge-9")).spec
    assert ["source sales: host 'edge-9' is not live now"] == end_warnings(flow, REGIONS, {*REGIONS, "edge-9"})
    assert [] == end_warnings(flow, {}, {})


@pytest.mark.parametrize(
    ("at", "host", "told"),
    [
        ("core-2", "core-2", "the host that the flow names"),
        ("core", "core-1", "the first live host of region core"),
        (None, None, "chosen by the flow's name, since it has no at"),
        ("cor", None, "chosen by the flow's name, since at 'cor' is neither a live host nor a region (core, edge); "),
    ],
)
def test_why_an_end_stands_where_it_does(at: str | None, host: str | None, told: str) -> None:
    """`explain` tells it, so that a source that stands on the wrong host is found."""
    source, _ = ends_of(parse_graph(text(at)).spec, REGIONS, REGIONS)
    assert source.told.startswith(told)
    assert host in (None, source.host)


def test_explain_tells_where_sources_and_sinks_stand(cluster: Cluster) -> None:
    """The reason was known to leaders alone."""
    cluster.view.take(
        FlowRevision(
            flow="shops", revision=1, state="submitted", text=text("core"), delivery="at_least_once", changed_ms=0
        )
    )
    values = explain.explanation(cluster.view, "shops", [], REGIONS)
    with explain.console.capture() as captured:
        explain._show(values)
    assert "source sales at core-1: the first live host of region core" in captured.get()
    assert ["source sales", "sink out"] == [end.name for end in values["ends"]]


@pytest.mark.parametrize("app", [submit.app, run.app], ids=["submit", "run"])
@pytest.mark.parametrize(("content", "told"), [("flow: x", "shops.yaml:1"), (b"flow: \xff", "UTF-8")])
def test_a_bad_file_is_told_alike(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, app: Any, content: str | bytes, told: str
) -> None:
    """As `flow check` tells it."""
    cluster.instance = None
    monkeypatch.setattr(run, "choose_hosts", lambda *_: ["edge-1"])
    result = invoke(content, app=app)
    assert 1 == result.exit_code
    assert told in result.stderr


def test_created_topics_have_one_name_in_json(monkeypatch: pytest.MonkeyPatch) -> None:
    """`run` and `submit` are told apart by nothing else, too."""
    settled: Any = SimpleNamespace(is_running=True, statuses={})
    assert ("out",) == run._values(Submission("f", 1, ("out",), {}), settled)["created_topics"]
