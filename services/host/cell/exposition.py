"""What Prometheus reads of a cell: ants, refusals, neighbours, leaders."""

from collections.abc import Mapping

from services.host.cell.service import CellService
from services.process.exposition import Labels, metric
from topics.ants.envelope import Refusal


def cell_exposition(cell: CellService) -> str:
    """Ants that came, left, were refused, dropped or lost; neighbours and leaders."""
    post, body = cell.post, cell.body
    refused: list[tuple[Labels, float]] = [
        ({"why": refusal.value}, cell.gate.refused[refusal]) for refusal in sorted(Refusal, key=lambda each: each.value)
    ]
    lines = [
        *metric("cell_ants_refused_total", "counter", "Envelopes and ants not let in", refused),
        *metric("cell_ants_came_total", "counter", "Ants let in", _by("kind", post.came)),
        *metric("cell_ants_sent_total", "counter", "Ants sent", _by("kind", post.sent)),
        *metric("cell_ant_bytes_sent_total", "counter", "Bytes of envelopes sent", [({}, post.bytes_sent)]),
        *metric("cell_ants_dropped_total", "counter", "Ants that could not leave", [({}, post.dropped)]),
        *metric("cell_ants_lost_total", "counter", "Ants whose way ended here", _by("why", body.lost)),
        *metric("cell_failures_total", "counter", "Messages that confused cell or leader", [({}, body.failed)]),
        *metric("cell_neighbour_delay_ms", "gauge", "Delay to a neighbour", _by("neighbour", body.cell.links_ms)),
        *metric("cell_hot_spots_near_total", "counter", "Flows warned of", [({}, cell.near_warnings.given)]),
        *metric("cell_leaders", "gauge", "Flows led here", [({}, len(body.leaders))]),
    ]
    if cell.store is not None:
        health = cell.store.health
        lines += [
            *metric("cell_redis_connected", "gauge", "Whether pheromone reaches Redis", [({}, int(health.connected))]),
            *metric("cell_redis_failures_total", "counter", "Times Redis did not answer", [({}, health.failures)]),
            *metric("cell_pheromone_waiting", "gauge", "Vectors not yet in Redis", [({}, health.waiting)]),
        ]
    return "\n".join(lines) + "\n"


def _by(label: str, values: Mapping[str, float]) -> list[tuple[Labels, float]]:
    return [({label: name}, value) for name, value in sorted(values.items())]
