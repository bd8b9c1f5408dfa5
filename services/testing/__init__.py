"""For users' own tests: a Stigmergy in containers, flows submitted to it, records sent, results and moves waited for.

    from services.testing import Stigmergy

    with Stigmergy(hosts=["edge-1", "core-1"]) as stigmergy:
        flow = stigmergy.submit(Path("flow.yaml"))
        flow.send("orders", [{"user": "ada", "total": 12}])
        assert [{"user": "ada", "count": 1}] == flow.results("out", 1)

As pytest fixtures: `pytest_plugins = ["services.testing.fixtures"]` in your conftest.py (fixtures.py). The containers
are testcontainers' own (containers.py), so whatever these can do, tests can do to a part of Stigmergy: kill it, cut it
off, bring it back. Needs a container engine, our image, and the extra `testing`: docs/testing-your-flows.md.
"""

from services.testing.cluster import Stigmergy
from services.testing.commands import CommandError
from services.testing.containers import StartError, StigmergyContainer
from services.testing.flow import Flow, Move
from services.testing.images import Images
from services.testing.running import RunningStigmergy
from services.testing.waiting import NeverError, until

__all__ = [
    "CommandError",
    "Flow",
    "Images",
    "Move",
    "NeverError",
    "RunningStigmergy",
    "StartError",
    "Stigmergy",
    "StigmergyContainer",
    "until",
]
