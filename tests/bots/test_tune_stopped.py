"""`arena-bot tune` that is stopped, killed, left by its workers or without space: it goes on where it was."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from distributed import LocalCluster

from bots.tuning.file import load_tuning, save_tuning
from bots.tuning.tuning import Tuning
from commands import started
from process_tree import children
from protocol.errors import UsageFault
from timeouts import WITHIN, found_in
from tunings import tuned

SETS = ["genes=8", "tournaments=2", "starts=2", "best=2", "children=2", "mutants=1", "generations=2", "depth=2"]
GAMES = 24
COMMAND = [
    "risk-duel",
    "--preset",
    "quick",
    *(w for s in SETS for w in ("--set", s)),
    "--seed",
    "s",
]
PLAIN = {"ARENA_PLAIN": "1"}
"""Nothing is compiled: that begins sooner, and plays slowly enough to be stopped."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What is in the file when nothing happens."""
    file = tmp_path_factory.mktemp("whole") / "w.toml"
    assert tuned(*COMMAND, "--out", str(file), jobs=2).code == 0
    return file.read_bytes()


@contextlib.contextmanager
def tuning(file: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    with started("arena-bot", "tune", *COMMAND, "--out", str(file), *(options or ("--jobs", "2")), **PLAIN) as process:
        yield process


def resumed(file: Path) -> bytes:
    """What is in the file when one worker has played the tuning to its end, without playing what it had kept."""
    missing = 2 * GAMES - load_tuning(str(file)).games
    done = tuned(*COMMAND, "--resume", "--out", str(file))
    assert done.code == 0, done.err
    now = f", {missing} of them now" if missing < 2 * GAMES else ""
    assert f"games    {2 * GAMES}{now} in " in done.out
    return file.read_bytes()


def line(process: subprocess.Popen[str], words: str) -> str:
    """The next line on standard error that begins so."""
    assert process.stderr is not None
    said = []
    for text in process.stderr:
        said.append(text)
        if text.startswith(words):
            return text
    raise AssertionError("it ended: " + "".join(said))


def kept(file: Path, when: Callable[[Tuning], bool]) -> Tuning:
    def held() -> Tuning | None:
        with contextlib.suppress(UsageFault):  # there is none yet
            if when(tuning := load_tuning(str(file))):
                return tuning
        return None

    return found_in(file.parent, held)


def has_games(held: Tuning) -> bool:
    """Tell whether some were kept. How soon that is depends on how long the disk takes for the file."""
    return held.games > 0


def test_a_tuning_that_is_stopped_says_where_and_how_to_go_on(tmp_path: Path) -> None:
    file = tmp_path / "w.toml"
    with tuning(file, "--jobs", "1", "--set", "generations=500") as process:  # which nobody waits for
        kept(file, has_games)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=WITHIN)
    assert (process.returncode, out) == (130, "")
    stopped = re.fullmatch(
        r"arena-bot: stopped in generation (\d+) after ([\d,]+) of 12,000 games; "
        "the same command with --resume continues",
        err.splitlines()[-1],
    )
    assert stopped, err
    held = load_tuning(str(file))
    assert (len(held.generations) + 1, held.games) == (int(stopped[1]), int(stopped[2].replace(",", "")))


@pytest.mark.nightly
def test_a_tuning_that_is_told_to_end_between_generations_goes_on_with_the_next(whole: bytes, tmp_path: Path) -> None:
    file = tmp_path / "w.toml"
    with tuning(file) as process:
        line(process, "generation 1 of 2: ")
        assert len(load_tuning(str(file)).generations) == 1
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=WITHIN)
    assert process.returncode == 130
    assert resumed(file) == whole


def test_a_tuning_that_is_killed_goes_on_with_the_games_it_had_kept(whole: bytes, tmp_path: Path) -> None:
    file = tmp_path / "w.toml"
    with tuning(file) as process:
        kept(file, has_games)
        process.kill()
        process.communicate(timeout=WITHIN)
    assert resumed(file) == whole


@pytest.mark.nightly
def test_a_worker_that_is_killed_changes_nothing(whole: bytes, tmp_path: Path) -> None:
    file = tmp_path / "w.toml"
    with tuning(file) as process:
        kept(file, lambda held: bool(children(process.pid)))
        os.kill(max(children(process.pid)), signal.SIGKILL)
        _, err = process.communicate(timeout=WITHIN)
    assert process.returncode == 0, err
    assert file.read_bytes() == whole


def test_a_file_that_can_no_longer_be_written_is_told_and_stays_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "w.toml"

    def save_before_the_disk_is_full(tuning: Tuning, path: Path) -> None:
        save_tuning(tuning, path)
        (tmp_path / "w.toml.part").symlink_to("/dev/full")

    monkeypatch.setattr("bots.tuning.session.save_tuning", save_before_the_disk_is_full)
    done = tuned(*COMMAND, "--out", str(file))
    assert done.code == 1
    still = f"{file} keeps what it held, and --resume continues from there"
    assert done.err.splitlines()[-1] == f"arena-bot: {file} can't be written: No space left on device; {still}"
    assert list(tmp_path.iterdir()) == [file]
    assert load_tuning(str(file)).games == 0


def test_a_disk_that_is_full_from_the_beginning_is_told_before_the_first_game(tmp_path: Path) -> None:
    (tmp_path / "w.toml.part").symlink_to("/dev/full")
    done = tuned(*COMMAND, "--out", str(tmp_path / "w.toml"))
    assert done.code == 1
    assert done.err.endswith(f"arena-bot: {tmp_path}/w.toml can't be written: No space left on device\n")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def scheduler() -> Iterator[LocalCluster]:
    """Two workers in processes of their own, and their scheduler in this one."""
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50, env=PLAIN) as cluster:
        yield cluster


@pytest.mark.nightly
def test_without_its_scheduler_a_tuning_ends_and_what_a_dask_cluster_played_stays_in_the_same_bytes(
    whole: bytes, scheduler: LocalCluster, tmp_path: Path
) -> None:
    file = tmp_path / "w.toml"
    with tuning(file, "--dask", scheduler.scheduler_address) as process:
        kept(file, lambda held: True)  # it is written before the first game
        scheduler.close()
        _, err = process.communicate(timeout=WITHIN)
    assert process.returncode == 1
    lost = f"lost the Dask scheduler at {scheduler.scheduler_address}: is it running?"
    assert err.splitlines()[-1] == f"arena-bot: {lost}; the games played are kept in {file}: --resume continues"
    assert "Traceback" not in err
    assert resumed(file) == whole
