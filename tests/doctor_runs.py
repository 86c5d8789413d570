"""A bot that is examined by `arena doctor`, and what came of it."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from arena.doctor.cases import COURSE
from commands import run

QUICK = ("match", "next", "unknown", "twice", "rejected", "cut-turn", "cut-move", "cut-other", "cut-ready", "restart")


def examined(tmp_path: Path, *command: str, only: tuple[str, ...] = ()) -> tuple[int, dict[str, Any]]:
    """The exit code, and what came of each case by its name. The bot's tokens are kept in `tmp_path`."""
    chosen = [word for name in only for word in ("--only", name)]
    log = tmp_path / "bot.log"
    done = run("arena", "doctor", "--json", "--log", str(log), *chosen, "--", *command, XDG_CONFIG_HOME=str(tmp_path))
    assert done.stderr == ""
    told = json.loads(done.stdout)
    assert told["log"] == str(log)
    return done.returncode, {case["case"]: case for case in told["cases"]}


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
        found = list(together.map(lambda folder, part: examined(folder, *command, only=part), folders, parts))
    cases = {name: case for _, part in found for name, case in part.items()}
    return [code for code, _ in found], {name: cases[name] for name in names}


def faults(cases: dict[str, Any]) -> dict[str, str]:
    """What is not as it should be."""
    return {name: case["did"] for name, case in cases.items() if case["verdict"] != "passed"}
