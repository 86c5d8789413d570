"""What a stranger's program gets hold of in a tournament, without a sandbox and in one."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import hostile_bot
from arena.runs.contestants import Contestant
from arena.runs.sandbox import Sandbox
from arena.runs.sandbox_users import USER_IDS
from boxes import boxed
from commands import FAULTY, REPOSITORY, call, ends, passing, run, started
from process_tree import descendants
from protocol.errors import UsageFault
from timeouts import WITHIN

HOSTILE = Path(hostile_bot.__file__)


def others_run_python() -> bool:
    """Whether a process of ours can become another user, and that one run what we run."""
    try:
        done = subprocess.run([sys.executable, "-c", "import arena"], user=61_182, group=61_182, extra_groups=[])
    except OSError:
        return False
    return done.returncode == 0


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder of the bot's own, with the program in it, that any user may read; beside it a diary that is nobody's."""
    with TemporaryDirectory() as base:
        Path(base).chmod(0o755)
        folder = Path(base, "bots", "hostile")
        folder.mkdir(parents=True)
        for source in (HOSTILE, FAULTY):
            shutil.copy(source, folder)
            (folder / source.name).chmod(0o644)
        (folder.parent / "diary").touch(0o600)
        yield folder


def took(
    folder: Path, port: int, *options: str, take: list[str], others: Sequence[str] = ("random",)
) -> dict[str, Any]:
    """What the hostile bot got in a tournament with a rival and others, in which all of them play on."""
    data = folder.parent / "data"
    diary = folder.parent / "diary"
    diary.write_text("dear diary")
    hunt = {
        "others": ["steady", *others],
        "data": str(data),
        "file": str(diary),
        "port": port,
        "take": take,
    }
    rival = f"rival={sys.executable} {folder / FAULTY.name} steady"
    words = [*others, rival, f"hostile={sys.executable} {folder / HOSTILE.name}", "--game", "nim", "--seed", "3"]
    written = folder.parent / "out.json"
    words += ["--data", str(data), "--json", str(written), "--clock", f"{WITHIN:g}", "--pass-env", "HUNT", *options]
    done = run("arena", "tournament", *words, HUNT=json.dumps(hunt), ARENA_MQTT="mqtt://me:Open-Sesame@host")
    assert done.returncode == 0, done.stderr
    content = json.loads(written.read_text())
    assert {match["reason"] for match in content["matches"]} == {"win"}
    log = data / "tournaments" / content["tournament"] / "hostile.log"
    found: dict[str, Any] = json.loads(log.read_text().splitlines()[0])
    return found


def test_without_a_sandbox_environments_hold_no_secrets_and_files_do(folder: Path, taken_port: int) -> None:
    got = took(folder, taken_port, take=["secrets", "own secrets", "others", "tokens", "seed", "port"], others=())
    secrets = got.pop("secrets")
    assert got == {"own secrets": [], "others": ["steady"], "tokens": [], "seed": [["3"]], "port": True}
    assert secrets == [] or os.geteuid() == 0, "only root looks into the tournament's process"


NO_SECRETS = {
    "secrets": [],
    "own secrets": [],
    "tokens": [],
    "seed": "OperationalError: unable to open database file",
    "arena": True,
}
"""What a bot gets in a sandbox of any kind."""


def kept_within_limits(got: dict[str, Any]) -> dict[str, Any]:
    """Check that a bot got no more of what is limited, and return the rest."""
    assert got.pop("processes") < 300
    assert got.pop("scratch") <= 64
    assert got.pop("memory") == "OSError: [Errno 12] Cannot allocate memory"
    return got


@boxed
def test_in_a_sandbox_there_is_nothing_to_be_had_but_the_arena(folder: Path, taken_port: int) -> None:
    got = took(folder, taken_port, "--sandbox", "bwrap", "--memory", "1024", take=list(hostile_bot.TAKES))
    data = folder.parent / "data"
    assert kept_within_limits(got) == {
        **NO_SECRETS,
        "others": [],
        "journals": f"FileNotFoundError: [Errno 2] No such file or directory: '{data}/journal'",
        "file": f"FileNotFoundError: [Errno 2] No such file or directory: '{folder.parent}/diary'",
        "write": f"OSError: [Errno 30] Read-only file system: '{folder}/hostile-was-here'",
        "port": "ConnectionRefusedError: [Errno 111] Connection refused",
        "outside": "OSError: [Errno 101] Network is unreachable",
    }


@pytest.mark.skipif(not others_run_python(), reason="other users can't be, or can't run this Python")
def test_as_a_user_of_its_own_a_bot_gets_what_is_open_to_all_and_no_more(folder: Path, taken_port: int) -> None:
    take = [name for name in hostile_bot.TAKES if name != "outside"]
    got = took(folder, taken_port, "--sandbox", "users", "--memory", "1024", take=take)
    data = folder.parent / "data"
    assert kept_within_limits(got) == {
        **NO_SECRETS,
        "others": ["steady", "random"],
        "journals": f"PermissionError: [Errno 13] Permission denied: '{data}/journal'",
        "file": f"PermissionError: [Errno 13] Permission denied: '{folder.parent}/diary'",
        "write": f"PermissionError: [Errno 13] Permission denied: '{folder}/hostile-was-here'",
        "port": True,
    }


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can")
@pytest.mark.ci
def test_what_a_bot_leaves_in_tmp_is_gone_after_the_tournament(folder: Path, tmp_path: Path) -> None:
    left = Path("/tmp", f"left-{uuid.uuid4()}")
    program = folder / "leaving"
    program.write_text(f"id -u; echo mine > {left}; cat {left}\n")
    program.chmod(0o644)
    words = ["random", f"mine=/bin/sh {program}", "--game", "nim", "--data", str(tmp_path / "data"), "--no-strict"]
    run("arena", "tournament", *words, "--sandbox", "users")
    (log,) = (tmp_path / "data" / "tournaments").glob("*/mine.log")
    user, word, *_ = log.read_text().splitlines()
    assert (int(user) in USER_IDS, word) == (True, "mine")
    assert not left.exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root can")
def test_who_is_not_root_can_not_run_bots_as_other_users(tmp_path: Path) -> None:
    bots = ["random", f"mine={sys.executable} mine.py", "--game", "nim", "--data", str(tmp_path / "data")]
    says = "arena: --sandbox users needs root: use --sandbox bwrap\n"
    assert call("arena", "tournament", *bots, "--sandbox", "users") == (2, "", says)


@boxed
@pytest.mark.ci
def test_a_bot_that_dies_in_its_sandbox_plays_on_in_another_until_it_died_too_often(
    folder: Path, tmp_path: Path
) -> None:
    words = ["random", f"once={sys.executable} {folder / FAULTY.name} crashing", "--game", "nim", "--rounds", "5"]
    done = run("arena", "tournament", *words, "--data", str(tmp_path / "data"), "--sandbox", "bwrap", "--jobs", "1")
    assert done.returncode == 1
    assert done.stderr.count("once ended with exit code 1; last output, in ") == 3
    assert re.fullmatch(r"  RuntimeError: no idea at ply \d", done.stderr.splitlines()[-1])


@boxed
def test_with_a_tournament_that_is_killed_its_sandboxes_are_gone(folder: Path, tmp_path: Path) -> None:
    halted = folder / "halted"
    os.mkfifo(halted)
    halted.chmod(0o666)
    words = ["random", f"halting={sys.executable} {folder / FAULTY.name} halting", "--game", "nim", "--rounds", "3"]
    words += ["--clock", "60", "--jobs", "1", "--data", str(tmp_path / "data"), "--sandbox", "bwrap"]
    environ = {"ARENA_HALTED": str(halted)}
    with started("arena", "tournament", *words, *passing(environ), **environ) as process:
        os.close(os.open(halted, os.O_RDONLY))
        family = descendants(process.pid)
        process.kill()
    assert len(family) >= 5, "two keepers, a reference bot, and a sandbox of two or more"
    assert all(ends(pid) for pid in family)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--sandbox", "docker"], "there is no sandbox 'docker': one of none, users, bwrap"),
        (["--sandbox", "bwrap", "--memory", "1"], "--memory is 1: it is 64 or more, in MiB"),
        (
            ["--sandbox", "bwrap", "--sandbox-read", "/no/such"],
            "--sandbox-read /no/such: there is no such file or folder",
        ),
    ],
)
def test_options_of_a_sandbox_that_can_not_be_are_told_in_one_line(tmp_path: Path, words: list[str], says: str) -> None:
    bots = ["random", "mine=sh mine.sh", "--game", "nim", "--data", str(tmp_path / "data")]
    assert call("arena", "tournament", *bots, *words) == (2, "", f"arena: {says}\n")


def test_without_bubblewrap_there_is_no_sandbox(tmp_path: Path) -> None:
    bots = ["random", f"mine={sys.executable} mine.py", "--game", "nim", "--data", str(tmp_path / "data")]
    says = "arena: --sandbox bwrap needs bubblewrap: apt-get install bubblewrap, or dnf install bubblewrap\n"
    assert call("arena", "tournament", *bots, "--sandbox", "bwrap", PATH=str(tmp_path)) == (2, "", says)


def test_where_bubblewrap_may_not_the_tournament_does_not_begin(tmp_path: Path) -> None:
    bwrap = tmp_path / "bwrap"
    bwrap.write_text("#!/bin/sh\necho 'bwrap: No permissions to create a new namespace' >&2\nexit 1\n")
    bwrap.chmod(0o755)
    bots = ["random", f"mine={sys.executable} mine.py", "--game", "nim", "--data", str(tmp_path / "data")]
    says = (
        "arena: bubblewrap can't make a sandbox here: bwrap: No permissions to create a new namespace; "
        "it takes version 0.8 and user namespaces (in a container often forbidden), or root\n"
    )
    assert call("arena", "tournament", *bots, "--sandbox", "bwrap", PATH=str(tmp_path)) == (1, "", says)
    assert not (tmp_path / "data").exists()


# What is bound into a sandbox


def bound(words: Sequence[str]) -> set[str]:
    """The paths of the file system that a sandbox shows, but those of the system and of this Python."""
    shown = {source for flag, source in pairwise(words) if flag == "--ro-bind"}
    ours = (sys.prefix, sys.base_prefix, str(REPOSITORY), "/usr", "/etc")
    return {path for path in shown if not path.startswith(ours)}


@pytest.fixture
def ground(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home, with the folder of a class in it: two bots, the data folder, a database apart."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("class/ann", "class/bob", "class/data", "class/models"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("class/ann/bot.py", "class/bob/bot.py", "class/bot.py", "bot.py", "class/data/bot.py"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path / "class")
    return tmp_path / "class"


def words_for(*command: str, data: str = "data", database: str = "data/arena.db", read: str | None = None) -> list[str]:
    readable = () if read is None else (Path(read),)
    box = Sandbox(kind="bwrap", data=Path(data), database=Path(database), readable=readable)
    return list(box.launch_spec(Contestant("mine", command), 0, {}, "").sandbox)


def test_a_sandbox_shows_the_folders_that_the_command_names_and_no_others(ground: Path) -> None:
    assert bound(words_for("sh", "ann/bot.py", "--fast")) == {f"{ground}/ann"}
    assert bound(words_for("sh", "ann", read="models")) == {f"{ground}/ann", f"{ground}/models"}


def test_a_sandbox_covers_the_data_folder_under_each_of_its_names(ground: Path) -> None:
    (ground.parent / "link").symlink_to(ground)
    for place in (ground, ground.parent / "link"):
        words = words_for("sh", f"{place}/bot.py")
        assert bound(words) == {str(place)}
        assert ("--tmpfs", f"{place}/data") in set(pairwise(words))


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["sh", "../bot.py"], "mine could read all of {home}: move it to a folder of its own"),
        (["sh", "/"], "mine could read all of /: move it to a folder of its own"),
        (["sh", "data/bot.py"], "mine: {home}/class/data lies in the data folder, which bots don't see in a sandbox"),
    ],
)
def test_a_sandbox_that_would_show_too_much_is_refused(ground: Path, command: list[str], says: str) -> None:
    with pytest.raises(UsageFault) as caught:
        words_for(*command)
    assert str(caught.value) == says.format(home=ground.parent)


def test_a_database_in_a_folder_that_a_bot_sees_is_refused(ground: Path) -> None:
    with pytest.raises(UsageFault, match=r"mine would see the database bob/arena.db in .*/bob: keep one of them else"):
        words_for("sh", "bob/bot.py", database="bob/arena.db")
