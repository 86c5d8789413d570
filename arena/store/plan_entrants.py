"""The hosted bots of a planned tournament: those that enter, and what each bot has handed in for it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Connection

from arena.store.bot_versions import FAILED, FailedVersion, games_of
from arena.store.dialect import execute
from arena.store.entrants import EntrantList, describe_early_entry, find_entrants
from arena.store.forfeits import describe_forfeits
from arena.store.planned import PLAYING, WAITING, PlannedTournament
from protocol.errors import UsageFault
from protocol.names import fold_name

_SELECT_NEWEST = """SELECT bots.name AS bot, bots.key, bots.display, bot_versions.number, bot_versions.state,
    bot_versions.submitted, bot_versions.report, bot_versions.manifest, bot_versions.chosen_games,
    entrants.number AS entered, entrants.late
FROM bot_versions JOIN bots ON bots.id = bot_versions.bot
LEFT JOIN entrants ON entrants.bot = bots.id AND entrants.tournament = :tournament
WHERE bots.token_hash IS NOT NULL AND NOT bots.revoked
    AND bot_versions.number = (SELECT max(later.number) FROM bot_versions AS later WHERE later.bot = bots.id)
ORDER BY bots.key"""
"""The query for the newest version of each hosted bot, with the one that entered a tournament."""


_SELECT_ABSENT = """SELECT name FROM bots WHERE token_hash IS NOT NULL AND NOT revoked AND NOT person
    AND NOT EXISTS (SELECT 1 FROM bot_versions WHERE bot = bots.id) ORDER BY key LIMIT :most"""
"""The query for the names of the bots of which nothing was handed in."""
MAX_ABSENT_BOTS = 100
"""Maximum number of bots of which nothing was handed in that a report names."""


class HandedIn(Struct, frozen=True, kw_only=True):
    """The newest version of a hosted bot, and the one that enters a planned tournament.

    Version `number` is the newest; it is `late` if it came after the deadline, and `why` says what failed in its check.
    Version `enters` plays, and `enters_late` if it came after the deadline; it is None if the bot does not enter.
    """

    bot: str
    display: str | None
    number: int
    state: str
    submitted: str
    late: bool
    why: str
    enters: int | None
    enters_late: bool


class PlanReport(Struct, frozen=True, kw_only=True):
    """A planned tournament, with what the bots have handed in for it.

    `notes` say what does not enter, and why. `absent` are registered bots of which nothing was handed in.
    """

    plan: PlannedTournament
    bots: list[HandedIn]
    notes: list[str]
    absent: list[str]


def find_plan_entrants(connection: Connection, plan: PlannedTournament) -> EntrantList:
    """Return the entrants of a planned tournament, as `find_entrants` does, without those that were not online if only
    bots enter that are.
    """
    terms = plan.terms
    found = find_entrants(connection, terms.game, plan.closes, terms.bots, late=terms.late)
    return found if terms.online_bots is None else _only_online(found, terms.online_bots)


def report_plan(connection: Connection, plan: PlannedTournament) -> PlanReport:
    """Return what the bots of the plan's game have handed in for it."""
    rows = execute(connection, _SELECT_NEWEST, {"tournament": plan.tournament}).all()
    entering: dict[str, tuple[int, bool]] = {}
    if plan.state == WAITING:
        try:
            found = find_plan_entrants(connection, plan)
            entering = {one.bot: (one.number, one.late) for one in found.entrants}
            notes = [note for note in found.notes if note != describe_early_entry(plan.closes)]  # `plan` says so itself
        except UsageFault as fault:  # a bot is named that can't enter
            notes = [str(fault)]
    else:
        entering = {row.bot: (row.entered, bool(row.late)) for row in rows if row.entered is not None}
        notes = plan.note.splitlines()
        if plan.state == PLAYING and plan.tournament is not None:
            notes += describe_forfeits(connection, plan.tournament)
    absent = [row.name for row in execute(connection, _SELECT_ABSENT, {"most": MAX_ABSENT_BOTS})]
    return PlanReport(plan=plan, bots=list(_report_bots(plan, rows, entering)), notes=notes, absent=absent)


def _only_online(entrant_list: EntrantList, online: Collection[str]) -> EntrantList:
    entrants, notes = [], list(entrant_list.notes)
    for entrant in entrant_list.entrants:
        if fold_name(entrant.bot) in online:
            entrants.append(entrant)
        else:
            notes.append(f"{entrant.bot} was not online when entries closed: it does not enter")
    return replace(entrant_list, entrants=entrants, notes=notes)


def _report_bots(
    plan: PlannedTournament, rows: Sequence[Any], entering: dict[str, tuple[int, bool]]
) -> Iterator[HandedIn]:
    named = {fold_name(bot) for bot in plan.terms.bots}
    for row in rows:
        enters, enters_late = entering.get(row.bot, (None, False))
        plays = plan.terms.game in games_of(row.manifest, row.chosen_games) and (not named or row.key in named)
        if not plays and enters is None:
            continue
        failed = FailedVersion(bot=row.bot, number=row.number, submitted=row.submitted, report=row.report)
        yield HandedIn(
            bot=row.bot,
            display=row.display,
            number=row.number,
            state=row.state,
            submitted=row.submitted,
            late=row.submitted > plan.closes,
            why=failed.why if row.state == FAILED else "",
            enters=enters,
            enters_late=enters_late,
        )
