"""What the referee says, word for word: every message to seats and watchers with all that is in it."""

from __future__ import annotations

import msgspec
import pytest

from arena.ratings import rating_system
from arena.ratings.rating_system import RatingStanding
from protocol.messages import Clock, End, Error, Event, ListedMatch, Outcome, Player, Rejected, Start, Turn
from referee import messages
from referee.effects import Forfeit, MoveReceived, Reconnect, Resignation, SendToWatchers
from referee.match import MatchTimeouts
from referee.record import Secret
from referee_table import A_MOVE, NONCES, SEED, Table, header

SEATS = [Player(bot="ann", version="1"), Player(bot="bob", version="1")]
HEX = [nonce.hex() for nonce in NONCES]


@pytest.mark.parametrize("seat", [None, 1])
def test_a_start_says_what_is_played_by_whom_and_on_what_terms(seat: int | None) -> None:
    table = Table(rated=True)
    start = Start(
        match="m-1",
        seek=None,
        game="nim",
        preset="classic",
        config=table.match.game.config,
        seat=seat,
        seats=SEATS,
        clock=Clock(bank_ms=60_000, increment_ms=500),
        commitment=table.header.commitment,
        rated=True,
        resumed=False,
    )
    assert messages.make_start(table.header, table.match.game, SEATS, seat) == start
    table.open()
    assert (table.shown if seat is None else table.told[seat]) == [start]
    assert table.deadline == table.now + MatchTimeouts().ready_timeout_s
    assert table.match.start_message(seat, resumed=True) == msgspec.structs.replace(start, resumed=True)


def test_a_turn_says_where_the_match_stands() -> None:
    table = Table()
    table.match.set_watched(is_watched=True)
    table.begin()
    for_watchers = Turn(
        match="m-1",
        ply=0,
        to_move=0,
        state={"heaps": (3, 5, 7), "to_move": 0, "ply": 0},
        events=[],
        clock=[60_000, 60_000],
        digest=table.match.standing.current_course.digest.hex(),
    )
    legal = [{"heap": heap, "take": take} for heap, size in enumerate((3, 5, 7)) for take in range(1, size + 1)]
    assert table.last(0) == msgspec.structs.replace(for_watchers, legal=legal, nonces=HEX[:2])
    assert table.shown[-1] == table.match.spectator_turn(table.now) == for_watchers


def test_an_end_says_how_it_ended_for_every_seat_and_opens_the_dice() -> None:
    table = Table(rated=True).begin()
    table.play(A_MOVE)
    table.send(Resignation(1))
    ratings = rating_system.rate("nim", [RatingStanding(), RatingStanding()], ["1", "1"], [1, 2])
    events = table.match.standing.events
    end = End(
        match="m-1",
        ply=1,
        events=events,
        state={"heaps": (3, 5, 6), "to_move": 1, "ply": 1},
        digest=table.match.standing.current_course.digest.hex(),
        ranks=[1, 2],
        reason="resigned",
        seats=[
            Outcome(bot="ann", rank=1, reason="win", **msgspec.structs.asdict(ratings.seats[0])),
            Outcome(bot="bob", rank=2, reason="resigned", **msgspec.structs.asdict(ratings.seats[1])),
        ],
        seed=SEED.hex(),
        nonces=HEX[:2],
        record="m-1.jsonl.gz",
    )
    assert table.match.end_message(0, ratings) == end
    assert table.match.end_message(1, ratings) == msgspec.structs.replace(end, events=events[1:])
    unrated = [Outcome(bot="ann", rank=1, reason="win"), Outcome(bot="bob", rank=2, reason="resigned")]
    for_watchers = table.match.end_message(None)
    assert (for_watchers.events, for_watchers.seats) == (events[1:], unrated)


@pytest.mark.parametrize("lose", [Resignation(1), None])
def test_the_end_that_watchers_are_told_follows_from_the_record(lose: Resignation | None) -> None:
    table = Table(config={"heaps": [1, 1]}).begin()
    table.play({"heap": 0, "take": 1})
    table.send(lose) if lose else table.play({"heap": 1, "take": 1})
    assert len(table.match.end_message(None).events) == 1
    assert messages.make_end_from_record(table.record()) == table.match.end_message(None)


@pytest.mark.usefixtures("dibs")
def test_of_a_match_that_goes_on_without_a_seat_the_end_has_its_reason_and_no_seed() -> None:
    table = Table("dibs").begin()
    table.send(Resignation(2))
    end = table.last(2)
    assert (end.reason, end.seed, end.ranks) == ("resigned", None, [1, 1, 3])
    assert [outcome.reason for outcome in end.seats] == ["win", "win", "resigned"]
    table.send(Resignation(0))
    assert {table.match.end_message(seat).reason for seat in (None, 0, 1, 2)} == {"win"}


def test_while_others_play_on_each_seat_that_left_has_a_reason_of_its_own() -> None:
    four = header("risk-campaign", {"map": "south-america", "players": 4}, bots=("ann", "bob", "cas", "dan"))
    table = Table(header=four).begin([b""] * 4)
    table.send(Resignation(2))
    table.send(Forfeit(3))
    assert [table.match.end_message(seat).reason for seat in (2, 3)] == ["resigned", "disconnected"]


@pytest.mark.parametrize(
    ("event", "code", "message"),
    [
        (MoveReceived(1, 1, A_MOVE), "not_your_turn", "seat 0 is to move at ply 1"),
        (MoveReceived(1, 0, A_MOVE), "stale_ply", "ply 0 has passed: the match is at ply 1"),
        (MoveReceived(0, 5, A_MOVE), "stale_ply", "ply 5 has not been reached: the match is at ply 1"),
    ],
)
def test_a_move_that_answers_no_turn_is_told_where_the_match_is(event: MoveReceived, code: str, message: str) -> None:
    table = Table("nim", {"heaps": [9, 9, 9], "start": "p-position"}).begin()
    assert table.ply == 1
    table.send(event)
    assert table.last(event.seat) == Rejected(match="m-1", ply=event.ply, code=code, message=message)


def test_moves_before_the_beginning_and_after_the_end_are_told_so() -> None:
    table = Table()
    table.open()
    table.send(MoveReceived(1, 3, A_MOVE))
    early = "the match has not begun: it begins when every seat has sent ready"
    assert table.last(1) == Rejected(match="m-1", ply=3, code="not_your_turn", message=early)
    table.begin()
    table.send(Resignation(0))
    table.send(MoveReceived(1, 4, A_MOVE))
    assert table.last(1) == Rejected(match="m-1", ply=4, code="no_such_match", message="the match is over")


def test_a_wrong_move_is_told_with_the_strikes_and_the_time_that_are_left() -> None:
    table = Table().begin()
    table.play({"heap": 0, "take": 4}, after=2)
    said = "heap 0 holds 3: 4 cannot be taken; the heaps are [3, 5, 7]"
    rejected = Rejected(match="m-1", ply=0, code="illegal_move", message=said, strikes_left=2, clock_ms=58_000)
    assert table.last(0) == rejected


def test_a_bad_info_is_told_with_its_match_and_the_move_stands() -> None:
    table = Table().begin()
    table.play(A_MOVE, info={"note": 7})
    error = table.last(0)
    assert isinstance(error, Error)
    assert (error.code, error.ref, error.fatal) == ("bad_message", "m-1", False)
    assert error.message.startswith("info: note is 7: ")
    assert error.message.endswith("; the move at ply 0 counts")
    assert (table.ply, table.lines[-1].info) == (1, None)


def test_the_last_events_that_fit_are_told_to_the_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    events = [Event(ply=ply, seat=0, move={"take": 1}) for ply in range(100, 200)]
    each = len(msgspec.json.encode(events[0]))
    for most, told in ((10 * each, 10), (10 * each - 1, 9), (100 * each, 100), (99 * each, 99), (0, 0)):
        monkeypatch.setattr(messages, "MAX_EVENT_BYTES", most)
        assert messages.latest_that_fit(events) == events[len(events) - told :]
    assert messages.latest_that_fit(events[:64]) == events[:64], "so few surely fit"


def test_the_seed_is_in_the_journal_before_anything_else() -> None:
    table = Table()
    table.open()
    assert table.lines == [Secret(seed=SEED.hex()), table.header]


def test_a_seat_that_comes_back_is_told_its_own_start() -> None:
    table = Table().begin()
    table.send(Reconnect(1))
    assert table.last(1) == table.match.start_message(1, resumed=True)


def test_watchers_are_told_each_event_once_without_legal_moves_and_nonces() -> None:
    table = Table()
    table.match.set_watched(is_watched=True)
    table.begin()
    for _ in range(3):
        effects = table.play(A_MOVE)
        (shown,) = [effect.message for effect in effects if isinstance(effect, SendToWatchers)]
        assert isinstance(shown, Turn)
        assert shown.events == table.match.standing.events[-1:]
        assert (shown.legal, shown.nonces) == (None, None)
        assert (shown.match, shown.clock) == ("m-1", table.banks())


def test_a_listing_says_which_match_it_is_where_it_stands_and_how_many_watch() -> None:
    table = Table(rated=True)
    listed = ListedMatch(
        match="m-1",
        game="nim",
        preset="classic",
        seats=["ann", "bob"],
        ply=0,
        started=table.header.started,
        rated=True,
        watchers=3,
    )
    assert table.match.listed_match(3) == listed
    table.begin()
    table.play(A_MOVE)
    assert table.match.listed_match(0) == msgspec.structs.replace(listed, ply=1, watchers=0)
