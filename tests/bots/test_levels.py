"""`level`: eight strengths of every game that has one, the higher the better, and one word for each."""

from __future__ import annotations

import re
import runpy
import sys
import tomllib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from bots.playing.matches import play_all
from bots.reference.level_bot import Level, Mixture, find_mixture, load_tables
from bots.reference.random_bot import RandomBot
from measuring.isotonic import evenly_spaced
from protocol.bot_launch import MAX_LEVEL, parse_bot_spec
from protocol.dice import Dice
from protocol.errors import UsageFault
from protocol.games import game_class, game_names, load_game
from protocol.games.base import Game
from turns import turn

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "levels.py"


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., list[str]]:
    """Run the program that fits and measures levels. Return the lines that it printed."""

    def run(*words: str) -> list[str]:
        monkeypatch.setattr(sys, "argv", [str(PROGRAM), *words])
        runpy.run_path(str(PROGRAM), run_name="__main__")
        return capsys.readouterr().out.splitlines()

    return run


@pytest.mark.parametrize(
    ("word", "name", "level"), [("level:3", "level-3", "3"), ("easy=level:1", "easy", "1"), ("level", "level", None)]
)
def test_a_level_is_named_in_a_word(word: str, name: str, level: str | None) -> None:
    spec = parse_bot_spec(word, "")
    assert (spec.name, spec.bot, spec.settings.get("level")) == (name, "level", level)


@pytest.mark.parametrize("level", ["0", "9", "hard"])
def test_a_level_that_there_is_not_is_refused_in_one_line(level: str) -> None:
    with pytest.raises(UsageFault, match=f"ann: level is '{level}': it must be an integer from 1 to 8"):
        Level("ann", level=level)


def test_who_asks_for_a_level_of_the_dilemma_hears_what_has_some() -> None:
    with pytest.raises(UsageFault, match=r"level-3 does not play dilemma: it plays nim, grundy, tictactoe"):
        Level("level-3", level=3).check_game(load_game("dilemma"))


def test_a_mixture_that_is_given_is_played_in_whatever_game_its_bot_plays() -> None:
    given = Level("x", mixture=Mixture("tit-for-tat", [0.5] * MAX_LEVEL))
    given.check_game(load_game("dilemma"))
    with pytest.raises(UsageFault, match="x does not play nim"):
        given.check_game(load_game("nim"))


def test_the_bot_that_is_mixed_hears_of_its_matches_all_that_a_bot_hears(
    script: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[tuple[Any, ...]] = []
    for what in ("prepare", "rejected", "ended", "missed"):
        monkeypatch.setattr(RandomBot, what, lambda bot, told, what=what: heard.append((what, told)))
    level = Level("x", mixture=Mixture("random", [0.5] * MAX_LEVEL))
    start, rejected, end = script.start("m-1"), script.rejected("m-1"), script.end("m-1")
    level.prepare(start)
    level.prepare(script.start("m-2"))
    heard.clear()
    level.rejected(rejected)
    level.ended(end)
    level.missed("m-2")
    assert heard == [("rejected", rejected), ("ended", end), ("missed", "m-2")]


def test_every_game_but_the_dilemma_has_levels_from_moves_random_share_to_none() -> None:
    assert set(Level.games) == set(game_names()) - {"dilemma"}
    for mixture in [*load_tables().measured.values(), *load_tables().unmeasured]:
        assert len(mixture.random_share) == MAX_LEVEL
        assert (mixture.random_share[0], mixture.random_share[-1]) == (1.0, 0.0)
        assert all(weaker > stronger for weaker, stronger in pairwise(mixture.random_share))


def test_what_is_measured_is_of_games_and_pools_that_there_are_and_never_bound_by_time() -> None:
    for where, mixture in load_tables().measured.items():
        game, _, preset = where.partition("/")
        assert preset in ("", *game_class(game).presets)
        spec = parse_bot_spec(mixture.bot, "")
        assert spec.bot == "perfect" or {"depth", "nodes", "sims"} & spec.settings.keys()


def test_a_preset_with_levels_of_its_own_goes_before_its_game(monkeypatch: pytest.MonkeyPatch) -> None:
    own = Mixture("perfect", [0.5] * MAX_LEVEL)
    monkeypatch.setitem(load_tables().measured, "nim/sticks", own)  # type: ignore[arg-type]
    assert find_mixture("nim", "nim/sticks") is own
    assert find_mixture("nim", "nim/classic") is load_tables().measured["nim"]


def test_the_lowest_level_plays_random_share_and_the_highest_as_the_bot_itself() -> None:
    rules = load_game("nim")
    state = rules.initial(Dice(b"", 0))[0]
    lowest, highest = Level("low", level=1), Level("high", level=8)
    random_share = {str(lowest.choose(turn(rules, state, seed=str(n)))) for n in range(40)}
    assert len(random_share) > 8
    assert len({str(highest.choose(turn(rules, state, seed=str(n)))) for n in range(40)}) == 1


def test_the_same_seed_gives_the_same_match() -> None:
    one, again = (
        [played.closed.footer.digest for played in play_all(["level:3", "level:5"], "nim", range(4))] for _ in range(2)
    )
    assert one == again


def test_how_likely_a_level_plays_each_move_of_poker_is_told() -> None:
    rules = load_game("kuhn")
    state = rules.initial(Dice(b"", 0))[0]
    asked = turn(rules, state)
    lot, best = (list(map(float, Level("x", level=level).move_probabilities(asked) or ())) for level in (1, 8))
    half = Level("x", mixture=Mixture("perfect", [0.5] * MAX_LEVEL)).move_probabilities(asked) or ()
    assert [float(chance) for chance in half] == pytest.approx(
        [(one + other) / 2 for one, other in zip(lot, best, strict=True)]
    )


@pytest.mark.parametrize("rivals", [("level:1", "level:4"), ("level:4", "level:8")])
def test_a_higher_level_wins_more_often(rivals: tuple[str, str]) -> None:
    won = sum(played.points[1] for played in play_all(rivals, "nim", range(20)))
    won += sum(played.points[0] for played in play_all(rivals[::-1], "nim", range(20)))
    assert won > 26


def test_the_program_prints_the_ladder_and_whether_it_is_in_order(printed: Callable[..., list[str]]) -> None:
    lines = printed("ladder", "nim", "--matches", "14")
    assert lines[0].startswith("nim/classic: perfect, 14 matches each")
    assert [line.split()[0] for line in lines[2:10]] == [str(level) for level in range(1, 9)]
    mus = [float(line.split()[2]) for line in lines[2:10]]
    assert lines[10] == f"ratings: {sum(low < high for low, high in pairwise(mus))} of 7 neighbours in order"


def test_the_program_prints_the_shares_that_are_evenly_apart_on_the_curve_that_it_measured(
    printed: Callable[..., list[str]],
) -> None:
    curve, table = printed("fit", "nim", "--rounds", "1", "--passes", "1")
    points = [(float(share), float(strength)) for share, strength in re.findall(r"(\d\.\d+) ([+-]\d+\.\d+)", curve)]
    (row,) = tomllib.loads(table).values()
    assert len(points) == 12
    assert row["bot"] == "perfect"
    assert row["random_share"] == pytest.approx(evenly_spaced(points, MAX_LEVEL), abs=0.01)


def test_random_is_what_the_lots_are_drawn_as() -> None:
    rules = load_game("risk-campaign")
    state = rules.initial(Dice(b"", 0))[0]
    asked, same = (turn(rules, state, seed="7") for _ in range(2))
    same.random.random()  # that which decides on the lot
    assert Level("x", level=1).choose(asked) == RandomBot("x").choose(same)


def test_the_level_that_moves_at_random_alone_warms_nothing_up(monkeypatch: pytest.MonkeyPatch) -> None:
    warmed: list[str] = []
    monkeypatch.setattr(Level, "_strong_bot_for", lambda self, rules: Warmed(self.name, warmed))
    for level in (1, 2):
        Level(f"level-{level}", level=level).warm_up(load_game("risk-duel"))
    assert warmed == ["level-2"]


class Warmed(RandomBot):
    """Notes that it was warmed up."""

    def __init__(self, name: str, warmed: list[str]) -> None:
        super().__init__(name)
        self._warmed = warmed

    def warm_up(self, game: Game[Any, Any] | None) -> None:
        self._warmed.append(self.name)
