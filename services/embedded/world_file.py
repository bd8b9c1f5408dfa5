"""World files: YAML (or JSON) in, a checked `World` out, or an error that shows every problem with its line.

world: two-coasts
regions:
  east: {hosts: 3}
  west: {hosts: [{name: big, capacity: 4}, {name: small}], broker: false}
round_trips_ms: {east: {west: 70}}     # or round_trips_csv: FILE, a table with the regions as rows and columns
bandwidth_mbit: 200                    # of every way between two regions; without it there is no limit
links:
  - {between: [east, west], bandwidth_mbit: 50}
replication: 1                         # of topics, and of Kafka's own
"""

import csv
import math
from collections.abc import Mapping
from pathlib import Path

from services.embedded.errors import StackError
from services.embedded.world import Region, World, WorldHost
from services.settings import BROKERS_MAX
from topics.expressions import nearest_word
from topics.flow.document import Document, Value, read_document
from topics.flow.problems import Path as KeyPath
from topics.flow.problems import Place, Problems, one_of, render
from topics.flow.section import Section, shown
from topics.flow.words import HOST, NAME
from topics.topic import COPIES_MAX

REGIONS_MAX = BROKERS_MAX
HOSTS_MAX = 64
ROUND_TRIP_MS_MAX = 10_000.0
BANDWIDTH_MBIT_MAX = 100_000.0
CAPACITY_MAX = 1_000.0
CSV_BYTES_MAX = 2_000_000

KEYS = ("world", "regions", "round_trips_ms", "round_trips_csv", "bandwidth_mbit", "links", "replication")
Pairs = dict[tuple[str, str], float]


class WorldError(StackError):
    """A world that cannot be made, with everything that is wrong with it."""


def load_world(path: Path) -> World:
    """The world of a file."""
    try:
        content = path.read_bytes()
    except OSError as fault:
        raise WorldError(
            f"{path} cannot be read: {fault.strerror}", "name a world file, such as --world FILE"
        ) from fault
    return parse_world(content, filename=str(path), folder=path.parent)


def parse_world(content: bytes, *, filename: str, folder: Path) -> World:
    """The world of a file's content; a CSV file that it names is looked for in the folder."""
    problems = Problems()
    document = read_document(content, problems)
    world = _read(document.value, problems, folder) if not problems.found else None
    if world is None or problems.found:
        raise WorldError(_told(document, problems, filename), "docs/operating.md shows a world file")
    return world


def _told(document: Document, problems: Problems, filename: str) -> str:
    located = [document.locate(problem) for problem in problems.found]
    ordered = sorted(located, key=lambda problem: problem.place or Place(0, 0))
    return render(ordered, filename=filename, text=document.text)


def _read(value: Value, problems: Problems, folder: Path) -> World | None:
    section = Section(value, (), problems, what="the world", keys=KEYS)
    name = section.word("world", NAME)
    regions = tuple(
        _region(region, value, problems)
        for region, value in section.entries("regions", "a mapping from names to regions", most=REGIONS_MAX, word=NAME)
    )
    _check_hosts(regions, problems)
    brokers = sum(region.broker for region in regions)
    if regions and not brokers:
        section.wrong("regions", "no region has a broker", expected="at least one without `broker: false`")
    names = [region.name for region in regions]
    round_trips_ms = _round_trips(section, names, folder)
    bandwidths = _bandwidths(section, names)
    replication = 1
    if section.has("replication"):
        replication = section.whole("replication", minimum=1, maximum=max(1, min(COPIES_MAX, brokers)))
    if problems.found:
        return None
    return World(name, regions, round_trips_ms, bandwidths, replication)


def _region(name: str, value: Value, problems: Problems) -> Region:
    section = Section(value, ("regions", name), problems, what=f"region {name}", keys=("hosts", "broker"))
    broker = section.flag("broker") if section.has("broker") else True
    given = section.values.get("hosts", 0)
    if isinstance(given, list):
        hosts = tuple(_host(each, (*section.path, "hosts", place), problems) for place, each in enumerate(given))
    else:
        count = section.whole("hosts", minimum=0, maximum=HOSTS_MAX) if section.has("hosts") else 0
        hosts = tuple(WorldHost(f"{name}-{number}") for number in range(1, count + 1))
    return Region(name, hosts, broker)


def _host(value: Value, path: KeyPath, problems: Problems) -> WorldHost:
    section = Section(value, path, problems, what="a host", keys=("name", "capacity"))
    name = section.word("name", HOST)
    capacity = None
    if section.has("capacity"):
        expected = f"a relative speed above 0, at most {CAPACITY_MAX:,.0f}"
        capacity = section.number("capacity", expected, lambda n: 0 < n <= CAPACITY_MAX, default=None)
    return WorldHost(name, capacity)


def _check_hosts(regions: tuple[Region, ...], problems: Problems) -> None:
    seen: set[str] = set()
    for region in regions:
        for host in region.hosts:
            if host.name and host.name in seen:
                problems.add(("regions", region.name, "hosts"), f"a host called {host.name!r} is already there")
            seen.add(host.name)
    if len(seen) > HOSTS_MAX:
        problems.add(("regions",), f"{len(seen)} hosts in all", expected=f"at most {HOSTS_MAX}")


def _round_trips(section: Section, names: list[str], folder: Path) -> Pairs:
    wanted = [(a, b) for a in names for b in names if a < b]
    if section.has("round_trips_csv"):
        if section.has("round_trips_ms"):
            section.wrong("round_trips_csv", "round_trips_ms is given too; keep one of them")
        found = _from_csv(section, names, folder)
    else:
        if not section.has("round_trips_ms") and not wanted:
            return {}
        found = _from_rows(section, names)
    for a, b in wanted:
        if (a, b) not in found and not section.problems.found:
            key = "round_trips_csv" if section.has("round_trips_csv") else "round_trips_ms"
            section.wrong(key, f"the round trip between {a} and {b} is missing")
    return found


def _from_rows(section: Section, names: list[str]) -> Pairs:
    found: Pairs = {}
    rows = section.entries("round_trips_ms", "a mapping from regions to round trips", most=REGIONS_MAX, word=NAME)
    for a, row in rows:
        path = ("round_trips_ms", a)
        if not _known(a, names, path, section.problems):
            continue
        inner = Section(row, path, section.problems, what=f"the row of {a}", keys=tuple(n for n in names if n != a))
        for b in inner.values:
            if b not in names or a == b:
                continue
            expected = f"milliseconds from 0 to {ROUND_TRIP_MS_MAX:,.0f}"
            trip_ms = inner.number(b, expected, lambda n: 0 <= n <= ROUND_TRIP_MS_MAX, default=None)
            pair = (min(a, b), max(a, b))
            if found.get(pair, trip_ms) != trip_ms:
                inner.wrong(b, f"is {trip_ms:g}, but {found[pair]:g} the other way round; a round trip is one number")
            found[pair] = trip_ms
    return found


def _from_csv(section: Section, names: list[str], folder: Path) -> Pairs:
    """Both directions are averaged; columns that are no region are passed over."""
    given = section.values["round_trips_csv"]
    if not isinstance(given, str):
        section.wrong("round_trips_csv", f"is {shown(given)}", expected="the path of a file")
        return {}
    path = folder / given
    try:
        if path.stat().st_size > CSV_BYTES_MAX:
            section.wrong("round_trips_csv", f"{path} is too large", expected=f"at most {CSV_BYTES_MAX:,} bytes")
            return {}
        rows = list(csv.reader(path.read_text().splitlines()))
    except (OSError, UnicodeDecodeError) as fault:
        section.wrong("round_trips_csv", f"{path} cannot be read: {fault}")
        return {}
    columns = {_as_name(title): place for place, title in enumerate(rows[0])} if rows else {}
    lines = {_as_name(row[0]): row for row in rows[1:] if row}
    found: Pairs = {}
    for name in names:
        if name not in columns or name not in lines:
            near = nearest_word(name, columns.keys() & lines.keys())
            message = f"{path} has no row and column {name!r}"
            section.problems.add(("regions", name), message, nearest=near, at="key")
    for a in names:
        for b in names:
            both = [_cell(lines, columns, x, y) for x, y in ((a, b), (b, a))] if a < b else []
            known = [trip_ms for trip_ms in both if trip_ms is not None]
            if known:
                found[a, b] = sum(known) / len(known)
    return found


def _as_name(title: str) -> str:
    """A region's name as we write it: `Cape Town` is cape-town."""
    return title.strip().lower().replace(" ", "-")


def _cell(lines: Mapping[str, list[str]], columns: Mapping[str, int], row: str, column: str) -> float | None:
    try:
        value = float(lines[row][columns[column]])
    except (KeyError, IndexError, ValueError):
        return None
    return value if math.isfinite(value) and 0 <= value <= ROUND_TRIP_MS_MAX else None


def _bandwidths(section: Section, names: list[str]) -> Pairs:
    expected = f"megabits a second above 0, at most {BANDWIDTH_MBIT_MAX:,.0f}"

    def mbit(of: Section) -> float:
        return of.number("bandwidth_mbit", expected, lambda n: 0 < n <= BANDWIDTH_MBIT_MAX, default=None)

    found: Pairs = {}
    if section.has("bandwidth_mbit"):
        every = mbit(section)
        found = {(a, b): every for a in names for b in names if a < b}
    links = section.values.get("links", [])
    if not isinstance(links, list):
        section.wrong("links", f"is {shown(links)}", expected="a list of links")
        return found
    for place, value in enumerate(links):
        path = ("links", place)
        link = Section(value, path, section.problems, what="a link", keys=("between", "bandwidth_mbit"))
        ends = link.names("between", most=2, least=2, word=NAME)
        strangers = [end for end in ends if not _known(end, names, (*path, "between"), section.problems)]
        if not strangers and len(set(ends)) == 2:
            found[min(ends), max(ends)] = mbit(link)
    return found


def _known(name: str, names: list[str], path: KeyPath, problems: Problems) -> bool:
    if name not in names:
        near = nearest_word(name, names)
        problems.add(path, f"there is no region {name!r}", expected=one_of(names) if names else None, nearest=near)
    return name in names
