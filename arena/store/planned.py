"""Planned tournaments: what they play, when, and what became of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Connection

from arena.store.dialect import execute, insert_into
from arena.store.entrants import HostedEntrant, freeze_entrants
from arena.store.forfeits import describe_forfeits
from arena.store.match_search import parse_time_bound
from arena.store.paging import MAX_INTEGER
from arena.store.rows import read_row
from arena.store.tournament_state import finish_tournament, open_tournament
from protocol.display import format_count
from protocol.errors import UsageFault

WAITING, PLAYING, OVER, FAILED = "waiting", "playing", "over", "failed"
"""The states of a planned tournament: it has not begun, is played, is over, or could not be played to its end."""
STOPPED_NOTE = "it was stopped by the operator"
"""The note of a planned tournament that was stopped while it was played."""
MAX_TITLE_CHARS = 80
"""Maximum characters of a title."""
MAX_PLANS = 1000
"""Maximum number of planned tournaments that have not begun."""


class PlannedTerms(Struct, frozen=True, kw_only=True):
    """The terms of a planned tournament. Without `bots`, every hosted bot enters that plays the game, with `late` also
    those that had no version at the deadline; with `online`, only those that are online when entries close: they are
    `online_bots`, once that is known. `opponents` are built-in bots, as words of `arena tournament`. `jobs` is the
    number of matches at a time on the server's machine. Runners play it if it is `on_runners`; if that is None, they do
    if there are any.
    """

    game: str
    config: dict[str, Any] = {}
    format: str = "round-robin"
    rounds: int = 1
    paired: bool = False
    clock: str = "10+0.1"
    bots: list[str] = []
    late: bool = False
    online: bool = False
    online_bots: list[str] | None = None
    opponents: list[str] = []
    jobs: int = 1
    on_runners: bool | None = None


class PlanDraft(Struct, frozen=True, kw_only=True):
    """A tournament to plan. Its entries close at `closes`, and it begins at `starts`; each day again if `nightly`."""

    title: str
    terms: PlannedTerms
    closes: str
    starts: str
    nightly: bool = False


class PlannedTournament(PlanDraft, frozen=True, kw_only=True):
    """A planned tournament. Once it has begun, it has an id, `tournament`. `note` says what did not enter or failed."""

    id: int
    state: str
    tournament: str | None
    note: str


def add_plan(connection: Connection, draft: PlanDraft) -> int:
    """Plan a tournament, and return the plan's id. Raise `UsageFault` if too many are planned."""
    query = "SELECT count(*) FROM planned_tournaments WHERE state = :state"
    if execute(connection, query, {"state": WAITING}).scalar_one() >= MAX_PLANS:
        raise UsageFault(f"{MAX_PLANS} tournaments are planned, which is the most: remove one")
    row = _words_of(draft) | {"state": WAITING, "note": ""}
    query = f"{insert_into('planned_tournaments', list(row))} RETURNING id"
    return int(execute(connection, query, row).scalar_one())


def list_plans(connection: Connection) -> list[PlannedTournament]:
    """Return all planned tournaments, also those that are over, by their starts."""
    return [_plan(row) for row in execute(connection, "SELECT * FROM planned_tournaments ORDER BY starts, id")]


def open_plans(connection: Connection) -> list[PlannedTournament]:
    """Return the planned tournaments that wait or are played."""
    query = "SELECT * FROM planned_tournaments WHERE state IN (:waiting, :playing) ORDER BY starts, id"
    return [_plan(row) for row in execute(connection, query, {"waiting": WAITING, "playing": PLAYING})]


def remove_plan(connection: Connection, plan: int) -> PlannedTournament:
    """Remove a planned tournament that waits, or end one that is played. Return it with the state that it had. Raise
    `UsageFault` if it is over, has failed or is unknown.
    """
    found = find_plan(connection, plan)
    if found.state == PLAYING:
        end_plan(connection, found, "\n".join(filter(None, (found.note, STOPPED_NOTE))))
    elif found.state == WAITING:
        execute(connection, "DELETE FROM planned_tournaments WHERE id = :id", {"id": plan})
    else:
        raise UsageFault(f"plan {plan} is {found.state}: only one that waits or is played can be removed")
    return found


def find_plan(connection: Connection, plan: int) -> PlannedTournament:
    """Return a planned tournament. Raise `UsageFault` if it is unknown."""
    query = "SELECT * FROM planned_tournaments WHERE id = :id"
    found = execute(connection, query, {"id": plan}).one_or_none() if plan <= MAX_INTEGER else None
    if found is None:
        raise UsageFault(f"there is no plan {plan}: `arena plan list` has them")
    return _plan(found)


def change_plan(connection: Connection, plan: int, draft: PlanDraft) -> None:
    """Replace what is planned. Raise `UsageFault` if it has begun, or is unknown."""
    found = find_plan(connection, plan)
    if found.state != WAITING:
        raise UsageFault(f"plan {plan} is {found.state}: only one that waits can be changed")
    noted = found.terms.online_bots if draft.closes == found.closes else None
    draft = replace(draft, terms=replace(draft.terms, online_bots=noted))
    query = """UPDATE planned_tournaments
    SET title = :title, terms = :terms, closes = :closes, starts = :starts, nightly = :nightly WHERE id = :id"""
    execute(connection, query, {**_words_of(draft), "id": plan})


def note_online(connection: Connection, plan: PlannedTournament, bots: Collection[str]) -> None:
    """Note the bots that are online as the entries of a planned tournament close, unless it was changed meanwhile."""
    if find_plan(connection, plan.id) == plan:
        words = {"id": plan.id, "terms": _encode(replace(plan.terms, online_bots=sorted(bots)))}
        execute(connection, "UPDATE planned_tournaments SET terms = :terms WHERE id = :id", words)


def begin_plan(
    connection: Connection,
    plan: PlannedTournament,
    key: str,
    randomness_key: str,
    entrants: Sequence[HostedEntrant],
    note: str,
    following: tuple[str, str] | None,
) -> str:
    """Freeze the entrants of a planned tournament, and note that it is played. Return the tournament's id.

    The keys are those of `RunTerms`. `following` is when the next one of its series closes and starts. Raise
    `UsageFault` if it has begun, was changed or removed, or a version is gone; then nothing is changed.
    """
    tournament, _ = open_tournament(connection, key, None, randomness_key)
    freeze_entrants(connection, tournament, entrants)
    _leave_waiting(connection, plan, following, state=PLAYING, tournament=tournament, note=note)
    return tournament


def fail_to_begin(
    connection: Connection, plan: PlannedTournament, note: str, following: tuple[str, str] | None
) -> None:
    """Note why a planned tournament can't begin. The next one of its series is planned."""
    _leave_waiting(connection, plan, following, state=FAILED, tournament=None, note=note)


def _leave_waiting(
    connection: Connection, plan: PlannedTournament, following: tuple[str, str] | None, **values: str | None
) -> None:
    if find_plan(connection, plan.id) != plan:
        raise UsageFault(f"plan {plan.id} has begun, or was changed")
    query = "UPDATE planned_tournaments SET state = :state, tournament = :tournament, note = :note WHERE id = :id"
    execute(connection, query, {**values, "id": plan.id})
    if following is not None:
        closes, starts = following
        terms = replace(plan.terms, online_bots=None)
        add_plan(connection, PlanDraft(title=plan.title, terms=terms, closes=closes, starts=starts, nightly=True))


def end_plan(connection: Connection, plan: PlannedTournament, fault: str | None = None) -> None:
    """Note that a planned tournament was played to its end, and which bots could not play, or that it can't be played
    because of a `fault`. One that has ended meanwhile, as a bot was deleted or it was stopped, stays as it is.
    """
    if find_plan(connection, plan.id).state == FAILED:
        return
    note = fault
    if note is None and plan.tournament is not None:
        finish_tournament(connection, plan.tournament)
        note = "\n".join((*plan.note.splitlines(), *describe_forfeits(connection, plan.tournament)))
    words = {"id": plan.id, "state": OVER if fault is None else FAILED, "note": note}
    query = "UPDATE planned_tournaments SET state = :state, note = coalesce(CAST(:note AS text), note) WHERE id = :id"
    execute(connection, query, words)


class StartedTournament(Struct, frozen=True, kw_only=True):
    """A stored tournament: its seed, and its arguments in canonical JSON."""

    seed: str
    arguments: str


def read_started(connection: Connection, tournament: str) -> StartedTournament:
    """Return a stored tournament."""
    query = "SELECT seed, arguments FROM tournaments WHERE id = :id"
    return read_row(StartedTournament, execute(connection, query, {"id": tournament}).one())


def describe_terms(terms: PlannedTerms) -> str:
    """Return how a planned tournament is played, who enters besides the hosted bots, and where, in one line."""
    form = [terms.format, format_count(terms.rounds, "round", "rounds"), *["paired"] * terms.paired, terms.clock]
    said = [", ".join(form)]
    if terms.bots:
        said.append(f"only {', '.join(terms.bots)}")
    if terms.opponents:
        said.append(f"with {', '.join(terms.opponents)}")
    if terms.online:
        said.append("only bots that are online when entries close")
    if terms.late:
        said.append("late bots too")
    where = {None: "on runners, if there are any", True: "on runners", False: "on the server's machine"}
    return "; ".join([*said, where[terms.on_runners]])


def read_deadline(text: str, name: str) -> str:
    """Return the deadline that a text gives; for a day, it is the end of that day. Raise `UsageFault`, which calls it
    `name`, if it is neither a day nor a time.
    """
    return _read_time(text, name, days=1)


def read_start(text: str, name: str) -> str:
    """Return the start that a text gives; for a day, it is the begin of that day. Raise `UsageFault`, which calls it
    `name`, if it is neither a day nor a time.
    """
    return _read_time(text, name, days=0)


def _read_time(text: str, name: str, *, days: int) -> str:
    found = parse_time_bound(text, name, days=days)
    return found if "T" in found else f"{found}T00:00:00.000Z"


def _words_of(draft: PlanDraft) -> dict[str, object]:
    return {
        "title": draft.title,
        "terms": _encode(draft.terms),
        "closes": draft.closes,
        "starts": draft.starts,
        "nightly": draft.nightly,
    }


def _encode(terms: PlannedTerms) -> str:
    return msgspec.json.encode(terms).decode()


def _plan(row: Any) -> PlannedTournament:
    return read_row(PlannedTournament, row, terms=msgspec.json.decode(row.terms, type=PlannedTerms))
