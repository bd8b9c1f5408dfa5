"""Golden files of ants: the bytes of each kind of message between cells, as this version writes them.

Made by `.venv/bin/python tests/golden/make_ants.py`. Ants live for seconds and hosts refuse other versions: old bytes
need not be read. But a change of the bytes must be seen: raise `WIRE_VERSION` in topics/ants/kinds.py, run the command.
"""

import math
import sys
from pathlib import Path
from typing import Any

import msgspec

from placement.ants.enforcement import Activation, Cancellation, Enforced, EnforcementAnt, Leg, Pass, Release, Stop
from placement.ants.host_view import HostView
from placement.ants.letters import Letter
from placement.ants.measuring import Leg as MeasuredLeg
from placement.ants.measuring import Measured, MeasuringAnt, RunningStop, TapHere
from placement.ants.order import Anchor, Offer, Order, ScoutReport, Serving, Spot
from placement.ants.programme import Way
from placement.ants.routing import RoutingAnt, RoutingAntReturned
from placement.ants.scouting import ScoutFailed, ScoutingAnt, Stage
from placement.ants.surroundings import Digest
from placement.ants.trail import Trail
from placement.leader_events import Crowded, HostLost, ServedFrom, ServingEnds, TapAnswered, TapAsked
from placement.model import Sink, Source, Task, chain
from placement.queueing import Load
from placement.scent import Announce, Scent
from topics.ants.kinds import ANT, WIRE_VERSION
from topics.ants.probes import Echo, Probe

FOLDER = Path(__file__).parent / "ants"

FLOW = chain(
    "talk",
    Source("in", "edge-1", 0.25, 1.5, 100.0),
    (Task("talk.aaaa", 0.5, 2.0, 0.75, 80.0, "aaaa"), Task("talk.bbbb", 1.25, identity="bbbb")),
    Sink("out", "noc"),
    latency_bound_ms=250.0,
    weight=2.0,
)
TRAIL = Trail(("edge-1", "mid"), (0.0, 7.5), (0.0, 5.25), 7.5, 1)
SPOT = Spot("mid", 5.25, 1.5)
OFFER = Offer("chat", "chat.aaaa", "mid", "edge-2", 6.5)
GONE = Offer("chat", "chat.aaaa", "mid", "edge-2", math.inf)
STOP = Stop("mid", 3, 3.75, (OFFER,), (Leg(0, "edge-1"),))
SERVING = Serving("aaaa", 7, OFFER)
WAY = Way(12.5, 6.25, 0.5, (SPOT,), (("mid", 3.75),), SPOT, OFFER, 1)
SEEN = HostView("mid", 1.5, Load(1.0, 0.5, 0.25, 1.0, 1.0, 2.0), (("noc", 5.25),))
ORDER = Order(
    FLOW,
    round=3,
    chain=0,
    tasks=(0, 1),
    start="edge-1",
    end="noc",
    shares=(1.0, 0.75, 0.5),
    anchors=((Anchor("noc", 0.5, exact=True, upstream=True),), ()),
    settled=(("mid", 1),),
    running=(("edge-1", 3),),
    tapped=(1,),
    kept=(0,),
    avoided=("gone",),
    seniority=7,
    barred=(("far", 2),),
    corrections=(SEEN,),
    stale=(GONE,),
)
SCOUT = ScoutingAnt(
    ORDER,
    "edge-1",
    "noc",
    TRAIL,
    ((WAY,), (), (WAY, WAY)),
    0.95,
    2,
    Stage.HOME,
    way=WAY,
    byte_hops=640.0,
    dreamed=("far",),
)
REPORT = ScoutReport("talk", 3, 0, ("mid", "mid"), 12.5, 13.0, 6.25, (("mid", 3.75),), 4, 1_280.0, OFFER, 1)

SAMPLES: tuple[Any, ...] = (
    RoutingAnt("talk", 3, "noc", TRAIL, "edge-1", homeward=True),
    Scent("noc", 4, "mid", 5.25),
    Announce("noc"),
    Digest(SEEN, 9, "edge-1", 2.5, 1, (SERVING,)),
    Probe(7),
    Echo(7, 0.25),
    SCOUT,
    MeasuringAnt(
        FLOW,
        3,
        "edge-1",
        (RunningStop("mid", 3, (MeasuredLeg("noc", 0.5),), (TapHere("chat", "chat.aaaa", 0.5),)),),
        True,
        0,
        1.5,
        0.5,
    ),
    EnforcementAnt(FLOW, 5, "edge-1", (STOP,), 15.0, True, 0, Pass.COMMIT, "why", 7, SEEN, GONE, edges_ms=((0, 5.25),)),
    Activation("talk", 5, "edge-1"),
    Cancellation("talk", 5),
    Release("talk", 4),
    Letter("talk", RoutingAntReturned(3, "noc", 15.0, 10.5, 512.0)),
    Letter("talk", REPORT),
    Letter("talk", ScoutFailed(3, 0, 640.0)),
    Letter("talk", Enforced(5, True, "why", SEEN, GONE, ((0, 5.25),))),
    Letter("talk", Measured(3, 12.5, 6.25)),
    Letter("talk", Crowded("mid")),
    Letter("talk", HostLost("mid")),
    Letter("talk", TapAsked("chat", 5, "edge-2", "talk.aaaa")),
    Letter("talk", TapAnswered(5, "chat", "chat.aaaa", "why")),
    Letter("talk", ServingEnds("chat")),
    Letter("talk", ServedFrom("chat", "chat.aaaa", "mid")),
    Letter("talk", Release("chat", 4)),
    Letter("talk", Cancellation("chat", 5)),
)


def path_of(sample: Any) -> Path:
    """Where the bytes of this sample are kept."""
    news = f"-{type(sample.news).__name__}" if isinstance(sample, Letter) else ""
    return FOLDER / f"{type(sample).__name__}{news}.v{WIRE_VERSION}.msgpack"


def encode(sample: Any) -> bytes:
    """The sample's bytes, as they stand in an envelope."""
    return msgspec.msgpack.encode(ANT.pack(sample))


def main() -> int:
    """Writes what is missing; refuses to change what is there."""
    FOLDER.mkdir(exist_ok=True)
    for sample in SAMPLES:
        path = path_of(sample)
        if path.exists() and path.read_bytes() != encode(sample):
            print(f"refused: {path.name} has changed; raise WIRE_VERSION and remove the files of the version before")
            return 1
        path.write_bytes(encode(sample))
    return 0


if __name__ == "__main__":
    sys.exit(main())
