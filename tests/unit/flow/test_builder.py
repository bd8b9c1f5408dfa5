"""The Python builder says the same as a file."""

from pathlib import Path

import pytest

from topics.flow.builder import Flow, Stream
from topics.flow.file import load_graph, parse_graph
from topics.flow.problems import FlowError

GOOD = Path(__file__).parents[2] / "flows" / "good"


def top_talkers() -> Flow:
    flow = Flow("top-talkers", latency_ms=250, weight=2, availability=0.99)
    packets = flow.source("packets", topic="packets", at="edge-1", key="src", event_time="ts")
    tcp = packets.filter("proto == 'tcp' and bytes > 0", name="tcp")
    traffic = tcp.aggregate(
        by=["src", "dst"],
        window={"hop": "10s", "size": "20m"},
        emit={"bytes": "sum(bytes)", "n": "count()"},
        name="traffic",
    )
    traffic.top_k(100, by="bytes", name="top").sink("out", topic="top-talkers", at="noc")
    return flow


def every_operator() -> Flow:
    flow = Flow(
        "every-operator",
        latency_ms=500,
        weight=1.5,
        availability=0.999,
        delivery="exactly_once",
        park_after=500,
        moves="approve",
        pause_budget="2s",
        state="disk",
    )
    orders, payments, refunds = shop_sources(flow)
    fields = {
        "order_id": "order_id",
        "customer": "customer.id",
        "country": "customer.country",
        "items": "items",
        "total": "total",
    }
    large = orders.filter("total >= 10 and customer.country in ['de', 'fr']", name="large")
    priced = large.project(fields, name="slim").map({"tax": "total * 0.19"}, drop=["total"], name="priced")
    regions = priced.flat_map("items", into="item", name="lines").split(
        {"german": "country == 'de'", "french": "country == 'fr'"}, otherwise="elsewhere", name="regions"
    )
    once = flow.union(payments, refunds, name="money").dedupe(by=["id"], within="10m", name="once")
    by_country = revenue(priced, once)
    visits = regions["german"].aggregate(
        by=["customer"], window={"gap": "30m"}, emit={"lines": "count()"}, name="visits"
    )
    running = regions["french"].aggregate(by=[], emit={"lines": "count()", "spread": "stddev(tax)"}, name="running")
    scored = by_country.top_k(3, by="amount", name="best").python(
        "shop.rules:score",
        state=True,
        by=["country"],
        timeout="20s",
        settings={"limit": 3, "mode": "strict", "dry": False},
        name="scored",
    )
    scored.sink("scores", topic="shop.scores", at="noc", key="country")
    visits.sink("german-visits", topic="shop.visits", codec="msgpack")
    running.sink("french-lines", topic="shop.french")
    regions["elsewhere"].sink("elsewhere", topic="shop.elsewhere")
    return flow


def shop_sources(flow: Flow) -> tuple[Stream, Stream, Stream]:
    """Orders, payments and refunds."""
    orders = flow.source(
        "orders",
        topic="shop.orders",
        at="edge-1",
        key="order_id",
        event_time="placed_at",
        time_unit="iso",
        lateness="5s",
        idle="30s",
        codec="json",
        partitions=8,
        schema={
            "order_id": "string",
            "placed_at": "string",
            "customer.id": "int",
            "customer.country": "string",
            "items": "list",
            "total": "float",
        },
    )
    payments = flow.source(
        "payments",
        topic="shop.payments",
        key="order",
        event_time="ts",
        codec="msgpack",
        partitions=4,
        schema={"id": "string", "order": "string", "amount": "float", "ts": "time"},
    )
    refunds = flow.source(
        "refunds",
        topic="shop.refunds",
        key="order",
        event_time="ts",
        partitions=4,
        schema={"id": "string", "order": "string", "amount": "float"},
    )
    return orders, payments, refunds


def revenue(priced: Stream, money: Stream) -> Stream:
    """Of each country, from what was paid for orders."""
    paid = priced.join(
        money,
        on={"order_id": "order"},
        within="1h",
        kind="left",
        emit={"order_id": "left.order_id", "country": "left.country", "amount": "right.amount"},
        name="paid",
    )
    return paid.aggregate(
        by=["country"],
        window={"hop": "1m", "size": "10m"},
        emit={
            "amount": "sum(amount)",
            "mean": "mean(amount)",
            "largest": "max(amount)",
            "orders": "count()",
            "distinct_orders": "distinct(order_id)",
        },
        name="revenue",
    )


@pytest.mark.parametrize("build", [top_talkers, every_operator])
def test_the_builder_gives_the_graph_of_the_file(build):
    """One language in two notations."""
    flow = build()

    assert load_graph(GOOD / f"{flow.name}.yaml") == flow.graph()


@pytest.mark.parametrize("build", [top_talkers, every_operator])
def test_the_builder_writes_a_file_of_the_same_graph(build):
    """What was built in Python can be submitted as a file."""
    assert build().graph() == parse_graph(build().to_yaml())


def test_operators_without_a_name_are_numbered():
    """A short script need not invent names."""
    flow = Flow("demo")
    flow.source("s", topic="s").filter("a").filter("b").map({"x": "1"}).sink("out", topic="out")

    assert ["filter-1", "filter-2", "map-3"] == [operator.name for operator in flow.graph().operators]


def test_a_numbered_name_never_takes_a_given_one():
    """The user's names come first."""
    flow = Flow("demo")
    flow.source("s", topic="s").filter("a", name="filter-2").filter("b").sink("out", topic="out")

    assert ["filter-2", "filter-3"] == [operator.name for operator in flow.graph().operators]


def test_all_problems_are_raised_at_once_with_their_keys():
    """As with a file; a Python flow has no lines."""
    flow = Flow("Demo", latency_ms=-1)
    flow.source("s", topic="stig.x").filter("lenght(a) > 0", name="f").sink("out", topic="out")

    with pytest.raises(FlowError) as caught:
        flow.graph()

    rule = "a name of at most 63 lower-case letters, digits and '-', beginning with a letter"
    assert {
        f"flow Demo: flow: is 'Demo'; expected {rule}",
        "flow Demo: qos.latency_ms: is -1; expected milliseconds above 0, at most 86,400,000",
        "flow Demo: sources.s.topic: topics that begin with 'stig.' belong to Stigmergy",
        "flow Demo: operators.f.where: there is no function lenght; did you mean length?",
    } == set(str(caught.value).split("\n"))


def test_a_name_given_twice_is_a_problem():
    """In a dictionary the second would silently replace the first."""
    flow = Flow("demo")
    stream = flow.source("s", topic="s")
    stream.filter("a", name="f")
    stream.filter("b", name="f").sink("out", topic="out")

    with pytest.raises(FlowError, match=r"operators\.f: the name is given twice; choose another"):
        flow.graph()


def test_streams_of_different_flows_do_not_mix():
    """That is a mistake in the program, found where it is made."""
    one, other = Flow("one").source("a", topic="a"), Flow("other").source("b", topic="b")

    with pytest.raises(ValueError, match="'b' is a stream of the flow 'other', not of 'one'"):
        one.join(other, on=["id"], within="1s")


@pytest.mark.parametrize(
    "text", ["1e3", "true", "null", "~", "", "12", "on", "a: b", "#x", "- y", "é", "a\nb", "'", '"', "\\"]
)
def test_settings_of_any_text_survive_the_file(text: str):
    """What YAML would take for something else is quoted."""
    flow = Flow("demo")
    flow.source("s", topic="s").python("m:f", settings={"x": text, "n": 1, "f": 1e20, "b": True}).sink(
        "out", topic="out"
    )

    assert flow.spec() == parse_graph(flow.to_yaml()).spec
