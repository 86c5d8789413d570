"""Opens a server's listening sockets and defines who may connect to them."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from typing import NamedTuple

from arena.commands.fd_limits import Shares
from arena.commands.metrics import metrics_sockets
from arena.commands.settings import ServerSettings
from arena.commands.web import web_scheme, web_sockets
from arena.network.addresses import OwnPage, networks, origins
from arena.network.admission import Access
from arena.network.binding import ARENA, PAGE, HandedOver, bound, port_of
from arena.network.connection_limits import Bounds


class Ports(NamedTuple):
    """The listening sockets of the arena, its pages and its metrics; an empty list where one is off."""

    arena: list[socket.socket]
    page: list[socket.socket]
    metrics: list[socket.socket]


@contextlib.contextmanager
def listening(settings: ServerSettings, handed: HandedOver | None = None) -> Iterator[Ports]:
    """Bind a server's ports, reusing the inherited sockets `handed`, and close them on exit. Call it before the data
    folder is created.

    Raises `PortFault`.
    """
    found = HandedOver({}) if handed is None else handed
    with contextlib.ExitStack() as stack:
        page = found.take(PAGE, settings.web_port) if settings.web else []
        page = [stack.enter_context(one) for one in page or web_sockets(settings)]
        metrics = [stack.enter_context(one) for one in metrics_sockets(settings)]
        arena = found.take(ARENA, settings.port)
        arena = [stack.enter_context(one) for one in arena or bound(settings.host, settings.port)]
        if settings.shared_port and all(port_of([one]) != settings.shared_port for one in arena):
            arena += [stack.enter_context(one) for one in bound(settings.host, settings.shared_port, shared=True)]
        found.close()
        yield Ports(arena, page, metrics)


def access(settings: ServerSettings, files: Shares, page: list[socket.socket], operator: str) -> Access:
    """Return the admission rules for a server that may open `files`. `operator` is the operator's token."""
    return Access(
        bounds=Bounds(
            connections=files.connections,
            per_address=settings.max_per_address,
            waiting=files.waiting,
            waiting_per_address=settings.max_per_address,
        ),
        proxies=networks(settings.trusted_proxy),
        origins=origins(settings.allow_origin),
        page=_own_page(settings, page),
        operator=operator,
    )


def _own_page(settings: ServerSettings, page: list[socket.socket]) -> OwnPage | None:
    """Return where the pages on this machine are: this server's, or those of the server that shares its port."""
    if page:
        return OwnPage(web_scheme(settings), port_of(page))
    return OwnPage(web_scheme(settings), settings.web_port) if settings.shared_port else None
