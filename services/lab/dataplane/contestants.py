"""Who takes part: each contestant is a command that runs a workload until it is stopped."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from services.cluster_key import make_key
from services.lab.dataplane.ground import Ground
from services.lab.dataplane.trial import Patience
from services.lab.dataplane.workloads import Workload
from services.registry.submit import submit

SIDES = Path(__file__).with_name("sides")
OURS = "stigmergy"


@dataclass(frozen=True, slots=True)
class Bout:
    """One trial's names. `id` is in the name of every topic and group that the trial makes."""

    ground: Ground
    id: str
    workload: Workload
    source: str
    sink: str

    @property
    def arguments(self) -> list[str]:
        """What a program in `sides/` is started with."""
        folder = self.ground.folder / self.id
        folder.mkdir(parents=True, exist_ok=True)
        return [self.ground.bootstrap, self.workload.name, self.source, self.sink, self.id, str(folder)]


@dataclass(frozen=True, slots=True)
class Contestant:
    """`commands` gives the processes to run, most often one. `is_committed`: results count when they are committed."""

    name: str
    commands: Callable[[Bout], list[list[str]]]
    patience: Patience = field(default_factory=Patience)
    is_committed: bool = False


def host_command(ground: Ground, name: str, *, log_level: str = "warning") -> list[str]:
    """A host as it is shipped."""
    options = ["--region", "lab", "--capacity", "1", "--bootstrap", ground.bootstrap, "--log-level", log_level]
    make_key(key := ground.folder / "cluster.key")
    options += ["--key-file", str(key)]
    return [sys.executable, "-m", "services.host", "--name", name, *options]


def ours(name: str = OURS, *, hosts: int = 1, delivery: str = "at_least_once") -> Contestant:
    """Stigmergy, by the way that users go: a flow is submitted, and hosts run what the registry gives them."""

    def commands(bout: Bout) -> list[list[str]]:
        names = [f"{bout.id}-{number}" for number in range(hosts)]
        flow = bout.workload.flow(bout.id, source=bout.source, sink=bout.sink, delivery=delivery)
        submit(bout.ground.bootstrap, flow, hosts=names)
        return [host_command(bout.ground, each) for each in names]

    return Contestant(name, commands, is_committed=delivery == "exactly_once")


def altered(name: str, *program: str, patience: Patience | None = None) -> Contestant:
    """A host that a program of `sides/` (with its arguments) alters before it starts."""
    whole = ours()
    file, *arguments = program

    def commands(bout: Bout) -> list[list[str]]:
        return [[sys.executable, str(SIDES / file), *arguments, *command[3:]] for command in whole.commands(bout)]

    return Contestant(name, commands, patience or Patience())


def bare_loop(name: str, *options: str) -> Contestant:
    """The loop that someone writes who needs no framework; its changelog is a topic beside the sink."""

    def commands(bout: Bout) -> list[list[str]]:
        bout.ground.make_topic(f"{bout.sink}-changelog")
        return [[sys.executable, str(SIDES / "bare_loop.py"), *bout.arguments, *options]]

    return Contestant(name, commands)


def script(name: str, file: str, *, python: str = sys.executable, patience: Patience | None = None) -> Contestant:
    """A Python program of `sides/`, run by our Python or by another one."""
    return Contestant(name, lambda bout: [[python, str(SIDES / file), *bout.arguments]], patience or Patience())


BARE_LOOP = "bare loop"
BARE_LOOP_TUNED = "bare loop with rare gc"
PLAIN_FAUST = "plain Faust"


def always_there() -> list[Contestant]:
    """Those that need nothing but what Stigmergy itself needs."""
    return [
        ours(),
        bare_loop(BARE_LOOP),
        bare_loop(BARE_LOOP_TUNED, "--collect-rarely"),
        script(PLAIN_FAUST, "plain_faust.py", patience=Patience(warm_up_s=1.0, measured_s_max=5.0)),
    ]


QUIX = "Quix Streams"
BYTEWAX = "Bytewax"


def from_environment(python: str) -> list[Contestant]:
    """Those that live in an environment of their own."""
    return [script(QUIX, "quix.py", python=python), script(BYTEWAX, "bytewax_flow.py", python=python)]
