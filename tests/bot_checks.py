"""Settings of reference bots, checked in this process instead of one for each bot."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from arena.processes import bot_commands
from commands import call

_PROGRAM = (sys.executable, "-P", "-m", "bots")


class CheckHere:
    """Stands for the process `python -m bots run BOT ... --check`."""

    def __init__(self, command: Sequence[str], **_: Any) -> None:
        assert (*command[: len(_PROGRAM)], command[-1]) == (*_PROGRAM, "--check")
        self._done = call("arena-bot", *command[len(_PROGRAM) :])
        self.returncode = self._done.code

    def communicate(self) -> tuple[None, str]:
        return None, self._done.err


def check_settings_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have `check_settings` start no processes. test_contestants.py proves that it can."""
    stand_in = SimpleNamespace(Popen=CheckHere, DEVNULL=subprocess.DEVNULL, PIPE=subprocess.PIPE)
    monkeypatch.setattr(bot_commands, "subprocess", stand_in)
