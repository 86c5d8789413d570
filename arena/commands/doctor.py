"""`arena doctor`: puts a bot through a course of faults and reports what it did and what it should do."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap

from arena.commands.output import WIDTH, check_is_file, print_document
from arena.doctor.cases import COURSE, FAILED, PASSED, WARNING, Case, Examined
from arena.doctor.cases import examine as examine_bot
from arena.doctor.timeouts import DoctorTimeouts
from arena.processes.bot_commands import startable
from machine import event_loop
from machine.terminal import say
from machine.timeouts import scaled
from protocol.display import among
from protocol.errors import UsageFault
from protocol.games import NAMES, game_class

_DOCUMENT = "docs/protocol.md"
_INDENT = 8


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

    Raises `SystemExit` (1) if a case failed, and `Fault` if the bot cannot be examined.
    """
    played = game or NAMES[0]
    game_class(played)
    cases = _chosen(only)
    timeouts = timeouts or scaled(DoctorTimeouts())
    command = startable(command)
    if log is not None and log != Path(os.devnull):
        check_is_file("--log", log)
    if log is None:
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
    if any(one.finding.verdict == FAILED for one in examined):
        raise SystemExit(1)


def _chosen(only: Sequence[str]) -> list[Case]:
    names = [case.name for case in COURSE]
    for name in only:
        if name not in names:
            raise UsageFault(f"there is no case {name!r}: {among(names)}")
    return [case for case in COURSE if not only or case.name in only]


async def _examine(
    command: Sequence[str],
    game: str,
    log: Path,
    cases: Sequence[Case],
    timeouts: DoctorTimeouts,
    *,
    aloud: bool,
) -> list[Examined]:
    examined = []
    async for one in examine_bot(command, game, log, cases, timeouts):
        examined.append(one)
        if aloud:
            say(_told(one), flush=True)
    return examined


def _told(one: Examined) -> str:
    """Return the report of a case: the verdict, what was done, what the bot did and should do, and what to read."""
    case, finding = one.case, one.finding
    lines = [f"{finding.verdict:<{_INDENT}}{case.done} ({case.name}, {one.seconds:.1f} s)"]
    lines += _wrapped("did", finding.did)
    lines += _wrapped("should", one.should)
    if finding.verdict != PASSED:
        lines += _wrapped("see", f"{_DOCUMENT}#{case.see}")
    return "\n".join(lines)


def _wrapped(word: str, text: str) -> list[str]:
    first = f"{'':{_INDENT}}{word + ':':<{_INDENT}}"
    indent = " " * len(first)
    return wrap(text, WIDTH, initial_indent=first, subsequent_indent=indent, break_on_hyphens=False)


def _summary(examined: Sequence[Examined]) -> str:
    verdicts = [one.finding.verdict for one in examined]
    count = {verdict: verdicts.count(verdict) for verdict in (PASSED, WARNING, FAILED)}
    return f"\n{count[PASSED]} of {len(examined)} passed, {count[WARNING]} warnings, {count[FAILED]} failed"


def _as_json(one: Examined) -> dict[str, object]:
    case, finding = one.case, one.finding
    return {
        "case": case.name,
        "done": case.done,
        "verdict": finding.verdict,
        "did": finding.did,
        "should": one.should,
        "see": f"{_DOCUMENT}#{case.see}",
        "seconds": round(one.seconds, 3),
    }
