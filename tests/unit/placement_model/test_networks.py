"""The two kinds of network: routed along links, and overlay with sparse neighbours."""

import math

import pytest

from placement.evaluator_travel import travel_matrix_ms, travel_ms
from placement.model import Host, Link, ModelError, OverlayNetwork, RoutedNetwork
from placement.queueing import IDLE, link_wait_ms, wire_stream


def line(bandwidth: float = math.inf) -> RoutedNetwork:
    """h0 - h1 - h2 - h3, and a long way round from h0 to h3."""
    hosts = tuple(Host(f"h{i}") for i in range(4))
    short = tuple(Link(f"h{i}", f"h{i + 1}", 2.0, bandwidth) for i in range(3))
    return RoutedNetwork(hosts, (*short, Link("h0", "h3", 50.0, bandwidth)))


def test_routed_messages_take_the_shortest_way() -> None:
    """The price between two chosen hosts is the sum over the links between them."""
    network = line()
    assert 6.0 == network.delays_ms[0, 3]
    assert (0, 2, 4) == network.route(0, 3)
    assert (5, 3, 1) == network.route(3, 0)
    assert () == network.route(2, 2)


def test_each_wire_on_the_way_adds_queue_and_transmission() -> None:
    """Links are servers: three of them, each M/D/1 with its own stream in it."""
    network = line(bandwidth=100.0)
    stream = wire_stream(0.05, 1000.0)
    loaded = [stream.load(100.0) if wire in network.route(0, 3) else IDLE for wire in range(8)]
    per_wire = 2.0 + 10.0 + link_wait_ms(stream.load(100.0))
    assert 3 * per_wire == pytest.approx(travel_ms(network, loaded, stream, 0, 3))
    assert 3 * per_wire == pytest.approx(travel_matrix_ms(network, [IDLE] * 8, stream)[0, 3])
    assert 0.0 == travel_matrix_ms(network, [IDLE] * 8, stream)[1, 1]


def test_a_dead_link_sends_messages_the_long_way() -> None:
    """Indices stay, so that everything known by index survives a death."""
    network = line().without(links={("h2", "h1")})
    assert 4 == len(network.hosts)
    assert 52.0 == network.delays_ms[0, 2]
    assert (1, 3) == network.neighbours[0]


def test_a_dead_host_takes_no_task_and_passes_nothing_on() -> None:
    """Its capacity is 0 and it is infinitely far; others find another way."""
    network = line().without(hosts={"h1"})
    assert 0.0 == network.hosts[1].capacity
    assert math.isinf(network.delays_ms[0, 1])
    assert 52.0 == network.delays_ms[0, 2]


def test_an_overlay_edge_costs_the_direct_delay() -> None:
    """Through Kafka one hop joins any two hosts; the walk that found them doesn't matter."""
    delays = [[0.0, 1.0, 9.0], [1.0, 0.0, 1.0], [9.0, 1.0, 0.0]]
    network = OverlayNetwork.sparse(tuple(Host(f"h{i}") for i in range(3)), delays)
    assert 9.0 == network.delays_ms[0, 2]
    assert 1 == len(network.route(0, 2))


def test_overlay_neighbours_are_the_region_and_pairs_with_nobody_between() -> None:
    """Else shortest walks would skip every host in between; the graph must stay sparse and connected."""
    hosts = tuple(Host(f"h{i}", region=region) for i, region in enumerate(("eu", "eu", "eu", "us", "us")))
    at = (0.0, 1.0, 2.0, 50.0, 51.0)
    network = OverlayNetwork.sparse(hosts, [[abs(a - b) for b in at] for a in at])
    assert ((1, 2), (0, 2), (0, 1, 3), (2, 4), (3,)) == network.neighbours
    assert ((1.0, 2.0), (1.0, 1.0)) == network.neighbour_delays_ms[:2]


def test_overlay_deaths_leave_the_rest_connected() -> None:
    """Neighbours are chosen anew without the dead."""
    at = (0.0, 1.0, 2.0, 3.0)
    network = OverlayNetwork.sparse(tuple(Host(f"h{i}") for i in range(4)), [[abs(a - b) for b in at] for a in at])
    assert ((1,), (0, 2), (1, 3), (2,)) == network.neighbours
    assert ((2,), (), (0, 3), (2,)) == network.without(hosts={"h1"}).neighbours


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: RoutedNetwork((Host("a"),), (Link("a", "b", 1.0),)), "no host 'b'"),
        (lambda: RoutedNetwork((Host("a"), Host("a")), ()), "same name"),
        (lambda: RoutedNetwork((Host("a"), Host("b")), (Link("a", "b", 1.0), Link("b", "a", 1.0))), "given twice"),
        (lambda: Link("a", "a", 1.0), "two hosts"),
        (lambda: Link("a", "b", 0.0), "delay_ms"),
        (lambda: Host("a", capacity=-1.0), "capacity"),
        (lambda: OverlayNetwork((Host("a"),), ((0.0, 1.0),), ((),)), "square"),
    ],
)
def test_a_broken_network_is_refused_with_its_fault(make: object, complaint: str) -> None:
    """Topology files come from users."""
    assert callable(make)
    with pytest.raises(ModelError, match=complaint):
        assert make().host_index
