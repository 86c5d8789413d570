"""Sockets that listen: one for each address of a host, all on the same port; or such as were handed over, listening."""

from __future__ import annotations

import contextlib
import errno
import logging
import socket
from collections.abc import MutableMapping

from machine.service_manager import Handed, take_sockets
from protocol.errors import ArenaFault

ARENA, PAGE = "arena", "page"
NAMES = (ARENA, PAGE)
"""What sockets are called that are handed over for the one or the other."""
BACKLOG = 1024
"""Connections that the system keeps until they are accepted."""


log = logging.getLogger("arena.network.binding")


class PortFault(ArenaFault):
    """The address can't be listened on."""


class HandedOver:
    """The sockets that this process was started with, listening, until each is taken."""

    def __init__(self, environment: MutableMapping[str, str]) -> None:
        """Raises `PortFault` for a socket that can't be used."""
        try:
            self._left: list[Handed] = take_sockets(environment)
        except ValueError as exc:
            raise PortFault(f"what was handed over to listen on (LISTEN_FDS) can't be used: {exc}") from exc

    def take(self, name: str, port: int) -> list[socket.socket]:
        """Those of this name, or, where they have names that nobody here knows, those on this port."""
        taken = [one for one in self._left if one.name == name] or [
            one for one in self._left if one.name not in NAMES and port_of([one.socket]) == port
        ]
        self._left = [one for one in self._left if one not in taken]
        ports = [port_of([one.socket]) for one in taken]
        if port and ports and port not in ports:
            told = "port %d is not listened on: %s was handed over on %d, and changes its port by a stop and a start"
            log.warning(told, port, name, ports[0])
        return [one.socket for one in taken]

    def close(self) -> None:
        """Close those that nobody took, and say so."""
        for one in self._left:
            told = "%s was handed over listening on port %d, which no setting names: it is closed"
            log.warning(told, one.name, port_of([one.socket]))
            one.socket.close()
        self._left = []


def bound(
    host: str,
    port: int,
    otherwise: str = "choose another one with --port, or 0 for a free one",
    *,
    shared: bool = False,
) -> list[socket.socket]:
    """A socket for each address of the host, listening; port 0 is any free one. A `shared` one others of this user can
    listen on as well, who share it too: the system gives each a part of those who connect.

    Raises `PortFault`; where the port is in use it says what to do `otherwise`.
    """
    try:
        return _bound(host, port, shared)
    except OSError as exc:
        if exc.errno == errno.EADDRINUSE:
            raise PortFault(f"port {port} on {host} is in use: {otherwise}") from exc
        raise PortFault(f"{host} port {port} can't be listened on: {exc.strerror or exc}") from exc


def reserved(host: str, port: int) -> list[socket.socket]:
    """Sockets that do not listen, and keep a port for those who share it. Raises `PortFault`."""
    with contextlib.ExitStack() as stack:
        kept: list[socket.socket] = []
        for one in bound(host, port):  # which finds whether somebody else listens there, as sharing would not
            with one:
                sharing = stack.enter_context(socket.socket(one.family, socket.SOCK_STREAM))
                address = one.getsockname()
            for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):  # the former for what was connected a moment ago
                sharing.setsockopt(socket.SOL_SOCKET, option, 1)
            try:
                sharing.bind(address)
            except OSError as exc:
                raise PortFault(f"{host} port {port} can't be shared: {exc.strerror or exc}") from exc
            kept.append(sharing)
        stack.pop_all()
        return kept


def port_of(sockets: list[socket.socket]) -> int:
    """The port that they listen on."""
    port: int = sockets[0].getsockname()[1]
    return port


def url_of(scheme: str, host: str, port: int) -> str:
    """How others reach what listens on a host's port: by the machine's own address, where that is all of them."""
    if host in ("", "0.0.0.0", "::"):  # noqa: S104 - compared, not bound
        host = _outward()
    return url_at(scheme, host, port)


def url_at(scheme: str, host: str, port: int) -> str:
    """Return the URL of a host's name or address and a port; an address of IPv6 stands in brackets."""
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def _outward() -> str:
    """The address by which this machine would reach others; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.1"
        address: str = probe.getsockname()[0]
        return address


def _bound(host: str, port: int, shared: bool) -> list[socket.socket]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    bound: list[socket.socket] = []
    for family, _, _, _, address in dict.fromkeys(found):
        try:
            where = (address[0], port_of(bound) if bound else port)
            one = socket.create_server(where, family=family, backlog=BACKLOG, reuse_port=shared)
        except OSError as exc:
            if exc.errno == errno.EADDRNOTAVAIL and (bound or len(found) > 1):
                continue  # `localhost` has an address of IPv6 where the system has none
            for other in bound:
                other.close()
            raise
        one.setblocking(False)
        bound.append(one)
    if not bound:
        raise OSError(errno.EADDRNOTAVAIL, "none of its addresses is this machine's")
    return bound
