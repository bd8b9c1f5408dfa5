"""`python -m services.containers.ways WORLD`: the ways between regions where each broker is a container of its own.

The same gates as in a world on one machine (decision 0141), by a rule instead of chosen ports, so that the compose file
can name them. Regions count from 1 in the order of the world file. The broker of region j is the container
`kafka-NAME`; its door for clients of region k is port 19100 + k, and the gate before it is port 20000 + 100 j + k here.
"""

import sys
from pathlib import Path

from services.embedded.errors import StackError
from services.embedded.links import Gate, Gates, play
from services.embedded.world import World
from services.embedded.world_file import load_world

ANY_ADDRESS = "0.0.0.0"  # noqa: S104 - of its container, whose ports are not published
DOORS, GATES, GATES_A_BROKER = 19_100, 20_000, 100
EXIT_REFUSED = 2


def gates_between(world: World) -> Gates:
    """A gate for each way from a region to a broker in another one."""
    numbers = {region.name: number for number, region in enumerate(world.regions, start=1)}
    return Gates(
        ANY_ADDRESS,
        tuple(
            Gate(
                client=client,
                broker=broker,
                port=GATES + GATES_A_BROKER * numbers[broker] + numbers[client],
                target=DOORS + numbers[client],
                target_host=f"kafka-{broker}",
                delay_ms=world.round_trip_ms(client, broker) / 2,
                bytes_per_ms=world.bandwidth_bytes_per_ms(client, broker),
            )
            for broker in world.brokers
            for client in numbers
            if client != broker
        ),
    )


def main() -> None:
    """Entry of the process."""
    try:
        world = load_world(Path(sys.argv[1]))
    except StackError as refusal:
        print(f"{refusal.what}\n  next: {refusal.remedy}", file=sys.stderr)  # noqa: T201 - a container's last words
        sys.exit(EXIT_REFUSED)
    play(gates_between(world))


if __name__ == "__main__":
    main()
