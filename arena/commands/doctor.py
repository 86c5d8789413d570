"""`arena doctor`: examines a bot under faults, and reports what the bot did and what it should do."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap

from arena.commands.output import DEFAULT_COLUMNS, check_is_file, print_document
from arena.doctor.cases import CASES, FAILED_VERDICT, PASSED_VERDICT, WARNING_VERDICT, Case, ExaminedCase
from arena.doctor.cases import examine as examine_bot
from arena.doctor.timeouts import DoctorTimeouts
from arena.processes.bot_commands import make_startable
from machine import event_loop
from machine.game_discovery import resolve_game
from machine.terminal import say
from machine.timeouts import scale_timeouts
from protocol.display import list_choices
from protocol.errors import ArenaFault, UsageFault, os_errors_as
from protocol.games import game_class, game_names

_PROTOCOL_DOCUMENT = "docs/protocol.md"
"""The document that describes the protocol. Each case of the doctor names a section of it to read."""
_REPORT_INDENT = 8
"""Width in characters of the left margin of a report. The verdict stands in the margin."""


def examine(
    command: Sequence[str],
    game: str | None,
    only: Sequence[str],
    log: Path | None,
    *,
    to_json: bool,
    timeouts: DoctorTimeouts | None = None,
) -> None:
    """Examine the bot that `command` starts, and print the result of each case.

    Raise `SystemExit` (1) if a case failed, and `Fault` if the bot cannot be examined.
    """
    played = resolve_game(game) if game else game_names()[0]
    game_class(played)
    cases = _select_cases(only)
    timeouts = timeouts or scale_timeouts(DoctorTimeouts())
    command = make_startable(command)
    if log is not None and log != Path(os.devnull):
        check_is_file("--log", log)
    if log is None:
        with os_errors_as(ArenaFault, "no file can be made for what the bot says: name one with --log"):
            handle, name = tempfile.mkstemp(prefix="arena-doctor-", suffix=".log")
        os.close(handle)
        log = Path(name)
    if not to_json:
        named = "" if game else ", unless --game names another"
        say(f"{' '.join(command)}\nplays {played}{named}\nwhat it says goes to {log}\n", flush=True)
    examined = event_loop.run(_examine(command, played, log, cases, timeouts, aloud=not to_json))
    if to_json:
        print_document({"command": command, "log": str(log), "cases": [_as_json(one) for one in examined]})
    else:
        say(_summary(examined))
    if any(one.finding.verdict == FAILED_VERDICT for one in examined):
        raise SystemExit(1)


def _select_cases(only: Sequence[str]) -> list[Case]:
    names = [case.name for case in CASES]
    for name in only:
        if name not in names:
            raise UsageFault(f"there is no case {name!r}: {list_choices(names)}")
    return [case for case in CASES if not only or case.name in only]


async def _examine(
    command: Sequence[str],
    game: str,
    log: Path,
    cases: Sequence[Case],
    timeouts: DoctorTimeouts,
    *,
    aloud: bool,
) -> list[ExaminedCase]:
    examined = []
    async for one in examine_bot(command, game, log, cases, timeouts):
        examined.append(one)
        if aloud:
            say(_format_case(one), flush=True)
    return examined


def _format_case(examined: ExaminedCase) -> str:
    case, finding = examined.case, examined.finding
    lines = [f"{finding.verdict:<{_REPORT_INDENT}}{case.done} ({case.name}, {examined.seconds:.1f} s)"]
    lines += _wrapped("did", finding.did)
    lines += _wrapped("should", examined.should)
    if finding.verdict != PASSED_VERDICT:
        lines += _wrapped("see", f"{_PROTOCOL_DOCUMENT}#{case.see}")
    return "\n".join(lines)


def _wrapped(word: str, text: str) -> list[str]:
    first = f"{'':{_REPORT_INDENT}}{word + ':':<{_REPORT_INDENT}}"
    indent = " " * len(first)
    return wrap(text, DEFAULT_COLUMNS, initial_indent=first, subsequent_indent=indent, break_on_hyphens=False)


def _summary(examined: Sequence[ExaminedCase]) -> str:
    verdicts = [one.finding.verdict for one in examined]
    count = {verdict: verdicts.count(verdict) for verdict in (PASSED_VERDICT, WARNING_VERDICT, FAILED_VERDICT)}
    return (
        f"\n{count[PASSED_VERDICT]} of {len(examined)} passed, {count[WARNING_VERDICT]} warnings, "
        f"{count[FAILED_VERDICT]} failed"
    )


def _as_json(examined: ExaminedCase) -> dict[str, object]:
    case, finding = examined.case, examined.finding
    return {
        "case": case.name,
        "done": case.done,
        "verdict": finding.verdict,
        "did": finding.did,
        "should": examined.should,
        "see": f"{_PROTOCOL_DOCUMENT}#{case.see}",
        "seconds": round(examined.seconds, 3),
    }
