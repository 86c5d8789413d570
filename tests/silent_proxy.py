"""TCP connections passed on to the socket of a database server, until nothing of them gets through any more."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
from collections.abc import Iterator
from pathlib import Path


class SilentProxy:
    """Passes connections to its `port` on to a Unix socket. It keeps them when it is silent, and forwards nothing."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._ends: list[socket.socket] = []
        self._silent: set[socket.socket] = set()
        self.is_silent = False
        """Whether nothing of new connections gets through."""
        self._woken, self._waking = socket.socketpair()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def fall_silent(self) -> None:
        """Forward nothing more of the connections that there are; new ones are as good as ever."""
        self._silent.update(self._ends)

    def close(self) -> None:
        """End all connections."""
        self._waking.close()
        self._thread.join()
        for one in (self._listening, self._woken, *self._ends):
            one.close()

    def _run(self) -> None:
        peers: dict[socket.socket, socket.socket] = {}
        while True:
            open_ends = [one for one in peers if one not in self._silent]
            ready = select.select([self._listening, self._woken, *open_ends], [], [], 0.05)[0]
            if self._woken in ready:
                return
            if self._listening in ready:
                near, far = self._listening.accept()[0], socket.socket(socket.AF_UNIX)
                far.connect(str(self._target))
                peers |= {near: far, far: near}
                self._ends += (near, far)
                if self.is_silent:
                    self._silent.update((near, far))
                continue
            for end in ready:
                if end in self._silent or end not in peers:
                    continue
                data = b""
                with contextlib.suppress(OSError):
                    data = end.recv(65536)
                if data:
                    with contextlib.suppress(OSError):
                        peers[end].sendall(data)
                else:
                    other = peers.pop(end)
                    peers.pop(other, None)
                    for one in (end, other):
                        one.close()
                        self._ends.remove(one)


@contextlib.contextmanager
def silent_proxy(target: Path) -> Iterator[SilentProxy]:
    proxy = SilentProxy(target)
    try:
        yield proxy
    finally:
        proxy.close()
