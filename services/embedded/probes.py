"""How to ask a process whether it is ready. A probe is plain data, so that one process can ask what another recorded.

A further kind of process adds a further struct here, with a tag of its own and a method `answers`.
"""

import socket
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

import msgspec

from services.embedded.ports import LOOPBACK

ANSWER_TIMEOUT_S = 2.0


class KafkaProbe(msgspec.Struct, frozen=True, tag="kafka"):
    """A broker is ready when it lists itself among the brokers of its cluster; None asks for any broker at all."""

    bootstrap: str
    broker_id: int | None = None

    def answers(self) -> bool:
        """Asks for the cluster's metadata."""
        if not any(_listens(address) for address in self.bootstrap.split(",")):
            return False  # cheaper than a client, and most of the waiting is for the port
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        try:
            brokers = admin.list_topics(timeout=ANSWER_TIMEOUT_S).brokers
        except KafkaException:
            return False
        return bool(brokers) if self.broker_id is None else self.broker_id in brokers


class RedisProbe(msgspec.Struct, frozen=True, tag="redis"):
    """A Redis is ready when it answers a ping: it has then loaded its append-only file."""

    url: str

    def answers(self) -> bool:
        """Pings it."""
        import redis

        try:
            with redis.Redis.from_url(self.url, socket_timeout=ANSWER_TIMEOUT_S) as client:
                return bool(client.ping())
        except (redis.RedisError, ValueError):  # ValueError: the user's address is none
            return False


class HttpProbe(msgspec.Struct, frozen=True, tag="http"):
    """One of our own processes is ready when its health page says so. Asked directly, whatever proxy is set."""

    url: str

    def answers(self) -> bool:
        """Gets the page."""
        address = urlsplit(self.url)
        assert address.hostname is not None, self.url
        connection = HTTPConnection(address.hostname, address.port, timeout=ANSWER_TIMEOUT_S)
        try:
            connection.request("GET", address.path)
            return connection.getresponse().status == HTTPStatus.OK
        except (OSError, HTTPException):
            return False
        finally:
            connection.close()


class PortsProbe(msgspec.Struct, frozen=True, tag="ports"):
    """A server that answers nothing itself is ready when it listens on all its ports."""

    ports: tuple[int, ...]

    def answers(self) -> bool:
        """Connects to each of them."""
        return all(_listens(f"{LOOPBACK}:{port}") for port in self.ports)


Probe = KafkaProbe | RedisProbe | HttpProbe | PortsProbe


def _listens(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=ANSWER_TIMEOUT_S):
            return True
    except (OSError, ValueError):
        return False
