"""Plays one match of a tournament on a runner: the programs of its hosted bots run in boxes, each in its own."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from msgspec.structs import replace

from arena.operator.hosted_matches import HostedSeat, MatchOrder
from arena.processes.bot_commands import known_bots, reference_command
from arena.runner.box import Boxes
from arena.runner.entrants import build_contestant
from arena.runner.hand_in import move_log, read_log
from arena.runner.hosted_bot import bot_environment
from arena.runner.version_cache import VersionCache
from arena.runs.contestants import Contestant
from arena.runs.hosted_players import pack_report, plan_of_order
from arena.runs.job import Aborted, MatchJob
from arena.runs.match_host import TournamentHost
from arena.runs.plan import Plan
from protocol.display import short_repr
from protocol.errors import UsageFault

MAX_OUTPUT_BYTES = 16 * 1024
"""Maximum bytes of the output of a bot that failed which its match's report has: the end."""


async def play_order(
    order: MatchOrder, versions: VersionCache, boxes: Boxes, places: Sequence[int], runner_folder: Path
) -> bytes:
    """Play a match from its beginning, and return its packed report. Each seat's program runs as the user at its place.
    If the match is `logged`, the logs of programs are left in the folder of the runner, which hands them in.

    Raise `DiskFull` if this machine has no room, another `Fault` if the match can't be played.
    """
    plan, pairing = plan_of_order(order)
    with ExitStack() as held:
        folder = Path(
            held.enter_context(tempfile.TemporaryDirectory(prefix="arena-match-", ignore_cleanup_errors=True))
        )
        contestants = []
        for seat, place in zip(order.seats, places, strict=True):
            if seat.digest is not None:
                held.enter_context(versions.using(seat.digest))
            logs = _logs_of(seat, folder) if order.logged else None
            contestants.append(await _make_contestant(seat, plan, versions, boxes, place, logs))
        job = MatchJob(
            key=order.match,
            plan=replace(plan, contestants=tuple(contestants)),
            environment=bot_environment(),
            logs=folder,
            strict=False,
        )
        host = TournamentHost(job, folder)
        try:
            await host.open()
            played = await host.play(pairing)
        finally:
            await host.close()
        if isinstance(played, Aborted):
            raise played.fault
        for seat in order.seats if order.logged else ():
            await asyncio.to_thread(move_log, _logs_of(seat, folder), runner_folder, seat.bot, seat.number)
        failed = [order.seats[number] for number in played.failures]
        return pack_report(played._replace(output=tuple((seat.bot, _read_end(seat, folder)) for seat in failed)))


def _logs_of(seat: HostedSeat, folder: Path) -> Path:
    return folder / "logs" / seat.bot


def _read_end(seat: HostedSeat, folder: Path) -> bytes:
    """Return the end of the output of a seat's client and, if the match is logged, of its program."""
    log = read_log(_logs_of(seat, folder))
    written = b"" if log is None else log.text.encode()
    with contextlib.suppress(OSError):
        written = (folder / f"{seat.bot}.log").read_bytes() + written
    return written[-MAX_OUTPUT_BYTES:]


async def _make_contestant(
    seat: HostedSeat, plan: Plan, versions: VersionCache, boxes: Boxes, place: int, match_logs: Path | None
) -> Contestant:
    if seat.digest is not None:
        return await build_contestant(plan, seat.bot, seat.number, seat.digest, versions, boxes, place, match_logs)
    if seat.specified is None or seat.specified.bot not in known_bots():
        raise UsageFault(f"the runner has no bot {short_repr(seat.bot)}")
    return Contestant(seat.bot, reference_command(seat.specified), reference=True)
