"""`stigmergy flow run`, end to end: a flow file and records in, results out; at least one story for each operator."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from services.cli.flow import app
from services.operators.run import FlowRun
from topics.flow.file import load_graph

GOOD_FLOWS = Path(__file__).parents[2] / "flows" / "good"

pytestmark = pytest.mark.usefixtures("forgotten_imports")

ORDERS = [
    {"t": 1_000, "id": "a", "who": "ann", "n": 5, "tags": ["x", "y"]},
    {"t": 2_000, "id": "b", "who": "bob", "n": 12, "tags": []},
    {"t": 3_000, "id": "a", "who": "ann", "n": 5, "tags": ["x"]},
    {"t": 61_000, "id": "c", "who": "ann", "n": 1},
]


def write(path: Path, records: list[Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def flow_file(folder: Path, operators: str, *, sources: str | None = None) -> Path:
    sources = sources or "orders: {topic: orders, event_time: t, key: who, lateness: 10s}"
    sinks = "out: {input: op, topic: out}"
    path = folder / "flow.yaml"
    path.write_text(f"flow: tried\nsources:\n  {sources}\noperators:\n  {operators}\nsinks:\n  {sinks}\n")
    return path


def run(*arguments: Any, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, ["run", *map(str, arguments)], input=stdin)


def rows(result: Result) -> list[dict[str, Any]]:
    assert 0 == result.exit_code, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


MINUTE = {"window_start": 0, "window_end": 60_000}
STORIES: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "filter": ("op: {op: filter, input: orders, where: n > 10}", [ORDERS[1]]),
    "project": (
        "op: {op: project, input: orders, fields: {who: who, twice: n * 2}}",
        [{"who": order["who"], "twice": 2 * order["n"]} for order in ORDERS],
    ),
    "map": (
        "op: {op: map, input: orders, set: {n: n + 1}, drop: [tags, t, id]}",
        [{"who": order["who"], "n": order["n"] + 1} for order in ORDERS],
    ),
    "flat_map": (
        "op: {op: flat_map, input: orders, each: tags, into: tag}",
        [{**ORDERS[0], "tag": "x"}, {**ORDERS[0], "tag": "y"}, {**ORDERS[2], "tag": "x"}],
    ),
    "split and union": (
        "sizes: {op: split, input: orders, routes: {big: n > 10}, otherwise: small}\n"
        "  marked: {op: project, input: sizes.big, fields: [id]}\n"
        "  op: {op: union, inputs: [marked, sizes.small]}",
        [ORDERS[0], {"id": "b"}, ORDERS[2], ORDERS[3]],
    ),
    "dedupe": ("op: {op: dedupe, input: orders, by: [id], within: 10m}", [ORDERS[0], ORDERS[1], ORDERS[3]]),
    "aggregate, tumbling": (
        "op: {op: aggregate, input: orders, by: [who], window: {size: 1m}, emit: {n: sum(n), orders: count()}}",
        [
            {"who": "ann", "n": 10, "orders": 2, **MINUTE},
            {"who": "bob", "n": 12, "orders": 1, **MINUTE},
            {"who": "ann", "n": 1, "orders": 1, "window_start": 60_000, "window_end": 120_000},
        ],
    ),
    "aggregate, hopping": (
        "big: {op: filter, input: orders, where: n > 10}\n"
        "  op: {op: aggregate, input: big, by: [], window: {hop: 30s, size: 1m}, emit: {n: count()}}",
        [
            {"n": 1, "window_start": -30_000, "window_end": 30_000},
            {"n": 1, **MINUTE},
        ],
    ),
    "aggregate, session": (
        "op: {op: aggregate, input: orders, by: [who], window: {gap: 5s}, emit: {n: count()}}",
        [
            {"who": "bob", "n": 1, "window_start": 2_000, "window_end": 7_000},
            {"who": "ann", "n": 2, "window_start": 1_000, "window_end": 8_000},
            {"who": "ann", "n": 1, "window_start": 61_000, "window_end": 66_000},
        ],
    ),
    "aggregate, running": (
        "op: {op: aggregate, input: orders, by: [who], emit: {n: count()}}",
        [{"who": "ann", "n": 1}, {"who": "bob", "n": 1}, {"who": "ann", "n": 2}, {"who": "ann", "n": 3}],
    ),
    "top_k": (
        "sums: {op: aggregate, input: orders, by: [who], window: {size: 1m}, emit: {n: sum(n)}}\n"
        "  op: {op: top_k, input: sums, k: 1, by: n}",
        [
            {"who": "bob", "n": 12, "rank": 1, **MINUTE},
            {"who": "ann", "n": 1, "rank": 1, "window_start": 60_000, "window_end": 120_000},
        ],
    ),
}


@pytest.mark.parametrize("name", STORIES)
def test_an_operator_does_in_a_flow_what_its_file_says(name: str, tmp_path: Path) -> None:
    """From the text of a flow file to the bytes at the sink."""
    operators, expected = STORIES[name]
    result = run(flow_file(tmp_path, operators), "--input", write(tmp_path / "orders.jsonl", ORDERS))
    assert expected == [row["value"] for row in rows(result)]


def test_a_join_reads_two_files(tmp_path: Path) -> None:
    """Each source gets its own; the order in which they are read does not matter."""
    sources = "orders: {topic: o, event_time: t, key: id}\n  payments: {topic: p, event_time: t, key: id}"
    flow = flow_file(
        tmp_path,
        "op: {op: join, left: orders, right: payments, on: [id], within: 5s, kind: left, "
        "emit: {id: left.id, paid: right.n}}",
        sources=sources,
    )
    orders = write(tmp_path / "orders.jsonl", [{"t": 1_000, "id": "a"}, {"t": 2_000, "id": "b"}])
    payments = write(tmp_path / "payments.jsonl", [{"t": 1_500, "id": "a", "n": 3}, {"t": 9_000, "id": "b", "n": 4}])
    for inputs in ([f"orders={orders}", f"payments={payments}"], [f"payments={payments}", f"orders={orders}"]):
        result = run(flow, "-i", inputs[0], "-i", inputs[1])
        expected = [("a", {"id": "a", "paid": 3}, 1_500), ("b", {"id": "b", "paid": None}, 2_000)]
        assert expected == sorted((row["key"], row["value"], row["time"]) for row in rows(result))


RULES = """
def count(record, state, step=1):
    state["n"] = state.get("n", 0) + step
    if record["who"] == "bob":
        raise ValueError("no bobs")
    return {"who": record["who"], "n": state["n"]}
"""


def test_a_python_function_lies_beside_the_flow_file_and_its_failures_are_told(tmp_path: Path) -> None:
    """How a user tries a function in a second."""
    (tmp_path / "rules_beside_the_flow.py").write_text(RULES)
    operators = (
        "op: {python: 'rules_beside_the_flow:count', input: orders, state: true, by: [who], settings: {step: 2}}"
    )
    flow = flow_file(tmp_path, operators)
    orders = write(tmp_path / "orders.jsonl", ORDERS)
    result = run(flow, "--input", orders)
    assert [("ann", 2), ("ann", 4), ("ann", 6)] == [(row["value"]["who"], row["value"]["n"]) for row in rows(result)]
    assert "op, record 2: ValueError: no bobs" in result.stderr
    assert "4 read, 3 to out, 0 late, 0 undecodable, 1 dead" in result.stderr
    refused = run(flow, "--input", orders, "--allow", "other")
    assert 1 == refused.exit_code
    assert "rules_beside_the_flow is not allowed here; allowed: other" in refused.stderr


def test_a_line_has_the_sink_the_key_the_value_and_the_time(tmp_path: Path) -> None:
    """What a consumer of the sink's topic would see; blank lines are no records."""
    flow = flow_file(tmp_path, "op: {op: filter, input: orders, where: n > 10}")
    result = run(flow, "--input", "-", stdin="\n" + json.dumps(ORDERS[1]) + "\n \n")
    assert [{"sink": "out", "key": "bob", "value": ORDERS[1], "time": 2_000}] == rows(result)
    assert "1 read, 1 to out, 0 late, 0 undecodable, 0 dead" in result.stderr


def test_windows_stay_open_when_asked(tmp_path: Path) -> None:
    """As they would on a topic that goes on."""
    flow = flow_file(tmp_path, "op: {op: aggregate, input: orders, by: [], window: {size: 1m}, emit: {n: count()}}")
    orders = write(tmp_path / "orders.jsonl", [*ORDERS, {"t": 75_000, "id": "d"}])
    assert [3, 2] == [row["value"]["n"] for row in rows(run(flow, "--input", orders))]
    assert [3] == [row["value"]["n"] for row in rows(run(flow, "--input", orders, "--keep-open"))]


def test_what_did_not_become_a_result_is_kept_and_counted(tmp_path: Path) -> None:
    """Nothing goes to nowhere. Values of a sink can be the input of the next flow."""
    flow = flow_file(tmp_path, "op: {op: project, input: orders, fields: [id]}")
    orders = tmp_path / "orders.jsonl"
    orders.write_text(
        '{"t": 99000, "id": "a"}\nbroken\n{"t": 1, "id": "late", "more": 1}\n{"id": "timeless", "more": 2}\n'
    )
    result = run(flow, "--input", orders, "--output", tmp_path / "out", "--json")
    assert 0 == result.exit_code, result.stderr
    assert "" == result.stdout
    summary = json.loads(result.stderr)
    assert {"out": 1} == summary.pop("written")
    assert [("orders", 2), ("orders", 4)] == [(each["operator"], each["record"]) for each in summary.pop("failures")]
    assert {"read": 4, "late": 1, "undecodable": 2, "dead": 0} == summary
    assert ['{"id":"a"}'] == (tmp_path / "out/out.jsonl").read_text().splitlines()
    late = json.loads((tmp_path / "out/_late.jsonl").read_text())
    assert {"source": "orders", "value": {"t": 1, "id": "late", "more": 1}, "time": 1} == late
    dead = [json.loads(line) for line in (tmp_path / "out/_dead-letters.jsonl").read_text().splitlines()]
    assert ["broken\n", {"id": "timeless", "more": 2}] == [each["value"] for each in dead]


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (["orders.jsonl"], "write SOURCE=FILE; the flow's sources are a, b"),
        (["a=orders.jsonl"], "no input for b; add --input b=FILE"),
        (["a=orders.jsonl", "b=orders.jsonl", "a=orders.jsonl"], "the source a has an input already"),
        (["a=orders.jsonl", "c=orders.jsonl"], "the flow's sources are a, b"),
        (["a=-", "b=-"], "standard input can feed one source only"),
        (["a=nothing.jsonl", "b=nothing.jsonl"], "--input nothing.jsonl: No such file or directory; name a file"),
    ],
)
def test_inputs_that_do_not_fit_the_sources_are_explained(inputs: list[str], message: str, tmp_path: Path) -> None:
    """An error says what to write instead."""
    flow = flow_file(tmp_path, "op: {op: union, inputs: [a, b]}", sources="a: {topic: a}\n  b: {topic: b}")
    result = run(flow, *(part for each in inputs for part in ("--input", each)))
    assert 2 == result.exit_code
    assert message in result.stderr


def test_a_bad_flow_and_a_missing_file_give_one_error_each(tmp_path: Path) -> None:
    """No traceback reaches a user, and a command that was used wrongly leaves no folder behind."""
    flow = flow_file(tmp_path, "op: {op: filter, input: orderz, where: n > 10}")
    bad = run(flow, "--input", "x")
    assert (1, True) == (bad.exit_code, "orderz" in bad.stderr)
    flow = flow_file(tmp_path, STORIES["filter"][0])
    missing = run(flow, "--input", tmp_path / "nothing.jsonl", "--output", tmp_path / "out")
    assert (2, True) == (missing.exit_code, "nothing.jsonl" in missing.stderr)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("levels", range(150, 1_001, 50))
def test_no_depth_of_a_record_ends_a_flow(levels: int, tmp_path: Path) -> None:
    """Grouping, ranking and copying go down a value level by level, with less of the stack left than the decoder."""
    (tmp_path / "nested.py").write_text("def f(record, state):\n    state['r'] = record\n    return {'a': [record]}\n")
    flow = flow_file(
        tmp_path,
        "seen: {python: 'nested:f', input: orders, state: true, by: [id]}\n"
        "  counted: {op: aggregate, input: seen, by: [a], window: {size: 1m}, emit: {n: distinct(a), a2: last(a)}}\n"
        "  op: {op: join, left: counted, right: counted, on: [a2], within: 1s}",
    )
    orders = tmp_path / "orders.jsonl"
    deep, large = "[" * levels + "]" * levels, 2**90
    orders.write_text(f'{{"t": 1, "id": {deep}}}\n{{"t": 2, "id": {large}}}\n')
    assert (2 if levels < 200 else 1) == len(rows(run(flow, "--input", orders)))


def test_a_short_file_does_not_hold_a_long_one_back(tmp_path: Path) -> None:
    """A source at its end ends: else a join would keep the whole other file in memory before its first lonely row."""
    sources = "a: {topic: a, event_time: t}\n  b: {topic: b, event_time: t}"
    flow = flow_file(tmp_path, "op: {op: join, left: a, right: b, on: [id], within: 1s, kind: left}", sources=sources)
    long = write(tmp_path / "long.jsonl", [{"t": 1_000 * i, "id": i} for i in range(1_500)])
    short = write(tmp_path / "short.jsonl", [{"t": 0, "id": 0}])
    arguments = [flow, "--input", f"a={long}", "--input", f"b={short}"]
    assert 1_500 == len(rows(run(*arguments)))
    assert 1 == len(rows(run(*arguments, "--keep-open")))
    seen: list[int] = []
    graph = load_graph(flow)
    tried = FlowRun(graph, lambda _, encoded: seen.append(len(encoded.values)))
    tried.feed("b", short.read_bytes().splitlines(), now_ms=0)
    tried.end("b")
    tried.feed("a", long.read_bytes().splitlines(), now_ms=0)
    assert 1_490 < sum(seen)


def test_a_folder_has_the_results_of_the_last_run_alone(tmp_path: Path) -> None:
    """A run without results must not leave those of the run before to be taken for its own."""
    flow = flow_file(tmp_path, "op: {op: filter, input: orders, where: n > 10}")
    first = write(tmp_path / "first.jsonl", [*ORDERS, {"t": 1}, {}])
    second = write(tmp_path / "second.jsonl", [])
    folder = tmp_path / "out"
    names = ["_dead-letters.jsonl", "_late.jsonl", "out.jsonl"]
    for orders, sizes in ((first, {True}), (second, {False})):
        assert 0 == run(flow, "--input", orders, "--output", folder).exit_code
        assert names == sorted(file.name for file in folder.iterdir())
        assert sizes == {file.stat().st_size > 0 for file in folder.iterdir()}


def test_what_a_function_prints_does_not_get_among_the_results(tmp_path: Path) -> None:
    """Standard output is JSON lines for the next program in a pipe."""
    (tmp_path / "noisy.py").write_text("def f(record):\n    print('noise')\n    return {'id': record['id']}\n")
    flow = flow_file(tmp_path, "op: {python: 'noisy:f', input: orders}")
    result = run(flow, "--input", write(tmp_path / "orders.jsonl", ORDERS))
    assert ["a", "b", "a", "c"] == [row["value"]["id"] for row in rows(result)]
    assert 4 == result.stderr.count("noise")


def test_the_flow_with_every_operator_runs(tmp_path: Path) -> None:
    """Our own example has each operator with each of its keys."""
    shop = tmp_path / "shop"
    shop.mkdir()
    (shop / "__init__.py").touch()
    (shop / "rules.py").write_text(
        "def score(record, state, limit, mode, dry):\n"
        "    state['seen'] = state.get('seen', 0) + 1\n"
        "    return {'country': record['country'], 'amount': record['amount'], 'seen': state['seen']}\n"
    )
    item = {"sku": "s"}
    orders = [
        {
            "order_id": "o1",
            "placed_at": "2026-01-01T00:00:01Z",
            "customer": {"id": 1, "country": "de"},
            "items": [item, item],
            "total": 20.0,
        },
        {
            "order_id": "o2",
            "placed_at": "2026-01-01T00:00:02Z",
            "customer": {"id": 2, "country": "fr"},
            "items": [item],
            "total": 10.0,
        },
        {
            "order_id": "o3",
            "placed_at": "2026-01-01T00:00:03Z",
            "customer": {"id": 3, "country": "us"},
            "items": [item],
            "total": 99.0,
        },
    ]
    at_ms = 1_767_225_605_000
    payments = [
        {"id": "p1", "order": "o1", "amount": 20.0, "ts": at_ms},
        {"id": "p1", "order": "o1", "amount": 20.0, "ts": at_ms},
    ]
    result = run(
        GOOD_FLOWS / "every-operator.yaml",
        "--allow", f"{tmp_path}/",
        "-i", f"orders={write(tmp_path / 'orders.jsonl', orders)}",
        "-i", f"payments={write(tmp_path / 'payments.jsonl', payments)}",
        "-i", f"refunds={write(tmp_path / 'refunds.jsonl', [])}",
    )  # fmt: skip
    by_sink: dict[str, list[Any]] = {}
    for row in rows(result):
        by_sink.setdefault(row["sink"], []).append(row["value"])
    assert [2] == [value["lines"] for value in by_sink["german-visits"]]
    assert [1] == [value["lines"] for value in by_sink["french-lines"]]
    assert {"scores", "german-visits", "french-lines"} == by_sink.keys()
    assert 10 == sum(value["amount"] == 20.0 for value in by_sink["scores"])
    assert "0 late, 0 undecodable, 0 dead" in result.stderr


def test_the_flow_of_the_design_ranks_the_top_talkers(tmp_path: Path) -> None:
    """The first flow that anybody sees."""
    packets = [
        {"ts": 1_000, "src": "a", "dst": "b", "proto": "tcp", "bytes": 5},
        {"ts": 2_000, "src": "a", "dst": "c", "proto": "tcp", "bytes": 7},
        {"ts": 2_500, "src": "a", "dst": "b", "proto": "tcp", "bytes": 4},
        {"ts": 2_600, "src": "z", "dst": "z", "proto": "udp", "bytes": 99},
    ]
    result = run(GOOD_FLOWS / "top-talkers.yaml", "--input", write(tmp_path / "packets.jsonl", packets))
    windows: dict[int, list[tuple[int, str, int, int]]] = {}
    for row in rows(result):
        value = row["value"]
        assert value["window_end"] - 1 == row["time"]
        windows.setdefault(value["window_end"], []).append((value["rank"], value["dst"], value["bytes"], value["n"]))
    assert 120 == len(windows)
    assert {((1, "b", 9, 2), (2, "c", 7, 1))} == {tuple(ranked) for ranked in windows.values()}
