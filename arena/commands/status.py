"""`arena status`: prints the state of a running server, once or every second."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from arena.commands.node_table import node_table
from arena.commands.output import columns, print_document, redraw, screen_size, table
from arena.operator.client import asked, connected_to
from arena.operator.failure import Failure
from arena.operator.status import ALL, BotStatus, MatchStatus, SeekStatus, ServerStatus, StatusRequest
from machine.terminal import say
from protocol.display import counted, printable
from protocol.errors import UsageFault

MOST = 20
"""Maximum rows of each table."""
MOST_FAILURES = 5
WIDE = 100
"""Minimum terminal width in columns to show addresses."""
EVERY = 1.0
"""Seconds between two updates."""


def status(data: Path, *, watch: bool, to_json: bool) -> None:
    """Print the state of the server that runs on a data folder. Raises `Fault`."""
    if watch and (to_json or not sys.stdout.isatty()):
        raise UsageFault("--watch redraws a terminal, and goes without --json and pipes: ask again instead")
    if to_json:
        print_document(asked(data, StatusRequest(most=ALL), ServerStatus))
    elif watch:
        try:
            asyncio.run(_watch(data))
        finally:
            say()
    else:
        say("\n".join(status_lines(asked(data, StatusRequest(most=MOST), ServerStatus), MOST, columns())))


async def _watch(data: Path) -> None:
    async with connected_to(data) as operator:
        while True:
            present = await operator.ask(StatusRequest(most=MOST), ServerStatus)
            lines = fitting_lines(present, *screen_size())
            redraw([*lines, "Ctrl-C ends this"])
            await asyncio.sleep(EVERY)


def fitting_lines(present: ServerStatus, width: int, height: int) -> list[str]:
    """Return the lines of the status with as many table rows as fit on the terminal above one more line."""
    for most in range(max(1, min(MOST, height)), 0, -1):  # each row is a line
        lines = status_lines(present, most, width)
        if len(lines) < height:
            return lines
    return [*lines[: height - 2], "…"]


def status_lines(present: ServerStatus, most: int, width: int) -> list[str]:
    """Return the lines of the status, with at most `most` rows of bots and of matches."""
    now = datetime.fromisoformat(present.at)
    here = counted(present.connected, "bot", "bots")
    matches = counted(present.under_way, "match", "matches")
    finished = f"matches finished: {present.last_minute} in the last minute, {present.last_hour} in the last hour"
    place = " on this node" if len(present.nodes) > 1 else ""
    lines = [f"{here} online, {matches} under way{place}", finished]
    if present.held is not None:
        lines += [printable(f"new matches paused: {present.held}")]
    lines += [printable(f"warning: {warning}") for warning in present.warnings]
    if len(present.nodes) > 1:
        lines += ["", *node_table(present.nodes, width)]
    if present.bots:
        lines += ["", *_bots(present.bots[:most], now, width), *_more(present.connected, most)]
    if present.matches:
        lines += ["", *_matches(present.matches[:most], width), *_more(present.under_way, most)]
    if present.failures:
        lines += ["", *_failures(present.failures[:MOST_FAILURES], now, width)]
    return lines


def _bots(bots: Sequence[BotStatus], now: datetime, width: int) -> list[str]:
    rows = [(bot.bot, bot.version, _age(now, bot.since), bot.address, bot.playing, _sought(bot) or "-") for bot in bots]
    headers = ("bot", "version", "online", "address", "plays", "seeks")
    used = [at for at in range(len(headers)) if headers[at] != "address" or width >= WIDE]
    cut = [[row[at] for at in used] for row in rows]
    return table([headers[at] for at in used], cut, elastic=len(used) - 1, left=(0, 1), width=width).split("\n")


def _matches(matches: Sequence[MatchStatus], width: int) -> list[str]:
    rows = [(match.match, match.game, match.ply, _clocks(match)) for match in matches]
    headers = ("match", "game", "ply", "s left, * moves")
    return table(headers, rows, elastic=3, left=(0, 1), width=width).split("\n")


def _failures(failures: Sequence[Failure], now: datetime, width: int) -> list[str]:
    rows = [(f"{_age(now, failure.at)} ago", failure.who, failure.text) for failure in failures]
    return table(("failed", "who", "how"), rows, elastic=2, left=(1,), width=width).split("\n")


def _sought(bot: BotStatus) -> str:
    """Return a bot's seeks like `nim rated (classic) 12 s; risk-duel openly 3 min`. Equal seeks are merged, with the
    longest wait; a wait for the rate limit is appended.
    """
    alike: dict[str, float] = {}
    for seek in bot.seeks:
        alike[_way(seek)] = max(alike.get(_way(seek), 0.0), seek.seconds)
    counts = Counter(map(_way, bot.seeks))
    seeks = "; ".join(
        f"{counts[way]}× {way} {_time(s)}" if counts[way] > 1 else f"{way} {_time(s)}" for way, s in alike.items()
    )
    return seeks + (f", held by its pace for {_time(bot.pace_s)}" if bot.pace_s else "")


def _way(seek: SeekStatus) -> str:
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


def _more(there: int, most: int) -> list[str]:
    return [f"… and {there - most} more"] if there > most else []


def _age(now: datetime, then: str) -> str:
    return _time((now.astimezone(UTC) - datetime.fromisoformat(then).astimezone(UTC)).total_seconds())


def _time(seconds: float) -> str:
    """Format a duration as `12 s`, `3 min`, `5 h` or `2 d`."""
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"
