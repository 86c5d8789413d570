"""Families of games: an installed package offers many games, each of which is loaded when somebody names it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from arena.lobby.seek_checks import rules_of
from arena.web.drawings import draw
from commands import call
from machine.game_discovery import (
    FAMILY_GAMES_VARIABLE,
    add_family_game,
    digest_package,
    find_specs,
    game_entry_points,
    resolve_game,
)
from protocol.errors import UnknownGame, UsageFault
from protocol.games import game_class, game_names, game_spec, is_known_game, load_game, remove_game
from protocol.messages import Seek

PACKAGE = """
from protocol.games.spec import GameFamily, GameSpec
from protocol.games.turn_game import TurnGame

FAMILY = GameFamily(find_spec="counting.games:find_spec")


class Solo(TurnGame[int, int]):
    name = "solo"
    def start(self): return 0
    def turn(self, state): return state % 2 if state < 3 else None
    def moves(self, state): return [1]
    def play(self, state, move): return state + move
    def winner(self, state): return 0
    def draw(self, state): return str(state)
"""
ENTRY_POINTS = "[bot_arena.games]\ncounting = counting:FAMILY\nsolo = counting:Solo\n"
GAMES = """
from protocol.errors import UnknownGame
from protocol.games.spec import GameSpec

from counting import Solo


class Rules(Solo.rules):
    name = "counting:up"


def find_spec(name):
    if name != "counting:up":
        raise UnknownGame(f"{name} has one player")
    return GameSpec(name=name, room="counting", rules="counting.games:Rules", version="3", digest="0" * 64)
"""


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Install a package with a family and a game, for the time of a test."""
    before = game_names()
    folder = tmp_path / "installed" / "counting"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(PACKAGE)
    (folder / "games.py").write_text(GAMES)
    info = folder.parent / "counting-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: counting\nVersion: 1\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(folder.parent)
    monkeypatch.delenv(FAMILY_GAMES_VARIABLE, raising=False)
    game_entry_points.cache_clear()
    yield folder
    for name in set(game_names()) - set(before):
        remove_game(name)
    os.environ.pop(FAMILY_GAMES_VARIABLE, None)
    for module in ("counting", "counting.games"):
        sys.modules.pop(module, None)
    game_entry_points.cache_clear()


def test_a_game_of_a_family_is_found_by_its_name_and_listed_nowhere() -> None:
    before = game_names()
    assert resolve_game("counting:up") == "counting:up"
    assert is_known_game("counting:up")
    assert game_spec("counting:up").version == "3"
    assert load_game("counting:up").name == "counting:up"
    assert game_names() == before


def test_a_family_is_not_imported_for_a_game_that_is_built_in() -> None:
    assert is_known_game("nim")
    assert not is_known_game("other:up")
    assert "counting" not in sys.modules


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("counting:solitaire", "counting:solitaire has one player"),
        ("other:up", "there is no game 'other:up': no installed package offers games named other:…"),
        ("solo:up", "there is no game 'solo:up': no installed package offers games named solo:…"),
    ],
)
def test_a_game_that_no_family_has_is_refused_with_the_reason(name: str, reason: str) -> None:
    assert not is_known_game(name)
    with pytest.raises(UnknownGame) as fault:
        game_class(name)
    assert str(fault.value) == reason


def test_a_listed_game_is_listed_by_processes_that_are_started_later() -> None:
    add_family_game("counting:up")
    add_family_game("counting:up")
    assert game_names()[-1] == "counting:up"
    assert os.environ[FAMILY_GAMES_VARIABLE] == "counting:up"
    assert [spec.name for spec in find_specs()] == ["counting:up", "solo"]


def test_a_client_may_seek_a_listed_game_alone() -> None:
    with pytest.raises(UnknownGame, match="there is no game 'counting:up': one of nim, "):
        rules_of("ann", Seek(id="s", game="counting:up", config={}))
    add_family_game("counting:up")
    rules = rules_of("ann", Seek(id="s", game="counting:up", config={}))
    assert rules is not None
    assert rules.name == "counting:up"
    drawing = draw("counting:up", {}, {"state": 1, "to_move": 1, "ply": 1}, [{"move": 1}])
    assert drawing.text == "1"


def test_a_package_offers_its_class_with_the_digest_of_its_sources(package: Path) -> None:
    entry = next(entry for entry in game_entry_points() if entry.name == "solo")
    assert entry.load().name == "solo"
    before = digest_package("counting")
    (package / "games.py").write_text(GAMES + "\n")
    assert digest_package("counting.games") != before


def test_an_entry_point_that_names_nothing_is_a_line(package: Path) -> None:
    names = package.parent / "counting-1.dist-info" / "entry_points.txt"
    names.write_text(ENTRY_POINTS + "broken = no_such_module:GAME\n")
    with pytest.raises(UsageFault, match="the installed game broken can't be loaded: ModuleNotFoundError: No module"):
        list(find_specs())


def test_a_server_refuses_a_game_that_no_family_has(tmp_path: Path) -> None:
    served = call("arena", "serve", "--game", "counting:down", "--data", str(tmp_path / "data"))
    assert (served.code, served.err) == (2, "arena: games: counting:down has one player\n")


def test_bots_try_a_game_of_a_family() -> None:
    played = call("arena", "try", "random", "uct", "--game", "counting:up", "--set", "sims=10")
    assert (played.code, played.err) == (0, "")
    assert "random" in played.out


def test_bots_play_a_tournament_of_a_game_of_a_family_and_its_records_verify(tmp_path: Path) -> None:
    words = ("random", "b=random", "--game", "counting:up", "--rounds", "1", "--in-process", "--data", str(tmp_path))
    played = call("arena", "tournament", *words)
    assert played.code == 0
    assert played.out.startswith("counting:up round-robin, 1 match (decided 1)\n")
    verified = call("arena", "replay", "verify", "--data", str(tmp_path))
    assert (verified.out, verified.err) == ("1 record verified\n", "")


def test_a_game_of_a_package_is_checked_by_its_name(package: Path) -> None:
    checked = call("arena", "game", "check", "counting:up", "--games", "2")
    assert (checked.code, checked.err) == (0, "")
    assert checked.out.startswith("counting:up/classic: 2 random games keep the contract, 6 plies")
    watched = call("arena", "game", "check", "counting:up", "--watch")
    assert (watched.code, "--watch needs a file" in watched.err) == (2, True)
    unknown = call("arena", "game", "check", "counting:down")
    assert (unknown.code, unknown.err) == (2, "arena: counting:down has one player\n")


@pytest.mark.parametrize(
    ("method", "failure"),
    [
        ("def moves(self, state): return [1, 1]", "counting:up: moves: a legal move is listed twice"),
        ("def moves(self, state): return 1 / 0", "counting:up: ZeroDivisionError: division by zero"),
    ],
)
def test_a_package_that_breaks_the_contract_is_a_line(package: Path, method: str, failure: str) -> None:
    source = (package / "__init__.py").read_text()
    (package / "__init__.py").write_text(source.replace("def moves(self, state): return [1]", method))
    checked = call("arena", "game", "check", "counting:up", "--games", "1")
    assert (checked.code, checked.err) == (1, f"arena: {failure}\n")
