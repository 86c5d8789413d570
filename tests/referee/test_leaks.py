"""What must not get out: a match is played twice, what one cannot see is exchanged, and every byte told is the same."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from games.dilemma.rules import Dilemma
from games.poker.kuhn import Kuhn
from games.poker.leduc import Leduc
from games.poker.rules import Poker
from games.poker.rules import PokerState as Hand
from protocol.codec import JSON, MSGPACK
from protocol.dice import Dice
from protocol.digest import encode_canonical
from protocol.games.base import Game
from protocol.messages import CHANCE, End, Event, Rejected
from referee.effects import Disconnect, MoveReceived, Reconnect, Resignation
from referee.record import Ply
from referee_table import Table, ended

SECONDS = st.sampled_from([0.0, 0.3, 2.5])
DIGEST = re.compile(rb'(digest(?:":"|\xd9@))([0-9a-f]{64})')


class Step(NamedTuple):
    """What happens in one step of a match: a move, chosen by a number, or something that has the match told again."""

    do: str
    number: int
    after: float


STEPS = st.lists(
    st.builds(Step, st.sampled_from(["move"] * 4 + ["return", "look"]), st.integers(0, 9), SECONDS),
    min_size=1,
    max_size=40,
)


class Seen:
    """All that somebody gets of a match before its end, in bytes: a seat, or (None) a spectator."""

    def __init__(self, table: Table, who: int | None, *, follows: bool) -> None:
        self.table, self.who = table, who
        self.bytes: list[bytes] = []
        if follows and who is not None:
            table.match.add_follower(who)
        table.match.set_watched(is_watched=True)
        self._told = 0

    @property
    def raw(self) -> list[bytes]:
        """With what was told since it was looked at last, but for what discloses all."""
        told = self.table.shown if self.who is None else self.table.told[self.who]
        for message in told[self._told :]:
            if not (isinstance(message, End) and message.seed is not None):
                text = JSON.encode(message)
                self.bytes += [text.encode() if isinstance(text, str) else text, bytes(MSGPACK.encode(message))]
        self._told = len(told)
        return self.bytes

    def look(self) -> None:
        """What a newcomer, a listing and the operator's status get now."""
        match, now = self.table.match, self.table.now
        messages = [match.spectator_turn(now), match.listed_match(1)]
        said = self.raw
        said += [encode_canonical(message) for message in (*messages, match.public_clocks(now))]

    @property
    def masked(self) -> list[bytes]:
        """The same without digests."""
        return [DIGEST.sub(rb"\1", said) for said in self.raw]

    @property
    def digests(self) -> list[bytes]:
        return [digest for said in self.raw for _, digest in DIGEST.findall(said)]


def with_rules(game: Game[Any, Any]) -> Table:
    """A match that has begun, by these rules in place of the game's own."""
    table = Table(game.name, game.config)
    table.match.game = game
    return table.begin()


def stacked(game: type[Poker], hands: Sequence[tuple[int, int, int]], number: int) -> Poker:
    """A poker game whose cards are these, of both seats and the public one, hand by hand."""

    class Stacked(game):  # type: ignore[valid-type, misc]
        def apply_chance(self, state: Hand, dice: Dice) -> tuple[Hand, Event]:
            one, two, public = hands[state.hand]
            if state.cards is None:
                return self._with_deal(state, one, two), Event(ply=state.at, seat=CHANCE, move={"cards": [one, two]})
            return self._with_public_card(state, public), Event(ply=state.at, seat=CHANCE, move={"public": public})

    rules: Poker = Stacked({"hands": number})
    return rules


def exchange(hand: tuple[int, int, int], who: int | None, deck: int, by: int) -> tuple[int, int, int]:
    """Other cards for who this is not, which they can't tell from these."""
    one, two, public = hand
    known = {public} if who is None else {public, hand[who]}
    free = [card for card in range(deck) if card not in known]
    for seat in (0, 1):
        if seat != who:
            was = hand[seat]
            others = [card for card in free if card != was]
            card = others[by % len(others)] if others else was
            one, two = (card, two) if seat == 0 else (one, card)
            free = [left for left in free if left != card]
    return one, two, public


def run(table: Table, seen: Seen, steps: Sequence[Step], info: str) -> None:
    """Let the steps happen, until the match is over."""
    for step in steps:
        course = table.match.standing.current_course
        if course.is_over:
            break
        if step.do == "look":
            table.now += step.after
            seen.look()
        elif step.do == "return" and seen.who is not None:
            table.send(Disconnect(seen.who), step.after)
            table.send(Reconnect(seen.who))
        elif isinstance(course.to_move, int):
            legal, _ = course.legal_moves(course.to_move)
            mine = course.to_move == seen.who
            said = {"value": 1.0, "note": "mine"} if mine else {"value": float(len(info)), "note": info}
            table.play(legal[step.number % len(legal)], step.after, info=said)
    seen.look()


@pytest.mark.no_cover
@given(
    game=st.sampled_from([Kuhn, Leduc]),
    who=st.sampled_from([0, 1, None]),
    follows=st.booleans(),
    steps=STEPS,
    chance=st.randoms(use_true_random=False),
    by=st.integers(0, 5),
)
def test_other_cards_that_one_cannot_see_change_no_byte_that_one_is_told(
    game: type[Poker], who: int | None, follows: bool, steps: list[Step], chance: random.Random, by: int
) -> None:
    number, deck = 12, len(game.ranks_of_cards) * game.cards_per_rank
    dealt = []
    for _ in range(number):
        one, two, public = chance.sample(range(deck), 3)
        dealt.append((one, two, public))
    first = with_rules(stacked(game, dealt, number))
    seen = Seen(first, who, follows=follows)
    run(first, seen, steps, "a note")
    events = [line.event for line in first.lines if isinstance(line, Ply)]
    shown = _hands_shown(events)
    hands = [hand if at in shown else exchange(hand, who, deck, by) for at, hand in enumerate(dealt)]
    second = with_rules(stacked(game, hands, number))
    again = Seen(second, who, follows=follows)
    run(second, again, steps, "another, longer note")
    assert again.masked == seen.masked
    assert list(map(len, again.raw)) == list(map(len, seen.raw))
    assert all(len(digest) == 64 for digest in again.digests)


def _hands_shown(events: Sequence[Event]) -> set[int]:
    shown, at = set(), 0
    for event in events:
        if event.result is not None:
            if "cards" in event.result:
                shown.add(at)
            at += 1
    return shown


def test_a_seat_is_told_its_own_card_and_a_spectator_none() -> None:
    table = Table("kuhn", {"hands": 5})
    table.match.set_watched(is_watched=True)
    table.begin()
    dealt = table.match.standing.current_course.encoded_state["cards"]
    turn = table.last(0)
    assert turn.state["cards"] == [dealt[0], None]
    assert turn.events[0].move == {"cards": [dealt[0], None]}
    assert table.shown[-1].state["cards"] == [None, None]
    view = table.match.spectator_turn(table.now)
    assert view is not None
    assert view.events[0].move == {"cards": [None, None]}


def test_a_misplaced_move_is_one_before_the_deal_too() -> None:
    table = Table("kuhn", {"hands": 5}).begin()
    assert table.send(MoveReceived(1, 0, {"do": "check"}))


def test_a_digest_of_hidden_cards_cannot_be_tried_out() -> None:
    table = Table("kuhn", {"hands": 1}).begin()
    deal = next(line for line in table.lines if isinstance(line, Ply))
    course = table.match.standing.current_course
    before = table.match._new_course().digest
    told = table.last(0).digest
    assert told == deal.digest
    plain = encode_canonical({"event": deal.event, "state": course.encoded_state})
    assert hashlib.sha256(before + plain).hexdigest() != told


def test_the_same_cards_in_two_hands_have_salts_of_their_own() -> None:
    table = with_rules(stacked(Kuhn, [(0, 1, 2)] * 4, 4))
    for _ in range(3):
        table.play({"do": "bet"})
        table.play({"do": "fold"})
    digests = [line.digest for line in table.lines if isinstance(line, Ply)]
    assert len(set(digests)) == len(digests)


class Flipped(Dilemma):
    """With noise, but it is not dice that say which choices are flipped."""

    flips: frozenset[tuple[int, int]] = frozenset()
    """By ply and seat."""

    def resolve_round(self, state: Any, moves: Mapping[int, int], dice: Dice) -> tuple[Any, Event]:
        self._at = state.at
        return super().resolve_round(state, moves, dice)

    def _apply_noise(self, choice: int, seat: int, dice: Dice) -> int:
        return choice ^ ((self._at, seat) in self.flips)


CHOICES = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), SECONDS), min_size=1, max_size=8)


@pytest.mark.no_cover
@given(who=st.sampled_from([0, 1, None]), follows=st.booleans(), choices=CHOICES, back=st.booleans())
def test_with_noise_what_another_meant_to_play_changes_no_byte(
    who: int | None, follows: bool, choices: list[tuple[int, int, float]], back: bool
) -> None:
    heard = []
    for exchanged in (False, True):
        changed = {seat for seat in (0, 1) if exchanged and seat != who}
        rules = Flipped({"rounds": 50, "noise": "0.1"})
        rules.flips = frozenset((ply, seat) for ply in range(len(choices)) for seat in changed)
        table = with_rules(rules)
        seen = Seen(table, who, follows=follows)
        for *chosen, after in choices:
            table.now += after
            for seat, choice in enumerate(chosen):
                info = {"note": "flipped" if seat in changed else "as I meant it"}
                table.send(MoveReceived(seat, table.ply, {"choose": choice ^ (seat in changed)}, info=info))
            if back and who is not None:
                table.send(Disconnect(who))
                table.send(Reconnect(who))
            seen.look()
        heard.append(seen)
    assert heard[0].masked == heard[1].masked
    assert list(map(len, heard[0].raw)) == list(map(len, heard[1].raw))
    assert heard[0].digests[-1] != heard[1].digests[-1]


SECRETS = st.one_of(st.none(), st.integers(0, 3))
"""What another bids in the round under way, if anything; at most what it may."""


@pytest.mark.no_cover
@pytest.mark.usefixtures("dibs")
@given(
    who=st.sampled_from([0, 1, None]),
    follows=st.booleans(),
    secrets=st.tuples(SECRETS, SECRETS),
    own=st.booleans(),
    after=st.tuples(SECONDS, SECONDS),
    leaves=st.booleans(),
    restarts=st.booleans(),
)
def test_whether_and_what_another_chose_in_a_round_under_way_changes_no_byte(
    who: int | None,
    follows: bool,
    secrets: tuple[int | None, int | None],
    own: bool,
    after: tuple[float, float],
    leaves: bool,
    restarts: bool,
) -> None:
    other = 1 if who == 0 else 0
    heard = []
    for secret in secrets:
        table = Table("bids", {}).begin()
        for seat in (2, 0, 1):
            table.send(MoveReceived(seat, 1, {"bid": 0}), 1.0)
        seen = Seen(table, who, follows=follows)
        table.now += after[0]
        if secret is not None:
            most = table.match.standing.current_course.encoded_state["most"][other]
            table.send(MoveReceived(other, 3, {"bid": min(secret, most)}, info={"note": "x" * secret}))
        table.now += after[1]
        if own and who is not None:
            table.send(MoveReceived(who, 3, {"bid": 0}))
        if restarts:
            lines, now = table.lines, table.now
            table = Table("bids", {})
            table.now = now
            seen = Seen(table, who, follows=follows)
            table.resume(lines)
            for seat in table.seats:
                table.send(Reconnect(seat))
        if leaves:
            table.send(Resignation(2), 1.0)
        if table.ply == 3:
            seen.look()
            if who is not None:
                table.send(Disconnect(who), 0.7)
                table.send(Reconnect(who))
            seen.look()
            heard.append(seen.raw)
    assert len(heard) < 2 or heard[0] == heard[1]


@pytest.mark.usefixtures("dibs")
def test_who_leaves_in_the_midst_of_a_round_leaves_what_the_others_chose_as_it_is() -> None:
    table = Table("bids", {}).begin()
    most = table.match.standing.current_course.encoded_state["most"]
    table.send(MoveReceived(1, 1, {"bid": most[1]}))
    table.send(Resignation(2))
    assert table.ply == 1
    assert table.last(0).to_move == (0, 1)
    table.send(MoveReceived(0, 1, {"bid": 0}))
    *_, bids, _deal = table.last(0).events
    assert bids.moves == [{"bid": 0}, {"bid": most[1]}, None]


def test_of_two_who_leaves_in_the_midst_of_a_round_ends_the_match_and_nobody_is_told_the_other_move() -> None:
    table = Table("dilemma", {"rounds": 3}).begin()
    table.send(MoveReceived(1, 0, {"choose": 1}))
    table.send(Resignation(0))
    assert ended(table) == ["resigned", "win"]
    end = table.match.end_message(1)
    assert [event.out for event in end.events] == ["resigned"]
    assert b"choose" not in encode_canonical(end)


def refused(table: Table, seat: int, ply: int, move: dict[str, int]) -> tuple[str, str]:
    """How a move is answered that answers no turn."""
    (effect,) = table.send(MoveReceived(seat, ply, move))
    assert isinstance(effect.message, Rejected)
    return effect.message.code, effect.message.message


def test_a_move_that_was_made_stands() -> None:
    table = Table("dilemma", {"rounds": 3}).begin()
    table.send(MoveReceived(0, 0, {"choose": 1}))
    assert table.send(MoveReceived(0, 0, {"choose": 1})) == [], "the same again"
    second = "you have already moved at ply 0: the others still have to move"
    assert refused(table, 0, 0, {"choose": 0}) == ("not_your_turn", second)
    assert refused(table, 1, 1, {"choose": 0}) == ("stale_ply", "ply 1 has not been reached: the match is at ply 0")


@pytest.mark.usefixtures("dibs")
def test_who_is_out_hears_whose_round_it_is_and_not_who_has_moved() -> None:
    lines = []
    for moved in (False, True):
        table = Table("bids", {}).begin()
        table.send(Resignation(2))
        if moved:
            table.send(MoveReceived(0, 1, {"bid": 0}))
        lines.append(refused(table, 2, 1, {"bid": 0}))
    assert lines[0] == lines[1] == ("not_your_turn", "seats 0 and 1 are to move at ply 1")
