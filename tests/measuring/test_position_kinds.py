"""The kinds of positions that costs are told apart by."""

from __future__ import annotations

from typing import Any

import pytest

from games.risk.rules.campaign_checks import Position
from measuring.position_kinds import classifier_of
from protocol.games import load_game


def kinds(game: str, state: dict[str, Any], **config: Any) -> dict[str, str]:
    rules = load_game(game, config)
    return dict(classifier_of(rules)(rules.decode_state(state)))


@pytest.mark.parametrize(
    ("heaps", "misere", "told"),
    [
        ((3, 5, 7), False, {"theory": "won", "heaps": "3 to 4", "largest heap": "4 to 15"}),
        ((1, 1), False, {"theory": "lost", "heaps": "1 to 2", "largest heap": "up to 3"}),
        ((1, 1), True, {"theory": "won", "heaps": "1 to 2", "largest heap": "up to 3"}),
        ((20, 0, 1, 1, 1, 1), False, {"theory": "won", "heaps": "5 and more", "largest heap": "16 and more"}),
    ],
)
def test_a_position_of_heaps_is_told_by_theory_and_size(
    heaps: tuple[int, ...], misere: bool, told: dict[str, str]
) -> None:
    state = {"heaps": heaps, "ply": 0, "to_move": 0}
    assert kinds("nim", state, heaps=list(heaps), misere=misere) == told


@pytest.mark.parametrize(
    ("troops", "seat", "standing"), [((9, 1, 1, 1), 0, "ahead"), ((9, 1, 1, 1), 1, "behind"), ((3, 3, 3, 3), 1, "even")]
)
def test_who_is_clearly_ahead_is_told_by_troops(troops: tuple[int, ...], seat: int, standing: str) -> None:
    rules = load_game("risk-campaign", {"map": "south-america", "players": 2})
    position = Position((0, 0, 1, 1), troops, "draft", 3, 3, 11, (), seat, 4)
    assert classifier_of(rules)(position) == {"phase": "draft", "standing": standing, "time": "late"}


def test_a_duel_is_early_while_territories_are_free() -> None:
    rules = load_game("risk-duel", {"map": "south-america", "max_plies": 90})
    start = rules.initial(None)[0]  # type: ignore[arg-type]  # no dice are thrown
    assert classifier_of(rules)(start) == {"phase": "taking territories", "standing": "even", "time": "early"}
    late = start._replace(owner=(0, 1, 1, 0), troops=(1, 1, 1, 1), at=89)
    assert classifier_of(rules)(late) == {"phase": "fighting", "standing": "even", "time": "late"}


def test_a_game_without_kinds_has_none() -> None:
    rules = load_game("tictactoe")
    assert classifier_of(rules)(rules.initial(None)[0]) == {}  # type: ignore[arg-type]
