"""Notifications to systemd (sd_notify), and the listening sockets that it passes on (sd_listen_fds)."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import socket
import time
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import NamedTuple

STATUS_INTERVAL_S = 10.0
"""Seconds between two status messages, unless a watchdog requires more frequent messages."""
MAX_COUNT_DIGITS = 20
"""Maximum digits of a number in an environment variable from systemd: a 64-bit number has no more."""
FIRST_DESCRIPTOR = 3
"""The number of the first file descriptor that systemd passes."""


class ServiceManager:
    """The service manager that variables in `environment` describe. Creating an object removes these variables. Without
    a service manager, notifications do nothing.
    """

    def __init__(self, environment: MutableMapping[str, str]) -> None:
        address = environment.pop("NOTIFY_SOCKET", "")
        self._address = f"\0{address[1:]}" if address.startswith("@") else address
        watched = environment.pop("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        microseconds = environment.pop("WATCHDOG_USEC", "")
        self._watchdog_interval_s = (_read_count(microseconds) or 0) / 2e6 or None if watched else None
        """Seconds between two watchdog messages: half the watchdog's timeout. None if there is no watchdog."""
        self._ready = False

    def notify(self, *lines: str) -> None:
        """Send an sd_notify message; failures are ignored."""
        if self._address:
            with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notice:
                notice.setblocking(False)
                notice.sendto("\n".join(lines).encode(), self._address)

    def notify_ready(self) -> None:
        """Report that the server is ready, at the start or after a reload."""
        self._ready = True
        self.notify("READY=1")

    def notify_reloading(self) -> None:
        """Report that a reload of the settings begins. Do nothing if the server has not been ready yet."""
        if self._ready:
            self.notify("RELOADING=1", f"MONOTONIC_USEC={time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000}")

    def reload(self, work: Callable[[], None]) -> None:
        """Run `work`, which reloads settings, and report the beginning and the end of the reload."""
        self.notify_reloading()
        work()
        if self._ready:
            self.notify_ready()

    async def send_status(self, status: Callable[[], str]) -> None:
        """Send messages to systemd until cancelled: the server's status, and signs of life for its watchdog. They show
        that the event loop is alive.
        """
        while self._address:
            signs = [] if self._watchdog_interval_s is None else ["WATCHDOG=1"]
            self.notify(*signs, f"STATUS={status()}")
            await asyncio.sleep(min(STATUS_INTERVAL_S, self._watchdog_interval_s or STATUS_INTERVAL_S))


class InheritedSocket(NamedTuple):
    """A socket that systemd passed, with its name (`unknown` if it has none)."""

    name: str
    socket: socket.socket


def take_sockets(environment: MutableMapping[str, str]) -> list[InheritedSocket]:
    """Return the sockets that environment variables pass to this process, and remove these variables.

    The result is empty if the sockets are meant for another process. Raise `ValueError` for anything but a listening
    TCP socket.
    """
    count, meant = environment.pop("LISTEN_FDS", ""), environment.pop("LISTEN_PID", "")
    names = environment.pop("LISTEN_FDNAMES", "").split(":")
    passed = _read_count(count)
    if passed is None or meant != str(os.getpid()):
        return []
    taken = []
    for at in range(passed):
        descriptor = FIRST_DESCRIPTOR + at
        try:
            os.set_inheritable(descriptor, False)
            one = socket.socket(fileno=descriptor)
            listens = one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
        except OSError as exc:
            raise ValueError(f"descriptor {descriptor} can't be used: {exc.strerror}") from exc
        if one.type != socket.SOCK_STREAM or one.family not in (socket.AF_INET, socket.AF_INET6) or not listens:
            raise ValueError(f"descriptor {descriptor} is not a listening TCP socket")
        one.setblocking(False)
        taken.append(InheritedSocket(names[at] if at < len(names) and names[at] else "unknown", one))
    return taken


def replace_process(
    program: str, arguments: list[str], environment: Mapping[str, str], sockets: Sequence[InheritedSocket]
) -> None:
    """Replace this process by a program (exec), to which the sockets are passed on. Raise `OSError` if that fails."""
    behind = FIRST_DESCRIPTOR + len(sockets)  # first descriptor after the targets, so that no copy is overwritten
    moved = [fcntl.fcntl(one.socket, fcntl.F_DUPFD_CLOEXEC, behind) for one in sockets]
    for at, descriptor in enumerate(moved):
        os.dup2(descriptor, FIRST_DESCRIPTOR + at, inheritable=True)
    handed = {
        "LISTEN_FDS": str(len(sockets)),
        "LISTEN_PID": str(os.getpid()),
        "LISTEN_FDNAMES": ":".join(one.name for one in sockets),
    }
    os.execve(program, arguments, {**environment, **handed})  # noqa: S606 - there is no shell to be had


def _read_count(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) <= MAX_COUNT_DIGITS else None
