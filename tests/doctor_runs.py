"""A bot that is examined by `arena doctor`, and what came of it."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from arena.commands.doctor import examine
from arena.doctor.cases import CASES
from arena.doctor.timeouts import DoctorTimeouts
from commands import as_program, run
from timeouts import PATIENT_ENVIRON, WITHIN

QUICK = ("match", "next", "unknown", "twice", "rejected", "cut-turn", "cut-move", "cut-other", "cut-ready", "restart")
PATIENT = DoctorTimeouts(
    welcome_timeout_s=WITHIN,
    first_welcome_timeout_s=WITHIN,
    seek_timeout_s=WITHIN,
    start_timeout_s=WITHIN,
    ready_timeout_s=WITHIN,
    move_timeout_s=WITHIN,
    return_timeout_s=WITHIN,
    message_timeout_s=WITHIN,
    next_seek_timeout_s=WITHIN,
    settle_timeout_s=WITHIN,
    stay_away_timeout_s=WITHIN,
    arena_timeout_s=WITHIN,
    server_start_timeout_s=WITHIN,
    server_stop_timeout_s=WITHIN,
)
"""The doctor waits longer than usual for a bot that does what it should, as the machine may be slow."""


def examined(
    tmp_path: Path,
    *command: str,
    only: tuple[str, ...] = (),
    timeouts: DoctorTimeouts = PATIENT,
    game: str | None = None,
) -> tuple[int, dict[str, Any]]:
    """Return the exit code, and what came of each case by its name. The bot's tokens are kept in `tmp_path`."""
    out = io.StringIO()
    code: object = 0
    environ = {"XDG_CONFIG_HOME": str(tmp_path), **PATIENT_ENVIRON}
    with as_program(["arena", "doctor"], environ), contextlib.redirect_stdout(out):
        try:
            examine(command, game, only, tmp_path / "bot.log", to_json=True, timeouts=timeouts)
        except SystemExit as stop:
            code = stop.code
    assert isinstance(code, int)
    return code, _read(tmp_path, out.getvalue())


def _examined_by_program(tmp_path: Path, command: Sequence[str], only: tuple[str, ...]) -> tuple[int, dict[str, Any]]:
    """The same by a program of its own, as this process can be only one at a time."""
    done = run(*_words(tmp_path, command, only), XDG_CONFIG_HOME=str(tmp_path))
    assert done.stderr == ""
    return done.returncode, _read(tmp_path, done.stdout)


def _words(tmp_path: Path, command: Sequence[str], only: tuple[str, ...]) -> list[str]:
    chosen = [word for name in only for word in ("--only", name)]
    return ["arena", "doctor", "--json", "--log", str(tmp_path / "bot.log"), *chosen, "--", *command]


def _read(tmp_path: Path, out: str) -> dict[str, Any]:
    told = json.loads(out)
    assert told["log"] == str(tmp_path / "bot.log")
    return {case["case"]: case for case in told["cases"]}


def examined_whole(tmp_path: Path, *command: str) -> tuple[list[int], dict[str, Any]]:
    """The same of the whole course in its order, with the exit codes of its parts: examined side by side, as most of
    them is waiting."""
    names = [case.name for case in CASES]
    long = [("late", "slow"), ("hang-up", "full"), ("half-open",)]
    parts = [*long, tuple(name for name in names if not any(name in part for part in long))]
    folders = [tmp_path / part[0] for part in parts]
    for folder in folders:
        folder.mkdir()
    with ThreadPoolExecutor(len(parts)) as together:
        found = list(together.map(lambda folder, part: _examined_by_program(folder, command, part), folders, parts))
    cases = {name: case for _, part in found for name, case in part.items()}
    return [code for code, _ in found], {name: cases[name] for name in names}


def faults(cases: dict[str, Any]) -> dict[str, str]:
    return {name: case["did"] for name, case in cases.items() if case["verdict"] != "passed"}
