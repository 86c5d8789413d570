"""What systemd is told: the words of sd_notify, on a socket of the file system or an abstract one."""

from __future__ import annotations

import asyncio
import itertools
import os
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from machine.event_loop import background_task
from machine.service_manager import ServiceManager, take_sockets
from timeouts import WITHIN


@pytest.fixture(params=["file", "abstract"])
def systemd(request: pytest.FixtureRequest, socket_folder: Path) -> Iterator[tuple[socket.socket, str]]:
    """A socket that hears, and what NOTIFY_SOCKET says of it."""
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as hears:
        hears.settimeout(WITHIN)
        if request.param == "file":
            hears.bind(str(socket_folder / "notify"))
            yield hears, str(socket_folder / "notify")
        else:
            hears.bind("")  # the kernel chooses an abstract one
            name = hears.getsockname()
            assert isinstance(name, bytes)
            yield hears, "@" + name[1:].decode()


def test_it_is_told_and_what_was_in_the_environment_goes_to_no_child(systemd: tuple[socket.socket, str]) -> None:
    hears, address = systemd
    environment = {"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "60000000", "WATCHDOG_PID": str(os.getpid()), "HOME": "/"}
    ServiceManager(environment).notify("READY=1", "STATUS=well")
    assert hears.recv(1000) == b"READY=1\nSTATUS=well"
    assert environment == {"HOME": "/"}


async def test_it_is_given_a_sign_of_life_twice_in_the_time_it_waits(systemd: tuple[socket.socket, str]) -> None:
    hears, address = systemd
    manager = ServiceManager({"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "20000"})
    states = itertools.chain(["one bot"], itertools.repeat("two bots"))
    began = asyncio.get_running_loop().time()
    async with background_task(manager.send_status(lambda: next(states))):
        said = [await asyncio.to_thread(hears.recv, 1000) for _ in range(2)]
    assert said == [b"WATCHDOG=1\nSTATUS=one bot", b"WATCHDOG=1\nSTATUS=two bots"]
    assert asyncio.get_running_loop().time() - began >= 0.01


@pytest.mark.parametrize(
    "watched",
    [
        {},
        {"WATCHDOG_USEC": "20000", "WATCHDOG_PID": "1"},
        {"WATCHDOG_USEC": "soon"},
        {"WATCHDOG_USEC": "9" * 5000},
        {"WATCHDOG_USEC": "9" * 400},
    ],
)
async def test_without_a_watchdog_of_its_own_it_is_told_how_the_server_is(
    systemd: tuple[socket.socket, str], watched: dict[str, str]
) -> None:
    hears, address = systemd
    async with background_task(ServiceManager({"NOTIFY_SOCKET": address, **watched}).send_status(lambda: "well")):
        assert await asyncio.to_thread(hears.recv, 1000) == b"STATUS=well"


async def test_where_nobody_asked_it_is_not_even_looked_how_the_server_is() -> None:
    states = iter(["well"])
    await ServiceManager({}).send_status(lambda: next(states))
    assert next(states) == "well"


def test_who_did_not_hear_is_told_what_comes_then(socket_folder: Path) -> None:
    manager = ServiceManager({"NOTIFY_SOCKET": str(socket_folder / "notify")})
    manager.notify("READY=1")
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as hears:
        hears.settimeout(WITHIN)
        hears.bind(str(socket_folder / "notify"))
        manager.notify("STOPPING=1")
        assert hears.recv(1000) == b"STOPPING=1"


@pytest.mark.parametrize("count", ["many", "9" * 5000])
def test_sockets_that_nobody_can_count_are_none(count: str) -> None:
    environment = {"LISTEN_FDS": count, "LISTEN_PID": str(os.getpid())}
    assert take_sockets(environment) == []
    assert environment == {}
