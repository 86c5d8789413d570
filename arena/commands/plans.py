"""`arena plan`: plans tournaments of hosted bots, which a running server plays at their times."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from msgspec import Struct

from arena.commands.output import format_minute, format_table, print_document, terminal_columns
from arena.commands.tournament_options import read_sets
from arena.operations.planned_tournaments import check_terms
from arena.operator.requests import COMMAND_LINE_ORIGIN
from arena.store import planned
from arena.store.actions import log_action
from arena.store.match_search import parse_time_bound
from arena.store.planned import MAX_TITLE_CHARS, PlannedTerms
from arena.store.store import Reader, Store
from machine.terminal import say
from protocol.errors import UsageFault

MAX_JOBS = 64
"""Maximum number of matches that a planned tournament plays at a time."""


class PlanOptions(Struct, frozen=True, kw_only=True):
    """The options of `arena plan add` as the user gave them."""

    title: str
    closes: str
    starts: str | None
    nightly: bool
    game: str
    preset: str | None
    sets: Sequence[str]
    form: str
    rounds: int
    paired: bool
    clock: str
    bots: Sequence[str]
    late: bool
    opponents: Sequence[str]
    jobs: int
    on_runners: bool | None


def add(options: PlanOptions, where: str) -> None:
    """Plan a tournament. Raise `Fault` if an option is wrong."""
    title = " ".join(options.title.split())
    if not 1 <= len(title) <= MAX_TITLE_CHARS or not title.isprintable():
        raise UsageFault(f"the title has {len(title)} characters: it is 1 to {MAX_TITLE_CHARS} printable ones")
    if not 1 <= options.jobs <= MAX_JOBS:
        raise UsageFault(f"--jobs is {options.jobs}: it is 1 to {MAX_JOBS}")
    closes = _read_time(options.closes, "--closes", days=1)
    starts = closes if options.starts is None else _read_time(options.starts, "--starts", days=0)
    if starts < closes:
        raise UsageFault(f"--starts is {starts}, before the entries close at {closes}: it is that time or later")
    config, settings = read_sets(options.game, options.sets, options.preset)
    if settings:
        raise UsageFault(f"--set {next(iter(settings))}: write it with the opponent, like alphabeta:depth=4")
    terms = PlannedTerms(
        game=options.game,
        config=config,
        format=options.form,
        rounds=options.rounds,
        paired=options.paired,
        clock=options.clock,
        bots=list(options.bots),
        late=options.late,
        opponents=list(options.opponents),
        jobs=options.jobs,
        on_runners=options.on_runners,
    )
    check_terms(terms)
    with closing(Store.open(where, create=False, checkpoint=False)) as store:
        number = store.write(planned.add_plan, title, terms, closes, starts, nightly=options.nightly)
        store.write(log_action, COMMAND_LINE_ORIGIN, "add_plan", [title])
    again = ", and each night again" if options.nightly else ""
    say(f"plan {number}: {title} begins at {starts}{again}; entries close at {closes}")
    say("a server that hosts bots plays it: arena serve --runners N, or --hosting")


def show(where: str, *, to_json: bool) -> None:
    """Print the planned tournaments, by their starts."""
    with closing(Reader.open(where)) as reader:
        plans = reader.read(planned.list_plans)
    if to_json:
        print_document(plans)
        return
    if not plans:
        say("no tournaments are planned")
        return
    rows = [
        (
            plan.id,
            plan.title,
            plan.terms.game,
            format_minute(plan.closes),
            format_minute(plan.starts),
            "nightly" if plan.nightly else "",
            plan.state,
            plan.tournament or "",
        )
        for plan in plans
    ]
    headers = ("plan", "title", "game", "closes", "starts", "", "state", "tournament")
    say(format_table(headers, rows, wrapped_column=1, left_columns=(2, 3, 4, 5, 6, 7), width=terminal_columns()))
    for plan in plans:
        for line in plan.note.splitlines():
            say(f"plan {plan.id}: {line}")


def remove(number: int, where: str) -> None:
    """Remove a planned tournament that has not begun; of a nightly series, all that would follow."""
    with closing(Store.open(where, create=False, checkpoint=False)) as store:
        gone = store.write(planned.remove_plan, number)
        store.write(log_action, COMMAND_LINE_ORIGIN, "remove_plan", [gone.title])
    say(f"plan {number}, {gone.title}, is removed")


def _read_time(text: str, option: str, *, days: int) -> str:
    found = parse_time_bound(text, option, days=days)
    return found if "T" in found else f"{found}T00:00:00.000Z"
