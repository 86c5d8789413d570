"""`arena status`: prints the state of a running server, once or every second."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from arena.commands.node_table import node_table
from arena.commands.output import format_table, print_document, redraw, screen_size, terminal_columns
from arena.operator.client import ask_server, connect_to_folder
from arena.operator.failure import Failure
from arena.operator.status import (
    MAX_ENTRIES,
    BotStatus,
    HostingStatus,
    MatchStatus,
    RunnerStatus,
    SeekStatus,
    ServerStatus,
    StatusRequest,
)
from arena.store.bot_versions import FailedVersion
from machine.terminal import say
from machine.units import MIB
from protocol.display import escape_unprintable, format_count
from protocol.errors import ArenaFault, UsageFault

MAX_ROWS = 20
"""Maximum rows of the table of bots, and of the table of matches."""
MAX_FAILURES = 5
"""Maximum rows of the table of failures."""
MIN_ADDRESS_COLUMNS = 100
"""Minimum width of the terminal, in columns, at which the table of bots has their addresses."""
UPDATE_INTERVAL_S = 1.0
"""Seconds between two updates of `arena status --watch`."""


def status(data: Path, bot: str | None, *, watch: bool, to_json: bool) -> None:
    """Print the state of the server that runs on a data folder, or of one bot there and why its seeks wait. Raise
    `Fault` if no server runs, or if the bot is not connected.
    """
    if watch and (to_json or not sys.stdout.isatty()):
        raise UsageFault("--watch needs a terminal, without --json: repeat the command instead")
    if watch and bot is not None:
        raise UsageFault("--bot shows the present state once: leave --watch out")
    if bot is not None:
        found = ask_server(data, StatusRequest(bot=bot), ServerStatus)
        if not found.bots:
            raise ArenaFault(f"{bot} is not connected" + (" to this node" if len(found.nodes) > 1 else ""))
        if to_json:
            print_document(found)
        else:
            say("\n".join(bot_lines(found.bots[0], datetime.fromisoformat(found.at))))
    elif to_json:
        print_document(ask_server(data, StatusRequest(most=MAX_ENTRIES), ServerStatus))
    elif watch:
        try:
            asyncio.run(_watch(data))
        finally:
            say()
    else:
        say(
            "\n".join(
                status_lines(ask_server(data, StatusRequest(most=MAX_ROWS), ServerStatus), MAX_ROWS, terminal_columns())
            )
        )


async def _watch(data: Path) -> None:
    async with connect_to_folder(data) as operator:
        while True:
            present = await operator.ask(StatusRequest(most=MAX_ROWS), ServerStatus)
            lines = fitting_lines(present, *screen_size())
            redraw([*lines, "Ctrl-C ends this"])
            await asyncio.sleep(UPDATE_INTERVAL_S)


def fitting_lines(status: ServerStatus, width: int, height: int) -> list[str]:
    """Return the lines of the status, with as many table rows as fit on the terminal if one line stays free."""
    for most in range(max(1, min(MAX_ROWS, height)), 0, -1):  # each row is a line
        lines = status_lines(status, most, width)
        if len(lines) < height:
            return lines
    return [*lines[: height - 2], "…"]


def status_lines(status: ServerStatus, max_rows: int, width: int) -> list[str]:
    """Return the lines of the status, with at most `max_rows` rows of bots and of matches."""
    now = datetime.fromisoformat(status.at)
    here = format_count(status.connected, "bot", "bots")
    matches = format_count(status.under_way, "match", "matches")
    finished = f"matches finished: {status.last_minute} in the last minute, {status.last_hour} in the last hour"
    place = " on this node" if len(status.nodes) > 1 else ""
    lines = [f"{here} online, {matches} under way{place}", finished]
    if status.held is not None:
        lines += [escape_unprintable(f"new matches are paused: {status.held}")]
    lines += [escape_unprintable(f"warning: {warning}") for warning in status.warnings]
    if len(status.nodes) > 1:
        lines += ["", *node_table(status.nodes, width)]
    if status.hosting is not None:
        lines += ["", *_hosting(status.hosting, now, width)]
    if status.bots:
        lines += ["", *_bots(status.bots[:max_rows], now, width), *_hidden_rows_line(status.connected, max_rows)]
    if status.matches:
        lines += ["", *_matches(status.matches[:max_rows], width), *_hidden_rows_line(status.under_way, max_rows)]
    if status.failures:
        lines += ["", *_failures(status.failures[:MAX_FAILURES], now, width)]
    return lines


def bot_lines(bot: BotStatus, now: datetime) -> list[str]:
    """Return lines about a bot: what it plays, and for each seek why it waits."""
    matches = format_count(bot.playing, "match", "matches")
    seeks = [f"{_describe_seek(seek)}, {_format_duration(seek.seconds)}: {seek.reason}" for seek in bot.seeks]
    first = f"{bot.bot} is online for {_format_age(now, bot.since)} and plays {matches}"
    return [first, *(seeks or ["it seeks no match"])]


def _hosting(hosting: HostingStatus, now: datetime, width: int) -> list[str]:
    """Return lines about hosted bots: what runs and what waits, the runners, and the last failed checks."""
    running = sum(len(runner.bots) for runner in hosting.runners)
    slots = format_count(sum(runner.slots for runner in hosting.runners), "slot", "slots")
    hosted = format_count(hosting.hosted, "hosted bot", "hosted bots")
    runners = format_count(len(hosting.runners), "runner", "runners")
    waiting = format_count(hosting.waiting, "version waits", "versions wait")
    lines = [
        f"{hosted}: {running} on the {slots} of {runners}",
        f"{waiting} for a check; the programs take {hosting.stored_bytes / MIB:.1f} MiB",
    ]
    if hosting.runners:
        lines += _runners(hosting.runners, now, width)
    else:
        lines += ["warning: no runner is connected: no version is checked, and no hosted bot plays"]
    if hosting.failed:
        lines += ["", *_failed_checks(hosting.failed[:MAX_FAILURES], now, width)]
    return lines


def _runners(runners: Sequence[RunnerStatus], now: datetime, width: int) -> list[str]:
    rows = [
        (
            runner.runner,
            runner.host or "-",
            _format_age(now, runner.since),
            f"{len(runner.bots) + runner.match_slots} of {runner.slots}",
            "-" if runner.load is None else f"{runner.load:.2f}",
            ", ".join(_describe_work(runner)) or "-",
        )
        for runner in runners
    ]
    headers = ("runner", "machine", "online", "slots", "load", "runs")
    return format_table(headers, rows, wrapped_column=5, left_columns=(1,), width=width).split("\n")


def _describe_work(runner: RunnerStatus) -> Iterator[str]:
    yield from runner.bots
    yield from (f"checks {bot}" for bot in runner.checks)
    for match in runner.matches:
        tournament = runner.tournaments.get(match)
        yield f"plays {match}" if tournament is None else f"plays {match} of {tournament}"


def _failed_checks(failed: Sequence[FailedVersion], now: datetime, width: int) -> list[str]:
    rows = [(f"{_format_age(now, one.submitted)} ago", f"{one.bot} {one.number}", one.why) for one in failed]
    headers = ("handed in", "version", "failed its check")
    return format_table(headers, rows, wrapped_column=2, left_columns=(1,), width=width).split("\n")


def _bots(bots: Sequence[BotStatus], now: datetime, width: int) -> list[str]:
    rows = [
        (bot.bot, bot.version, _format_age(now, bot.since), bot.address, bot.playing, _format_seeks(bot) or "-")
        for bot in bots
    ]
    headers = ("bot", "version", "online", "address", "plays", "seeks")
    used = [at for at in range(len(headers)) if headers[at] != "address" or width >= MIN_ADDRESS_COLUMNS]
    cut = [[row[at] for at in used] for row in rows]
    return format_table(
        [headers[at] for at in used], cut, wrapped_column=len(used) - 1, left_columns=(0, 1), width=width
    ).split("\n")


def _matches(matches: Sequence[MatchStatus], width: int) -> list[str]:
    rows = [(match.match, match.game, match.ply, _clocks(match)) for match in matches]
    headers = ("match", "game", "ply", "s left, * moves")
    return format_table(headers, rows, wrapped_column=3, left_columns=(0, 1), width=width).split("\n")


def _failures(failures: Sequence[Failure], now: datetime, width: int) -> list[str]:
    rows = [(f"{_format_age(now, failure.at)} ago", failure.who, failure.text) for failure in failures]
    return format_table(("failed", "who", "how"), rows, wrapped_column=2, left_columns=(1,), width=width).split("\n")


def _format_seeks(bot: BotStatus) -> str:
    """Return a bot's seeks as text, like `nim rated (classic) 12 s; risk-duel openly 3 min`.

    Equal seeks are merged and show their longest wait. If the bot waits for the rate limit, the end says so.
    """
    alike: dict[str, float] = {}
    for seek in bot.seeks:
        alike[_describe_seek(seek)] = max(alike.get(_describe_seek(seek), 0.0), seek.seconds)
    counts = Counter(map(_describe_seek, bot.seeks))
    seeks = "; ".join(
        f"{counts[way]}× {way} {_format_duration(s)}" if counts[way] > 1 else f"{way} {_format_duration(s)}"
        for way, s in alike.items()
    )
    return seeks + (f", delayed by the rate limit for {_format_duration(bot.pace_s)}" if bot.pace_s else "")


def _describe_seek(seek: SeekStatus) -> str:
    if seek.open:
        return f"{seek.game} openly"
    named = f" against {', '.join(seek.opponents)}" if seek.opponents else ""
    if seek.private:
        named = " against who names it"
    return f"{seek.game} {'rated' if seek.rated else 'unrated'}{named} ({seek.preset or 'own config'})"


def _clocks(match: MatchStatus) -> str:
    return ", ".join(
        f"{'*' if seat == match.to_move else ''}{bot} {ms / 1000:.1f}"
        for seat, (bot, ms) in enumerate(zip(match.seats, match.clock_ms, strict=True))
    )


def _hidden_rows_line(there: int, most: int) -> list[str]:
    return [f"… and {there - most} more"] if there > most else []


def _format_age(now: datetime, then: str) -> str:
    return _format_duration((now.astimezone(UTC) - datetime.fromisoformat(then).astimezone(UTC)).total_seconds())


def _format_duration(seconds: float) -> str:
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"
