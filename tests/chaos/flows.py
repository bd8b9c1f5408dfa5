"""The flows of the fault test: together they have every operator, every kind of window, and re-keys between segments.

Their results do not depend on chance: where an operator depends on the order of records (a running sum, a function with
state), its group is the source's key, so one partition has all of the group's records in their order. `idle` is far
longer than a run: which partitions are given up as silent must not depend on how long a fault lasts.
"""

from dataclasses import dataclass

SOURCE = "{topic: {%s}, key: user, event_time: t, lateness: 2s, idle: 30m, partitions: {partitions}}"


@dataclass(frozen=True)
class Lanes:
    """How a sink's results are ordered: among those with equal `lane` fields, `by` never goes down."""

    lane: tuple[str, ...]
    by: str


@dataclass(frozen=True)
class Case:
    """One flow. `operators` and `sinks` are its text; `order` says for each sink which order its results keep."""

    name: str
    operators: str
    sinks: dict[str, str]
    order: dict[str, Lanes]
    sources: tuple[str, ...] = ("orders",)

    @property
    def has_gate(self) -> bool:
        """Whether an operator of it can be slowed down."""
        return "{gate}" in self.operators

    def text(self, flow: str, *, delivery: str, state: str, partitions: int, topics: dict[str, str], gate: str) -> str:
        """The flow file, with these names. `topics`: of each source and sink."""
        sources = "\n".join(f"  {name}: {SOURCE % name}" for name in self.sources)
        sinks = "\n".join(
            f"  {name}: {{input: {stream}, topic: {topics[name]}}}" for name, stream in self.sinks.items()
        )
        head = f"flow: {flow}\ndelivery: {delivery}\nstate: {state}"
        text = f"{head}\nsources:\n{sources}\noperators:{self.operators}\nsinks:\n{sinks}\n"
        for name in self.sources:
            text = text.replace(f"{{{name}}}", topics[name])
        return text.replace("{partitions}", str(partitions)).replace("{gate}", gate)


CASES = (
    Case(
        "lines",
        """
  large: {op: filter, input: orders, where: "size > 2"}
  more:  {op: map, input: large, set: {double: size * 2}, drop: [note]}
  lines: {op: flat_map, input: more, each: tags, into: tag}
  slim:  {op: project, input: lines, fields: [n, user, tag, double]}
""",
        {"out": "slim"},
        {"out": Lanes(("user",), "n")},
    ),
    Case(
        "routes",
        """
  sizes:  {op: split, input: orders, routes: {big: "size > 6", odd: "n % 2 == 1"}, otherwise: rest}
  marked: {op: map, input: sizes.big, set: {mark: "'big'"}}
  both:   {op: union, inputs: [marked, sizes.rest]}
  paced:  {python: "tests.chaos.functions:paced", input: both, blocking: true, settings: {gate: "{gate}"}}
""",
        {"out": "paced", "odd": "sizes.odd"},
        {"out": Lanes(("user",), "n"), "odd": Lanes(("user",), "n")},
    ),
    Case(
        "running",
        """
  once:  {op: dedupe, input: orders, by: [user, item], within: 1s}
  total: {op: aggregate, input: once, by: [user], emit: {count: count(), size: sum(size), last: last(n)}}
""",
        {"out": "total"},
        {"out": Lanes(("user",), "count")},
    ),
    Case(
        "windows",
        """
  tumbling: {op: aggregate, input: orders, by: [item], window: {size: 4s},
             emit: {count: count(), size: sum(size), most: max(size), mean: mean(size), users: distinct(user)}}
  hopping:  {op: aggregate, input: orders, by: [item], window: {size: 6s, hop: 2s}, emit: {count: count()}}
  session:  {op: aggregate, input: orders, by: [user], window: {gap: 500ms}, emit: {count: count(), first: min(n)}}
""",
        {"tumbled": "tumbling", "hopped": "hopping", "sessions": "session"},
        {
            "tumbled": Lanes(("item",), "window_end"),
            "hopped": Lanes(("item",), "window_end"),
            "sessions": Lanes(("user",), "window_end"),
        },
    ),
    Case(
        "top",
        """
  sums: {op: aggregate, input: orders, by: [item], window: {size: 3s}, emit: {size: sum(size)}}
  best: {op: top_k, input: sums, k: 3, by: size}
""",
        {"out": "best"},
        {"out": Lanes(("rank",), "window_end")},
    ),
    Case(
        "join",
        """
  paid:   {op: join, left: orders, right: payments, on: [user], within: 600ms, kind: left,
           emit: {user: left.user, item: left.item, n: left.n, paid: right.n}}
  totals: {op: aggregate, input: paid, by: [item], window: {size: 4s}, emit: {count: count(), paid: count(paid)}}
""",
        {"pairs": "paid", "out": "totals"},
        {"out": Lanes(("item",), "window_end")},
        sources=("orders", "payments"),
    ),
    Case(
        "scores",
        """
  scored: {python: "tests.chaos.functions:score", input: orders, state: true, by: [user]}
  paced:  {python: "tests.chaos.functions:paced", input: scored, blocking: true, settings: {gate: "{gate}"}}
""",
        {"out": "paced"},
        {"out": Lanes(("user",), "seen")},
    ),
    Case(
        "changes",
        """
  counted: {op: aggregate, input: orders, by: [user], window: {size: 5s, emit: change}, emit: {count: count()}}
  largest: {op: top_k, input: orders, k: 2, by: size, per: [user], window: {size: 5s}}
""",
        {"out": "counted", "ranked": "largest"},
        {"out": Lanes(("user", "window_start"), "count"), "ranked": Lanes(("user", "rank"), "window_end")},
    ),
    Case(
        "deep",
        """
  good:   {op: filter, input: orders, where: "size > 1"}
  seen:   {python: "tests.chaos.functions:score", input: good, state: true, by: [user]}
  minute: {op: aggregate, input: seen, by: [item], window: {size: 2s}, emit: {size: sum(size)}}
  range:  {op: map, input: minute, set: {big: size > 20}}
  ranges: {op: aggregate, input: range, by: [big], window: {size: 4s}, emit: {items: count(), size: sum(size)}}
""",
        {"out": "ranges"},
        {"out": Lanes(("big",), "window_end")},
    ),
)
