"""What survives what: bots that fail in a tournament, and a server that is killed or stopped amid a match."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from arena.processes.process import BotCrashed
from arena.ratings.tournament_pairing import Pairing
from arena.runs.contestants import parse_contestants
from arena.runs.job import MatchJob, MatchReport
from arena.runs.plan import Plan
from arena.runs.run import Progress
from arena.runs.sandbox import BotEnvironment
from arena.runs.workers import WorkerPlayers
from commands import FAULTY, call, faulty, passing
from conftest import free_port
from machine.run_program import ProgramEnd
from machine.workers.local import process_pool
from processes import run_command, serving
from protocol.games import load_game
from protocol.messages import Clock
from referee.result import Result
from timeouts import WITHIN
from tournaments import played

FAST = ("--clock", "1")


def tournament(folder: Path, *words: str, rounds: int = 2, **environ: str) -> tuple[int, dict[str, Any], str, str]:
    """A tournament of Nim in `folder`: exit code, what it wrote with --json, its table, its error output."""
    options = ["--game", "nim", "--rounds", str(rounds), "--seed", "1", "--data", str(folder), *passing(environ)]
    done = played("arena", "tournament", *words, *options, "--json", f"{folder}.json", **environ)
    written = Path(f"{folder}.json")
    return done.code, json.loads(written.read_text()) if written.exists() else {}, done.out, done.err


def outcomes(content: dict[str, Any], bot: str) -> list[tuple[int, str]]:
    """Of each match of a bot: its rank, and why."""
    seats = [seat for match in content["matches"] for seat in match["seats"] if seat["bot"] == bot]
    return [(seat["rank"], seat["reason"]) for seat in seats]


# Bots that fail


@pytest.mark.parametrize(
    ("kind", "reasons"),
    [
        pytest.param("slow", {"timeout"}, marks=pytest.mark.ci),
        pytest.param("mute", {"timeout"}, marks=pytest.mark.ci),
        ("illegal", {"illegal"}),
        pytest.param("garbage", {"timeout", "disconnected"}, marks=pytest.mark.ci),
    ],
)
def test_a_bot_at_fault_loses_each_match_and_the_tournament_goes_on(
    tmp_path: Path, kind: str, reasons: set[str]
) -> None:
    code, content, table, err = tournament(tmp_path / "data", "random", faulty(kind), *FAST)
    assert code == 0, err
    fates = outcomes(content, kind)
    assert len(fates) == 2
    assert {rank for rank, _ in fates} == {2}
    assert {reason for _, reason in fates} <= reasons
    assert re.search(rf"^2 +[\d-]+ +{kind} +2 +0 +0 +2 .* 2$", table, re.MULTILINE)


@pytest.mark.ci
def test_the_others_play_their_matches_beside_a_bot_at_fault(tmp_path: Path) -> None:
    words = ["random", "perfect", faulty("mute"), *FAST]
    code, content, _, err = tournament(tmp_path / "data", *words)
    assert code == 0, err
    assert sorted(match["reason"] for match in content["matches"]) == ["timeout"] * 4 + ["win"] * 2


def test_below_the_table_stands_who_lost_without_being_beaten_and_where_its_words_are(tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(
        "from bots import Bot, run\n"
        "class Mine(Bot):\n"
        "    def choose(self, turn):\n"
        "        return {'heap': 0, 'take': 1000} if turn.seat else turn.no_such_thing\n"
        "run(Mine('mine'))\n"
    )
    code, content, table, err = tournament(tmp_path / "data", "random", f"mine={sys.executable} {mine}", rounds=5)
    assert code == 0, err
    log = tmp_path / "data" / "tournaments" / content["tournament"] / "mine.log"
    assert table.splitlines()[-3:] == [
        "mine: 5 matches lost by forfeit or resignation (failed 3, illegal 2); log:",
        "  raised AttributeError: 'Turn' object has no attribute 'no_such_thing', in mine.py line 4 (3 matches)",
        f"  {log}",
    ]
    assert "no_such_thing" in log.read_text()
    assert "1000 cannot be taken" in log.read_text()


def test_a_bot_that_dies_in_a_match_loses_it_at_once_and_plays_the_next(tmp_path: Path) -> None:
    """The clock is a day: nothing here may wait for it."""
    memory = {"ARENA_MEMORY": str(tmp_path / "memory")}
    words = ["random", faulty("crashingonce"), "--clock", "86400", "--jobs", "1"]
    code, content, _, err = tournament(tmp_path / "data", *words, rounds=4, **memory)
    assert code == 0
    fates = outcomes(content, "crashingonce")
    assert fates[0] == (2, "disconnected")
    assert {reason for _, reason in fates[1:]} == {"win"}
    log = tmp_path / "data" / "tournaments" / content["tournament"] / "crashingonce.log"
    assert f"crashingonce ended with exit code 1; last output, in {log}:\n" in err
    assert re.search(r"^  RuntimeError: no idea at ply \d$", err, re.MULTILINE)
    assert "RuntimeError: no idea at ply" in log.read_text()


def test_a_bot_that_dies_before_it_is_ready_plays_the_match_when_it_is_back(tmp_path: Path) -> None:
    memory = {"ARENA_MEMORY": str(tmp_path / "memory")}
    code, content, _, err = tournament(tmp_path / "data", "random", faulty("crashingbeforeready"), **memory)
    assert code == 0
    assert {reason for _, reason in outcomes(content, "crashingbeforeready")} == {"win"}
    assert err.count("RuntimeError: not ready for this") == 1


@pytest.mark.ci
def test_a_bot_that_dies_in_every_match_stops_the_tournament_which_can_go_on(tmp_path: Path) -> None:
    broken = tmp_path / "mine.py"
    broken.write_text(
        f"import runpy, sys\nsys.argv = ['mine', 'crashing']\nrunpy.run_path({str(FAULTY)!r}, run_name='__main__')\n"
    )
    words = ["random", f"mine={sys.executable} {broken}", "--jobs", "1"]
    code, content, table, err = tournament(tmp_path / "data", *words, rounds=5)
    assert (code, content, table) == (1, {}, "")
    notes, _, error = err.partition("\narena: ")
    assert notes.count("mine ended with exit code 1; last output") == 2
    assert error.startswith("mine ended with exit code 1; last output, in ")
    assert re.fullmatch(r"  RuntimeError: no idea at ply \d", error.splitlines()[-1])
    broken.write_text(broken.read_text().replace("crashing", "steady"))
    code, content, _, err = tournament(tmp_path / "data", *words, rounds=5)
    assert code == 0, err
    assert [reason for _, reason in outcomes(content, "mine")] == ["disconnected"] * 2 + ["win"] * 3


def test_a_bot_that_dies_at_once_stops_the_tournament_with_its_last_lines(tmp_path: Path) -> None:
    code, content, table, err = tournament(tmp_path / "data", "random", faulty("stillborn"))
    assert (code, content, table) == (1, {}, "")
    assert err.count("stillborn ended with exit code 1; last output, in ") == 1
    assert err.endswith("\n  RuntimeError: no brain found\n")


def test_a_program_that_cannot_be_run_stops_the_tournament_in_one_line(tmp_path: Path) -> None:
    script = tmp_path / "mine"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    code, _, _, err = tournament(tmp_path / "data", "random", f"mine={script}")
    assert code == 1
    assert err.splitlines()[-1] == f"arena: mine can't be started: No such file or directory: {script}"


# Bots that are away, with less patience than the command has


class Kept(NamedTuple):
    """Keeps the reports of a run in a list."""

    plan: Plan
    reports: list[MatchReport]

    async def missing(self) -> list[Pairing]:
        return Progress(self.plan, [report.result for report in self.reports]).missing()

    async def hand_in(self, reports: Sequence[MatchReport]) -> bool:
        self.reports.extend(reports)
        return True


def play(
    folder: Path, words: Sequence[str], connect_timeout: float, rounds: int = 2, bank_s: int = 60
) -> tuple[list[Result], list[str], BaseException | None]:
    """Play the matches of a tournament: their results, what was noted, and what stopped it."""
    plan = Plan(
        id="t0123456789",
        seed="1",
        contestants=tuple(parse_contestants(words, {})),
        rules=load_game("nim"),
        format="round-robin",
        rounds=rounds,
        paired=False,
        clock=Clock(bank_ms=bank_s * 1000, increment_ms=0),
    )
    around = BotEnvironment(variables=dict(os.environ))
    job = MatchJob(key="k", plan=plan, environment=around, logs=folder, connect_timeout_s=connect_timeout)
    reports: list[MatchReport] = []
    stopped = None
    try:
        with process_pool(1) as crew:
            WorkerPlayers(job, crew).play_run(Kept(plan, reports))
    except BotCrashed as fault:
        stopped = fault
    return [one.result for one in reports], [note for one in reports for note in one.notes], stopped


@pytest.mark.ci
def test_a_bot_that_never_says_hello_stops_the_tournament_with_its_last_lines(tmp_path: Path) -> None:
    results, noted, stopped = play(tmp_path, ["random", faulty("silent")], connect_timeout=4.0)
    assert (results, noted) == ([], [])
    log = tmp_path / "silent.log"
    assert str(stopped) == (
        f"silent did not connect within 4 s and was killed; last output, in {log}:\n  thinking about it"
    )


@pytest.mark.ci
def test_a_bot_that_vanishes_loses_its_match_and_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARENA_MEMORY", str(tmp_path / "memory"))
    words = ["random", faulty("vanishingonce")]
    results, noted, stopped = play(tmp_path, words, connect_timeout=4.0, rounds=3, bank_s=6)
    assert stopped is None
    fates = [seat.reason for result in results for seat in result.seats if seat.bot == "vanishingonce"]
    assert fates == ["disconnected", "win", "win"]
    assert len(noted) == 1
    assert noted[0].startswith("vanishingonce was disconnected for 4 s and was killed; last output, in ")


# A server that is killed, or told to stop

HELD = """
import os
from bots import run
from bots.reference.random_bot import RandomBot

class Held(RandomBot):
    turns = 0

    def choose(self, turn):
        self.turns += 1
        if self.turns == 4:
            os.close(os.open(os.environ["REACHED"], os.O_WRONLY))
            os.close(os.open(os.environ["GO_ON"], os.O_RDONLY))
        return super().choose(turn)

run(Held("random"))
"""


class Players:
    """`random`, which thinks about its fourth turn until it is let go, and `perfect`: five rated matches of Nim."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.reached, self.go_on = folder / "reached", folder / "go_on"
        self.ends: list[asyncio.Task[ProgramEnd]] = []
        os.mkfifo(self.reached)
        os.mkfifo(self.go_on)
        (folder / "held.py").write_text(HELD)

    def start(self, url: str) -> None:
        fifos = {"REACHED": str(self.reached), "GO_ON": str(self.go_on)}
        for words in (("-m", "bots", "run", "perfect"), (str(self.folder / "held.py"),)):
            command = (sys.executable, *words, "--url", url, "--game", "nim", "--matches", "5", "--patience", "20")
            self.ends.append(asyncio.create_task(run_command(*command, folder=self.folder, **fifos)))

    async def thinking(self) -> None:
        """Returns in the middle of a match."""
        async with asyncio.timeout(WITHIN):
            await asyncio.to_thread(lambda: os.close(os.open(self.reached, os.O_RDONLY)))

    async def go(self) -> None:
        async with asyncio.timeout(WITHIN):
            await asyncio.to_thread(lambda: os.close(os.open(self.go_on, os.O_WRONLY)))

    async def results(self) -> list[set[str]]:
        """The matches that each bot was told the result of, with its ratings, once it has played them all."""
        told = []
        for end in await asyncio.gather(*self.ends):
            assert end.code == 0, end.errors.decode()
            out = end.output.decode()
            told.append(set(re.findall(r"^\w+: (?:won|lost) (\S+) against .* rating .* -> ", out, re.MULTILINE)))
        return told


@pytest.fixture
def players(tmp_path: Path) -> Players:
    return Players(tmp_path)


def looked_up(data: Path, *words: str) -> Any:
    done = call("arena", *words, "--data", str(data), "--json")
    assert done.code == 0, done.err
    return json.loads(done.out)


@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.ci)])
async def test_a_match_goes_on_when_its_server_is_started_again(
    tmp_path: Path, players: Players, number: signal.Signals
) -> None:
    data, port = tmp_path / "data", str(free_port())
    async with serving(data, "--port", port) as server:
        players.start(server.url)
        await players.thinking()
        (journal,) = (data / "journal").iterdir()
        server.process.send_signal(number)
        code = await asyncio.to_thread(server.process.wait, WITHIN)
    assert code == (-9 if number == signal.SIGKILL else 0)
    async with serving(data, "--port", port) as server:
        await players.go()
        told = await players.results()
    assert "arena: 1 match goes on after a restart\n" in server.said
    matches = looked_up(data, "matches")
    ids = {match["match"] for match in matches}
    assert len(matches) == len(ids) == 5
    assert told == [ids, ids]
    assert journal.stem in ids
    assert {(match["rated"], match["reason"]) for match in matches} == {(True, "win")}
    (board,) = looked_up(data, "leaderboard")
    assert [(row["bot"], row["played"]) for row in board["rows"]] == [("perfect", 5), ("random", 5)]
    assert list((data / "journal").iterdir()) == []
    assert call("arena", "db", "check", "--data", str(data)).code == 0
    assert call("arena", "replay", "verify", "--data", str(data)) == (0, "5 records verified\n", "")
