"""The ways of the world in containers: the ports that compose/world.yaml names are those that the rule gives."""

from services.containers.ways import gates_between
from services.embedded.world_file import load_world
from tests.unit.containers.composed import COMPOSE, services


def listeners(text: str) -> dict[str, str]:
    """Name and address of each."""
    return dict(each.split("://") for each in text.split(","))


def test_every_door_is_advertised_at_its_gate_and_the_gate_leads_to_it() -> None:
    """A wrong port would let a region reach another one's door, or nobody."""
    containers = services(world=True)
    world = load_world(COMPOSE / "world.regions.yaml")
    gates = {(gate.client, gate.broker): gate for gate in gates_between(world).gates}
    assert {(a.name, b) for a in world.regions for b in world.brokers if a.name != b} == set(gates)
    for service, broker in (("kafka", "west"), ("kafka-east", "east")):
        variables = containers[service]["environment"]
        listens = listeners(variables["KAFKA_LISTENERS"])
        tells = listeners(variables["KAFKA_ADVERTISED_LISTENERS"])
        assert broker == variables["KAFKA_BROKER_RACK"] == variables["KAFKA_INTER_BROKER_LISTENER_NAME"].lower()
        for region in world.regions:
            door = listens[region.name.upper()]
            if region.name == broker:
                assert f"kafka-{broker}{door}" == tells[region.name.upper()]
                continue
            gate = gates[region.name, broker]
            assert f"links:{gate.port}" == tells[region.name.upper()]
            assert (f"kafka-{broker}", door) == (gate.target_host, f":{gate.target}")


def test_half_a_round_trip_lies_before_each_gate() -> None:
    """The other half is the way back."""
    gates = gates_between(load_world(COMPOSE / "world.regions.yaml")).gates
    assert {35.0, 10.0, 30.0} == {gate.delay_ms for gate in gates}
    assert {25_000.0} == {gate.bytes_per_ms for gate in gates}
