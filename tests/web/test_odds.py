"""The chances that a board says of attacks, computed by Node, against the rules' exact fractions."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import pytest

from games.risk.rules.battle import battle_odds
from protocol.dice import Dice
from protocol.games import load_game

CHANCES = """async (load, attacks) => {
  const { boardClass, loadBoards } = await load("board/index.js");
  const { chanceText } = await load("board/odds.js");
  await loadBoards(...attacks.map(([game]) => game));
  const chances = attacks.map(([game, ...attack]) => boardClass(game).chanceOf(...attack));
  return chances.map((chance) => [chance, chance === null ? "" : chanceText(chance)]);
}"""
Attack = tuple[str, dict[str, Any], dict[str, Any], dict[str, Any]]
"""A game, its config, a state and a move, as they travel."""
Chances = Callable[[Sequence[Attack]], list[tuple[float | None, str]]]


@pytest.fixture
def chances(scripts: Callable[..., Any]) -> Chances:
    """What the board says of attacks: the chance of each, and its text."""
    return partial(scripts, CHANCES)


def text(exact: Fraction) -> str:
    """A chance in whole percent, a half rounded up."""
    percent = int(100 * exact + Fraction(1, 2))
    if percent == 0 and exact:
        return "under 1 %"
    return "over 99 %" if percent == 100 and exact < 1 else f"{percent} %"


def is_near(said: float | None, exact: Fraction) -> bool:
    """Whether a number is the exact one but for what a double cannot hold of so many sums."""
    return said is not None and abs(Fraction(said) - exact) <= exact / 10**13


def test_the_chance_of_every_small_battle_and_of_large_ones_is_the_exact_one(chances: Chances) -> None:
    config = load_game("risk-campaign").config
    armies = [(units, against) for units in range(1, 11) for against in range(1, 11)]
    armies += [(1, 30), (30, 1), (29, 30), (30, 29)]
    attacks = [
        (
            "risk-campaign",
            config,
            {"troops": [units + 1, against]},
            {"do": "attack", "from": 0, "to": 1, "units": units},
        )
        for units, against in armies
    ]
    for (units, against), (said, words) in zip(armies, chances(attacks), strict=True):
        exact = sum((chance for chance, left, _ in battle_odds(units, against) if left), Fraction(0))
        assert is_near(said, exact), (units, against)
        assert words == text(exact), (units, against)


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("risk-duel", {"map": "europe"}),
        ("risk-campaign", {"map": "europe"}),
        ("risk-campaign", {"map": "europe", "battle": "deterministic"}),
    ],
)
def test_the_chance_of_every_attack_of_a_game_is_that_of_its_outcomes(
    chances: Chances, name: str, config: dict[str, Any]
) -> None:
    game = load_game(name, config)
    chooser = random.Random(1)
    state, _ = game.initial(Dice(bytes(32), 0))
    asked: list[Attack] = []
    exact: list[Fraction | None] = []
    while game.to_move(state) is not None and len(asked) < 60:
        legal, _ = game.legal_moves_for_turn(state)
        for told in legal:
            move = game.decode_move(told)
            asked.append((name, game.config, game.encode_state(state), told))
            taken = [
                chance
                for chance, after in game.outcomes(state, move)
                if told["do"] == "attack" and _took(state, after, told)
            ]
            exact.append(sum(taken, Fraction(0)) if told["do"] == "attack" else None)
        state, _ = game.apply(state, game.decode_move(chooser.choice(legal)), Dice(bytes(32), game.ply(state)))
    assert sum(chance is not None for chance in exact) > 10
    for attack, chance, (said, _) in zip(asked, exact, chances(asked), strict=True):
        assert said is None if chance is None else is_near(said, chance), attack


def _took(before: Any, after: Any, move: dict[str, Any]) -> bool:
    """Whether the attacked territory changed hands."""
    return bool(after.owner[move["to"]] != before.owner[move["to"]])
