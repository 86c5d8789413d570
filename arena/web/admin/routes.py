"""The routes of the admin pages: GET to read, POST to change."""

from __future__ import annotations

from starlette.routing import Route

from arena.web.admin import ladder, log, roster, tournaments
from arena.web.admin.access_control import AccessControl
from arena.web.admin_config import PREFIX

READ = {
    "": roster.roster,
    "/add": roster.adding,
    "/matches": ladder.matches,
    "/seasons": ladder.seasons,
    "/tournaments": tournaments.tournaments,
    "/log": log.log,
}
CHANGED = {
    "/bots": roster.change,
    "/add": roster.add,
    "/matches": ladder.annul,
    "/seasons": ladder.start_season,
    "/tournaments": tournaments.change,
}


def routes(access: AccessControl) -> list[Route]:
    return [
        *(Route(f"{PREFIX}{path}", access.reading(answer)) for path, answer in READ.items()),
        *(Route(f"{PREFIX}{path}", access.changing(answer), methods=["POST"]) for path, answer in CHANGED.items()),
        Route(f"{PREFIX}/sign-in", access.sign_in, methods=["POST"]),
        Route(f"{PREFIX}/sign-out", access.changing(access.sign_out), methods=["POST"]),
    ]
