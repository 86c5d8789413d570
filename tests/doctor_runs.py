"""A bot that is examined by `arena doctor`, and what came of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from arena.doctor.cases import COURSE
from commands import Done, call, run
from timeouts import WITHIN

QUICK = ("match", "next", "unknown", "twice", "rejected", "cut-turn", "cut-move", "cut-other", "cut-ready", "restart")
TIMEOUTS = (
    "harness.WELCOME_WITHIN",
    "harness.START_WITHIN",
    "harness.READY_WITHIN",
    "harness.MOVE_WITHIN",
    "harness.TOLD_WITHIN",
    "cases.MOVE_WITHIN",
    "cases.TOLD_WITHIN",
)
"""How long the doctor waits for a bot that does what it should."""


def examined(
    tmp_path: Path, *command: str, only: tuple[str, ...] = (), seek_timeout_s: float = WITHIN
) -> tuple[int, dict[str, Any]]:
    """Return the exit code, and what came of each case by its name. The bot's tokens are kept in `tmp_path`.

    A bot has more time than the command gives it, as the machine may be slow.
    """
    with pytest.MonkeyPatch.context() as patch:
        for timeout in TIMEOUTS:
            patch.setattr(f"arena.doctor.{timeout}", WITHIN)
        patch.setattr("arena.doctor.harness.SEEK_WITHIN", seek_timeout_s)
        return _read(tmp_path, call(*_words(tmp_path, command, only), XDG_CONFIG_HOME=str(tmp_path)))


def _examined_by_program(tmp_path: Path, command: Sequence[str], only: tuple[str, ...]) -> tuple[int, dict[str, Any]]:
    """The same by a program of its own, as this process can be only one at a time."""
    done = run(*_words(tmp_path, command, only), XDG_CONFIG_HOME=str(tmp_path))
    return _read(tmp_path, Done(done.returncode, done.stdout, done.stderr))


def _words(tmp_path: Path, command: Sequence[str], only: tuple[str, ...]) -> list[str]:
    chosen = [word for name in only for word in ("--only", name)]
    return ["arena", "doctor", "--json", "--log", str(tmp_path / "bot.log"), *chosen, "--", *command]


def _read(tmp_path: Path, done: Done) -> tuple[int, dict[str, Any]]:
    assert done.err == ""
    told = json.loads(done.out)
    assert told["log"] == str(tmp_path / "bot.log")
    return done.code, {case["case"]: case for case in told["cases"]}


def examined_whole(tmp_path: Path, *command: str) -> tuple[list[int], dict[str, Any]]:
    """The same of the whole course in its order, with the exit codes of its parts: examined side by side, as most of
    them is waiting."""
    names = [case.name for case in COURSE]
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
    """What is not as it should be."""
    return {name: case["did"] for name, case in cases.items() if case["verdict"] != "passed"}
