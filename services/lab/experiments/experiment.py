"""What an experiment is: a trial for one seed, and the paper's numbers to stand beside ours."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from placement.model import Network
from placement.topology.transit_stub import TransitStubParams, stub_hosts, transit_stub
from services.lab.samples import Sample
from services.lab.targets import Target
from services.lab.topologies import MOST_HOSTS, read_topology


def silent(_: str) -> None:
    """Nobody listens."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One seed of an experiment, on a generated network or on the user's."""

    seed: int
    topology: Path | None = None
    traces: Path | None = None
    """A folder with the user's own series."""
    say: Callable[[str], None] = silent
    """Told what goes on where a seed takes minutes."""

    def network(self, params: TransitStubParams, *, most_hosts: int = MOST_HOSTS) -> tuple[Network, list[str]]:
        """The network of this trial, and the hosts where producers and consumers may be.

        Of a user's larger one `most_hosts` are drawn.
        """
        rng = Random(f"{self.seed}/network")
        if self.topology is not None:
            network = read_topology(self.topology, rng=rng, most_hosts=most_hosts)
            return network, [host.name for host in network.hosts]
        generated = transit_stub(params, rng=rng)
        return generated, stub_hosts(generated)


@dataclass(frozen=True, slots=True)
class Experiment:
    """One figure, table or question."""

    name: str
    question: str
    paper: str
    """What the paper found, in a sentence."""
    trial: Callable[[Trial], list[Sample]]
    seeds: int
    reading: str = ""
    """How the rows are to be read, and where a target is not met in one way of reading them; in sentences."""
    targets: tuple[Target, ...] = ()
    """What the rows must reach."""
    timed: bool = False
    """Whether its rows hold measured time: then Python is left as it is in any other process."""
    takes_topology: bool = True
    """Whether the network can be the user's own."""
    takes_traces: bool = False
    """Whether the series can be the user's own."""
    x_label: str = ""
    y_label: str = ""
