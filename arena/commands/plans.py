"""`arena plan`: plans tournaments of hosted bots, which a running server plays at their times."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from textwrap import fill

from msgspec import Struct
from msgspec.structs import replace

from arena.commands.output import format_minute, format_table, print_document, terminal_columns
from arena.commands.tournament_options import read_sets
from arena.operations.plans import check_start, checked_draft
from arena.operator.client import NoServer, ask_server
from arena.operator.requests import COMMAND_LINE_ORIGIN
from arena.operator.status import ServerStatus, StatusRequest
from arena.store import planned
from arena.store.actions import log_action
from arena.store.plan_entrants import report_plan
from arena.store.planned import (
    PLAYING,
    WAITING,
    PlanDraft,
    PlannedTerms,
    PlannedTournament,
    describe_terms,
    read_deadline,
    read_start,
)
from arena.store.server_url import is_server_url
from arena.store.store import Reader, Store
from machine.terminal import say
from protocol.errors import Fault, UsageFault

MIN_START_COLUMNS = 100
"""Minimum width of the terminal, in columns, at which the table of plans has their starts, and which are nightly."""


class PlanOptions(Struct, frozen=True, kw_only=True):
    """The options of `arena plan add` as the user gave them. The game config of `terms` is not known yet: it follows
    from `preset` and `sets`.
    """

    title: str
    closes: str
    starts: str | None
    nightly: bool
    preset: str | None
    sets: Sequence[str]
    terms: PlannedTerms


def add(options: PlanOptions, where: str, data: Path) -> None:
    """Plan a tournament in a database; `data` is the data folder. Raise `Fault` if an option is wrong."""
    config, settings = read_sets(options.terms.game, options.sets, options.preset)
    if settings:
        raise UsageFault(f"--set {next(iter(settings))}: write it with the opponent, like alphabeta:depth=4")
    closes = read_deadline(options.closes, "--closes")
    starts = closes if options.starts is None else read_start(options.starts, "--starts")
    terms = replace(options.terms, config=config)
    draft = checked_draft(
        PlanDraft(title=options.title, terms=terms, closes=closes, starts=starts, nightly=options.nightly)
    )
    check_start(starts)
    with closing(Store.open(where, create=False, checkpoint=False)) as store:
        number = store.write(planned.add_plan, draft)
        store.write(log_action, COMMAND_LINE_ORIGIN, "add_plan", [draft.title])
    again = ", and each night again" if draft.nightly else ""
    say(f"plan {number}: {draft.title} begins at {starts}{again}; entries close at {closes}")
    _say_who_plays(where, data)


def _say_who_plays(where: str, data: Path) -> None:
    """Say how a server hosts bots, if none runs on a data folder, or it hosts none."""
    if is_server_url(where):
        say("nothing plays it yet: nodes that share a database server host no bots")
        return
    try:
        status = ask_server(data, StatusRequest(most=0), ServerStatus)
    except NoServer:
        say("a server that hosts bots plays it: arena serve --runners N, or --hosting")
    except Fault:
        pass  # what is planned is stored, and a server that does not answer says nothing about its hosting
    else:
        if status.hosting is None:
            say("the server hosts no bots, so it does not play it: restart it with --runners N, or --hosting")


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
    width = terminal_columns()
    used = [at for at, header in enumerate(headers) if header not in ("starts", "") or width >= MIN_START_COLUMNS]
    cut = [[row[at] for at in used] for row in rows]
    left = range(2, len(used))
    say(format_table([headers[at] for at in used], cut, wrapped_column=1, left_columns=left, width=width))
    for plan in plans:
        if plan.state in (WAITING, PLAYING):
            _say_wrapped(f"plan {plan.id}: {_describe(plan)}")
        for line in plan.note.splitlines():
            _say_wrapped(f"plan {plan.id}: {line}")


def show_one(number: int, where: str, *, to_json: bool) -> None:
    """Print what the bots have handed in for a planned tournament. Raise `UsageFault` if it is unknown."""
    with closing(Reader.open(where)) as reader:
        report = reader.read(report_plan, reader.read(planned.find_plan, number))
    if to_json:
        print_document(report)
        return
    plan = report.plan
    close = "close" if plan.state == WAITING else "closed"
    _say_wrapped(f"plan {number}: {plan.title}, {plan.terms.game}, {plan.state}; entries {close} at {plan.closes}")
    _say_wrapped(_describe(plan))
    rows = [
        (
            one.bot,
            "" if one.enters is None else f"v{one.enters} late" if one.enters_late else f"v{one.enters}",
            f"v{one.number}",
            f"{format_minute(one.submitted)}{' late' if one.late else ''}",
            one.why or one.state,
        )
        for one in report.bots
    ]
    headers = ("bot", "enters", "newest", "handed in", "check of the newest")
    say(format_table(headers, rows, wrapped_column=4, left_columns=range(5), width=terminal_columns()))
    for note in report.notes:
        _say_wrapped(note)
    if report.absent:
        _say_wrapped(f"nothing handed in: {', '.join(report.absent)}")


def remove(number: int, where: str) -> None:
    """Remove a planned tournament that waits; of a nightly series, all that would follow. Stop one that is played."""
    with closing(Store.open(where, create=False, checkpoint=False)) as store:
        gone = store.write(planned.remove_plan, number)
        store.write(log_action, COMMAND_LINE_ORIGIN, "remove_plan", [gone.title])
    if gone.state == PLAYING:
        say(f"plan {number}, {gone.title}, is stopped: its matches so far are kept")
    else:
        say(f"plan {number}, {gone.title}, is removed")


def _describe(plan: PlannedTournament) -> str:
    """Return when a tournament starts, and its terms, in one line."""
    starts = "started" if plan.tournament else "starts" if plan.state == WAITING else "was to start"
    nightly = ", nightly" if plan.nightly else ""
    return f"{starts} {format_minute(plan.starts)}{nightly}; {describe_terms(plan.terms)}"


def _say_wrapped(text: str) -> None:
    say(fill(text, terminal_columns(), subsequent_indent="  ", break_on_hyphens=False))
