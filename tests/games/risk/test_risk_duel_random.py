"""Random duels on every map and under every cap: what must hold at every ply."""

from __future__ import annotations

import json
import random
from collections import Counter

import pytest

from games.risk.rules.duel import NO_OWNER, Action, Duel, Position
from games.risk.rules.maps import MAP_NAMES
from protocol.dice import Dice
from volumes import examples

DUELS = {"south-america": 800, "australia": 400, "africa": 350, "europe": 150, "north-america": 100}
"""How many on a map; on each of the larger ones 50: 2,000 in all."""


def check(game: Duel, state: Position, seat: int | None, moves: list[Action]) -> None:
    holdings = list(zip(state.owner, state.troops, strict=True))
    assert all(0 <= troops <= game.max_troops for _, troops in holdings)
    assert all((owner == NO_OWNER) == (troops == 0) for owner, troops in holdings)
    assert set(state.owner) <= {NO_OWNER, 0, 1}
    assert bool(moves) == (seat is not None)
    assert seat in (None, state.at % 2), "seats alternate"
    if seat is None:
        assert state.owner.count(state.owner[0]) == len(game.map) or state.at == game.max_plies
    else:
        kinds = {move.do for move in moves}
        assert kinds == {"invade"} if NO_OWNER in state.owner else "invade" not in kinds
    assert len(set(moves)) == len(moves)


def duel(game: Duel, chooser: random.Random) -> Position:
    key = chooser.randbytes(32)
    state, _ = game.initial(Dice(key, 0))
    while (seat := game.to_move(state)) is not None:
        moves = list(game.legal_moves(state))
        check(game, state, seat, moves)
        move = chooser.choice(moves)
        after, event = game.apply(state, move, Dice(key, state.at))
        results = [result for _, result in game.outcomes(state, move)]
        assert after in results
        if event.result is not None:
            assert after == results[0 if event.result["taken"] else 1]
        assert after.at == state.at + 1
        assert after.seat == 1 - state.seat
        state = after
    check(game, state, None, list(game.legal_moves(state)))
    return state


@pytest.mark.no_cover
@pytest.mark.parametrize("name", MAP_NAMES)
def test_random_duels_keep_every_rule_to_their_end(name: str) -> None:
    chooser = random.Random(name)
    ends: Counter[str] = Counter()
    for _ in range(examples(DUELS.get(name, 50) // 2, nightly=DUELS.get(name, 50))):
        cap, plies = chooser.choice((3, 4, 5, 10, 37, 100)), chooser.choice((1, 2, 40, 80, 160))
        game = Duel({"map": name, "max_troops": cap, "max_plies": plies})
        state = duel(game, chooser)
        assert 0 < state.at <= plies
        assert game.decode_state(json.loads(json.dumps(game.encode_state(state)))) == state
        assert sorted(game.ranks(state)) == ([1, 1] if game.reason(state) == "ply_limit" else [1, 2])
        ends[game.reason(state)] += 1
    assert ends["ply_limit"], "some are too short for anyone to win"
    assert ends["win"] or len(game.map) > 9
