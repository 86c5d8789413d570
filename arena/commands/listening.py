"""Opens a server's listening sockets and defines who may connect to them."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from typing import NamedTuple

from arena.commands.fd_limits import FileBudget
from arena.commands.metrics import bind_metrics
from arena.commands.settings import ServerSettings
from arena.commands.web import bind_web, web_scheme
from arena.network.addresses import OwnPage, parse_networks, parse_origins
from arena.network.admission import Access
from arena.network.binding import ARENA_SOCKET, PAGE_SOCKET, InheritedSockets, bind_sockets, port_of
from arena.network.connection_limits import ConnectionBounds
from arena.operator.credentials import runner_token_of


class Ports(NamedTuple):
    """The listening sockets of the arena, of its pages and of its metrics. A list is empty if that service is off."""

    arena: list[socket.socket]
    page: list[socket.socket]
    metrics: list[socket.socket]


@contextlib.contextmanager
def bind_ports(settings: ServerSettings, inherited: InheritedSockets | None = None) -> Iterator[Ports]:
    """Yield a server's listening sockets, and close them on exit. Raise `PortFault` if one cannot be opened.

    Sockets that a restarted server inherits are reused. Enter this context before the data folder is created.
    """
    found = InheritedSockets({}) if inherited is None else inherited
    with contextlib.ExitStack() as stack:
        page = found.take(PAGE_SOCKET, settings.web_port) if settings.web else []
        page = [stack.enter_context(one) for one in page or bind_web(settings)]
        metrics = [stack.enter_context(one) for one in bind_metrics(settings)]
        arena = found.take(ARENA_SOCKET, settings.port)
        arena = [stack.enter_context(one) for one in arena or bind_sockets(settings.host, settings.port)]
        if settings.shared_port and all(port_of([one]) != settings.shared_port for one in arena):
            arena += [
                stack.enter_context(one) for one in bind_sockets(settings.host, settings.shared_port, shared=True)
            ]
        found.close()
        yield Ports(arena, page, metrics)


def access(settings: ServerSettings, file_budget: FileBudget, page: list[socket.socket], operator: str) -> Access:
    """Return the rules by which a server admits connections.

    `file_budget` limits the number of connections; `operator` is the operator's token.
    """
    return Access(
        bounds=ConnectionBounds(
            connections=file_budget.connections,
            per_address=settings.max_per_address,
            waiting=file_budget.waiting,
            waiting_per_address=settings.max_per_address,
        ),
        proxies=parse_networks(settings.trusted_proxy),
        origins=parse_origins(settings.allow_origin),
        page=_own_page(settings, page),
        operator_token=operator,
        runner_token=runner_token_of(operator),
    )


def _own_page(settings: ServerSettings, page: list[socket.socket]) -> OwnPage | None:
    """Return the scheme and the port of this server's web pages. If it has none but shares a port with other nodes of
    its machine (`shared_port`), return those of the node with pages. Return None if there are no pages.
    """
    if page:
        return OwnPage(web_scheme(settings), port_of(page))
    return OwnPage(web_scheme(settings), settings.web_port) if settings.shared_port else None
