"""What systemd is told of a server over its socket (sd_notify): that it is ready, how it is, that its loop goes on,
and that it stops.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Callable, MutableMapping

STATUS_EVERY = 10.0
"""Seconds, where no watchdog asks for more."""


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

    def tell(self, *lines: str) -> None:
        """Tell it so. That it does not hear is no matter."""
        if self._address:
            with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notice:
                notice.setblocking(False)
                notice.sendto("\n".join(lines).encode(), self._address)

    async def watch(self, status: Callable[[], str]) -> None:
        """Tell it for ever how the server is, from its event loop, which so is known to go on."""
        while self._address:
            signs = [] if self._every is None else ["WATCHDOG=1"]
            self.tell(*signs, f"STATUS={status()}")
            await asyncio.sleep(min(STATUS_EVERY, self._every or STATUS_EVERY))
