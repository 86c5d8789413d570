"""`level`: eight strengths of every game that has one, the higher the better, and one word for each."""

from __future__ import annotations

import runpy
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bots.playing.matches import play_all
from bots.reference.level_bot import Level, Mixture, mixture_for, tables
from bots.reference.random_bot import RandomBot
from protocol.bot_launch import LEVELS, parse_bot_spec
from protocol.dice import Dice
from protocol.errors import UsageFault
from protocol.games import NAMES, game_class, load
from turns import turn

program: Any = SimpleNamespace(**runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "levels.py")))


@pytest.mark.parametrize(
    ("word", "name", "level"), [("level:3", "level-3", "3"), ("easy=level:1", "easy", "1"), ("level", "level", None)]
)
def test_a_level_is_named_in_a_word(word: str, name: str, level: str | None) -> None:
    spec = parse_bot_spec(word, "")
    assert (spec.name, spec.bot, spec.settings.get("level")) == (name, "level", level)


@pytest.mark.parametrize("level", ["0", "9", "hard"])
def test_a_level_that_there_is_not_is_refused_in_one_line(level: str) -> None:
    with pytest.raises(UsageFault, match=f"ann: level is '{level}': an integer from 1 to 8"):
        Level("ann", level=level)


def test_who_asks_for_a_level_of_the_dilemma_hears_what_has_some() -> None:
    with pytest.raises(UsageFault, match=r"level-3 does not play dilemma, .+ levels are for nim, grundy, tictactoe"):
        Level("level-3", level=3).check_game(load("dilemma"))


def test_every_game_but_the_dilemma_has_levels_from_moves_by_lot_to_none() -> None:
    assert set(Level.games) == set(NAMES) - {"dilemma"}
    for mixture in [*tables().measured.values(), *tables().unmeasured]:
        assert len(mixture.by_lot) == LEVELS
        assert (mixture.by_lot[0], mixture.by_lot[-1]) == (1.0, 0.0)
        assert all(weaker > stronger for weaker, stronger in pairwise(mixture.by_lot))


def test_what_is_measured_is_of_games_and_pools_that_there_are_and_never_bound_by_time() -> None:
    for where, mixture in tables().measured.items():
        game, _, preset = where.partition("/")
        assert preset in ("", *game_class(game).presets)
        spec = parse_bot_spec(mixture.bot, "")
        assert spec.bot == "perfect" or {"depth", "nodes", "sims"} & spec.settings.keys()


def test_a_preset_with_levels_of_its_own_goes_before_its_game(monkeypatch: pytest.MonkeyPatch) -> None:
    own = Mixture("perfect", [0.5] * LEVELS)
    monkeypatch.setitem(tables().measured, "nim/sticks", own)  # type: ignore[arg-type]
    assert mixture_for("nim", "nim/sticks") is own
    assert mixture_for("nim", "nim/classic") is tables().measured["nim"]


def test_the_lowest_level_plays_by_lot_and_the_highest_as_the_bot_itself() -> None:
    rules = load("nim")
    state = rules.initial(Dice(b"", 0))[0]
    lowest, highest = Level("low", level=1), Level("high", level=8)
    by_lot = {str(lowest.choose(turn(rules, state, seed=str(n)))) for n in range(40)}
    assert len(by_lot) > 8
    assert len({str(highest.choose(turn(rules, state, seed=str(n)))) for n in range(40)}) == 1


def test_the_same_seed_gives_the_same_match() -> None:
    one, again = (
        [played.closed.footer.digest for played in play_all(["level:3", "level:5"], "nim", range(4))] for _ in range(2)
    )
    assert one == again


def test_how_likely_a_level_plays_each_move_of_poker_is_told() -> None:
    rules = load("kuhn")
    state = rules.initial(Dice(b"", 0))[0]
    asked = turn(rules, state)
    lot, best = (list(map(float, Level("x", level=level).move_probabilities(asked) or ())) for level in (1, 8))
    half = Level("x", mixture=Mixture("perfect", [0.5] * LEVELS)).move_probabilities(asked) or ()
    assert [float(chance) for chance in half] == pytest.approx(
        [(one + other) / 2 for one, other in zip(lot, best, strict=True)]
    )


@pytest.mark.parametrize("rivals", [("level:1", "level:4"), ("level:4", "level:8")])
def test_a_higher_level_wins_more_often(rivals: tuple[str, str]) -> None:
    won = sum(played.points[1] for played in play_all(rivals, "nim", range(20)))
    won += sum(played.points[0] for played in play_all(rivals[::-1], "nim", range(20)))
    assert won > 26


def test_strengths_are_those_whose_scores_were_seen() -> None:
    """Of three players each a known step above the one before."""
    step = 3.0

    def score(steps: int) -> float:
        return program.NORMAL.cdf(steps * step / program.UNIT)

    found = program.strengths({(0, 1): [score(-1)] * 9, (1, 2): [score(-1)] * 9, (0, 2): [score(-2)] * 9}, 3)
    assert found == pytest.approx([-step, 0, step], abs=1e-3)


def test_shares_are_evenly_apart_in_strength_whatever_the_noise() -> None:
    curve = [(0.0, 8.0), (0.1, 4.0), (0.2, 4.4), (0.5, 2.0), (1.0, 0.0)]
    assert program.evenly(curve, 5) == pytest.approx([1.0, 0.5, 0.2273, 0.0526, 0.0], abs=1e-3)


def test_the_program_prints_the_ladder_and_whether_it_is_in_order(capsys: Any) -> None:
    program.ladder("nim", {}, 14, "1")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("nim/classic: perfect, 14 matches each")
    assert [line.split()[0] for line in lines[2:10]] == [str(level) for level in range(1, 9)]
    assert lines[10].endswith(" of 7 neighbours in order")


def test_the_program_fits_a_mixture_to_a_game(capsys: Any) -> None:
    program.fit("nim", {}, "perfect", 1, 1, "1")
    assert capsys.readouterr().out.splitlines()[-1].startswith('nim = { bot = "perfect", by_lot = [1.000, ')


def test_random_is_what_the_lots_are_drawn_as() -> None:
    rules = load("risk-campaign")
    state = rules.initial(Dice(b"", 0))[0]
    asked, same = (turn(rules, state, seed="7") for _ in range(2))
    same.random.random()  # that which decides on the lot
    assert Level("x", level=1).choose(asked) == RandomBot("x").choose(same)
