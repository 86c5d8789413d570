"""What moves are worth by a search: near the truth where that is known, the same every time, with an honest error."""

from __future__ import annotations

from statistics import fmean
from typing import Any

import pytest

from bots import play
from bots.analysis.estimator import MIN_SIMULATIONS, UctMoveEvaluator
from machine.compiled import HAS_NUMBA
from machine.exact.graders import grader_of
from protocol.errors import UsageFault
from protocol.games import load_game
from protocol.games.base import Game
from referee.in_process import CannotEstimate, MoveEvaluation
from referee.replay import ReplayedMove, iter_moves, replay

SOLVED = {"map": "south-america", "max_troops": 6}
CAMPAIGN = {"map": "south-america", "max_rounds": 20}
FEW = 3
"""Moves that are estimated."""


def match_of(game: str, config: dict[str, Any], seed: int, *bots: str) -> tuple[Game[Any, Any], list[ReplayedMove]]:
    lines = replay(play([*bots], game, seed=seed, config=config).record)
    _, begun = next(lines)
    return begun.game, list(iter_moves(begun, lines))


def lost(found: MoveEvaluation) -> float:
    return found.best_value - found.value


@pytest.mark.skipif(not HAS_NUMBA, reason="numba is not installed")
def test_estimates_follow_the_truth_of_a_solved_game_and_tell_a_weak_bot_from_a_strong_one() -> None:
    estimated: dict[int, list[float]] = {0: [], 1: []}
    exact: dict[int, list[float]] = {0: [], 1: []}
    for seed in range(3):
        game, moved = match_of("risk-duel", SOLVED, seed, "random", "oracle")
        judge, appraiser = grader_of(game), UctMoveEvaluator(game, 1000, str(seed))
        for move in moved:
            estimated[move.event.seat].append(lost(appraiser.evaluate_move(move.before, move.move, move.event.ply)))
            verdict = judge(move.before, move.move)
            exact[move.event.seat].append(verdict.best_value - verdict.value)
    assert fmean(exact[1]) == pytest.approx(0, abs=1e-6)
    assert abs(fmean(estimated[1])) < 0.01
    assert fmean(estimated[0]) == pytest.approx(fmean(exact[0]), rel=0.5)


@pytest.mark.parametrize(("game", "config"), [("risk-duel", SOLVED), ("risk-campaign", CAMPAIGN)])
def test_the_same_seed_gives_the_same_estimates_whatever_was_estimated_before(game: str, config: Any) -> None:
    rules, moved = match_of(game, config, 1, "random", "greedy")
    once, again = UctMoveEvaluator(rules, MIN_SIMULATIONS, "s"), UctMoveEvaluator(rules, MIN_SIMULATIONS, "s")
    first = [once.evaluate_move(move.before, move.move, move.event.ply) for move in moved[:FEW]]
    last = moved[FEW - 1]
    assert again.evaluate_move(last.before, last.move, last.event.ply) == first[-1]
    other = UctMoveEvaluator(rules, MIN_SIMULATIONS, "t")
    assert [other.evaluate_move(move.before, move.move, move.event.ply) for move in moved[:FEW]] != first


def test_who_ends_a_turn_that_would_win_a_campaign_gives_something_away() -> None:
    rules = load_game("risk-campaign", {**CAMPAIGN, "players": 2})
    _, moved = match_of("risk-campaign", {**CAMPAIGN, "players": 2}, 1, "random", "greedy")
    state = next(move.before for move in moved if move.before.phase == "attack")
    count = len(state.owner)
    winning = state._replace(
        owner=(state.seat,) * (count - 1) + (1 - state.seat,), troops=(30,) * (count - 1) + (1,), attacks_left=3
    )
    end = rules.decode_move({"do": "end"})
    found = UctMoveEvaluator(rules, 400, "s").evaluate_move(winning, end, 9)
    assert found.best != end
    assert (found.best_value, found.value < found.best_value) == (pytest.approx(1, abs=0.01), True)


def test_a_move_that_the_search_would_play_gives_nothing_away_and_has_no_error() -> None:
    rules, moved = match_of("risk-duel", SOLVED, 1, "random", "greedy")
    appraiser, first = UctMoveEvaluator(rules, MIN_SIMULATIONS, "s"), moved[0]
    best = appraiser.evaluate_move(first.before, first.move, 0).best
    found = appraiser.evaluate_move(first.before, best, 0)
    assert (lost(found), found.standard_error, found.best) == (0, 0, best)


def test_a_game_without_a_search_and_too_few_simulations_are_refused() -> None:
    with pytest.raises(CannotEstimate, match="dilemma is not solved, and has no estimates, because seats move at once"):
        UctMoveEvaluator(load_game("dilemma"), 1000, "s")
    with pytest.raises(UsageFault, match="--sims is 10: it must be 80 to 10000000"):
        UctMoveEvaluator(load_game("risk-duel"), 10, "s")
