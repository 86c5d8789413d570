"""What a seat and a spectator are told of a match that goes on does not depend on what they may not see: the same match
is played twice, with the hidden parts of the other seat exchanged for others that can't be told apart.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from protocol.codec import JSON, MSGPACK
from protocol.games import load
from protocol.games.dilemma import Dilemma
from protocol.games.poker import Poker
from protocol.games.poker import Table as Hand
from protocol.messages import CHANCE, Event, Turn
from referee.effects import Left, Played, Returned, Show, Tell, TellMany
from referee.record import Sealed
from referee_table import Table

ME, OTHER = 0, 1
SEEDS = st.integers(0, 2**32)
Cards = tuple[int, int, int]
"""Of a hand: mine, the other's, and the public one, if it comes to that."""


def told(table: Table) -> list[bytes]:
    """All that I and spectators were told, in both encodings; but for the digests, of which only the length is."""
    frames = []
    for message in (*table.told[ME], *table.shown):
        blind = replace(message, digest="0" * len(message.digest)) if isinstance(message, Turn) else message
        frames += [MSGPACK.encode(blind), JSON.encode(blind)]
    return frames


def digests(table: Table) -> list[str]:
    return [message.digest for message in table.told[ME] if isinstance(message, Turn)]


@contextmanager
def dealing(deals: list[Cards]) -> Iterator[None]:
    """Deal these cards, hand by hand."""

    def apply_chance(self: Poker, state: Hand, dice: Any) -> tuple[Hand, Event]:
        mine, others, public = deals[state.hand]
        if state.cards is None:
            return self._dealt(state, mine, others), Event(ply=state.at, seat=CHANCE, move={"cards": [mine, others]})
        return self._turned(state, public), Event(ply=state.at, seat=CHANCE, move={"public": public})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Poker, "apply_chance", apply_chance)
        yield


def hands(game: str, deals: list[Cards], chooser: random.Random) -> tuple[Table, list[bool]]:
    """A match with these cards until the last of them is dealt, and which of the hands before were shown in the end."""
    shown: list[bool] = []
    with dealing(deals):
        table = Table(game, {"hands": len(deals)})
        table.match.watch(wanted=True)
        table.begin()
        while len(shown) < len(deals) - 1:
            if chooser.random() < 0.2:  # who comes back is told anew
                table.send(Left(ME), 0.5)
                table.send(Returned(ME), 0.5)
            table.play(chooser.choice(table.match.standing.playing.legal(table.to_move)[0]), 0.25)
            results = [event.result for event in table.match.standing.events if event.result is not None]
            shown = ["cards" in result for result in results]
    return table, shown


@pytest.mark.parametrize("name", ["kuhn", "leduc"])
@settings(max_examples=60, deadline=None)
@given(seed=SEEDS)
def test_a_card_that_is_never_shown_changes_no_byte(name: str, seed: int) -> None:
    chooser, game = random.Random(seed), load(name)
    deck = range(len(game.ranks_of_cards) * game.alike)
    deals: list[Cards] = [tuple(chooser.sample(deck, 3)) for _ in range(5)]  # type: ignore[misc]
    table, shown = hands(name, deals, random.Random(seed))
    exchanged = [
        (mine, others if was_shown else chooser.choice([card for card in deck if card not in (mine, public)]), public)
        for (mine, others, public), was_shown in zip(deals, [*shown, False], strict=True)
    ]
    again, shown_again = hands(name, exchanged, random.Random(seed))
    assert shown_again == shown
    assert told(again) == told(table)
    assert (digests(again) != digests(table)) == (exchanged != deals), "but they commit to what is hidden"


def test_hands_of_which_none_is_shown_hide_every_card_of_the_other() -> None:
    """Said beside the property above, whose hands may all be shown: there are such, and they differ."""
    for others in (1, 2):
        with dealing([(0, others, 3), (0, 1, 2)]):
            table = Table("kuhn", {"hands": 2}).begin()
            table.play({"do": "check"})
            table.play({"do": "bet"})
            table.play({"do": "fold"})
        assert table.last(ME).state["cards"] == [0, None]
        assert not any("cards" in (event.result or {}) for event in table.match.standing.events)


@contextmanager
def disturbing(played: list[tuple[int, int]]) -> Iterator[None]:
    """Let noise make this of whatever is chosen, round by round."""

    def disturbed(self: Dilemma, choice: int, seat: int, dice: Any) -> int:
        return played[dice._ply][seat]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Dilemma, "_disturbed", disturbed)
        yield


def rounds(
    meant: list[tuple[int, int]], played: list[tuple[int, int]], order: random.Random, returns: random.Random
) -> Table:
    """A match in which this is meant and that is played, in some order, while I go and come back now and then."""
    with disturbing(played):
        table = Table("dilemma", {"rounds": len(meant) + 1, "noise": "0.5"})
        table.match.watch(wanted=True)
        table.begin()
        for choices in meant:
            for seat in order.sample((ME, OTHER), 2):
                table.send(Played(seat, table.ply, {"choose": choices[seat]}))
            if returns.random() < 0.3:
                table.send(Left(ME))
                table.send(Returned(ME))
    return table


@settings(max_examples=60, deadline=None)
@given(data=st.lists(st.tuples(*[st.integers(0, 1)] * 5), min_size=1, max_size=6), seed=SEEDS)
def test_what_the_other_meant_before_noise_changed_it_changes_no_byte(data: list[Any], seed: int) -> None:
    played = [(mine, others) for _, _, _, mine, others in data]
    one, two = (
        rounds([(row[0], row[1 + which]) for row in data], played, random.Random(seed + which), random.Random(seed))
        for which in (0, 1)
    )
    assert told(one) == told(two)
    assert (digests(one)[-1] != digests(two)[-1]) == any(row[1] != row[2] for row in data)


@settings(max_examples=30, deadline=None)
@given(rounds_before=st.integers(0, 3), others=st.integers(0, 1), early=st.booleans())
def test_what_the_other_chose_and_whether_it_has_changes_no_byte_until_all_have(
    rounds_before: int, others: int, early: bool
) -> None:
    """Nor does it when the seat comes back, or a spectator comes in, in the midst of the round."""
    frames = []
    for chosen in (None, others):
        table = Table("dilemma", {"rounds": 9})
        table.match.watch(wanted=True)
        table.begin()
        for _ in range(rounds_before):
            table.send(Played(ME, table.ply, {"choose": 0}), 0.5)
            table.send(Played(OTHER, table.ply, {"choose": 1}), 0.5)
        before = len(table.lines)
        table.now += 0.5 if early else 2.0
        if chosen is not None:
            effects = table.send(Played(OTHER, table.ply, {"choose": chosen}))
            assert isinstance(table.lines[-1], Sealed)
            assert len(table.lines) == before + 1
            assert not any(isinstance(effect, (Show, Tell, TellMany)) for effect in effects)
        table.now += 1.0
        table.send(Left(ME))
        table.send(Returned(ME))
        view = table.match.view(table.now)
        listed = table.match.listed(0)
        frames.append([*told(table), MSGPACK.encode(view), MSGPACK.encode(listed), table.match.clocks(table.now)])
    assert frames[0] == frames[1]
