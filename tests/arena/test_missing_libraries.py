"""A bot that lacks something on this machine is refused before anything begins, by every command that starts bots."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot_checks import check_settings_here
from commands import call
from games.risk.bots import Oracle
from games.risk.exact import shape as duel_shape
from machine import compiled
from protocol.errors import UsageFault
from protocol.games import load_game

NEEDED = "exact risk-duel needs numba: pip install numba (and unset ARENA_PLAIN)"


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "HAS_NUMBA", False)
    monkeypatch.setattr(duel_shape, "HAS_NUMBA", False)
    check_settings_here(monkeypatch)


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["tournament", "random", "oracle"], "oracle"),
        (["tournament", "random", "wise=oracle"], "wise"),
        (["tournament", "random", "oracle", "--in-process"], "oracle"),
        (["test", "oracle", "random"], "oracle"),
        (["try", "random", "oracle"], "oracle"),
    ],
    ids=lambda word: word[0] if isinstance(word, list) else None,
)
def test_a_bot_that_needs_numba_is_refused_without_it_before_any_match(
    tmp_path: Path, command: list[str], name: str
) -> None:
    data = tmp_path / "data"
    where = [] if command[0] == "try" else ["--data", str(data)]
    done = call("arena", *command, "--game", "risk-duel", *where)
    assert (done.code, done.out, done.err) == (2, "", f"arena: {name}: {NEEDED}\n")
    assert not data.exists()


@pytest.mark.usefixtures("plain")
def test_an_entrant_of_a_file_that_needs_numba_is_refused_without_it(tmp_path: Path) -> None:
    entrants = tmp_path / "entrants.csv"
    entrants.write_text("name,bot\nanna,random\nwise,oracle\n")
    words = ["--entrants", str(entrants), "--game", "risk-duel", "--data", str(tmp_path / "data")]
    assert call("arena", "tournament", *words) == (2, "", f"arena: wise: {NEEDED}\n")


@pytest.mark.usefixtures("plain")
def test_a_house_bot_that_needs_numba_is_refused_without_it(tmp_path: Path) -> None:
    words = ["--no-web", "--port", "0", "--data", str(tmp_path / "data"), "--builtin-bots", "random,oracle"]
    done = call("arena", "serve", *words)
    assert (done.code, done.out, done.err) == (2, "", f"arena: the built-in bot oracle: {NEEDED}\n")
    assert not (tmp_path / "data").exists()


@pytest.mark.skipif(not compiled.HAS_NUMBA, reason="numba is not installed")
def test_a_tournament_on_a_map_without_a_table_is_refused_before_any_match(tmp_path: Path) -> None:
    words = ["--game", "risk-duel", "--set", "map=africa", "--data", str(tmp_path / "data")]
    done = call("arena", "tournament", "random", "oracle", *words)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert done.err.startswith("arena: oracle: africa with 10 troops is too large to solve")
    assert not (tmp_path / "data").exists()


@pytest.mark.usefixtures("plain")
def test_the_oracle_says_in_any_game_that_it_does_not_play_there() -> None:
    with pytest.raises(UsageFault, match="oracle does not play nim"):
        Oracle("oracle").check_game(load_game("nim"))
