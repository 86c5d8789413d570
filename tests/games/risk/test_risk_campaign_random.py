"""Thousands of random campaigns under every kind of config, seats that drop out half-way among them: what must hold."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from games.risk.rules import maps
from games.risk.rules.campaign import Campaign, Draft, Position
from protocol.dice import Dice
from protocol.games.base import NO_DICE
from protocol.messages import Event

GAMES = 2000
KINDS = list(product(range(2, 7), ("territories", "classic"), ("dice", "deterministic")))
SHARES = {"world": 100, "grid-6x6": 200, "grid-10x10": 60}
"""How many of the games are on the larger maps; the small ones share the rest."""


def configs(name: str) -> Iterator[dict[str, Any]]:
    """The configs of a map's games: every kind that the map has room for, in turn."""
    size = len(maps.load_map(name))
    rest = (GAMES - sum(SHARES.values())) // (len(maps.MAP_NAMES) - len(SHARES)) + 1
    chooser = random.Random(name)
    kinds = [kind for kind in KINDS if kind[0] <= size]
    for number in range(SHARES.get(name, rest)):
        players, draft, battle = kinds[number % len(kinds)]
        yield {
            "map": name,
            "players": players,
            "draft": draft,
            "battle": battle,
            "max_attacks": chooser.randint(1, 6),
            "initial_units": chooser.choice((1, 1, 3, 20)),
            "max_rounds": chooser.choice((1, 5, 30)) if size > 12 else chooser.choice((3, 20, 40)),
            "deal": chooser.choice((None, chooser.randbytes(16).hex())),
        }


@pytest.mark.no_cover
@pytest.mark.parametrize(
    "name", [maps.MAP_NAMES[0], *(pytest.param(name, marks=pytest.mark.nightly) for name in maps.MAP_NAMES[1:])]
)
def test_no_random_game_breaks_a_rule(name: str) -> None:
    games = map(Campaign, configs(name))
    ends = Counter(play(game, random.Random(f"{name} {number}")) for number, game in enumerate(games))
    assert min(ends["win"], ends["round_limit"]) > 0, "both ends are reached"
    assert ends.keys() <= {"win", "round_limit", "draw"}


def play(game: Campaign, chooser: random.Random) -> str:
    """Why a random game ended, checked ply by ply; with more than two seats, in every second one seats drop out."""
    key = chooser.randbytes(32)
    state, _ = game.initial(Dice(key, 0))
    leaving = chooser.choice((0, 0.02)) if game.seats > 2 else 0
    check_position(game, state)
    while (seat := game.to_move(state)) is not None:
        before = state
        if chooser.random() < leaving:
            state = game.remove_seat(state, chooser.randrange(game.seats))
            check_drop(before, state)
        else:
            move = game.sample_move(state, chooser.randrange)
            state, event = game.apply(state, move, Dice(key, state.at))
            check_move(game, before, event, state)
            if isinstance(move, Draft):
                game.apply(before, game.legal_moves(before)[0], NO_DICE)  # the one that is offered is legal too
        check_position(game, state)
        assert set(before.out) <= set(state.out)
        assert state.out[: len(before.out)] == before.out, "those that are out stay, in their order"
        assert seat not in before.out
    check_end(game, state)
    return game.reason(state)


def check_position(game: Campaign, state: Position) -> None:
    assert len(state.owner) == len(state.troops) == len(game.map)
    assert min(state.troops) >= 1, "every territory is held by somebody"
    holding = set(state.owner)
    assert holding <= set(range(game.seats))
    assert set(range(game.seats)) - holding <= set(state.out), "a seat without territories is out"
    assert len(set(state.out)) == len(state.out) < game.seats
    assert (state.units > 0) == (state.phase == "draft")
    assert 0 <= state.attacks_left <= game.max_attacks
    seat = game.to_move(state)
    if seat is None:
        assert len(state.out) == game.seats - 1 or state.round == game.max_rounds + 1
        assert not game.legal_moves(state)
    else:
        assert seat in holding
        assert seat not in state.out
        assert state.attacks_left >= 1
        assert 1 <= state.round <= game.max_rounds
        assert game.legal_moves(state)
    assert game.decode_state(game.encode_state(state)) == state


def check_drop(before: Position, after: Position) -> None:
    assert (before.owner, before.troops, before.at) == (after.owner, after.troops, after.at)
    assert len(after.out) - len(before.out) <= 1


def check_move(game: Campaign, before: Position, event: Event, after: Position) -> None:
    """Units come from drafts only, and battles only take them."""
    assert (event.ply, event.seat, after.at) == (before.at, before.seat, before.at + 1)
    assert event.move is not None
    gained = [b - a for a, b in zip(before.troops, after.troops, strict=True)]
    if event.move["do"] == "draft":
        assert before.owner == after.owner
        assert sum(gained) == before.units
        assert all(
            more == 0 or (more > 0 and held == before.seat) for more, held in zip(gained, before.owner, strict=True)
        )
        assert (after.phase, after.seat, after.attacks_left) == ("attack", before.seat, before.attacks_left)
    elif event.move["do"] == "attack":
        check_battle(game, before, event, after)
    else:
        assert (before.owner, before.troops) == (after.owner, after.troops)
        assert after.phase == "draft"
    if after.seat != before.seat:
        assert (after.phase, after.attacks_left) == ("draft", game.max_attacks)
        assert after.round - before.round == (after.seat < before.seat)


def check_battle(game: Campaign, before: Position, event: Event, after: Position) -> None:
    assert event.move is not None
    assert event.result is not None
    source, to, units = event.move["from"], event.move["to"], event.move["units"]
    elsewhere = set(range(len(before.owner))) - {source, to}
    assert all((before.owner[at], before.troops[at]) == (after.owner[at], after.troops[at]) for at in elsewhere)
    assert after.troops[source] == before.troops[source] - units
    assert after.owner[source] == before.seat
    taken, attackers, defenders = event.result["taken"], event.result["attackers"], event.result["defenders"]
    assert taken == (attackers > 0) == (defenders == 0)
    assert after.owner[to] == (before.seat if taken else before.owner[to])
    assert after.troops[to] == attackers + defenders
    assert sum(after.troops) < sum(before.troops)
    assert (event.dice is None) == (game.battle == "deterministic")
    lost = {before.owner[to]} - set(after.owner)
    assert set(after.out) == set(before.out) | lost


def check_end(game: Campaign, state: Position) -> None:
    """Those that are out rank behind those that are not, the first to go last."""
    ranks, reason = game.ranks(state), game.reason(state)
    staying = [seat for seat in range(game.seats) if seat not in state.out]
    assert [ranks[seat] for seat in state.out] == list(range(game.seats, len(staying), -1))
    territories, units = Counter(state.owner), Counter[int]()
    for held, troops in zip(state.owner, state.troops, strict=True):
        units[held] += troops
    for a, b in product(staying, repeat=2):
        assert (ranks[a] < ranks[b]) == ((territories[a], units[a]) > (territories[b], units[b]))
    assert min(ranks) == 1
    if reason == "win":
        assert len(staying) == 1
    else:
        assert state.round == game.max_rounds + 1
        assert (reason == "draw") == (set(ranks) == {1})
