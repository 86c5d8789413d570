"""Tournaments and tests of two bots as commands that tests run: played to their end, or held up in the middle."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from arena.store.result_queries import iter_results, leaderboard_of
from arena.store.store import Store
from commands import Done, call, ends, of_workers, passing, run, started
from machine.workers.local import WorkerPool
from timeouts import WITHIN, found_in

T = TypeVar("T")
R = TypeVar("R")

KILLER = """
import os, re, signal
from pathlib import Path
from bots import Bot, run

class Killer(Bot):
    played = 0

    def choose(self, turn):
        struck = Path(os.environ["STRUCK"])
        if self.played == 1 and not struck.exists():
            struck.touch()
            keeper = Path(f"/proc/{os.getppid()}/status").read_text()
            os.kill(int(re.search("PPid:\\t(.*)", keeper)[1]), signal.SIGKILL)
        return turn.random.choice(turn.legal)

    def ended(self, end):
        self.played += 1

run(Killer("killer"))
"""
"""Kills the worker that referees its second match, the first time that it comes there."""


class ThreadPool(WorkerPool):
    """Workers that are threads of this process, and referee as processes do."""

    def __init__(self, jobs: int) -> None:
        super().__init__()
        self.size = jobs
        self._pool = ThreadPoolExecutor(jobs)

    def broadcast(self, work: Callable[[], object]) -> None:
        work()

    def _submit(self, work: Callable[[T], R], task: T) -> Future[R]:
        return self._pool.submit(work, task)

    def _check_workers(self) -> None:
        pass

    def _stop(self) -> None:
        self._pool.shutdown(cancel_futures=True)
        self._pool = ThreadPoolExecutor(self.size)


@contextmanager
def threads(jobs: int) -> Iterator[WorkerPool]:
    """Workers for a tournament that are threads of this process, instead of `processes`."""
    workers = ThreadPool(jobs)
    try:
        yield workers
    finally:
        workers._stop()


def played(*words: str, **environ: str) -> Done:
    """Run a command that plays matches in this process, which referees them as well; bots may be processes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("arena.commands.tournament.process_pool", threads)
        return call(*words, **environ)


def tournament(folder: Path, *words: str, **environ: str) -> dict[str, Any]:
    """Play a tournament to its end in a folder of its own, in this process: what it wrote with --json."""
    options = ["--data", str(folder), "--json", f"{folder}.json", *passing(environ)]
    done = played("arena", "tournament", *words, *options, **environ)
    assert done.code == 0, done.err
    content: dict[str, Any] = json.loads(Path(f"{folder}.json").read_text())
    return content


def tournament_of_processes(folder: Path, *words: str, **environ: str) -> dict[str, Any]:
    """Play the same by the command as a user starts it, with its workers."""
    options = ["--data", str(folder), "--json", f"{folder}.json", *passing(environ)]
    done = run("arena", "tournament", *words, *options, **environ)
    assert done.returncode == 0, done.stderr
    content: dict[str, Any] = json.loads(Path(f"{folder}.json").read_text())
    return content


def digests(content: dict[str, Any]) -> dict[str, str]:
    """Match id -> digest, in the order of the schedule."""
    return {match["match"]: match["digest"] for match in content["matches"]}


def ratings(folder: Path, pool: str = "nim/classic") -> list[tuple[str, float, float]]:
    """A leaderboard: bots with mu and sigma."""
    with closing(Store.open(folder / "arena.db", create=False)) as store:
        return [(row.bot, row.mu, row.sigma) for row in store.read(leaderboard_of, pool)]


def killer(folder: Path) -> str:
    """The word of a tournament for a killer, whose program is put into a folder."""
    (folder / "killer.py").write_text(KILLER)
    return f"killer={sys.executable} {folder / 'killer.py'}"


class Interrupted:
    """An `arena tournament` or `arena test` that a halting bot holds up in its third match, in the folder `cut`.

    The third match of that bot has to begin when others are over, whichever bot connects first.
    """

    def __init__(self, folder: Path, command: str, words: Sequence[str]) -> None:
        self.folder = folder / "cut"
        self.words = [*words, "--seed", "5", "--clock", "60", "--jobs", "1"]
        self._command = command
        self._fifo = folder / "halted"
        os.mkfifo(self._fifo)

    def stored(self) -> set[str]:
        with closing(Store.open(self.folder / "arena.db", create=False)) as store:
            return {result.match for result in list(store.iterate(iter_results))}

    def stopped_by(self, number: signal.Signals) -> str:
        """The last line that it says when it is told to stop, after which none of its two bots runs."""
        with self._begun() as process:
            bots = self._halted(process)
            process.send_signal(number)
            out, err = process.communicate(timeout=WITHIN)
        assert (process.returncode, out) == (130, "")
        assert len(bots) == 4  # two, each with its keeper
        assert all(ends(bot, within=0) for bot in bots)
        return str(err.splitlines()[-1])

    def kill(self) -> int:
        """Kill it; how many of its bots' processes end, keepers included: all of them."""
        with self._begun() as process:
            bots = self._halted(process)
            process.kill()
            _, err = process.communicate(timeout=WITHIN)
        assert "Warning" not in err
        assert all(ends(bot) for bot in bots)
        return len(bots)

    def _begun(self) -> AbstractContextManager[subprocess.Popen[str]]:
        environ = {"ARENA_HALTED": str(self._fifo)}
        return started("arena", self._command, *self.words, "--data", str(self.folder), *passing(environ), **environ)

    def _halted(self, process: subprocess.Popen[str]) -> list[int]:
        """The bots' processes, once it is held up and something is stored."""
        os.close(os.open(self._fifo, os.O_RDONLY))
        found_in(self.folder, lambda: self.stored() or None)
        return of_workers(process.pid)
