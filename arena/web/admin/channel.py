"""Sends the requests of admin forms to the running server, over the operator's channel."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar

from arena.operator.client import OperatorConnection, TokenRefused, connect_to_url
from arena.operator.requests import Request
from arena.web.admin.access_control import AdminRequest

T = TypeVar("T")


@asynccontextmanager
async def connect_server(request: AdminRequest) -> AsyncIterator[OperatorConnection]:
    """Connect to the server with the session's token. If the server refuses the token, the session ends. Raise the
    errors of `connect_to_url`.
    """
    client = request.request.client
    by = f"admin page, from {client.host if client else 'nowhere'}"
    try:
        async with connect_to_url(request.access.config.url, request.session.token, by) as operator:
            yield operator
    except TokenRefused:
        request.access.sessions.end(request.session)
        raise


async def ask(admin_request: AdminRequest, request: Request, answer: type[T]) -> T:
    """Send one request and return the server's answer. Raise the errors of `connect_server` and
    `OperatorConnection.ask`.
    """
    async with connect_server(admin_request) as operator:
        return await operator.ask(request, answer)
