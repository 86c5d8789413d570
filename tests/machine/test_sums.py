"""From Python 3.12 on, `sum` rounds less than before. Nothing that decides a move depends on that."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from bots import play
from bots.evaluation.base import Evaluate
from bots.search import expectiminimax
from example_games import EXAMPLES
from games.risk.evaluation import features, outlook
from machine.sums import sum_in_order
from protocol.games import load_game


def test_a_sum_is_rounded_after_each_addition() -> None:
    assert sum_in_order([1.0, 1e100, 1.0, -1e100]) == 0.0
    assert sum_in_order([0.1] * 10) == 0.9999999999999999
    assert sum_in_order([]) == 0.0


def same_with_other_sums(monkeypatch: pytest.MonkeyPatch, compute: Callable[[], Any]) -> bool:
    """Tell whether a result stays the same where `sum` rounds once, at the end."""
    usual, found = sum, compute()

    def rounded_once(numbers: Iterable[Any], /, start: Any = 0) -> Any:
        added = [start, *numbers]
        return math.fsum(added) if any(isinstance(number, float) for number in added) else usual(added[1:], start)

    with monkeypatch.context() as patch:
        patch.setattr(builtins, "sum", rounded_once)
        return bool(found == compute())


@pytest.mark.parametrize(("other", "seed"), [("random", 66), ("greedy", 22)])
def test_a_seed_plays_the_same_match(monkeypatch: pytest.MonkeyPatch, other: str, seed: int) -> None:
    assert same_with_other_sums(monkeypatch, lambda: play(["greedy", other], "risk-duel", seed=seed).states)


@pytest.mark.usefixtures("no_brought_games")
def test_a_search_finds_the_same_value_of_a_die(monkeypatch: pytest.MonkeyPatch) -> None:
    before = play(["random", "random"], str(EXAMPLES / "pig.py"), seed=1).states[0]
    rules = load_game("pig")
    assert same_with_other_sums(
        monkeypatch, lambda: expectiminimax(rules, before, depth=1, evaluate=lambda *_: 0.1).value
    )


@pytest.mark.parametrize(
    ("game", "config", "players", "seed", "evaluate"),
    [
        ("risk-duel", {}, ["random"] * 2, 1, features),
        ("risk-duel", {"map": "europe"}, ["greedy"] * 2, 1, features),
        ("risk-campaign", {"map": "africa", "players": 3}, ["random"] * 3, 10, outlook),
    ],
)
def test_a_search_finds_the_same_values(
    monkeypatch: pytest.MonkeyPatch,
    game: str,
    config: dict[str, Any],
    players: list[str],
    seed: int,
    evaluate: Evaluate,
) -> None:
    rules = load_game(game, config)
    states = [
        state for state in play(players, game, seed=seed, config=config).states if rules.to_move(state) is not None
    ]
    assert same_with_other_sums(
        monkeypatch, lambda: [expectiminimax(rules, state, depth=1, evaluate=evaluate).value for state in states]
    )
