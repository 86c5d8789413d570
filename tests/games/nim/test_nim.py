"""The rules of Nim: who wins, what may be taken, which configs are played, and the deal of a lost position."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from games.nim import rules as nim
from games.nim.rules import Nim, Position, Take
from games.theory import impartial
from games.theory.heaps import nim_rule
from protocol.dice import Dice
from protocol.errors import BadConfig, IllegalMove, MalformedMove
from protocol.games.base import NO_DICE

KEY = b"\x01" * 32


def after(game: Nim, *moves: tuple[int, int]) -> Position:
    state, _ = game.initial(NO_DICE)
    for move in moves:
        state, _ = game.apply(state, Take(*move), NO_DICE)
    return state


def test_who_cannot_move_loses() -> None:
    game = Nim({"heaps": [1, 1]})
    state = after(game, (0, 1), (1, 1))
    assert game.to_move(state) is None
    assert game.ranks(state) == (2, 1)
    assert game.reason(state) == "win"


def test_who_cannot_move_wins_in_misere_play() -> None:
    game = Nim({"heaps": [1, 1], "misere": True})
    assert game.ranks(after(game, (0, 1), (1, 1))) == (1, 2)


def test_a_move_travels_as_its_heap_and_what_it_takes() -> None:
    assert Nim({}).encode_move(Take(2, 5)) == {"heap": 2, "take": 5}
    assert Nim({}).decode_move({"heap": 2, "take": 5}) == Take(2, 5)


def test_a_game_ends_with_sticks_that_no_allowed_removal_reaches() -> None:
    game = Nim({"heaps": [2, 3], "take": [3]})
    state = after(game, (1, 3))
    assert state.heaps == (2, 0)
    assert game.to_move(state) is None
    assert game.ranks(state) == (1, 2)


def test_a_game_may_be_over_before_it_begins() -> None:
    game = Nim({"heaps": [0, 0]})
    state = after(game)
    assert game.to_move(state) is None
    assert game.ranks(state) == (2, 1)
    assert game.encode_state(state) == {"heaps": (0, 0), "to_move": None, "ply": 0}
    assert game.decode_state({"heaps": [0, 0], "to_move": None, "ply": 0}) == state


def test_moves_are_listed_heap_by_heap_from_the_least() -> None:
    game = Nim({"heaps": [2, 0, 3], "take": [3, 1]})
    assert game.legal_moves(after(game)) == [(0, 1), (2, 1), (2, 3)]


def test_a_move_changes_its_heap_alone() -> None:
    game = Nim({"heaps": [3, 5, 7]})
    state, event = game.apply(after(game), Take(1, 4), NO_DICE)
    assert state == Position((3, 1, 7), 1, 1)
    assert (event.ply, event.seat, event.move) == (0, 0, {"heap": 1, "take": 4})
    assert game.notation(Take(1, 4)) == "4 from heap 1"


@pytest.mark.parametrize(
    ("config", "move", "said"),
    [
        ({}, (3, 1), "there is no heap 3: heaps are 0 to 2"),
        ({}, (-1, 1), "there is no heap -1"),
        ({}, (0, 0), "take is 0: a move takes 1 or more"),
        ({}, (0, -2), "take is -2"),
        ({}, (0, 4), r"heap 0 holds 3: 4 cannot be taken; the heaps are \[3, 5, 7\]"),
        ({"take": [1, 3]}, (1, 2), "take is 2: a move takes 1 or 3"),
        ({"take": [9]}, (2, 9), "heap 2 holds 7: 9 cannot be taken"),
    ],
)
def test_an_illegal_move_is_refused_with_what_would_be_legal(
    config: dict[str, Any], move: tuple[int, int], said: str
) -> None:
    game = Nim(config)
    with pytest.raises(IllegalMove, match=said):
        game.apply(game.initial(NO_DICE)[0], Take(*move), NO_DICE)


@pytest.mark.parametrize(
    ("wire", "said"),
    [
        (7, r'a move is a map like \{"heap": 0, "take": 1\}, not 7'),
        ({"heap": 0}, r"a move looks like .*; this one has heap"),
        ({"heap": 0, "take": 1, "why": 2}, "this one has heap, take, why"),
        ({"heap": 0, "take": "1"}, "take is '1': it is an integer"),
        ({"heap": True, "take": 1}, "heap is True: it is an integer"),
        ({"heap": 0, "take": None}, "take is None: it is an integer"),
        ("x" * 900, r"not 'xxx.*\.\.\."),
    ],
)
def test_a_malformed_move_is_refused_with_its_form(wire: Any, said: str) -> None:
    with pytest.raises(MalformedMove, match=said) as caught:
        Nim({}).decode_move(wire)
    assert len(str(caught.value)) < 160


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"heaps": []}, "heaps is .*: it must be a list of 1 to 64 integers"),
        ({"heaps": [1] * 65}, "a list of 1 to 64 integers"),
        ({"heaps": "3,5,7"}, "heaps is '3,5,7': it must be a list"),
        ({"heaps": {"0": 3}}, "it must be a list"),
        ({"heaps": [3, -1]}, r"heaps\[1\] is -1: it must be an integer from 0 to 1000"),
        ({"heaps": [1001]}, r"heaps\[0\] is 1001"),
        ({"heaps": [2.0]}, r"heaps\[0\] is 2.0"),
        ({"heaps": [True]}, r"heaps\[0\] is True"),
        ({"heaps": [1000, 1000, 1]}, "heaps hold 2001 counters: the maximum is 2000"),
        ({"take": []}, "take is .*: it must be a list of 1 to 16 integers"),
        ({"take": list(range(1, 18))}, "a list of 1 to 16 integers"),
        ({"take": [0]}, r"take\[0\] is 0: it must be an integer from 1 to 1000"),
        ({"misere": 1}, "misere is 1: one of false, true"),
        ({"misere": "yes"}, "misere is 'yes'"),
        ({"start": "random"}, "start is 'random': one of given, p-position"),
    ],
)
def test_a_bad_config_is_refused_with_its_range(config: dict[str, Any], said: str) -> None:
    with pytest.raises(BadConfig, match=f"^nim: .*{said}"):
        Nim(config)


def test_a_config_is_normalised() -> None:
    config = Nim({"heaps": 9, "take": [3, 1, 3]}).config
    assert config == {"heaps": [9], "take": [1, 3], "misere": False, "start": "given"}
    assert Nim({"preset": "sticks", "misere": False}).config["heaps"] == [21]
    assert Nim({"heaps": [5, 3, 7]}).preset is None


@pytest.mark.parametrize(
    ("config", "listed", "options"),
    [
        ({"heaps": [2, 0, 3]}, 5, None),
        ({"heaps": [2, 0, 3], "take": [1, 3]}, 3, None),
        ({"heaps": [500, 12]}, 512, None),
        ({"heaps": [500, 13]}, 512, {"heaps": [500, 13], "take": None}),
        ({"heaps": [20] * 64, "take": [*range(1, 17)]}, 512, {"heaps": [20] * 64, "take": [*range(1, 17)]}),
    ],
)
def test_up_to_512_legal_moves_are_offered_and_where_there_are_more_they_are_described(
    config: dict[str, Any], listed: int, options: dict[str, Any] | None
) -> None:
    game = Nim(config)
    moves = [game.encode_move(move) for move in game.legal_moves(after(game))[:512]]
    assert game.legal_moves_for_turn(after(game)) == (moves, options)
    assert len(moves) == listed


def test_the_board_draws_every_stick_of_up_to_sixty_and_the_beginning_of_more() -> None:
    game = Nim({"heaps": [3, 60, 61, 0, 1000]})
    assert game.draw_board(after(game)).split("\n") == [
        " 0:    3  |||",
        " 1:   60  " + "|" * 60,
        " 2:   61  " + "|" * 57 + "...",
        " 3:    0  ",
        " 4: 1000  " + "|" * 57 + "...",
    ]


# The deal of a lost position


def lost(heaps: tuple[int, ...], take: tuple[int, ...] | None, misere: bool, known: dict[Any, bool]) -> bool:
    """Whether the mover loses, by trying everything."""
    key = tuple(sorted(heaps))
    if key not in known:
        moves = [
            (*key[:i], size - taken, *key[i + 1 :])
            for i, size in enumerate(key)
            for taken in (take or range(1, size + 1))
            if taken <= size
        ]
        known[key] = not any(lost(move, take, misere, known) for move in moves) if moves else not misere
    return known[key]


@given(
    heaps=st.lists(st.integers(0, 5), min_size=1, max_size=3),
    take=st.none() | st.lists(st.integers(1, 4), min_size=1, max_size=3),
    misere=st.booleans(),
    key=st.binary(min_size=32, max_size=32),
)
def test_a_dealt_position_is_lost_and_has_a_move(
    heaps: list[int], take: list[int] | None, misere: bool, key: bytes
) -> None:
    config = {"heaps": heaps, "take": take, "misere": misere, "start": "p-position"}
    try:
        game = Nim(config)
    except BadConfig:
        assume(False)
    state, deal = game.initial(Dice(key, 0))
    assert deal is not None
    assert (deal.ply, deal.seat, deal.move) == (0, -1, {"heaps": list(state.heaps)})
    assert game.to_move(state) == 0
    assert game.ply(state) == 1
    assert all(config_of_deal <= given for config_of_deal, given in zip(state.heaps, heaps, strict=True))
    assert lost(state.heaps, game.take, misere, {})
    assert game.decode_state(game.encode_state(state)) == state


@given(
    heaps=st.lists(st.integers(0, 4), min_size=1, max_size=3),
    take=st.none() | st.lists(st.integers(1, 4), min_size=1, max_size=3),
    misere=st.booleans(),
)
def test_a_deal_is_refused_only_where_no_lost_position_with_a_move_exists(
    heaps: list[int], take: list[int] | None, misere: bool
) -> None:
    least = min(take or [1])
    positions = [()]
    for size in heaps:
        positions = [(*position, smaller) for position in positions for smaller in range(size + 1)]
    known: dict[Any, bool] = {}
    allowed = tuple(take) if take else None
    exists = any(max(heap) >= least and lost(heap, allowed, misere, known) for heap in positions)
    config = {"heaps": heaps, "take": take, "misere": misere, "start": "p-position"}
    if exists:
        assert Nim(config).config["start"] == "p-position"
    else:
        with pytest.raises(BadConfig, match="no lost position with a move left fits in the heaps"):
            Nim(config)


def test_a_deal_draws_its_heaps_in_order_from_one_stream_until_they_fit() -> None:
    dice, drawn = Dice(KEY, 0), []
    while True:
        drawn.append(tuple(dice.choice("deal", size + 1) for size in (3, 5, 7)))
        a, b, c = drawn[-1]
        if a ^ b ^ c == 0 and any(drawn[-1]):
            break
    assert len(drawn) > 1, "the vector must hold a draw that does not fit"
    game = Nim({"heaps": [3, 5, 7], "start": "p-position"})
    assert game.initial(Dice(KEY, 0))[0].heaps == drawn[-1]
    assert game.config_of_deal(Dice(KEY, 0)) == {**game.config, "heaps": list(drawn[-1]), "start": "given"}


def test_a_deal_is_lost_under_the_allowed_removals() -> None:
    game = Nim({"heaps": [9], "take": [1, 2, 3], "start": "p-position"})
    assert {game.initial(Dice(bytes([i]) * 32, 0))[0].heaps for i in range(16)} == {(4,), (8,)}


@pytest.mark.parametrize(
    ("config", "dealt"),
    [
        ({"heaps": [1000, 1000], "take": [1000]}, (1000, 1000)),
        ({"heaps": [5, 995, 999], "take": [995]}, (0, 995, 995)),
    ],
)
def test_where_lost_positions_are_too_rare_to_draw_the_least_is_dealt(
    config: dict[str, Any], dealt: tuple[int, ...]
) -> None:
    game = Nim({**config, "start": "p-position"})
    assert game.initial(Dice(KEY, 0))[0].heaps == dealt
    assert impartial.outcome(dealt, nim_rule(game.take)) == "P"


@pytest.mark.parametrize(
    "config",
    [
        {"heaps": [990, 990, *[1] * 20, *[0] * 42], "take": [990]},
        {"heaps": [160, 160], "take": [150]},
        {"heaps": [300, 300]},
        {"heaps": [400] * 5, "misere": True},
    ],
)
def test_a_deal_that_would_take_long_may_not_be_asked_for(config: dict[str, Any]) -> None:
    game = Nim({**config, "start": "p-position"})
    with pytest.raises(BadConfig, match=r"^nim: lost positions in the heaps .* are too rare to be dealt: use smaller"):
        game.check_cost()
    Nim(config).check_cost()


@given(
    heaps=st.lists(st.integers(0, 8), min_size=1, max_size=3),
    take=st.none() | st.lists(st.integers(1, 4), min_size=1, max_size=3),
    misere=st.booleans(),
)
def test_how_many_positions_can_be_dealt_is_known(heaps: list[int], take: list[int] | None, misere: bool) -> None:
    try:
        game = Nim({"heaps": heaps, "take": take, "misere": misere, "start": "p-position"})
    except BadConfig:
        assume(False)
    assert game._count_deals() == sum(map(game._is_valid_deal, product(*(range(size + 1) for size in heaps))))


def test_the_bytes_that_a_deal_takes_on_average_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    game = Nim({"heaps": [15, 15], "start": "p-position"})
    on_average = 2 * 16 * 16 / 15  # two bytes for each of the positions, of which 15 can be dealt
    monkeypatch.setattr(nim, "MAX_MEAN_DEAL_BYTES", on_average + 0.01)
    game.check_cost()
    monkeypatch.setattr(nim, "MAX_MEAN_DEAL_BYTES", on_average - 0.01)
    with pytest.raises(BadConfig):
        game.check_cost()


@pytest.mark.parametrize(
    ("config", "least"),
    [
        ({"heaps": [3, 5, 7]}, (1, 1, 0)),
        ({"heaps": [3, 1, 5], "take": [2, 3]}, (2, 0, 2)),
        ({"heaps": [0, 21], "take": [1, 2, 3]}, (0, 4)),
        ({"heaps": [0, 21], "take": [2, 3], "misere": True}, (0, 2)),
        ({"heaps": [1, 21, 1, 0], "take": [2, 3, 5]}, (0, 7, 0, 0)),
    ],
)
def test_the_least_lost_position_fills_the_first_heaps_that_can_hold_it(
    config: dict[str, Any], least: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nim, "MAX_DEAL_DRAWS", 0)
    game = Nim({**config, "start": "p-position"})
    state, deal = game.initial(Dice(KEY, 0))
    assert state.heaps == least
    assert deal is not None
    assert deal.move == {"heaps": list(least)}
    assert game.legal_moves(state)
    assert lost(least, game.take, game.misere, {})


def test_after_a_deal_the_odd_plies_are_seat_0s() -> None:
    game = Nim({"heaps": [1, 1], "start": "p-position"})
    state, _ = game.initial(Dice(KEY, 0))
    assert state == Position((1, 1), 0, 1)
    over = game.apply(game.apply(state, Take(0, 1), NO_DICE)[0], Take(1, 1), NO_DICE)[0]
    assert game.decode_state({"heaps": [0, 0], "to_move": None, "ply": 3}) == over
    assert game.ranks(over) == (2, 1)
