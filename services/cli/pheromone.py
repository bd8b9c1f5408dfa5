"""`stigmergy pheromone HOST`: where the ants at a host would walk, as Redis has it."""

import asyncio
import math
from typing import Annotated, Any

import typer
from redis.asyncio import Redis
from redis.exceptions import RedisError
from rich.table import Table
from rich.text import Text

from placement.pheromone import PheromoneParams
from services.cli.cluster import known_redis
from services.cli.options import AsJson, HomeOption
from services.cli.screen import console, print_json
from services.embedded.errors import NotRunningError, StackError
from services.host.cell.pheromone_layout import KeptVector
from services.host.cell.pheromone_store import read_vectors
from services.logs import hide_in_text

app = typer.Typer()

BAR_CHARACTERS = 10
ANSWER_TIMEOUT_S = 3.0


@app.command()
def pheromone(
    host: Annotated[str, typer.Argument(help="The host whose cell to look at.")],
    home: HomeOption = None,
    redis_url: Annotated[str | None, typer.Option(help="Your own Redis.", show_default="the running stack's")] = None,
    as_json: AsJson = False,
) -> None:
    """Show a host's pheromone: for each destination the next hops, how likely each is, and what trips took."""
    url = known_redis(redis_url, home)
    if url is None:
        raise NotRunningError("no Redis is known", "start one with stigmergy up, or name yours with --redis-url")
    rows = [vector_row(vector) for vector in asyncio.run(_read(url, host))]
    if as_json:
        print_json({"host": host, "vectors": rows})
        return
    if not rows:
        console.print(f"Redis has no pheromone of {host}: no ant has passed there, or all of it has expired.")
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("to", "by", "", "share", "trips", "mean", "best", "age"):
        table.add_column(column, justify="left" if column in ("to", "by", "") else "right", no_wrap=True)
    for row in rows:
        for place, hop in enumerate(row["next_hops"]):
            bar = Text("█" * max(1, round(hop["probability"] * BAR_CHARACTERS)), "yellow")
            cells = [row["destination"] if place == 0 else "", hop["host"], bar, f"{hop['probability']:.3f}"]
            table.add_row(*cells, *(_statistics(row) if place == 0 else ()))
    console.print(table)


def vector_row(vector: KeptVector) -> dict[str, Any]:
    """One vector as values, its next hops from the likeliest to the least likely."""
    state = vector.state
    hops = sorted(zip(state.neighbours, state.probabilities, strict=True), key=lambda hop: (-hop[1], hop[0]))
    best_ms = min(state.best_before_ms, state.best_now_ms)
    return {
        "destination": vector.destination,
        "next_hops": [{"host": name, "probability": probability} for name, probability in hops],
        "trips": state.trips,
        "mean_ms": state.mean_ms if state.trips else None,
        "sigma_ms": math.sqrt(state.variance_ms2) if state.trips else None,
        "best_ms": best_ms if math.isfinite(best_ms) else None,
        "age_ms": -state.refreshed_ms,
        "expires_in_ms": vector.left_ms if math.isfinite(vector.left_ms) else None,
    }


async def _read(url: str, host: str) -> list[KeptVector]:
    """The vectors, with the time now as 0."""
    try:
        async with Redis.from_url(
            url, socket_timeout=ANSWER_TIMEOUT_S, socket_connect_timeout=ANSWER_TIMEOUT_S
        ) as redis:
            return await read_vectors(redis, host, PheromoneParams(), now_ms=0.0)
    except (RedisError, OSError) as fault:
        raise StackError(f"no Redis answers at {hide_in_text(url)}: {fault}", "see stigmergy status") from fault


def _statistics(row: dict[str, Any]) -> tuple[str, ...]:
    def ms(value: float | None) -> str:
        return "-" if value is None else f"{value:.1f} ms"

    return str(row["trips"]), ms(row["mean_ms"]), ms(row["best_ms"]), f"{row['age_ms'] / 1_000:.0f} s"
