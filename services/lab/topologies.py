"""Networks to evaluate on: generated ones, real ones from the data folder, and a user's own file."""

import gzip
import tarfile
from pathlib import Path
from random import Random

from placement.model import Host, Link, Network, OverlayNetwork, RoutedNetwork
from services.lab.data import data_file
from services.lab.gml import GmlNetwork, parse_gml
from services.lab.matrices import LEAST_MS, RoundTrips, TopologyError, parse_matrix

CAPACITIES = (1.0, 2.0, 4.0)
FEWEST_HOSTS, MOST_HOSTS = 3, 2_000
"""Of a user's own topology: queries have up to three different ends."""
SEARCHED_HOSTS = 160
"""Where the exact optimum is searched for, larger networks are sampled down to this, anew for every seed."""

REAL = ("planetlab", "wondernetwork", "aws", "seattle", "zoo")


def overlay(trips: RoundTrips, *, rng: Random, most_hosts: int) -> OverlayNetwork:
    """Every host reaches every other directly; ants walk a sparse neighbourhood of it."""
    if len(trips.names) > most_hosts:
        trips = trips.pick(sorted(rng.sample(range(len(trips.names)), most_hosts)))
    hosts = tuple(Host(name, rng.choice(CAPACITIES)) for name in trips.names)
    return OverlayNetwork.sparse(hosts, trips.rtt_ms / 2)


def routed(graph: GmlNetwork, *, rng: Random, most_hosts: int = MOST_HOSTS) -> RoutedNetwork:
    """Messages cross every link on the way."""
    graph = graph.part(most_hosts, rng=rng)
    hosts = tuple(Host(name, rng.choice(CAPACITIES)) for name in graph.names)
    return RoutedNetwork(hosts, tuple(Link(a, b, delay_ms) for a, b, delay_ms in graph.links))


def read_topology(path: Path, *, rng: Random, most_hosts: int = MOST_HOSTS) -> Network:
    """A user's own topology: a CSV matrix of round trips in ms, or GML. Of a larger one `most_hosts` are drawn."""
    found = _parse(path)
    if isinstance(found, GmlNetwork):
        return routed(found, rng=rng, most_hosts=most_hosts)
    return overlay(found, rng=rng, most_hosts=most_hosts)


def remarks(path: Path) -> list[str]:
    """What a user should know of how a topology file is used: what is left out and what is guessed."""
    found = _parse(path)
    told = []
    if isinstance(found, GmlNetwork):
        if found.left_out:
            told.append(f"{found.left_out} hosts have no way to the largest part of the network and are left out")
        if found.guessed_links:
            told.append(f"{found.guessed_links} links have neither a delay nor two known ends; they count 5 ms")
    else:
        if found.unknown_pairs:
            told.append(
                f"{found.unknown_pairs} of {found.pairs} pairs unknown, filled by the shortest ways over others"
            )
        if found.together_pairs:
            told.append(f"{found.together_pairs} of {found.pairs} pairs are 0 both ways and count {LEAST_MS:g} ms")
    if len(found.names) > SEARCHED_HOSTS:
        which = "a connected part, " if isinstance(found, GmlNetwork) else ""
        told.append(
            f"of {len(found.names)} hosts {SEARCHED_HOSTS} are used where the exact optimum is searched for, {which}"
            "drawn anew for every seed; all are used elsewhere"
        )
    return told


def _parse(path: Path) -> RoundTrips | GmlNetwork:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise TopologyError(f"{path} can't be read ({error}); give a CSV matrix of round trips, or GML") from error
    parse = parse_gml if path.suffix.lower() == ".gml" else parse_matrix
    found: RoundTrips | GmlNetwork = parse(text, name=path.name)
    _check_size(path.name, len(found.names))
    return found


def _check_size(name: str, hosts: int) -> None:
    if not FEWEST_HOSTS <= hosts <= MOST_HOSTS:
        raise TopologyError(f"{name}: {hosts} hosts; give {FEWEST_HOSTS} to {MOST_HOSTS} that are connected")


def real_topology(name: str, *, rng: Random) -> Network:
    """One of REAL, by name; of a larger one as many hosts as an exact search can do with."""
    if name == "planetlab":
        text = gzip.decompress(data_file("latency", "planetlab490_t1.gz").read_bytes()).decode()
        return overlay(parse_matrix(text, name=name), rng=rng, most_hosts=SEARCHED_HOSTS)
    if name == "wondernetwork":
        text = data_file("latency", "wondernetwork_2018_avg_rtt_ms.csv").read_text()
        return overlay(parse_matrix(text, name=name), rng=rng, most_hosts=SEARCHED_HOSTS)
    if name == "aws":
        text = data_file("latency", "aws_cloudping_2024-11.csv").read_text()
        return overlay(parse_matrix(text, name=name, skip_columns=2), rng=rng, most_hosts=SEARCHED_HOSTS)
    if name == "seattle":
        return overlay(seattle_slice(rng.randrange(1, 689)), rng=rng, most_hosts=SEARCHED_HOSTS)
    if name == "zoo":
        return _zoo(rng=rng)
    raise TopologyError(f"no topology {name!r}; choose one of {', '.join(REAL)}")


def seattle_slice(number: int) -> RoundTrips:
    """One of 688 consecutive measurements between 99 hosts; the file has seconds, and 0 where one failed."""
    with tarfile.open(data_file("latency", "seattle99_688slices.tar.xz")) as archive:
        member = archive.extractfile(f"SeattleData_{number}")
        if member is None:
            raise TopologyError(f"no slice {number} in the Seattle data; there are 1 to 688")
        return parse_matrix(member.read().decode(), name=f"seattle {number}", scale=1000.0, zero_is_unknown=True)


def _zoo(*, rng: Random) -> RoutedNetwork:
    """A network of the Internet Topology Zoo with 20 to 160 hosts, drawn at random."""
    with tarfile.open(data_file("topology", "topology_zoo_gml.tar.gz")) as archive:
        names = sorted(member.name for member in archive.getmembers() if member.name.endswith(".gml"))
        while names:
            chosen = names.pop(rng.randrange(len(names)))
            member = archive.extractfile(chosen)
            assert member is not None, chosen
            graph = parse_gml(member.read().decode(errors="replace"), name=chosen)
            if 20 <= len(graph.names) <= SEARCHED_HOSTS:
                return routed(graph, rng=rng)
    raise TopologyError(f"no network of 20 to {SEARCHED_HOSTS} hosts in the Topology Zoo archive")
