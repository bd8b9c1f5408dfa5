"""What a leader releases: the ants of one attempt, and the bound that tells an outstanding report."""

from placement.ants.effects import Send
from placement.ants.measuring import Leg, MeasuringAnt, RunningStop, TapHere
from placement.ants.order import Offer, Order
from placement.ants.params import AntParams
from placement.ants.routing import RoutingAnt
from placement.ants.scouting import scout
from placement.ants.trail import Trail
from placement.chance import Chance
from placement.leader_attempt import Attempt, masks
from placement.model import Flow
from placement.subqueries import Subquery


def routing_ants(flow: Flow, attempt: Attempt, *, home: str, count: int) -> list[Send]:
    """Routing ants for the present chain, from its start."""
    chain, where = attempt.subquery, attempt.where
    start, end = chain.start.resolve(where), chain.end.resolve(where)
    return [Send(start, RoutingAnt(flow.name, attempt.round, end, Trail.start(start), home))] * count


def scouts(order: Order, ants: AntParams, *, home: str, count: int, rng: Chance) -> list[Send]:
    """Scouts for an order; every second one walks by way of an end beside the chain: the best place may lie there."""
    beside = sorted({anchor.host for anchors in order.anchors for anchor in anchors} - {order.start, order.end, ""})
    found = []
    for k in range(count):
        via = beside[k // 2 % len(beside)] if beside and k % 2 and ants.scouting.join_hint else ""
        found.append(Send(order.start, scout(order, home, ants.scouting, rng=rng, via=via)))
    return found


def measuring_ant(
    flow: Flow, running: dict[int, str], taps: dict[int, Offer], *, number: int, home: str, social: bool
) -> Send:
    """An ant that asks what the flow costs where it runs, and how old what it taps arrives."""
    graph, where = flow.graph, running | {task: offer.host for task, offer in taps.items()}
    legs: dict[str, list[Leg]] = {}
    for edge in graph.live_edges(frozenset(taps)):
        origin = edge.tail_host if edge.from_source else where[edge.tail_task]
        target = edge.head_host if edge.to_sink else where[edge.head_task]
        legs.setdefault(origin, []).append(Leg(target, edge.path_share))  # also from a host to itself
    here: dict[str, list[TapHere]] = {}
    for task, offer in sorted(taps.items()):
        share = sum(edge.path_share for edge in graph.into[task])
        here.setdefault(offer.host, []).append(TapHere(offer.flow, offer.task, share))
    at = dict(masks(running))
    stops = tuple(
        RunningStop(host, at.get(host, 0), tuple(legs.get(host, ())), tuple(here.get(host, ())))
        for host in sorted({*legs, *at, *here})
    )
    return Send(stops[0].host, MeasuringAnt(flow, number, home, stops, social))


def least_cost_ms(flow: Flow, chain: Subquery, *, distance_ms: float, fastest_capacity: float) -> float:
    """What no placement of a chain can beat: the straight way and the fastest host, without any queue."""
    graph = flow.graph
    mask = chain.mask(0, len(chain.tasks) - 1)
    service_ms = sum(
        graph.edges[edge].path_share * stream.path_work / fastest_capacity for edge, stream in graph.streams(mask)
    )
    return flow.weight * (min(chain.shares) * distance_ms + service_ms)
