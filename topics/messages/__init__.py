"""Every message of Stigmergy, one file a family. What travels where is told in `topics.catalogue`."""

from topics.messages.ants import AntEnvelope
from topics.messages.base import Message, Origin, clip, version_of
from topics.messages.blocks import Block, BlockHeader
from topics.messages.decisions import Decision, FlowPolicy, HostPolicy, Policy, Request
from topics.messages.flows import FLOW_TEXT_LENGTH_MAX, Delivery, FlowRevision
from topics.messages.hosts import HostRegistration
from topics.messages.landmarks import Landmark
from topics.messages.leases import LEASE_MS_MAX, LeaseAct, LeaseEntry
from topics.messages.metrics import HostMetrics, LinkMetrics, OperatorMetrics
from topics.messages.models import (
    EdgeModel,
    ForecastModel,
    HotSpotModel,
    LinkModel,
    Model,
    RateModel,
    RejectedMetrics,
    ScoreModel,
    SeenRate,
    ServiceModel,
    SignatureModel,
    SlackModel,
)
from topics.messages.moves import Handover, MovePhase, MoveRecord, StandbyStatus
from topics.messages.placements import Placement, SegmentTap, TappedEdge
from topics.messages.plans import Alternative, CommittedPlan, Figures, ProposedPlan, SegmentMove, VainTry
from topics.messages.segments import SegmentState, SegmentStatus, SegmentStep
from topics.messages.setaside import DeadLetter, Header, LateRecord
from topics.messages.sketch import Moments, Sketch

__all__ = [
    "FLOW_TEXT_LENGTH_MAX",
    "LEASE_MS_MAX",
    "Alternative",
    "AntEnvelope",
    "Block",
    "BlockHeader",
    "CommittedPlan",
    "DeadLetter",
    "Decision",
    "Delivery",
    "EdgeModel",
    "Figures",
    "FlowPolicy",
    "FlowRevision",
    "ForecastModel",
    "Handover",
    "Header",
    "HostMetrics",
    "HostPolicy",
    "HostRegistration",
    "HotSpotModel",
    "Landmark",
    "LateRecord",
    "LeaseAct",
    "LeaseEntry",
    "LinkMetrics",
    "LinkModel",
    "Message",
    "Model",
    "Moments",
    "MovePhase",
    "MoveRecord",
    "OperatorMetrics",
    "Origin",
    "Placement",
    "Policy",
    "ProposedPlan",
    "RateModel",
    "RejectedMetrics",
    "Request",
    "ScoreModel",
    "SeenRate",
    "SegmentMove",
    "SegmentState",
    "SegmentStatus",
    "SegmentStep",
    "SegmentTap",
    "ServiceModel",
    "SignatureModel",
    "Sketch",
    "SlackModel",
    "StandbyStatus",
    "TappedEdge",
    "VainTry",
    "clip",
    "version_of",
]
