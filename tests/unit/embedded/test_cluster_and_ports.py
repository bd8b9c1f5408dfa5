"""What a home keeps over restarts, where its servers listen, and how its brokers are set up."""

import re
import socket
from pathlib import Path

import pytest

from services.embedded.cluster import settle
from services.embedded.errors import StackError
from services.embedded.home import Home
from services.embedded.java import parse_version
from services.embedded.kafka import broker_properties
from services.embedded.ports import LOWEST_PORT, choose_ports, is_free
from services.embedded.stack import StackParams, kafka_class_path


def test_ports_and_id_stay_the_same(tmp_path: Path) -> None:
    """Clients keep their bootstrap address when the stack goes down and up."""
    first = settle(tmp_path / "cluster.json", 3)
    assert first == settle(tmp_path / "cluster.json", 3)
    assert 7 == len(set(first.ports))
    assert ["region-1", "region-2", "region-3"] == [site.region for site in first.sites]
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]{21}", first.id)


def test_a_port_that_somebody_took_is_replaced(tmp_path: Path) -> None:
    """The stack starts all the same, and the other ports stay."""
    first = settle(tmp_path / "cluster.json", 1)
    with socket.create_server(("127.0.0.1", first.sites[0].port)):
        second = settle(tmp_path / "cluster.json", 1)
    assert first.sites[0].port != second.sites[0].port
    assert first.redis_port == second.redis_port
    assert first.sites[0].controller_port == second.sites[0].controller_port
    assert second == settle(tmp_path / "cluster.json", 1)


def test_another_number_of_brokers_is_refused(tmp_path: Path) -> None:
    """A quorum does not change its size by itself; the data would be lost or the start would hang."""
    settle(tmp_path / "cluster.json", 1)
    with pytest.raises(StackError, match=r"of 1 brokers, not of 3[\s\S]*--brokers 1"):
        settle(tmp_path / "cluster.json", 3)


def test_a_broker_of_ones_own_leaves_the_embedded_ones_their_place(tmp_path: Path) -> None:
    """`up --bootstrap` works in a home that has data, and `up` alone finds that data again afterwards."""
    embedded = settle(tmp_path / "cluster.json", 1)
    assert embedded == settle(tmp_path / "cluster.json", 0)
    assert embedded == settle(tmp_path / "cluster.json", 1)


def test_embedded_brokers_can_follow_a_broker_of_ones_own(tmp_path: Path) -> None:
    """Who tried `up --bootstrap` first has no data yet, so any number of brokers will do."""
    before = settle(tmp_path / "cluster.json", 0)
    assert () == before.sites
    after = settle(tmp_path / "cluster.json", 3)
    assert (before.id, before.redis_port, 3) == (after.id, after.redis_port, len(after.sites))


def test_a_broken_cluster_file_is_named(tmp_path: Path) -> None:
    """It must not be replaced by a new cluster, which would hide the data."""
    (tmp_path / "cluster.json").write_text("{")
    with pytest.raises(StackError, match=r"cluster\.json cannot be read"):
        settle(tmp_path / "cluster.json", 1)


def test_ports_are_free_different_and_not_for_outgoing_connections() -> None:
    """A client that keeps connecting to a port of the outgoing range may connect to itself and take it."""
    first_outgoing = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    ports = choose_ports([None] * 50)
    assert 50 == len(set(ports))
    assert all(is_free(port) and LOWEST_PORT <= port < first_outgoing for port in ports)


def test_brokers_listen_on_loopback_only(tmp_path: Path) -> None:
    """Nobody asked for a server that the network can reach."""
    cluster = settle(tmp_path / "cluster.json", 3)
    for site in cluster.sites:
        properties = broker_properties(Home(tmp_path), cluster, site)
        for setting in ("listeners", "advertised.listeners", "controller.quorum.voters"):
            hosts = re.findall(r"([\w.]*):\d+", str(properties[setting]))
            assert {"127.0.0.1"} == set(hosts), setting


@pytest.mark.parametrize(("brokers", "replication", "in_sync_min"), [(1, 1, 1), (2, 2, 1), (3, 3, 2), (5, 3, 2)])
def test_replication_follows_the_number_of_brokers(
    tmp_path: Path, brokers: int, replication: int, in_sync_min: int
) -> None:
    """One broker must start alone; three must survive the loss of one."""
    cluster = settle(tmp_path / "cluster.json", brokers)
    properties = broker_properties(Home(tmp_path), cluster, cluster.sites[0])
    for topic in ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic"):
        assert replication == properties[f"{topic}.replication.factor"]
    assert in_sync_min == properties["transaction.state.log.min.isr"]
    assert "false" == properties["auto.create.topics.enable"]
    assert "region-1" == properties["broker.rack"]


@pytest.mark.parametrize("brokers", [0, -1, 10])
def test_an_absurd_number_of_brokers_is_refused(tmp_path: Path, brokers: int) -> None:
    """Before anything is made."""
    with pytest.raises(StackError, match="choose between 1 and 9"):
        StackParams(home=tmp_path, brokers=brokers)


def test_a_kafka_home_without_kafka_is_told(tmp_path: Path) -> None:
    """STIGMERGY_KAFKA_HOME often points to the folder above or below."""
    with pytest.raises(StackError, match=r"holds no Kafka: there is no libs/kafka_2.13"):
        kafka_class_path(StackParams(home=tmp_path, kafka_home=tmp_path))


def test_a_kafka_home_is_used_instead_of_the_cache(tmp_path: Path) -> None:
    """Nothing is fetched then."""
    (tmp_path / "libs").mkdir()
    (tmp_path / "libs" / "kafka_2.13-4.1.0.jar").touch()
    params = StackParams(home=tmp_path, kafka_home=tmp_path, cache=tmp_path / "cache")
    assert str(tmp_path / "libs" / "*") == kafka_class_path(params)
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "21" 2023-09-19', 21),
        ('java version "1.8.0_392"', 8),
        ("command not found", None),
    ],
)
def test_java_versions_are_read(said: str, version: int | None) -> None:
    """Java 8 calls itself 1.8."""
    assert version == parse_version(said)
