"""Topics of a bench's flows in a world, each led by the broker of a region."""

from collections.abc import Mapping

from confluent_kafka.admin import AdminClient, NewTopic

TIMEOUT_S = 180.0


def make_led_topics(bootstrap: str, led: Mapping[str, str]) -> None:
    """`led`: topic -> the region whose broker leads its one partition."""
    client = AdminClient({"bootstrap.servers": bootstrap})
    brokers = {str(each.rack): each.id for each in client.describe_cluster(request_timeout=30).result().nodes}
    new = [NewTopic(topic, 1, replica_assignment=[[brokers[region]]]) for topic, region in led.items()]
    for made in client.create_topics(new, operation_timeout=60, request_timeout=TIMEOUT_S).values():
        made.result(TIMEOUT_S)
