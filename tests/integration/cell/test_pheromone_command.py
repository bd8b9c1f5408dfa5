"""`stigmergy pheromone HOST`, on a real Redis."""

import asyncio
import json

from typer.testing import CliRunner

from placement.pheromone import PheromoneParams
from services.cli.pheromone import app
from services.host.cell.pheromone_store import PheromoneStore


async def leave_pheromone(url: str) -> None:
    store = PheromoneStore("ant", PheromoneParams(), redis_url=url, writer="boot-1", now_ms=lambda: 0.0)
    store.table.meet("bee")
    store.table.meet("cat")
    for _ in range(20):
        store.table.vector("noc", now_ms=0.0).reinforce("cat", 12.0, now_ms=0.0)
    await store.close()


def test_a_person_sees_where_ants_would_walk(own_redis) -> None:
    """The likeliest hop comes first, with what the trips took."""
    asyncio.run(leave_pheromone(own_redis.url))

    shown = CliRunner().invoke(app, ["ant", "--redis-url", own_redis.url])
    told = CliRunner().invoke(app, ["ant", "--redis-url", own_redis.url, "--json"])

    assert (0, 0) == (shown.exit_code, told.exit_code)
    (vector,) = json.loads(told.stdout)["vectors"]
    assert ("noc", 20, 12.0, 12.0) == (vector["destination"], vector["trips"], vector["mean_ms"], vector["best_ms"])
    assert ["cat", "bee"] == [hop["host"] for hop in vector["next_hops"]]
    assert shown.stdout.index("cat") < shown.stdout.index("bee")


def test_a_host_without_pheromone_is_no_error(own_redis) -> None:
    """An empty answer is an answer."""
    told = CliRunner().invoke(app, ["nobody", "--redis-url", own_redis.url, "--json"])
    assert {"host": "nobody", "vectors": []} == json.loads(told.stdout)
