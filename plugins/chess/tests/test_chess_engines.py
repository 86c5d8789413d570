"""Engines that speak UCI play chess on the arena's clocks, and PGN has what they did."""

from __future__ import annotations

import io
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import chess.engine
import chess.pgn
import pytest

from bot_arena_chess.pgn import write_pgn
from bots.playing.matches import play

REPOSITORY = Path(__file__).parents[3]
TINY_ENGINE = [sys.executable, str(Path(__file__).with_name("tiny_engine.py"))]
REAL_ENGINES = ("stockfish", "toga2")
GAMES_FOLDER = "/usr/games"
"""The folder of Debian's engines, which need not be on the search path."""


def run(*words: str) -> str:
    """Run a Python module in this folder, and return its output."""
    search_path = os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": search_path}
    done = subprocess.run(
        [sys.executable, "-m", *words], env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def play_engines(one: list[str], other: list[str], clock: str, rounds: int = 1) -> list[chess.pgn.Game]:
    """Let two engines play a tournament, verify its records, and return its games as read from PGN."""
    bots = [
        f"{name}={shlex.join([sys.executable, '-m', 'bots', 'uci', '--', *command])}"
        for name, command in (("one", one), ("other", other))
    ]
    words = ("--game", "chess", "--rounds", str(rounds), "--clock", clock, "--seed", "1", "--data", "data")
    run("arena", "tournament", *bots, *words, "--pass-env", "PYTHONPATH")
    assert run("arena", "replay", "verify", "--data", "data") == (
        "1 record verified\n" if rounds == 1 else f"{rounds} records verified\n"
    )
    text = io.StringIO(run("bot_arena_chess", "pgn", "--data", "data"))
    games = []
    while (game := chess.pgn.read_game(text)) is not None:
        assert game.errors == []
        games.append(game)
    return games


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_tiny_engine_plays_and_its_games_are_read_from_pgn() -> None:
    games = play_engines(TINY_ENGINE, TINY_ENGINE, "30+1", rounds=2)
    assert len(games) == 2
    for game in games:
        assert {game.headers["White"], game.headers["Black"]} == {"one", "other"}
        assert (game.headers["TimeControl"], game.headers["Termination"]) == ("30+1", "normal")
        board = game.end().board()
        assert game.headers["Result"] == board.result(claim_draw=True) != "*"
        first = game.next()
        assert first is not None
        assert first.clock() is not None
        score = first.eval()
        assert score is not None
        assert score.white() == chess.engine.Cp(25)


@pytest.mark.skipif(
    any(shutil.which(name, path=f"{GAMES_FOLDER}:{os.environ['PATH']}") is None for name in REAL_ENGINES),
    reason="stockfish or toga2 is not installed",
)
def test_two_real_engines_play_within_their_clocks() -> None:
    paths = [shutil.which(name, path=f"{GAMES_FOLDER}:{os.environ['PATH']}") for name in REAL_ENGINES]
    stockfish, toga = (str(path) for path in paths)
    games = play_engines([stockfish], [toga], "5+0.1")
    assert [game.headers["Termination"] for game in games] == ["normal"]
    assert all(node.clock() is not None for node in games[0].mainline())
    extract = shutil.which("pgn-extract", path=f"{GAMES_FOLDER}:{os.environ['PATH']}")
    if extract is not None:
        Path("one.pgn").write_text(str(games[0]))
        checked = subprocess.run([extract, "-r", "one.pgn"], capture_output=True, text=True, check=True)
        assert "1 game matched" in checked.stderr


def test_pgn_tells_how_a_match_ended_and_refuses_other_games() -> None:
    drawn = play(["random", "random2=random"], "chess", seed=3)
    game = chess.pgn.read_game(io.StringIO(write_pgn(drawn.record)))
    assert game is not None
    assert game.headers["Result"] == {1: "1-0", 0: "0-1", 0.5: "1/2-1/2"}[drawn.points[0]]
    lines = subprocess.run(
        [sys.executable, "-m", "bot_arena_chess", "pgn", "none.jsonl"],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (lines.returncode, lines.stdout) == (1, "")
    assert lines.stderr == "bot_arena_chess: none.jsonl can't be read: No such file or directory\n"
