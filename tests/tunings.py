"""`arena-bot tune` and `arena-bot trial` in this process, with their games played by threads."""

from __future__ import annotations

import pytest

from commands import Done, call
from tournaments import threads


def tuned(*words: str, jobs: int = 1) -> Done:
    """Run `arena-bot tune` to its end."""
    return _by_threads("tune", jobs, words)


def tried(*words: str) -> Done:
    """Run `arena-bot trial` to its end, without a search compiled in advance."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bots.commands.trial.compile_once", lambda setup, value: None)
        return _by_threads("trial", 2, words)


def _by_threads(command: str, jobs: int, words: tuple[str, ...]) -> Done:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"bots.commands.{command}.read_pool", lambda *options: threads(jobs))
        return call("arena-bot", command, *words)
