"""Commands that only read leave a database as it is, also a backup, and so can read one in a read-only folder."""

from __future__ import annotations

import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from arena.store.backup import back_up
from arena.store.store import Store
from boxes import boxed
from commands import call
from library import ANN, BOB, Library
from timeouts import WITHIN


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("backup")
    with closing(Store.open(folder / "arena.db")) as store:
        Library(store).play("nim", [ANN, BOB], match="one")
        back_up(store.database, folder / "copy.db")
    return folder / "copy.db"


@pytest.fixture
def backup(made: Path, tmp_path: Path) -> Path:
    """A backup with one match."""
    return Path(shutil.copy(made, tmp_path))


@pytest.mark.parametrize(
    "words",
    [
        "leaderboard",
        "matches",
        "bot list",
        "season list",
        "game list",
        "replay show one",
        "replay verify",
        "replay verify one",
        f"replay grade --bot {ANN.name}",
        f"replay rerun --all {ANN.name} --bot {ANN.name}=random --continuations 2 --seed 1",
        "db check",
    ],
)
def test_a_command_that_reads_a_backup_leaves_it_as_it_is(backup: Path, words: str) -> None:
    before = backup.read_bytes()
    done = call("arena", *words.split(), "--db", str(backup), "--data", str(backup.parent))
    assert (done.code, done.err) == (0, "")
    assert backup.read_bytes() == before


@boxed
def test_a_command_that_writes_says_that_the_folder_is_read_only(made: Path) -> None:
    words = ("bot", "add", "cid", "--db", str(made), "--data", str(made.parent))
    box = ("bwrap", "--ro-bind", "/", "/", "--dev", "/dev")
    command = (*box, sys.executable, "-P", "-m", "arena", *words)
    done = subprocess.run(command, capture_output=True, text=True, timeout=WITHIN, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"arena: {made} can't be written: its folder is read-only\n"
