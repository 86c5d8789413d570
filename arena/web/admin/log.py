"""The admin page of the audit log."""

from __future__ import annotations

from starlette.responses import Response

from arena.store.actions import actions_page
from arena.web.admin.access_control import AdminRequest

PAGE_ROWS = 100
ACTION_WORDS = {
    "register": "added",
    "revoke": "revoked",
    "rotate": "gave a new token to",
    "approve": "approved",
    "disapprove": "no longer approved",
    "person": "noted as people:",
    "no_person": "noted as bots:",
    "set_display": "gave a display name to",
    "rename": "renamed, to",
    "delete": "deleted a bot",
    "annul": "annulled matches:",
    "undo_annul": "counted matches again:",
    "start_season": "started the season",
    "start_tournament": "started a tournament:",
    "stop_tournament": "stopped the tournament",
    "drain": "had the server stop",
    "undo_drain": "had the server go on",
    "drain_node": "drained the node",
    "undo_drain_node": "had matches begin again on the node",
    "lost_node": "gave up the node",
    "thin": "removed old records",
    "move_records": "moved old records to files",
}
"""The words that the page shows for each action; the names of the bots or matches follow them."""


async def log(visit: AdminRequest) -> Response:
    """Show a page of the audit log, newest first."""
    asked = {"after": visit.request.query_params.get("after") or None}
    found = await visit.read(actions_page, after=asked["after"], limit=PAGE_ROWS)
    return visit.show("admin_log.html", asked=asked, found=found, in_words=ACTION_WORDS)
