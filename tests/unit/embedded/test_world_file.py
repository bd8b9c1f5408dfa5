"""World files: what is right becomes a world, what is wrong is told with its line."""

import json
from pathlib import Path

import pytest

from services.embedded.cluster import settle
from services.embedded.errors import StackError
from services.embedded.home import Home
from services.embedded.kafka import broker_properties
from services.embedded.world import WorldHost
from services.embedded.world_file import WorldError, load_world, parse_world
from services.embedded.world_gates import gates_of

GOOD = """
world: three
regions:
  east: {hosts: 2}
  mid:  {broker: false}
  west: {hosts: [{name: big, capacity: 4}, {name: small}]}
round_trips_ms:
  east: {west: 70, mid: 30}
  mid: {west: 40.5}
bandwidth_mbit: 200
links:
  - {between: [west, east], bandwidth_mbit: 50}
"""


def parse(text: str, folder: Path = Path()) -> object:
    return parse_world(text.encode(), filename="w.yaml", folder=folder)


def test_a_world_is_read(tmp_path: Path) -> None:
    """Hosts by number or by name, distances once, limits for all ways or for one."""
    world = parse_world(GOOD.encode(), filename="w.yaml", folder=tmp_path)

    assert ("east", "west") == world.brokers
    assert ["east-1", "east-2", "big", "small"] == list(world.hosts)
    assert (WorldHost("big", 4.0), "west") == world.hosts["big"]
    assert (70.0, 70.0, 40.5, 0.0) == (
        world.round_trip_ms("east", "west"),
        world.round_trip_ms("west", "east"),
        world.round_trip_ms("west", "mid"),
        world.round_trip_ms("mid", "mid"),
    )
    assert (50 * 125.0, 200 * 125.0) == (
        world.bandwidth_bytes_per_ms("west", "east"),
        world.bandwidth_bytes_per_ms("mid", "east"),
    )
    assert 1 == world.replication


def test_a_world_may_be_json() -> None:
    """YAML is read; JSON is YAML."""
    text = json.dumps({"world": "w", "regions": {"a": {"hosts": 1}, "b": {}}, "round_trips_ms": {"a": {"b": 5}}})
    assert ("a", "b") == parse(text).brokers  # type: ignore[attr-defined]


def test_distances_come_from_a_table(tmp_path: Path) -> None:
    """As in public tables: names in the first row and column, other columns between, both directions averaged."""
    (tmp_path / "table.csv").write_text(
        "city,lon,Cape Town,Oslo,Rome\nCape Town,18,1,200,160\nOslo,10,210,1,40\nRome,12,160,44,1\n"
    )
    world = parse_world(
        b"world: w\nregions: {cape-town: {}, oslo: {hosts: 1}, rome: {}}\nround_trips_csv: table.csv\n",
        filename="w.yaml",
        folder=tmp_path,
    )
    assert {("cape-town", "oslo"): 205.0, ("cape-town", "rome"): 160.0, ("oslo", "rome"): 42.0} == world.round_trips_ms


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("east: {hosts: 2}", "east: {host: 2}", "w.yaml:4:10: regions.east.host: region east has no key 'host'"),
        ("hosts: 2", "hosts: -2", "hosts: is -2; expected a whole number from 0 to 64"),
        ("mid: {west: 40.5}", "mid: {weft: 40.5}", "did you mean 'west'"),
        ("mid: {west: 40.5}", "east2: {west: 40.5}", "there is no region 'east2'"),
        ("  mid: {west: 40.5}\n", "", "the round trip between mid and west is missing"),
        ("mid: {west: 40.5}", "mid: {west: 40.5, east: 31}", "but 30 the other way round"),
        ("mid: {west: 40.5}", "mid: {west: -1}", "milliseconds from 0 to 10,000"),
        ("name: small", "name: east-1", "a host called 'east-1' is already there"),
        ("between: [west, east]", "between: [west, eest]", "there is no region 'eest'"),
        ("bandwidth_mbit: 50", "bandwidth_mbit: 0", "megabits a second above 0"),
        ("bandwidth_mbit: 200", "bandwidth_mbit: 200\nreplication: 3", "a whole number from 1 to 2"),
        ("bandwidth_mbit: 200", "round_trips_csv: x.csv", "round_trips_ms is given too"),
        ("world: three", "worlds: three", "did you mean 'world'"),
    ],
)
def test_what_is_wrong_is_told(before: str, after: str, told: str) -> None:
    """With the line, the key, what was expected, and the nearest valid word."""
    assert before in GOOD
    with pytest.raises(WorldError) as caught:
        parse(GOOD.replace(before, after))
    assert told in str(caught.value)


def test_a_world_without_a_broker_is_refused() -> None:
    """Somebody has to keep the records."""
    with pytest.raises(WorldError, match="no region has a broker"):
        parse("world: w\nregions: {a: {hosts: 1, broker: false}}\n")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """The path may be mistyped."""
    with pytest.raises(WorldError, match=r"nowhere.yaml cannot be read"):
        load_world(tmp_path / "nowhere.yaml")


def test_each_broker_has_a_door_for_each_region_and_gates_where_there_is_a_way(tmp_path: Path) -> None:
    """Clients of a region are told the gates of that region; a broker is reached from its own region without one."""
    world = parse_world(GOOD.encode(), filename="w.yaml", folder=tmp_path)
    cluster = settle(tmp_path / "cluster.json", 2, world)

    assert cluster == settle(tmp_path / "cluster.json", 2, world)
    gates = {(gate.client, gate.broker): gate for gate in gates_of(world, cluster).gates}
    assert {("west", "east"), ("mid", "east"), ("east", "west"), ("mid", "west")} == set(gates)
    assert (35.0, 50 * 125.0) == (gates["west", "east"].delay_ms, gates["west", "east"].bytes_per_ms)
    east = cluster.sites[0]
    properties = broker_properties(Home(tmp_path), cluster, east, replication_max=world.replication)
    assert f"R2://127.0.0.1:{gates['west', 'east'].port}" in str(properties["advertised.listeners"])
    assert f"R2://127.0.0.1:{gates['west', 'east'].target}" in str(properties["listeners"])
    assert ("R0", 1) == (properties["inter.broker.listener.name"], properties["offsets.topic.replication.factor"])
    assert str(gates["mid", "east"].port) in cluster.bootstrap_from("mid")
    assert cluster.bootstrap_from("east").startswith(f"127.0.0.1:{east.doors[0].port},")
    assert len(cluster.ports) == len(set(cluster.ports))


def test_the_data_of_another_world_is_refused(tmp_path: Path) -> None:
    """Brokers keep their place: data of one region must not turn up in another."""
    settle(tmp_path / "cluster.json", 2)
    world = parse_world(GOOD.encode(), filename="w.yaml", folder=tmp_path)
    with pytest.raises(StackError, match=r"of brokers in region-1, region-2; the world's are east, west"):
        settle(tmp_path / "cluster.json", 2, world)


def test_one_broker_alone_may_stand_anywhere(tmp_path: Path) -> None:
    """With and without the demo's world: the data of a single broker is always where it is."""
    text = b"world: w\nregions: {edge: {hosts: 1}, core: {broker: false}}\nround_trips_ms: {edge: {core: 20}}\n"
    world = parse_world(text, filename="w.yaml", folder=tmp_path)
    plain = settle(tmp_path / "cluster.json", 1)
    played = settle(tmp_path / "cluster.json", 1, world)
    again = settle(tmp_path / "cluster.json", 1)

    assert ["region-1", "edge", "region-1"] == [each.sites[0].region for each in (plain, played, again)]
    assert {plain.bootstrap} == {played.bootstrap, again.bootstrap}
    assert (2, 0) == (len(played.sites[0].doors), len(again.sites[0].doors))
