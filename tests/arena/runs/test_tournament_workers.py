"""The matches of a tournament refereed by several workers, processes here or of a cluster, some of them killed."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from arena.runs import result_writer, workers
from arena.runs.job import Aborted, MatchJob, MatchReport
from arena.runs.run import Progress, run_blocking
from arena.runs.sandbox import BotEnvironment
from arena.runs.workers import WorkerPlayers, referee_remotely
from arena.store.database import StoreUnavailable
from arena.store.finish import finish_matches
from arena.store.incident import Incident
from arena.store.match_luck import luck_of_tournament
from arena.store.registry import latest_incidents
from arena.store.result_queries import iter_results
from arena.store.store import Reader, Store
from arena.store.tournament_state import PendingResult, save_pending
from commands import REPOSITORY, call, ends, faulty, passing, run, started
from dask_cluster import cluster, dask, scheduler
from example_games import write_race
from machine.game_discovery import GAME_FILES_VARIABLE, add_game_file
from machine.game_files import use_copy
from machine.source_digest import PACKAGES, digest_of_all
from machine.workers.local import process_pool
from plans import plan
from process_tree import descendants
from referee.footer import ClosedMatch
from referee.record import Footer
from seasons import result
from timeouts import WITHIN
from tournaments import digests, killer, ratings, tournament, tournament_of_processes

MINE = """
from bots import Bot, run

class Mine(Bot):
    def choose(self, turn):
        print("a move of mine", flush=True)  # before the match is reported
        return turn.random.choice(turn.legal)

run(Mine("mine"))
"""


class Undisturbed:
    """A tournament with a killer that was played in this process, which it let live."""

    def __init__(self, folder: Path) -> None:
        self.words = ["random", killer(folder), "--game", "nim", "--rounds", "4", "--seed", "3"]
        self.folder = folder / "data"
        (folder / "struck").touch()
        self.content = tournament(self.folder, *self.words, "--in-process", STRUCK=str(folder / "struck"))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    return Undisturbed(tmp_path_factory.mktemp("undisturbed"))


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """That of a cluster of two workers."""
    pytest.importorskip("distributed")
    with cluster() as found:
        yield found


@pytest.mark.parametrize(
    "where",
    ["--jobs 1", pytest.param("--jobs 2", marks=pytest.mark.ci), pytest.param("--dask", marks=pytest.mark.ci)],
)
def test_a_worker_that_is_killed_costs_no_match_and_changes_none(
    tmp_path: Path, undisturbed: Undisturbed, where: str, request: pytest.FixtureRequest
) -> None:
    workers = where.split() if where != "--dask" else [where, request.getfixturevalue("address")]
    content = tournament_of_processes(tmp_path / "data", *undisturbed.words, *workers, STRUCK=str(tmp_path / "struck"))
    assert (tmp_path / "struck").exists()
    assert digests(content) == digests(undisturbed.content)
    assert ratings(tmp_path / "data") == ratings(undisturbed.folder)
    assert call("arena", "db", "check", "--data", str(tmp_path / "data")).code == 0


def test_a_worker_with_other_sources_does_not_look_at_its_work_and_says_whose_they_are() -> None:
    (refused,) = referee_remotely("0123456789abcdef", None, b"what only they can read", [])
    assert isinstance(refused, Aborted)
    assert re.fullmatch(
        r"the worker on \S+ has another bot-arena \(0.1.0, sources (\w{16})\) than the one here "
        r"\(sources 0123456789abcdef\): install the same on all machines",
        str(refused.fault),
    )


async def test_a_worker_on_another_machine_is_sent_the_rules_of_a_brought_game(
    tmp_path: Path, no_brought_games: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    played: list[str] = []

    def send(pool: object, work: Callable[[list[int]], list[MatchReport]], matches: list[int], _: object) -> Any:
        no_brought_games()
        yield 0, work(matches)

    def referee(job: MatchJob, matches: list[int]) -> list[MatchReport]:
        played.append(f"{job.plan.rules.pool}: {matches}")
        return []

    monkeypatch.setattr(workers, "spread_chunks", send)
    monkeypatch.setattr(workers, "referee_matches", referee)
    race = write_race(tmp_path)
    add_game_file(race)
    use_copy("race")
    around = BotEnvironment(variables={})
    job = MatchJob(key="k", plan=plan(game="race"), environment=around, logs=tmp_path, sources=digest_of_all())
    race.unlink()
    with process_pool(1) as pool:
        assert [reports async for reports in WorkerPlayers(job, pool).play([1, 2])] == [[]]  # type: ignore[list-item]
    assert played == ["race/classic: [1, 2]"]
    assert os.environ[GAME_FILES_VARIABLE].endswith("/race.py"), "bots there know it too"


@pytest.mark.ci
def test_a_worker_of_another_version_is_refused_in_one_line_and_its_words_say_which(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    for package in PACKAGES:
        shutil.copytree(REPOSITORY / package, tmp_path / "other" / package)
    job = tmp_path / "other" / "arena" / "runs" / "job.py"
    job.write_text(job.read_text().replace("in_process:", "inside:"))
    words = ["random", "perfect", "--game", "nim", "--data", str(tmp_path / "data")]
    with cluster(1, PYTHONPATH=str(tmp_path / "other"), PYTHONSAFEPATH="1") as address:
        done = run("arena", "tournament", *words, "--dask", address)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(
        r"arena: the worker on \S+ has another bot-arena \(0.1.0, sources (\w{16})\) than the one here "
        r"\(sources (?!\1)\w{16}\): install the same on all machines",
        done.stderr.splitlines()[-1],
    )


@pytest.mark.nightly
def test_ctrl_c_ends_the_bots_of_a_cluster_too(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    os.mkfifo(fifo := tmp_path / "halted")
    words = ["random", faulty("halting"), "--game", "nim", "--rounds", "5", "--clock", "60", "--data", str(tmp_path)]
    with (
        scheduler() as (address, _),
        dask("worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard") as worker,
    ):
        words += ["--dask", address, *passing(["ARENA_HALTED"])]
        with started("arena", "tournament", *words, ARENA_HALTED=str(fifo)) as process:
            os.close(os.open(fifo, os.O_RDONLY))
            bots = descendants(worker.pid)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=WITHIN)
        assert re.fullmatch(r"arena: stopped after \d of 5 matches; the same command continues", err.splitlines()[-1])
        assert len(bots) == 4  # two, each with its keeper
        assert all(ends(bot) for bot in bots)
        assert worker.poll() is None


@pytest.mark.ci
def test_what_bots_of_a_cluster_write_is_in_their_logs_here(tmp_path: Path, address: str) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    words = ["random", f"mine={sys.executable} {tmp_path / 'mine.py'}", "--game", "nim", "--rounds", "2"]
    apart = tournament_of_processes(tmp_path / "apart", *words, "--dask", address)
    within = tournament_of_processes(tmp_path / "within", *words, "--dask", address, "--in-process")
    log = tmp_path / "apart" / "tournaments" / apart["tournament"] / "mine.log"
    assert set(log.read_text().splitlines()) == {"a move of mine"}
    assert len(within["matches"]) == 2


# In process


@pytest.mark.nightly
def test_in_process_the_same_is_played_whatever_the_number_of_workers(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    words = ["random", "calm=greedy", f"mine=python {tmp_path / 'mine.py'}", "--game", "risk-duel"]
    words += ["--set", "map=south-america", "--seed", "3"]
    apart = tournament_of_processes(tmp_path / "apart", *words, "--jobs", "1")
    alone = tournament_of_processes(tmp_path / "alone", *words, "--in-process", "--jobs", "1")
    both = tournament_of_processes(tmp_path / "both", *words, "--in-process", "--jobs", "2")
    assert digests(apart) == digests(alone) == digests(both)
    assert ratings(tmp_path / "apart", "risk-duel/standard") == ratings(tmp_path / "both", "risk-duel/standard")
    assert luck(tmp_path / "apart", apart) == luck(tmp_path / "both", both)
    assert len(luck(tmp_path / "both", both)) == len(both["matches"])
    log = tmp_path / "alone" / "tournaments" / alone["tournament"] / "in-process.log"
    assert set(log.read_text().splitlines()) == {"a move of mine"}


def luck(folder: Path, content: dict[str, Any]) -> dict[str, Any]:
    """What is kept of the luck in a tournament's matches."""
    with closing(Store.open(folder / "arena.db", create=False)) as store:
        return dict(store.read(luck_of_tournament, content["tournament"]))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["x=node bot.js", "--in-process"], "x: 'node bot.js' can't play in process, which reference bots and Python "),
        (["x=no.py", "--in-process"], "{folder}/no.py can't be read: No such file or directory"),
        (["perfect", "--in-process", "--sandbox", "bwrap"], "--sandbox is for bots that run as processes: leave out"),
        (
            ["perfect", "--jobs", "2", "--dask", "tcp://x:1"],
            "--jobs is for this machine, --dask for a cluster: give one",
        ),
        (
            ["perfect", "--dask", "tcp://127.0.0.1:here"],
            "the cluster's address is 'tcp://127.0.0.1:here': it must be like tcp://host:8786 ",
        ),
        (["oracle"], "oracle does not play nim: it plays risk-duel"),
    ],
)
def test_what_can_not_be_played_so_is_refused_in_one_line_and_nothing_is_left(
    tmp_path: Path, words: list[str], says: str
) -> None:
    done = call("arena", "tournament", "random", *words, "--game", "nim", "--data", str(tmp_path / "data"))
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.err.startswith(f"arena: {says.replace('{folder}', str(Path.cwd()))}")
    assert not (tmp_path / "data").exists()


# The store


def test_reports_wait_for_a_store_that_can_do_nothing_which_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(result_writer, "RETRY_DELAY_S", 0.0)
    failures = [StoreUnavailable("the database is locked")] * 2

    def sometimes(connection: Connection, batch: Any) -> Any:
        if failures:
            raise failures.pop()
        return finish_matches(connection, batch)

    monkeypatch.setattr(result_writer, "finish_matches", sometimes)
    planned = plan("ab", rounds=1)
    (match,) = planned.schedule(())
    closed = ClosedMatch(result("m1", match.seats, place=0), (), Footer(**FOOTER))
    incident = Incident(at="2026-01-01T00:00:00.000Z", code="1006", text="the connection broke off")
    with closing(Store.open(tmp_path / "arena.db")) as store:
        ledger = result_writer.RatedLedger(store, Progress(planned), lambda reports: None)
        assert run_blocking(ledger.missing()) == [match]
        run_blocking(ledger.hand_in([MatchReport(closed, incidents=(("a", incident),))]))
        assert [match.match for match in list(store.iterate(iter_results))] == ["m1"]
    with closing(Reader.open(tmp_path / "arena.db")) as reader:
        assert reader.read(latest_incidents, "a") == [incident]
    assert (
        capsys.readouterr().err == "arena: results can't be stored now, which is tried again: the database is locked\n"
    )


def test_a_match_that_waited_when_the_command_ended_is_rated_although_nothing_is_left_to_play(tmp_path: Path) -> None:
    planned = plan("ab", rounds=1)
    (match,) = planned.schedule(())
    over = result("t1-00000", match.seats, tournament="t1", place=0)
    waiting = PendingResult(ClosedMatch(over, (), Footer(**FOOTER)))
    with closing(Store.open(tmp_path / "arena.db")) as store:
        store.write(save_pending, [waiting])
        progress = Progress(planned, (), result_writer.load_pending_reports(store, "t1"))
        ledger = result_writer.RatedLedger(store, progress, lambda reports: None)
        assert run_blocking(ledger.missing()) == []
        assert [one.match for one in store.iterate(iter_results)] == ["t1-00000"]
        assert result_writer.load_pending_reports(store, "t1") == []


FOOTER: dict[str, Any] = {
    "ranks": [1, 2],
    "reason": "win",
    "reasons": ["win", "win"],
    "plies": 0,
    "digest": "ab" * 32,
    "seed": "cd" * 32,
    "nonces": ["", ""],
    "finished": "2026-01-01T00:00:09.000Z",
}
