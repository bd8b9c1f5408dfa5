"""The port of a process's pages: taken before anybody hears of the process, and told to others as they reach it."""

import asyncio
import socket
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from services.embedded.ports import choose_ports
from services.host import host as host_module
from services.host.host import Host, HostParams
from services.placement.instance import Instance
from services.placement.params import PlacementParams
from services.process.health import CannotListenError, HealthServer, plain, port_number, reached_at
from topics.messages import HostRegistration


class Noted:
    """Stands in for what a host has towards its cluster; notes whatever is asked of it."""

    asked: list[str]

    def __init__(self, *_: Any, **__: Any) -> None:
        self.sent: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        self.asked.append(name)
        raise AssertionError(name)

    async def fresh(self) -> None: ...

    async def stop(self) -> None: ...

    async def send(self, _: Any, messages: Any, *, now_ms: int) -> object:
        self.sent += messages
        return object()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a host asks of its cluster."""
    Noted.asked = []
    for name in ("Broker", "RegistryFollower", "CellService", "Publisher"):
        monkeypatch.setattr(host_module, name, Noted)
    return Noted.asked


@pytest.fixture
def taken() -> Iterator[int]:
    """A port on which somebody listens."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other.getsockname()[1]


def host(port: int | None, listen: str = "127.0.0.1") -> Host:
    return Host(HostParams("a", "r", 1.0, "127.0.0.1:1", key=b"k" * 32, port=port, listen=listen))


def test_a_host_whose_port_is_taken_ends_before_anybody_hears_of_it(taken: int, asked: list[str]) -> None:
    """It registered first: a second host of the same name and port drove the first one out, then ended itself."""
    with pytest.raises(CannotListenError, match=f"port {taken} of 127.0.0.1 is taken") as refused:
        asyncio.run(host(taken).run())
    assert "choose another --port" in refused.value.remedy
    assert [] == asked


def test_a_placement_instance_whose_port_is_taken_says_so(taken: int) -> None:
    """The same for the other service that has a port of the user's choice."""
    with pytest.raises(CannotListenError, match="is taken"):
        asyncio.run(asyncio.wait_for(Instance(PlacementParams("p1", "127.0.0.1:1", port=taken)).run(), 20))


def test_an_address_that_is_not_of_this_machine_is_told() -> None:
    """Nobody has that one: it is for documents."""
    (port,) = choose_ports([None])

    async def story() -> None:
        async with HealthServer(port, {}, listen="203.0.113.1"):
            pass

    with pytest.raises(CannotListenError, match=r"203\.0\.113\.1") as refused:
        asyncio.run(story())
    assert "STIGMERGY_LISTEN" in refused.value.remedy


def test_pages_wait_until_the_process_is_ready() -> None:
    """Its port is taken early; who asks before it is ready must not hear that all is well."""
    (port,) = choose_ports([None])
    ready = [False]

    def ask() -> int:
        try:
            with urlopen(f"http://127.0.0.1:{port}/health", timeout=60) as answer:
                return int(answer.status)
        except HTTPError as refused:
            return refused.code

    async def story() -> list[int]:
        async with HealthServer(port, {"/health": lambda: plain("ready\n")}, is_ready=lambda: ready[0]):
            before = await asyncio.to_thread(ask)
            ready[0] = True
            return [before, await asyncio.to_thread(ask)]

    assert [503, 200] == asyncio.run(story())


@pytest.mark.parametrize("text", ["0", "-1", "65536", "many"])
def test_no_port_has_such_a_number(text: str) -> None:
    """The event loop raises OverflowError for it."""
    with pytest.raises(ValueError, match=text):
        port_number(text)


@pytest.mark.parametrize(
    ("listen", "expected"),
    [
        ("127.0.0.1", "127.0.0.1:8090"),
        ("10.0.0.7", "10.0.0.7:8090"),
        ("edge-1.example.org", "edge-1.example.org:8090"),
        ("::1", "[::1]:8090"),
        ("0.0.0.0", "this-machine:8090"),
        ("::", "this-machine:8090"),
    ],
)
def test_a_host_registers_where_its_pages_are_reached(
    monkeypatch: pytest.MonkeyPatch, asked: list[str], listen: str, expected: str
) -> None:
    """In a container it told of 127.0.0.1, which is somebody else for everybody else."""
    monkeypatch.setattr(socket, "gethostname", lambda: "this-machine")
    one = host(8090, listen)
    asyncio.run(one._register())
    (registration,) = one._publisher.sent  # type: ignore[attr-defined]
    assert isinstance(registration, HostRegistration)
    assert expected == registration.address == reached_at(listen, 8090)


def test_a_host_without_pages_registers_the_name_of_its_machine(
    monkeypatch: pytest.MonkeyPatch, asked: list[str]
) -> None:
    """People still want to know where it is."""
    monkeypatch.setattr(socket, "gethostname", lambda: "this-machine")
    one = host(None)
    asyncio.run(one._register())
    (registration,) = one._publisher.sent  # type: ignore[attr-defined]
    assert "this-machine" == registration.address
