"""What systemd is told of a server over its socket (sd_notify): that it is ready, how it is, that its loop goes on,
that it starts anew, and that it stops. And the sockets that systemd, or the process that this one was before, hands
over listening (sd_listen_fds).
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import socket
import time
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import NamedTuple

STATUS_EVERY = 10.0
"""Seconds, where no watchdog asks for more."""
FIRST_DESCRIPTOR = 3
"""Of those that are handed over."""


class ServiceManager:
    """Who started this process and wants to be told, by the environment, from which that is taken; elsewhere nothing is
    told.
    """

    def __init__(self, environment: MutableMapping[str, str]) -> None:
        address = environment.pop("NOTIFY_SOCKET", "")
        self._address = f"\0{address[1:]}" if address.startswith("@") else address
        watched = environment.pop("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        microseconds = environment.pop("WATCHDOG_USEC", "")
        self._every = int(microseconds) / 2e6 if watched and microseconds.isdecimal() and int(microseconds) else None
        """Seconds between two signs of life: half of what it waits for one."""
        self._ready = False

    def tell(self, *lines: str) -> None:
        """Tell it so. That it does not hear is no matter."""
        if self._address:
            with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notice:
                notice.setblocking(False)
                notice.sendto("\n".join(lines).encode(), self._address)

    def tell_ready(self) -> None:
        """Tell it that the server is ready, at first or again."""
        self._ready = True
        self.tell("READY=1")

    def tell_reloading(self) -> None:
        """Tell it that the server is about to be otherwise, and will be ready again; not before it was."""
        if self._ready:
            self.tell("RELOADING=1", f"MONOTONIC_USEC={time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000}")

    def reload(self, work: Callable[[], None]) -> None:
        """Do what a reload is, and tell it when that begins and ends."""
        self.tell_reloading()
        work()
        if self._ready:
            self.tell_ready()

    async def watch(self, status: Callable[[], str]) -> None:
        """Tell it for ever how the server is, from its event loop, which so is known to go on."""
        while self._address:
            signs = [] if self._every is None else ["WATCHDOG=1"]
            self.tell(*signs, f"STATUS={status()}")
            await asyncio.sleep(min(STATUS_EVERY, self._every or STATUS_EVERY))


class Handed(NamedTuple):
    """A socket that was handed over, and what it is called by who did: `unknown` where it was given no name."""

    name: str
    socket: socket.socket


def take_sockets(environment: MutableMapping[str, str]) -> list[Handed]:
    """The sockets that were handed over to this process, by the environment, from which that is taken; none where it
    was meant for another. Raises `ValueError` for what is no listening socket of TCP.
    """
    count, meant = environment.pop("LISTEN_FDS", ""), environment.pop("LISTEN_PID", "")
    names = environment.pop("LISTEN_FDNAMES", "").split(":")
    if not count.isdecimal() or meant != str(os.getpid()):
        return []
    taken = []
    for at in range(int(count)):
        descriptor = FIRST_DESCRIPTOR + at
        try:
            os.set_inheritable(descriptor, False)
            one = socket.socket(fileno=descriptor)
            listens = one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
        except OSError as exc:
            raise ValueError(f"descriptor {descriptor} can't be used: {exc.strerror}") from exc
        if one.type != socket.SOCK_STREAM or one.family not in (socket.AF_INET, socket.AF_INET6) or not listens:
            raise ValueError(f"descriptor {descriptor} is no listening socket of TCP")
        one.setblocking(False)
        taken.append(Handed(names[at] if at < len(names) and names[at] else "unknown", one))
    return taken


def run_instead(program: str, arguments: list[str], environment: Mapping[str, str], sockets: Sequence[Handed]) -> None:
    """Run a program in place of this one, as the same process, and hand these sockets over to it. Raises `OSError`."""
    behind = FIRST_DESCRIPTOR + len(sockets)  # where none is in the way of another
    moved = [fcntl.fcntl(one.socket, fcntl.F_DUPFD_CLOEXEC, behind) for one in sockets]
    for at, descriptor in enumerate(moved):
        os.dup2(descriptor, FIRST_DESCRIPTOR + at, inheritable=True)
    handed = {
        "LISTEN_FDS": str(len(sockets)),
        "LISTEN_PID": str(os.getpid()),
        "LISTEN_FDNAMES": ":".join(one.name for one in sockets),
    }
    os.execve(program, arguments, {**environment, **handed})  # noqa: S606 - there is no shell to be had
