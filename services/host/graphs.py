"""Flows compiled once for all who need them on a host: its segments and its leaders."""

from functools import lru_cache

from topics.flow.file import parse_graph
from topics.flow.graph import FlowGraph

GRAPHS_KEPT_MAX = 128


@lru_cache(maxsize=GRAPHS_KEPT_MAX)
def compiled(text: str) -> FlowGraph:
    """The graph of a flow's text. Raises FlowError. It may take a while: call it in a thread."""
    return parse_graph(text)
