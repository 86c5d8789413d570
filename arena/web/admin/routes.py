"""The routes of the admin pages: GET to read, POST to change."""

from __future__ import annotations

from starlette.routing import Route

from arena.web.admin import hosting, ladder, log, plans, roster, tournaments
from arena.web.admin.access_control import AccessControl
from arena.web.admin_config import PREFIX

PAGE_ROUTES = {
    "": roster.roster,
    "/add": roster.show_add_form,
    "/matches": ladder.matches,
    "/seasons": ladder.seasons,
    "/tournaments": tournaments.tournaments,
    "/hosting": hosting.hosting,
    "/plans": plans.plans,
    "/log": log.log,
}
"""The handlers of the admin pages, by the path below `PREFIX`."""
FORM_ROUTES = {
    "/bots": roster.change,
    "/add": roster.add,
    "/matches": ladder.annul,
    "/seasons": ladder.start_season,
    "/tournaments": tournaments.change,
    "/plans": plans.change,
}
"""The function that handles each form of the admin pages, by path."""


def routes(access: AccessControl) -> list[Route]:
    return [
        *(Route(f"{PREFIX}{path}", access.wrap_page(answer)) for path, answer in PAGE_ROUTES.items()),
        *(Route(f"{PREFIX}{path}", access.wrap_form(answer), methods=["POST"]) for path, answer in FORM_ROUTES.items()),
        Route(f"{PREFIX}/sign-in", access.sign_in, methods=["POST"]),
        Route(f"{PREFIX}/sign-out", access.wrap_form(access.sign_out), methods=["POST"]),
    ]
