"""Admin pages that start, follow, stop and resume tournaments among connected bots."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, NamedTuple

from starlette.responses import Response

from arena.operator.status import MAX_ENTRIES, ServerStatus, StatusRequest
from arena.operator.tournaments import (
    DEFAULT_WAIT_S,
    MAX_WAIT_S,
    ListTournaments,
    StartTournament,
    StopTournament,
    TournamentStarted,
    TournamentStatus,
)
from arena.store.tournaments import TournamentTable, tournament_table, tournaments_page
from arena.web.admin.access_control import AdminRequest
from arena.web.admin.channel import ask, connect_server
from arena.web.admin.forms import Form
from arena.web.admin_config import PREFIX
from arena.web.rendering import site_of
from machine.arguments import read_clock
from protocol.config_values import parse_value
from protocol.display import short_repr
from protocol.errors import ArenaFault, Fault, UsageFault
from protocol.games import game_class, offered_game_names

MAX_LATEST_TOURNAMENTS = 20
"""Maximum number of latest tournaments on the admin page of tournaments."""
MAX_STANDING_ROWS = 10
"""Maximum number of rows that the page shows of a tournament's table."""
FORMAT_WORDS = {"round-robin": "round robin", "gauntlet": "gauntlet: the first against all others", "swiss": "Swiss"}
"""The words for each tournament format in the form."""
TOURNAMENTS_PATH = f"{PREFIX}/tournaments"
"""The path of the admin page of tournaments."""
EMPTY_FORM = Form({})
"""The form for a new tournament before anything is filled in."""


class UnfinishedTournament(NamedTuple):
    """An unfinished tournament; `status` is None if the server is not playing it."""

    table: TournamentTable
    status: TournamentStatus | None


async def tournaments(request: AdminRequest) -> Response:
    """Show the unfinished and the latest tournaments, and the form for a new one."""
    return await _page(request, EMPTY_FORM)


async def change(request: AdminRequest) -> Response:
    """Start, resume or stop a tournament."""
    do = request.form.one("do")
    try:
        match do:
            case "stop":
                name = request.form.one("tournament")
                await ask(request, StopTournament(tournament=name), type(None))
                return request.redirect_done(f"stopped: {name}", TOURNAMENTS_PATH)
            case "go-on":
                start = await _resume_request(request)
            case _:
                start = _parse_form(request.form)
        begun = await ask(request, start, TournamentStarted)
    except Fault as fault:
        if do in ("stop", "go-on"):
            return request.redirect_failed(str(fault), TOURNAMENTS_PATH)
        return await _page(request, request.form, str(fault), HTTPStatus.BAD_REQUEST)
    before = f": {begun.played} of its matches had been played" if begun.played else ""
    return request.redirect_done(f"the tournament {begun.tournament} has started{before}", TOURNAMENTS_PATH)


async def _page(request: AdminRequest, form: Form, wrong: str = "", status: int = HTTPStatus.OK) -> Response:
    online, running, unknown = [], {}, ""
    try:
        async with connect_server(request) as operator:
            online = [bot.bot for bot in (await operator.ask(StatusRequest(most=MAX_ENTRIES), ServerStatus)).bots]
            running = {one.tournament: one for one in await operator.ask(ListTournaments(), list[TournamentStatus])}
    except ArenaFault as fault:
        unknown = str(fault)
    latest = (await request.read(tournaments_page, limit=MAX_LATEST_TOURNAMENTS)).rows
    under_way = []
    for row in latest:
        ours = not row.arguments.get("rated", True) and "hosted" not in row.arguments
        if row.finished is None and (row.tournament in running or ours):
            table = await request.read(tournament_table, row.tournament, site_of(request.request).cached_standings)
            if table is not None:
                under_way.append(UnfinishedTournament(table, running.get(row.tournament)))
    return request.show(
        "admin_tournaments.html",
        status,
        form=form,
        wrong=wrong,
        online=online,
        unknown=unknown,
        under_way=under_way,
        finished=[row for row in latest if row.finished],
        pools=[f"{game}/{preset}" for game in offered_game_names() for preset in game_class(game).presets],
        formats=FORMAT_WORDS,
        standing=MAX_STANDING_ROWS,
        wait=DEFAULT_WAIT_S,
    )


def _parse_form(form: Form) -> StartTournament:
    """Parse the form of a new tournament. Raise `UsageFault` if a field is wrong, `BotFault` if the game is unknown."""
    game, _, preset = form.one("pool").partition("/")
    game_class(game)
    config: dict[str, Any] = {"preset": preset} if preset else {}
    for word in form.one("settings").split():
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise UsageFault(f"the game config has {short_repr(word)}: write KEY=VALUE, like heaps=3,5,7")
        config[key] = parse_value(value)
    clock = form.one("clock")
    read_clock(clock)
    wait = _number(form, "wait")
    if not 1 <= wait <= MAX_WAIT_S:
        raise UsageFault(f"wait is {wait}: it must be 1 to {MAX_WAIT_S:g} seconds")
    return StartTournament(
        bots=list(dict.fromkeys([*form.one("named").replace(",", " ").split(), *form.many("bot")])),
        game=game,
        config=config,
        format=form.one("format"),
        rounds=_number(form, "rounds"),
        paired=form.one("paired") == "yes",
        clock=clock,
        seed=form.one("seed") or None,
        wait_s=wait,
    )


async def _resume_request(request: AdminRequest) -> StartTournament:
    """Return the request that resumes a tournament. Raise `UsageFault` if these pages did not start it."""
    name = request.form.one("tournament")
    known = await request.read(tournament_table, name, site_of(request.request).cached_standings)
    if known is None or known.arguments.get("rated", True) or "hosted" in known.arguments:
        raise UsageFault(f"these pages started no tournament {short_repr(name)}")
    fields = ("bots", "game", "config", "format", "rounds", "paired", "clock")
    return StartTournament(**{field: known.arguments[field] for field in fields}, seed=known.seed)


def _number(form: Form, name: str) -> int:
    text = form.one(name)
    if not text.isdecimal() or len(text) > 9:
        raise UsageFault(f"{name} is {short_repr(text)}: it must be a whole number")
    return int(text)
