"""Severed: running flows of a simulated system whose data do not get through although all their hosts live.

On Kafka there is no such thing: a host without its brokers is silent, and so it is lost (decision 235).
"""

import math
from collections.abc import Iterator, Mapping, Set

from placement.leader import Leader
from placement.leader_events import CutOff
from placement.model import Network


def cut_off(leaders: Mapping[str, Leader], network: Network, down_hosts: Set[str]) -> Iterator[tuple[str, CutOff]]:
    """(flow, news) for leaders whose flow is cut off where it runs, and might not be elsewhere."""
    for name, leader in sorted(leaders.items()):
        if leader.plan is None or _is_fed(leader, leaders, network, down_hosts):
            continue
        reach = within_reach(network, leader.host)
        ends = {source.host for source in leader.flow.sources} | {sink.host for sink in leader.flow.sinks}
        if ends <= reach:
            mute = {
                offer.flow
                for task, offer in leader.standing.taps.items()
                if offer.host not in reach or not _is_fed(leader, leaders, network, down_hosts, task)
            }
            yield name, CutOff(tuple(sorted(set(leader.running.values()) - reach)), tuple(sorted(mute)))


def within_reach(network: Network, host: str) -> frozenset[str]:
    """The hosts that messages from one host get to, by whatever way."""
    found = {network.host_index[host]}
    edge = list(found)
    while edge:
        edge = [other for place in edge for other in network.neighbours[place] if other not in found]
        found.update(edge)
    return frozenset(network.hosts[place].name for place in found)


def _is_fed(
    leader: Leader, leaders: Mapping[str, Leader], network: Network, down_hosts: Set[str], task: int = -1
) -> bool:
    """Whether messages get from the sources to a task, wherever its results come from; -1: to all sinks."""
    tap = leader.standing.taps.get(task)
    if tap is not None:
        serving = leaders.get(tap.flow)
        if serving is None or serving.plan is None:
            return True  # a flow that is gone or has let go, or a host that died, is told of as such
        return _is_fed(serving, leaders, network, down_hosts, serving.flow.graph.task_index[tap.task])
    graph, where = leader.flow.graph, leader.standing.where
    for edge in graph.sink_edges if task < 0 else graph.into[task]:
        tail = edge.tail_host if edge.from_source else where[edge.tail_task]
        head = edge.head_host if edge.to_sink else where[edge.head_task]
        delay_ms = network.delays_ms[network.host_index[tail], network.host_index[head]]
        if math.isinf(delay_ms) and not {tail, head} & down_hosts:
            return False
        if not edge.from_source and not _is_fed(leader, leaders, network, down_hosts, edge.tail_task):
            return False
    return True
