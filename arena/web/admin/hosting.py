"""The admin page of hosted bots: the runners with their load, who has handed in, and which checks failed."""

from __future__ import annotations

from starlette.responses import Response

from arena.operator.status import ServerStatus, StatusRequest
from arena.store.bot_versions import latest_versions
from arena.web.admin.access_control import AdminRequest
from arena.web.admin.channel import ask
from protocol.errors import ArenaFault

MAX_LATEST_VERSIONS = 500
"""Maximum number of bots of which the page shows the version that was handed in last."""


async def hosting(request: AdminRequest) -> Response:
    """Show the state of hosted bots. Without hosting, the page says how to turn it on."""
    unknown, state = "", None
    try:
        state = (await ask(request, StatusRequest(), ServerStatus)).hosting
    except ArenaFault as fault:
        unknown = str(fault)
    latest = await request.read(latest_versions, MAX_LATEST_VERSIONS)
    return request.show("admin_hosting.html", state=state, unknown=unknown, latest=latest)
