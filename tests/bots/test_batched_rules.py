"""Rules in batches: random playouts equal those of the reference rules, with the same dice, step by step."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bots.environments.batched.batch import make_batch
from bots.environments.lockstep import Disagreement, Lockstep
from games.risk.exact import table as duel
from games.risk.exact.file import MappedValues
from games.risk.exact.shape import shape_of
from games.risk.exact.solving import solve_mapped
from games.risk.rules.duel import Position
from protocol.dice import Dice
from protocol.errors import UsageFault
from protocol.games import load_game
from volumes import examples

ROOT = Path(__file__).parents[2]
CONFIGS: list[tuple[str, Mapping[str, Any], str, int]] = [
    ("nim", {"heaps": [6, 5, 0], "take": [2, 3], "misere": True, "start": "p-position"}, "none", 60),
    ("nim", {}, "none", 60),
    ("tictactoe", {}, "none", 100),
    ("risk-duel", {}, "exact", 50),
    ("risk-duel", {"map": "africa", "max_troops": 4, "max_plies": 20, "armies": [3, 4, 2]}, "features-1", 50),
    ("risk-campaign", {"map": "south-america", "players": 3, "max_rounds": 4, "turn_order": "snake"}, "none", 60),
    ("risk-campaign", {"map": "africa", "players": 4, "draft": "classic", "initial_units": 3}, "none", 4),
    ("risk-campaign", {"map": "south-america", "players": 4, "battle": "deterministic", "max_rounds": 1}, "none", 30),
    ("risk-campaign", {"map": "south-america", "max_rounds": 1, "first_draft": 100}, "none", 8),
]


@pytest.mark.parametrize(("game", "config", "luck", "playouts"), CONFIGS, ids=str)
def test_random_playouts_are_those_of_the_reference_rules(
    game: str, config: Mapping[str, Any], luck: str, playouts: int
) -> None:
    both = Lockstep(game, config, 8, seed=7, luck=luck)
    both.run(playouts := examples(playouts // 2, nightly=playouts))
    assert both.steps > playouts


class OneGone(Lockstep):
    """A seat has gone before the first move: its troops stay."""

    def _begin(self, games: Any) -> None:
        super()._begin(games)
        for game in games:
            seat = int(game) % self.rules.seats
            position = self.rules.remove_seat(self.batch.position(game), seat)
            self.batch.set_position(np.array([game]), position)
            self.referees[game].begin(position)
            self._ended[game, seat] = 1


@pytest.mark.parametrize("order", ["fixed", "snake"])
def test_games_that_a_seat_has_left_go_on_as_by_the_reference_rules(order: str) -> None:
    config = {"map": "south-america", "players": 4, "max_rounds": 4, "turn_order": order}
    both = OneGone("risk-campaign", config, 8, seed=7)
    both.run(24)
    assert both.steps > 24


def plain_playouts() -> int:
    """Play a game or two of each kind of batch, where nothing is compiled. Return the number of steps."""
    small = {"map": "south-america", "max_rounds": 1}
    games: list[tuple[str, dict[str, Any]]] = [
        ("nim", {}),
        ("tictactoe", {}),
        ("risk-duel", {}),
        ("risk-campaign", small),
    ]
    both = [Lockstep(game, config, 2, seed=7) for game, config in games]
    for each in both:
        each.run(1)
    return sum(each.steps for each in both)


def test_the_proof_runs_without_compiled_code_too(without_numba: Any) -> None:
    assert without_numba(plain_playouts) > 20


def test_the_program_of_the_proof_sees_that_dice_fall_as_the_rules_have_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = str(ROOT / "benchmarks" / "batched_rules.py")
    monkeypatch.setattr(sys, "argv", [program, "--playouts", "2", "--game", "nim", "--game", "risk-duel"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(program, run_name="__main__")
    assert not ended.value.code
    totals = [line.split() for line in capsys.readouterr().out.splitlines()[1:] if not line.startswith("  ")]
    assert [game for game, *_ in totals] == ["nim", "risk-duel"]
    assert all(int(playouts) >= 1 for _, playouts, *_ in totals)


class OneOff(Lockstep):
    """The batch has a mark in tictactoe that the reference rules have not."""

    def _begin(self, games: Any) -> None:
        super()._begin(games)
        self.batch.set_position(games[:1], self.rules.apply(self.batch.position(games[0]), 4, Dice(b"", 0))[0])


def test_the_proof_tells_the_first_difference_and_what_each_of_both_has() -> None:
    with pytest.raises(
        Disagreement, match=r"(vector|mask|position after action \d): .* in the batch, .* by the reference"
    ):
        OneOff("tictactoe", {}, 2, seed=1).run(1)


def test_luck_is_measured_by_a_table_that_was_solved_before_as_by_one_that_was_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duel, "cache_folder", lambda: tmp_path)
    rules = load_game("risk-duel", {"map": "australia", "max_troops": 3})
    solve_mapped(shape_of(rules.map, 3), tmp_path, 1, lambda sweep: None)
    duel.cached_table.cache_clear()
    try:
        Lockstep("risk-duel", rules.config, 8, seed=7, luck="exact").run(8)
        assert isinstance(duel.cached_table(rules.map, 3).values, MappedValues)
    finally:
        duel.cached_table.cache_clear()


def test_games_may_begin_and_go_on_one_by_one() -> None:
    batch = make_batch(load_game("tictactoe"), 3, "none")
    batch.seed(range(3))
    batch.start_games(np.arange(3))
    rewards, ended = np.zeros((3, 2)), np.zeros((3, 2), np.int8)
    assert batch.step(np.array([2, 0]), np.array([4, 8]), rewards, ended) == -1
    assert [batch.rules.ply(batch.position(game)) for game in range(3)] == [1, 0, 1]
    assert batch.step(np.array([1, 2]), np.array([0, 4]), rewards, ended) == 1
    assert batch.rules.ply(batch.position(1)) == 0, "of a step with an action that is not legal nothing happens"


def test_bounded_risk_refuses_an_action_beyond_the_last() -> None:
    batch = make_batch(load_game("risk-duel", {"map": "africa"}), 1, "none")
    batch.set_position(np.array([0]), Position((0, 1) * 3, (9, 1) * 3, 0, 9))
    rewards, ended = np.zeros((1, 2)), np.zeros((1, 2), np.int8)
    for action in range(batch.encoding.actions, batch.encoding.actions + 40):
        assert batch.step(np.array([0]), np.array([action]), rewards, ended) == 0


def test_a_value_that_there_is_not_is_refused_and_without_one_the_best_is_chosen() -> None:
    with pytest.raises(
        UsageFault, match="risk-duel in batches has no value function 'fitted-1': it has exact, features-1, none"
    ):
        make_batch(load_game("risk-duel"), 1, "fitted-1")
    assert make_batch(load_game("risk-duel"), 1, None).luck == "exact"
    assert make_batch(load_game("risk-duel", {"map": "asia"}), 1, None).luck == "features-1"
    assert make_batch(load_game("nim"), 1, None).luck == "none"
    assert make_batch(load_game("grundy"), 1, None).luck == "none"
