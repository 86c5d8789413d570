"""Checks what is planned, and answers the operator's requests about planned tournaments."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from msgspec.structs import replace

from arena.operator.plans import AddPlan, ChangePlan, PlanNumber, RemovePlan
from arena.operator.requests import OperationHandler, SendEvent
from arena.processes.bot_commands import check_names
from arena.runs.contestants import parse_builtin_contestants
from arena.runs.schedule_limits import MAX_ROUNDS, MAX_SERVER_MATCHES, TOURNAMENT_FORMATS, check_size
from arena.store.planned import (
    MAX_TITLE_CHARS,
    PLAYING,
    PlanDraft,
    PlannedTerms,
    add_plan,
    change_plan,
    find_plan,
    remove_plan,
)
from machine.arguments import read_clock
from machine.timestamps import utc_now
from protocol.display import list_choices, short_repr
from protocol.errors import UsageFault
from protocol.games import check_offered, load_game

if TYPE_CHECKING:
    from arena.server.arena import Arena

MAX_JOBS = 64
"""Maximum number of matches that a planned tournament plays at a time."""
MAX_START_AGE = timedelta(minutes=1)
"""Maximum age of the start of a new plan: a time to the minute may mean now."""


def handlers(arena: Arena) -> Iterator[OperationHandler]:
    """Yield the handlers of requests about planned tournaments."""

    async def add(request: AddPlan, tell: SendEvent) -> PlanNumber:
        draft = checked_draft(request.draft)
        check_start(draft.starts)
        return PlanNumber(plan=await arena.store.write(add_plan, draft), title=draft.title)

    async def change(request: ChangePlan, tell: SendEvent) -> PlanNumber:
        draft = checked_draft(request.draft)
        before = await arena.store.read(find_plan, request.plan)
        if draft.starts != before.starts:  # that of the plan may be past, while it waits for checks
            check_start(draft.starts)
        await arena.store.write(change_plan, request.plan, draft)
        return PlanNumber(plan=request.plan, title=draft.title)

    async def remove(request: RemovePlan, tell: SendEvent) -> PlanNumber:
        gone = await arena.store.write(remove_plan, request.plan)
        return PlanNumber(plan=gone.id, title=gone.title, stopped=gone.state == PLAYING)

    yield OperationHandler(AddPlan, add)
    yield OperationHandler(ChangePlan, change)
    yield OperationHandler(RemovePlan, remove)


def checked_draft(draft: PlanDraft) -> PlanDraft:
    """Return what is planned, with single spaces in its title. Raise `Fault` if it can't be played."""
    title = " ".join(draft.title.split())
    if not 1 <= len(title) <= MAX_TITLE_CHARS or not title.isprintable():
        raise UsageFault(f"the title has {len(title)} characters: it is 1 to {MAX_TITLE_CHARS} printable ones")
    if datetime.fromisoformat(draft.starts) < datetime.fromisoformat(draft.closes):
        raise UsageFault(
            f"it starts at {draft.starts}, before the entries close at {draft.closes}: it starts then or later"
        )
    check_terms(draft.terms)
    return replace(draft, title=title)


def check_start(starts: str) -> None:
    """Raise `UsageFault` if a time to start is past."""
    now = utc_now()
    if datetime.fromisoformat(starts) < datetime.fromisoformat(now) - MAX_START_AGE:
        raise UsageFault(f"it starts at {starts}, and now it is {now}: it starts now or later")


def check_terms(terms: PlannedTerms) -> None:
    """Raise `Fault` if the terms of a planned tournament are wrong."""
    opponents = parse_builtin_contestants(terms.opponents)
    check_names([*(one.name for one in opponents), *terms.bots])
    read_clock(terms.clock)
    if terms.format not in TOURNAMENT_FORMATS:
        raise UsageFault(f"there is no format {short_repr(terms.format)}: {list_choices(TOURNAMENT_FORMATS)}")
    if not 1 <= terms.rounds <= MAX_ROUNDS:
        raise UsageFault(f"the number of rounds is {terms.rounds}: it is 1 to {MAX_ROUNDS}")
    if not 1 <= terms.jobs <= MAX_JOBS:
        raise UsageFault(f"the number of matches at a time is {terms.jobs}: it is 1 to {MAX_JOBS}")
    check_offered(terms.game)
    rules = load_game(terms.game, terms.config)
    bots = max(len(opponents) + len(terms.bots), rules.seats, 2)
    check_size(rules, terms.format, bots, terms.rounds, paired=terms.paired, max_matches=MAX_SERVER_MATCHES)
