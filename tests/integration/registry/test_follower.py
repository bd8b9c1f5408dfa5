"""Following the registry: who asks for the newest must not wait for the fetch that waits for what comes next."""

import asyncio
import time

from services.registry.follow import FETCH_WAIT_MS, RegistryFollower
from services.registry.view import RegistryView
from tests.waiting import until_async
from topics import admin
from topics.catalogue import FLOWS, HOSTS, POLICIES

ASKED = 5


def test_a_quiet_registry_is_known_to_be_fresh_at_once(kafka: str) -> None:
    """A new owner asks before it fences, and its partition stands still meanwhile."""
    topics = [FLOWS, HOSTS, POLICIES]
    admin.ensure(admin.connect(kafka), [topic.declare() for topic in topics])

    async def story() -> float:
        follower = RegistryFollower(kafka, RegistryView(), topics, client_id="test-follower", on_message=lambda _: None)
        await follower.start()
        await follower.catch_up()
        following = asyncio.create_task(follower.run(lambda: None))
        try:
            await until_async(lambda: follower._consumer._fetcher._in_flight, "a fetch waits at the broker")
            begin_s = time.monotonic()
            for _ in range(ASKED):
                await follower.fresh()
            return time.monotonic() - begin_s
        finally:
            following.cancel()
            await follower.stop()

    assert asyncio.run(story()) < ASKED * FETCH_WAIT_MS / 1e3 / 4
