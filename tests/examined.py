"""A bot that is examined by `arena doctor`, and what came of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

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


def faults(cases: dict[str, Any]) -> dict[str, str]:
    """What is not as it should be."""
    return {name: case["did"] for name, case in cases.items() if case["verdict"] != "ok"}
