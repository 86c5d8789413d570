"""Listening sockets: one for each address of a host, all on the same port, or inherited from a service manager."""

from __future__ import annotations

import contextlib
import errno
import logging
import socket
from collections.abc import MutableMapping

from machine.service_manager import InheritedSocket, take_sockets
from protocol.errors import ArenaFault

ARENA_SOCKET, PAGE_SOCKET = "arena", "page"
"""The names that a service manager gives to inherited sockets: `ARENA_SOCKET` to that of the arena, and `PAGE_SOCKET`
to that of its web pages.
"""
SOCKET_NAMES = (ARENA_SOCKET, PAGE_SOCKET)
"""All names of inherited sockets that the arena knows."""
BACKLOG = 1024
"""Maximum number of connections to a socket that the kernel queues until they are accepted."""


log = logging.getLogger("arena.network.binding")


class PortFault(ArenaFault):
    """Raised if the process can't listen on an address and port."""


class InheritedSockets:
    """The listening sockets that this process inherited from a service manager, except those already taken."""

    def __init__(self, environment: MutableMapping[str, str]) -> None:
        """Raise `PortFault` if an inherited socket cannot be used."""
        try:
            self._untaken: list[InheritedSocket] = take_sockets(environment)
        except ValueError as exc:
            raise PortFault(f"the inherited sockets (LISTEN_FDS) can't be used: {exc}") from exc

    def take(self, name: str, port: int) -> list[socket.socket]:
        """Return the inherited sockets called `name`. If there are none, return the sockets on `port` that have unknown
        names, which are not in `SOCKET_NAMES`. The returned sockets now belong to the caller.
        """
        taken = [one for one in self._untaken if one.name == name] or [
            one for one in self._untaken if one.name not in SOCKET_NAMES and port_of([one.socket]) == port
        ]
        self._untaken = [one for one in self._untaken if one not in taken]
        ports = [port_of([one.socket]) for one in taken]
        if port and ports and port not in ports:
            told = (
                "not listening on port %d: %s was inherited on port %d; to change the port, stop and start the server"
            )
            log.warning(told, port, name, ports[0])
        return [one.socket for one in taken]

    def close(self) -> None:
        """Close the inherited sockets that were not taken, and log a warning for each."""
        for one in self._untaken:
            told = "closed the inherited socket %s on port %d, which no setting names"
            log.warning(told, one.name, port_of([one.socket]))
            one.socket.close()
        self._untaken = []


def bind_sockets(
    host: str,
    port: int,
    advice: str = "choose another one with --port, or 0 for a free one",
    *,
    shared: bool = False,
) -> list[socket.socket]:
    """Return a listening socket for each address of the host. Port 0 means any free port.

    With `shared`, other processes of this user may listen on the same port, and the kernel distributes the connections.
    Raise `PortFault` if listening fails; if the port is in use, the message gives the `advice`.
    """
    try:
        return _bind_sockets(host, port, shared)
    except OSError as exc:
        if exc.errno == errno.EADDRINUSE:
            raise PortFault(f"port {port} on {host} is in use: {advice}") from exc
        raise PortFault(f"{host} port {port} can't be listened on: {exc.strerror or exc}") from exc


def reserve_port(host: str, port: int) -> list[socket.socket]:
    """Return sockets that do not listen, but reserve a port for processes to share. Raise `PortFault` on failure."""
    with contextlib.ExitStack() as stack:
        kept: list[socket.socket] = []
        for one in bind_sockets(host, port):  # unlike a shared one, this fails if another process listens there
            with one:
                sharing = stack.enter_context(socket.socket(one.family, socket.SOCK_STREAM))
                address = one.getsockname()
            for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):  # the first because of TIME_WAIT
                sharing.setsockopt(socket.SOL_SOCKET, option, 1)
            try:
                sharing.bind(address)
            except OSError as exc:
                raise PortFault(f"{host} port {port} can't be shared: {exc.strerror or exc}") from exc
            kept.append(sharing)
        stack.pop_all()
        return kept


def port_of(sockets: list[socket.socket]) -> int:
    port: int = sockets[0].getsockname()[1]
    return port


def url_of(scheme: str, host: str, port: int) -> str:
    """Return the URL of a listening host and port. If the host means all addresses, use an address of this machine."""
    if host in ("", "0.0.0.0", "::"):  # noqa: S104 - compared, not bound
        host = _outbound_address()
    return url_at(scheme, host, port)


def url_at(scheme: str, host: str, port: int) -> str:
    """Return the URL of a host name or address and a port. An IPv6 address is put in brackets."""
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def _outbound_address() -> str:
    """Return this machine's address in connections to other networks. Nothing is sent to find it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.1"
        address: str = probe.getsockname()[0]
        return address


def _bind_sockets(host: str, port: int, shared: bool) -> list[socket.socket]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    bound: list[socket.socket] = []
    for family, _, _, _, address in dict.fromkeys(found):
        try:
            where = (address[0], port_of(bound) if bound else port)
            one = socket.create_server(where, family=family, backlog=BACKLOG, reuse_port=shared)
        except OSError as exc:
            if exc.errno == errno.EADDRNOTAVAIL and (bound or len(found) > 1):
                continue  # `localhost` may have an IPv6 address that this system does not support
            for other in bound:
                other.close()
            raise
        one.setblocking(False)
        bound.append(one)
    if not bound:
        raise OSError(errno.EADDRNOTAVAIL, "none of its addresses belongs to this machine")
    return bound
