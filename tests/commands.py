"""`arena` and `arena-bot` as processes of their own, as a user starts them, for tests that wait for their end."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
FAULTY = Path(__file__).with_name("faulty_bots.py")
WITHIN = 30.0
MODULES = {"arena": "arena", "arena-bot": "bots"}


def run(*command: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a command line to its end, with nothing of ARENA_… in its environment but what is given."""
    with started(*command, **environ) as process:
        out, err = process.communicate(timeout=WITHIN)
    return subprocess.CompletedProcess(command, process.returncode, out, err)


@contextlib.contextmanager
def started(*command: str, **environ: str) -> Iterator[subprocess.Popen[str]]:
    """A command that runs; killed at the end if it still does."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("ARENA_")}
    process = subprocess.Popen(
        [sys.executable, "-m", MODULES[command[0]], *command[1:]],
        cwd=REPOSITORY,
        env={**inherited, "TERM": "dumb", **environ},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def faulty(kind: str) -> str:
    """The words of a tournament for a bot of tests/faulty_bots.py, under the name of its kind."""
    return f"{kind}={sys.executable} {FAULTY} {kind}"


def children(pid: int) -> list[int]:
    """The processes that a process has started and that still run."""
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def ends_within(pid: int, seconds: float) -> bool:
    """Wait for the end of a process that is not ours."""
    try:
        end = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([end], [], [], seconds)[0])
    finally:
        os.close(end)
