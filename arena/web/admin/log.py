"""The admin page of the audit log."""

from __future__ import annotations

from starlette.responses import Response

from arena.store.actions import actions_page
from arena.web.admin.access_control import AdminRequest

PAGE_ROWS = 100
"""The number of entries on a page of the audit log."""
ACTION_WORDS = {
    "register": "added",
    "revoke": "revoked",
    "rotate": "gave a new token to",
    "approve": "approved",
    "disapprove": "withdrew the approval of",
    "person": "marked as people:",
    "no_person": "marked as bots:",
    "set_display": "gave a display name to",
    "rename": "renamed, to",
    "delete": "deleted a bot",
    "annul": "annulled matches:",
    "undo_annul": "undid the annulment of matches:",
    "start_season": "started the season",
    "start_tournament": "started a tournament:",
    "stop_tournament": "stopped the tournament",
    "drain": "drained the server",
    "undo_drain": "ended the drain of the server",
    "drain_node": "drained the node",
    "undo_drain_node": "ended the drain of the node",
    "lost_node": "declared the node lost:",
    "thin": "removed old records",
    "move_records": "moved old records to files",
    "add_game": "added a game:",
    "remove_game": "removed the game",
}
"""The words that the page shows for each action; the names of the bots or matches follow them."""


async def log(request: AdminRequest) -> Response:
    """Show a page of the audit log, newest first."""
    asked = {"after": request.request.query_params.get("after") or None}
    found = await request.read(actions_page, after=asked["after"], limit=PAGE_ROWS)
    return request.show("admin_log.html", asked=asked, found=found, in_words=ACTION_WORDS)
