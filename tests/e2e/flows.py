"""The flows of these tests, in the terms of the fault test: operators, sinks, and the order that results keep."""

from tests.chaos.flows import Case, Lanes

EVERYTHING = Case(
    "everything",
    """
  large:    {op: filter, input: orders, where: "size > 2"}
  more:     {op: map, input: large, set: {double: size * 2}, drop: [note]}
  lines:    {op: flat_map, input: more, each: tags, into: tag}
  slim:     {op: project, input: lines, fields: [n, user, tag, double]}
  sizes:    {op: split, input: orders, routes: {big: "size > 6", odd: "n % 2 == 1"}, otherwise: rest}
  marked:   {op: map, input: sizes.big, set: {mark: "'big'"}}
  both:     {op: union, inputs: [marked, sizes.rest]}
  paced:    {python: "tests.chaos.functions:paced", input: both, blocking: true, settings: {gate: "{gate}"}}
  once:     {op: dedupe, input: orders, by: [user, item], within: 1s}
  total:    {op: aggregate, input: once, by: [user], emit: {count: count(), size: sum(size), last: last(n)}}
  scored:   {python: "tests.chaos.functions:score", input: orders, state: true, by: [user]}
  tumbling: {op: aggregate, input: orders, by: [item], window: {size: 4s}, emit: {count: count(), mean: mean(size)}}
  hopping:  {op: aggregate, input: orders, by: [item], window: {size: 6s, hop: 2s}, emit: {count: count()}}
  session:  {op: aggregate, input: orders, by: [user], window: {gap: 500ms}, emit: {count: count(), first: min(n)}}
  best:     {op: top_k, input: tumbling, k: 3, by: count}
  paid:     {op: join, left: orders, right: payments, on: [user], within: 600ms, kind: left,
             emit: {user: left.user, item: left.item, n: left.n, paid: right.n}}
""",
    {
        "slims": "slim",
        "odds": "sizes.odd",
        "paces": "paced",
        "totals": "total",
        "scores": "scored",
        "hops": "hopping",
        "sessions": "session",
        "ranks": "best",
        "pairs": "paid",
    },
    {
        "slims": Lanes(("user",), "n"),
        "odds": Lanes(("user",), "n"),
        "paces": Lanes(("user",), "n"),
        "totals": Lanes(("user",), "count"),
        "scores": Lanes(("user",), "seen"),
        "hops": Lanes(("item",), "window_end"),
        "sessions": Lanes(("user",), "window_end"),
        "ranks": Lanes(("rank",), "window_end"),
    },
    sources=("orders", "payments"),
)
"""Every operator, every kind of window, functions with and without state, two sources."""

STEADY = Case(
    "steady",
    """
  good:  {op: filter, input: orders, where: "size >= 0"}
  total: {op: aggregate, input: good, by: [user], emit: {count: count(), size: sum(size), last: last(n)}}
  sums:  {op: aggregate, input: good, by: [item], window: {size: 3s}, emit: {size: sum(size)}}
  best:  {op: top_k, input: sums, k: 3, by: size}
""",
    {"totals": "total", "ranks": "best"},
    {"totals": Lanes(("user",), "count"), "ranks": Lanes(("rank",), "window_end")},
)
"""A result for every record at `totals`, so a gap shows; state, and two re-keys behind each other."""

PARTS = Case(
    "parts",
    """
  good:   {op: filter, input: orders, where: "size >= 0"}
  total:  {op: aggregate, input: good, by: [user], emit: {count: count(), size: sum(size), last: last(n)}}
  scored: {python: "tests.chaos.functions:score", input: orders, state: true, by: [user]}
  sums:   {op: aggregate, input: good, by: [item], window: {size: 3s}, emit: {size: sum(size)}}
""",
    {"totals": "total", "scores": "scored", "sizes": "sums"},
    {"totals": Lanes(("user",), "count"), "scores": Lanes(("user",), "seen"), "sizes": Lanes(("item",), "window_end")},
)
"""Something of each part of a host: state that disks keep, a user's function, an edge."""

SHARED = """
  large: {op: filter, input: orders, where: "size > 4"}
  items: {op: aggregate, input: large, by: [item], emit: {n: count()}}"""

COUNTING = Case(
    "counting",
    f"""{SHARED}
  count: {{op: aggregate, input: items, by: [n], emit: {{k: count()}}}}
""",
    {"counts": "count"},
    {"counts": Lanes(("n",), "k")},
)
SUMMING = Case(
    "summing",
    f"""{SHARED}
  sum:   {{op: aggregate, input: items, by: [n], emit: {{m: count(), total: sum(n)}}}}
""",
    {"sums": "sum"},
    {"sums": Lanes(("n",), "m")},
)
"""These two have all but their ends in common, on the same topic: who comes second reads what the first one counts."""
