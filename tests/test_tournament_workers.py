"""The matches of a tournament refereed by several workers, processes here or of a cluster, some of them killed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from commands import call
from dask_cluster import dask, scheduler
from test_tournament import digests, ratings, tournament

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


def killer(folder: Path) -> str:
    """The word of a tournament for a killer, whose program is put into a folder."""
    (folder / "killer.py").write_text(KILLER)
    return f"killer={sys.executable} {folder / 'killer.py'}"


class Undisturbed:
    """A tournament with a killer that was played by one worker, whom it let live."""

    def __init__(self, folder: Path) -> None:
        self.words = ["random", "perfect", killer(folder), "--game", "nim", "--rounds", "5", "--seed", "3"]
        self.folder = folder / "data"
        (folder / "struck").touch()
        self.content = tournament(self.folder, *self.words, "--jobs", "1", STRUCK=str(folder / "struck"))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    return Undisturbed(tmp_path_factory.mktemp("undisturbed"))


@contextmanager
def cluster(workers: int = 2, **variables: str) -> Iterator[str]:
    """The address of a cluster; its workers come back when they are killed."""
    with scheduler() as (address, _):
        options = ("--nthreads", "1", "--nworkers", str(workers), "--no-dashboard")
        with dask("worker", address, *options, **variables):
            yield address


@pytest.mark.parametrize("where", ["--jobs", "--dask"])
def test_a_worker_that_is_killed_costs_no_match_and_changes_none(
    tmp_path: Path, undisturbed: Undisturbed, where: str
) -> None:
    if where == "--dask":
        pytest.importorskip("distributed")
    with cluster() if where == "--dask" else nullcontext("2") as what:
        content = tournament(tmp_path / "data", *undisturbed.words, where, what, STRUCK=str(tmp_path / "struck"))
    assert (tmp_path / "struck").exists()
    assert digests(content) == digests(undisturbed.content)
    assert ratings(tmp_path / "data") == ratings(undisturbed.folder)
    assert call("arena", "db", "check", "--data", str(tmp_path / "data")).code == 0
