"""What forms ask of the running server, with the token of who is signed in: by the operator's channel."""

from __future__ import annotations

from typing import TypeVar

from arena.operator.client import TokenRefused, connected
from arena.operator.requests import Request
from arena.web.admin.gate import Visit

T = TypeVar("T")


async def ask(visit: Visit, request: Request, answer: type[T]) -> T:
    """What the server answers. Raises as `Operator.ask` and `connected` do. A session ends as its token is refused."""
    client = visit.request.client
    by = f"admin page, from {client.host if client else 'nowhere'}"
    try:
        async with connected(visit.gate.config.url, visit.session.token, by) as operator:
            return await operator.ask(request, answer)
    except TokenRefused:
        visit.gate.sessions.end(visit.session)
        raise
