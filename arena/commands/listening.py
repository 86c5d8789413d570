"""What a server listens on, and who may connect there."""

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
    """What listens: the sockets of the arena, of its page and of its metrics, none where there are none."""

    arena: list[socket.socket]
    page: list[socket.socket]
    metrics: list[socket.socket]


@contextlib.contextmanager
def listening(settings: ServerSettings, handed: HandedOver | None = None) -> Iterator[Ports]:
    """The ports of a server, inside; taken before its data folder is made, and those first that were `handed` over.

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
    """Who may connect, with so many `files`; `operator` is the token by which an operator is known."""
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
    """The page on this machine: this server's own, or that of another one with which it shares a port."""
    if page:
        return OwnPage(web_scheme(settings), port_of(page))
    return OwnPage(web_scheme(settings), settings.web_port) if settings.shared_port else None
