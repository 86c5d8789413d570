"""Checks a version of a hosted bot: builds it, and plays one match of each of its games against `random`."""

from __future__ import annotations

import asyncio
import secrets
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from arena.hosting.limits import MAX_REPORT_CHARS
from arena.operator.hosting import MAX_RECORDS_BYTES, CheckVersion
from arena.processes.bot_commands import parse_reference_spec, reference_command
from arena.runner.box import Boxes
from arena.runner.hand_in import read_log
from arena.runner.hosted_bot import bot_environment, client_command
from arena.runner.kept_state import kept_files_of
from arena.runner.load import machine_load
from arena.runner.unpack import BuildFailed
from arena.runner.version_cache import BuiltProgram, VersionCache, VersionGone
from arena.runs.contestants import Contestant
from arena.runs.job import MatchJob, MatchReport
from arena.runs.match_host import TournamentHost
from arena.runs.plan import Plan
from machine.arguments import read_clock
from protocol.display import escape_unprintable, format_count
from protocol.errors import ArenaFault, UsageFault
from protocol.games import load_game
from protocol.match_logs import ProgramFault
from protocol.names import fold_name
from protocol.reasons import DISCONNECTED, FAILED, FORFEITS, ILLEGAL, NO_SHOW, TIMEOUT, VOID

OPPONENT = "random"
"""The bot that plays the match of a check."""
CHECK_CLOCK = "60+0.5"
"""The clock of the match of a check."""
CONNECT_TIMEOUT_S = 120.0
"""Seconds in which the clients of a check must connect, also on a busy machine."""
MATCH_TIMEOUT_S = 600.0
"""Seconds that the match of a check may take."""
MAX_OUTPUT_LINES = 20
"""Maximum lines of a program's output at the end of a report."""
MAX_REPORTED_FAULTS = 3
"""Maximum number of faults of a program that passed which its report lists."""
_LOGS_FOLDER = "logs"
"""The folder of the log of the match, in the folder of a check."""
BUSY_LOAD = 2.0
"""The load of a machine, in processes a processor, from which a program may be late by no fault of its own."""
_ADVICE = {
    TIMEOUT: f"its clock of {CHECK_CLOCK} ran out: answer within the `clock` of a turn, and flush each line",
    ILLEGAL: "it made moves that the rules do not allow, too often: answer with a move of `legal`",
    DISCONNECTED: "it was gone for too long",
    NO_SHOW: f"it did not start within {CONNECT_TIMEOUT_S:g} s",
    FAILED: "its program failed",
}
"""The advice for the author, by the reason why a match was lost."""


class CheckOutcome(NamedTuple):
    """The result of a check, with the report for the author."""

    passed: bool
    report: str


class CheckRecords:
    """The gzipped records of the matches of a check, by game, as far as there is room for them."""

    def __init__(self) -> None:
        self.by_game: dict[str, bytes] = {}

    def add(self, game: str, record: bytes) -> None:
        """Add the record of a match, unless all would have more than `MAX_RECORDS_BYTES`."""
        if sum(map(len, self.by_game.values())) + len(record) <= MAX_RECORDS_BYTES:
            self.by_game[game] = record


async def check_version(
    check: CheckVersion,
    versions: VersionCache,
    boxes: Boxes,
    place: int,
    on_record: Callable[[str, bytes], None] = lambda game, record: None,
) -> CheckOutcome:
    """Check a version. Its program runs as the user at this place. `on_record` gets the game and the gzipped record of
    each match. Raise `ArenaFault` if it can't be made for a reason that is not the version's.
    """
    try:
        program = await versions.get(check.digest, place)
    except BuildFailed as fault:
        return CheckOutcome(False, f"build: failed\n{_printable(str(fault))}")
    except (UsageFault, VersionGone) as fault:
        return CheckOutcome(False, f"build: {fault}")
    lines = []
    if program.manifest.build:
        lines.append(f"build: ok, {' '.join(program.manifest.build)}")
        lines += _printable(program.build_output).splitlines()
    passed = True
    for game in program.manifest.games:
        with tempfile.TemporaryDirectory(prefix="arena-check-", ignore_cleanup_errors=True) as folder:
            outcome = await _play(check, game, program, boxes, place, on_record, Path(folder))
        passed = passed and outcome.passed
        lines.append(outcome.report)
    return CheckOutcome(passed, "\n".join(lines)[-MAX_REPORT_CHARS:])


async def _play(
    check: CheckVersion,
    game: str,
    program: BuiltProgram,
    boxes: Boxes,
    place: int,
    on_record: Callable[[str, bytes], None],
    folder: Path,
) -> CheckOutcome:
    opponent = OPPONENT if fold_name(check.bot) != OPPONENT else f"{OPPONENT}-2"
    kept = kept_files_of(program.manifest, folder / _LOGS_FOLDER)
    program_command = boxes.program_command(program.folder, program.manifest.command, place, kept)
    options = ["--match-logs", str(folder / _LOGS_FOLDER), *(["--keep-state", str(check.kept_bytes)] if kept else [])]
    command = client_command(program_command, *options)
    rival = reference_command(parse_reference_spec(f"{opponent}={OPPONENT}"))
    rules = load_game(game)
    names = [Contestant(check.bot, command, reference=True), Contestant(opponent, rival, reference=True)]
    names += [Contestant(f"{opponent}-{seat}", rival, reference=True) for seat in range(2, rules.seats)]
    plan = Plan(
        id="check",
        seed=secrets.token_hex(8),
        contestants=tuple(names),
        rules=rules,
        format="round-robin",
        rounds=1,
        paired=False,
        clock=read_clock(CHECK_CLOCK),
        rated=False,
    )
    job = MatchJob(
        key="check",
        plan=plan,
        environment=bot_environment(),
        logs=folder,
        connect_timeout_s=CONNECT_TIMEOUT_S,
        strict=False,
    )
    host = TournamentHost(job, folder)
    try:
        await host.open()
        async with asyncio.timeout(MATCH_TIMEOUT_S):
            played = await host.play(plan.schedule([])[0])
    except TimeoutError:
        return CheckOutcome(False, f"{game}: the match took more than {MATCH_TIMEOUT_S:g} s")
    finally:
        await host.close()
    if not isinstance(played, MatchReport):
        return CheckOutcome(False, f"{game}: no match could be played: {played.fault}")
    on_record(game, await asyncio.to_thread(played.closed.pack_record))
    log = read_log(folder / _LOGS_FOLDER)
    output = _last_lines(folder / f"{check.bot}.log", check.bot) if log is None else log.text
    return _judge(check.bot, game, played, output, () if log is None else log.faults, machine_load())


def _judge(
    bot: str,
    game: str,
    report: MatchReport,
    output: str,
    faults: Sequence[ProgramFault] = (),
    load: float = 0.0,
) -> CheckOutcome:
    """Return whether a bot played a match to its end, and the lines of the report about it. `load` is that of the
    machine when the match ended: a program may be late because others have the processors. Raise `ArenaFault` if no
    match was played because the opponent failed.
    """
    result = report.result
    number = next(number for number, seat in enumerate(result.seats) if seat.bot == bot)
    seat = result.seats[number]
    if seat.reason == VOID:
        return CheckOutcome(True, f"{game}: not checked, as the match is void: the rules of {game} or the arena failed")
    if not result.plies and seat.reason not in FORFEITS and any(one.reason in FORFEITS for one in result.seats):
        raise ArenaFault(f"{OPPONENT} could not play {game} here, so no version of it can be checked")
    passed = seat.reason not in FORFEITS and result.plies > 0
    is_shared = [one.rank for one in result.seats].count(seat.rank) > 1
    what = "lost" if seat.rank > 1 else "drew" if is_shared else "won"
    if passed:
        lines = [f"{game}: ok, {what} against {OPPONENT} in {result.plies} plies"]
        for fault in faults[:MAX_REPORTED_FAULTS]:
            lines += [f"  but {fault}", *(f"  | {line}" for line in fault.last_lines.splitlines())]
        if len(faults) > MAX_REPORTED_FAULTS:
            lines.append(f"  and {len(faults) - MAX_REPORTED_FAULTS} more times")
        return CheckOutcome(True, _printable("\n".join(lines)))
    failure = report.failures.get(number)
    if failure is None:
        plies = format_count(result.plies, "ply", "plies")
        lines = [f"{game}: failed after {plies}: {_ADVICE.get(seat.reason, seat.reason)}"]
    else:
        lines = [f"{game}: failed: {failure.replace(f' of {result.match}', '')}"]
    told = [incident for name, incident in report.incidents if name == bot]
    lines += [f"  {incident.text}" for incident in told if failure is None or incident.code != FAILED]
    if seat.reason in (TIMEOUT, NO_SHOW) and load >= BUSY_LOAD:
        lines.append(f"  the runner's machine was busy, with a load of {load:.1f}: hand it in again for another check")
    if output:
        lines += [
            "  the last lines of its output:",
            *(f"  | {line}" for line in output.splitlines()[-MAX_OUTPUT_LINES:]),
        ]
    return CheckOutcome(False, _printable("\n".join(lines)))


def _last_lines(log: Path, bot: str) -> str:
    """Return the end of a bot's output, without what the client says about its connection."""
    try:
        lines = log.read_text(errors="replace").splitlines()
    except OSError:
        return ""
    of_client = tuple(f"{bot}: {words}" for words in ("connected to", "waiting", "had no move yet"))
    kept = [line for line in lines if not line.startswith(of_client)]
    return "\n".join(kept[-MAX_OUTPUT_LINES:])


def _printable(text: str) -> str:
    return "\n".join(escape_unprintable(line) for line in text.splitlines())
