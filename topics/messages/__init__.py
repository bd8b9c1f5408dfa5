"""Every message of Stigmergy, one file a family. What travels where is told in `topics.catalogue`."""

from topics.messages.ants import AntEnvelope
from topics.messages.base import Message, Origin, clip, version_of
from topics.messages.blocks import Block, BlockHeader
from topics.messages.flows import FLOW_TEXT_LENGTH_MAX, Delivery, FlowRevision
from topics.messages.hosts import HostRegistration
from topics.messages.metrics import HostMetrics, LinkMetrics, OperatorMetrics
from topics.messages.placements import Placement
from topics.messages.plans import Alternative, CommittedPlan, SegmentMove
from topics.messages.segments import SegmentState, SegmentStatus
from topics.messages.setaside import DeadLetter, Header, LateRecord
from topics.messages.sketch import Moments, Sketch

__all__ = [
    "FLOW_TEXT_LENGTH_MAX",
    "Alternative",
    "AntEnvelope",
    "Block",
    "BlockHeader",
    "CommittedPlan",
    "DeadLetter",
    "Delivery",
    "FlowRevision",
    "Header",
    "HostMetrics",
    "HostRegistration",
    "LateRecord",
    "LinkMetrics",
    "Message",
    "Moments",
    "OperatorMetrics",
    "Origin",
    "Placement",
    "SegmentMove",
    "SegmentState",
    "SegmentStatus",
    "Sketch",
    "clip",
    "version_of",
]
