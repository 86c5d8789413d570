"""The lobby, event by event: which effects each has, and why a seek waits."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from arena.lobby.effects import (
    CallBots,
    ChargeSeek,
    LoadBot,
    LobbyEffect,
    LookUpNames,
    NoteMissedMatch,
    RejectMessage,
    StartAssigned,
    StartMatch,
    StopServer,
    Tell,
    WakeAt,
)
from arena.lobby.events import (
    AssignmentWithdrawn,
    BotJoined,
    BotLeft,
    BotLoaded,
    BotReady,
    DrainCancelled,
    DrainStarted,
    GameClosed,
    GamesMoved,
    LobbyEvent,
    MatchAdded,
    MatchAssigned,
    NameUnknown,
    SeatReleased,
    SeekPlaced,
    SeekWithdrawn,
)
from arena.lobby.lobby import DRAIN_CANCELLED_MESSAGE, DRAINING_MESSAGE, Lobby
from arena.lobby.log import replay
from arena.lobby.policy import LobbyPolicy
from arena.lobby.suspensions import pause_message
from lobby_machine import LobbyMachine
from protocol.messages import Error, Seek, Unseeked
from seek_board import SeekBoard
from volumes import examples

URL = "ws://arena/b"
ADDRESS = "address of ann"
NOW = SeekBoard().now
POLICY = LobbyPolicy()


def placed(ref: str = "s", **seek: Any) -> SeekPlaced:
    return SeekPlaced("ann", Seek(id=ref, **{"game": "nim", **seek}))


def told(code: str, message: str, ref: str | None = None, url: str | None = None, bot: str = "ann") -> Tell:
    return Tell(bot, Error(code=code, message=message, ref=ref, url=url))


REFUND = ChargeSeek(ADDRESS, 0, refund=True)
CASES: dict[str, tuple[list[LobbyEvent], LobbyEvent, list[LobbyEffect]]] = {
    "a bot that is not known is loaded": ([], BotJoined("Bob", 1, "here"), [LoadBot("bob")]),
    "one that is known is not": ([BotLoaded("bob", {})], BotJoined("Bob", 1, "here"), []),
    "a seek is charged and looked at soon": (
        [],
        placed(),
        [WakeAt(NOW + POLICY.new_seek_delay_s), ChargeSeek(ADDRESS, 0, refund=False)],
    ),
    "names that nobody has are looked up": (
        [BotJoined("bob", 1, "there")],
        placed(game="risk-campaign", config={"preset": "world-3"}, opponents=["BOB", "Zoe"]),
        [WakeAt(NOW + POLICY.new_seek_delay_s), ChargeSeek(ADDRESS, 0, refund=False), LookUpNames(("zoe",))],
    ),
    "an id can't be used twice": (
        [placed()],
        placed(),
        [RejectMessage("seek: id 's' is in force already: choose another")],
    ),
    "two ways of naming opponents exclude each other": (
        [],
        placed(opponent="bob", opponents=["cid"]),
        [RejectMessage("seek: opponent and opponents exclude each other: name all of them in opponents")],
    ),
    "slots are limited": (
        [placed("1"), placed("2")],
        placed("3"),
        [told("no_slots", "seek: all 2 slots of this connection hold a seek or a match", "3")],
    ),
    "a game of another node is played there": (
        [GamesMoved({"nim": URL})],
        placed(),
        [told("elsewhere", f"seek: nim is played on another node: connect to {URL}", "s", URL)],
    ),
    "an address without quota gets the reason": (
        [],
        SeekPlaced("ann", Seek(id="s", game="nim"), "its matches use all memory"),
        [told("unavailable", "seek: its matches use all memory", "s")],
    ),
    "a seek that is taken back is refunded": (
        [placed()],
        SeekWithdrawn("ann", "s"),
        [REFUND, Tell("ann", Unseeked(id="s"))],
    ),
    "so is one that never was": ([], SeekWithdrawn("ann", "s"), [Tell("ann", Unseeked(id="s"))]),
    "seeks end with the connection": ([placed("1"), placed("2")], BotLeft("ann"), [REFUND, REFUND]),
    "seeks of a game that moves are sent on": (
        [placed()],
        GamesMoved({"nim": URL}),
        [
            REFUND,
            told("elsewhere", f"this seek has ended: nim is now played on another node: connect to {URL}", "s", URL),
        ],
    ),
    "seeks of a game that is closed end, and others stay": (
        [placed("1"), SeekPlaced("ann", Seek(id="2", game="tictactoe"))],
        GameClosed("nim", "nim is closed on this server"),
        [REFUND, told("unavailable", "this seek has ended: nim is closed on this server", "1")],
    ),
    "who misses a match is suspended, and its seeks end": (
        [placed(), MatchAdded("m", ("ann", "bob"))],
        SeatReleased("m", "ann", missed=True),
        [NoteMissedMatch("ann", "m", 10.0), REFUND, told("unavailable", pause_message(10.0), "s")],
    ),
    "who stays is not": ([MatchAdded("m", ("ann", "bob"))], SeatReleased("m", "ann", stayed=True), []),
    "bots hear that the server drains, once": (
        [MatchAdded("m", ("ann", "bob"))],
        DrainStarted(),
        [told("unavailable", DRAINING_MESSAGE)],
    ),
    "and that it goes on": ([DrainStarted()], DrainCancelled(), [told("unavailable", DRAIN_CANCELLED_MESSAGE)]),
    "a server without matches stops at once": (
        [],
        DrainStarted(),
        [told("unavailable", DRAINING_MESSAGE), StopServer()],
    ),
    "a new timeout replaces the old one": (
        [MatchAdded("m", ("ann", "bob")), DrainStarted(60.0)],
        DrainStarted(5.0),
        [WakeAt(NOW + 5.0)],
    ),
    "it stops when the last match is over": (
        [MatchAdded("m", ("ann",)), DrainStarted()],
        SeatReleased("m", "ann"),
        [StopServer()],
    ),
    "newcomers hear it after their welcome": (
        [DrainStarted(), BotLoaded("bob", {})],
        BotJoined("bob", 1, "there"),
        [Tell("bob", Error(code="unavailable", message=DRAINING_MESSAGE), is_greeting=True)],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_an_event_has_these_effects(case: str) -> None:
    before, event, effects = CASES[case]
    board = SeekBoard()
    board.join("ann", slots=2)
    for earlier in before:
        board.feed(earlier)
    found = board.feed(event)
    if not any(isinstance(effect, WakeAt) for effect in effects):
        found = [effect for effect in found if not isinstance(effect, WakeAt)]
    assert found == effects


def test_the_only_slot_of_a_connection_is_not_called_all_slots() -> None:
    board = SeekBoard()
    board.join("ann", slots=1)
    board.feed(placed("1"))
    assert told("no_slots", "seek: the only slot of this connection holds a seek or a match", "2") in board.feed(
        placed("2")
    )


@pytest.mark.parametrize(
    ("seek", "code", "words"),
    [
        ({"game": "nim", "open": True, "config": {"heaps": [1]}}, "bad_config", "an open seek has no config"),
        ({"game": "nim", "open": True, "opponent": "bob"}, "not_allowed", "an open seek names no opponents"),
        ({"game": "nim", "open": True, "private": True}, "not_allowed", "open and private exclude each other"),
        ({"game": "nim", "open": True, "presets": ["no"]}, "bad_config", "nim has no preset 'no'"),
        ({"game": "nim", "presets": ["classic"]}, "not_allowed", "presets belong to an open seek"),
        ({"game": "chess", "open": True}, "unknown_game", "nim, grundy, tictactoe"),
        ({"game": "chess"}, "unknown_game", "nim, grundy, tictactoe"),
        ({"game": "nim", "private": True, "opponent": "bob"}, "not_allowed", "a private seek names no opponents"),
        (
            {"game": "risk-campaign", "config": {"players": 3}, "private": True},
            "not_allowed",
            "a match of 2 seats: this one has 3",
        ),
        ({"game": "nim", "opponents": ["bob", "cid"]}, "not_allowed", "2 opponents are named: this match has 2 seats"),
        ({"game": "nim", "opponents": ["ANN"]}, "not_allowed", "name another opponent"),
        ({"game": "risk-campaign", "opponents": ["bob", "BOB"]}, "not_allowed", "names a bot twice"),
        ({"game": "nim", "config": {"heaps": [999, 999], "start": "p-position"}}, "bad_config", "too rare to be dealt"),
        ({"game": "nim", "config": {"heaps": [-1]}}, "bad_config", "heaps[0] is -1: it must be an integer from 0"),
        ({"game": "nim", "config": {"heapz": [1]}}, "bad_config", "heaps, take, misere, start, preset"),
    ],
)
def test_a_seek_that_asks_for_too_much_is_answered_with_the_reason(seek: dict[str, Any], code: str, words: str) -> None:
    board = SeekBoard()
    board.add("ann", Seek(id="s", **seek))
    (answer,) = board.told
    assert isinstance(answer.message, Error)
    assert (answer.bot, answer.message.code, answer.message.ref) == ("ann", code, "s")
    assert words in answer.message.message
    assert board.seeks_of("ann") == []


def test_who_is_suspended_is_refused_until_the_time_is_over_and_then_paired() -> None:
    board = SeekBoard()
    board.join("ann", "bob")
    board.feed(MatchAdded("m", ("ann",)))
    board.feed(SeatReleased("m", "ann", missed=True))
    board.seek("ann")
    assert board.told[-1] == told("unavailable", pause_message(10.0), "s")
    board.advance(10.0)
    board.seek("ann")
    board.seek("bob", opponent="ann")
    assert board.until(1) == [("ann", "bob")]


def test_of_new_bots_of_one_address_one_plays_until_it_has_come() -> None:
    board = SeekBoard(held=True)
    for bot in ("ann", "bob", "cid", "dan"):
        board.feed(BotJoined(bot, 64, "here"))
    for bot in ("ann", "bob", "cid", "dan"):
        board.seek(bot)
    board.advance(60.0)
    (first,) = board.begun
    for bot in first:
        board.feed(BotReady(bot))
    assert board.until(2)[1] == tuple(sorted({"ann", "bob", "cid", "dan"} - {*first}))


def test_the_pause_of_an_address_ends_for_its_other_bots_although_the_bot_that_missed_pauses_longer() -> None:
    board = SeekBoard()
    for bot in ("ann", "bob"):
        board.feed(BotJoined(bot, 1, "here"))
    board.feed(BotReady("ann"))
    for match in ("1", "2"):  # the second time, ann counts as new again
        board.feed(MatchAdded(match, ("ann",)))
        if match == "2":
            board.seek("bob", opponent="cid")
            board.seek("cid", opponent="bob")
        board.advance(60.0)
        board.feed(SeatReleased(match, "ann", missed=True))
    board.advance(POLICY.first_pause_s + 0.1)
    assert board.begun == [("bob", "cid")]


def test_bots_whose_quotas_are_used_up_are_looked_at_again_until_none_is() -> None:
    board = SeekBoard()
    for bot in ("ann", "bob"):
        board.bar(bot)
    board.seek("ann", opponent="bob")
    board.seek("bob", opponent="ann")
    ticks = board.ticks
    board.advance(60.0)
    assert board.ticks - ticks >= 60.0 / POLICY.quota_check_interval_s
    board.bar("ann", free=True)
    assert board.wake_at is not None
    board.bar("bob", free=True)
    assert board.until(1) == [("ann", "bob")]
    board.advance(60.0)
    assert board.wake_at is None


# Assigned matches


def test_an_assigned_match_waits_for_its_bots_and_calls_those_that_are_elsewhere() -> None:
    board = SeekBoard()
    board.join("ann", slots=1)
    board.feed(MatchAssigned("t-1", ("ann", "zoe"), 9.0))
    assert CallBots(("zoe",)) in board.tick()
    board.feed(placed())
    board.advance(POLICY.call_interval_s - 0.1)
    assert board.seeks_of("ann") == ["s"]
    while CallBots(("zoe",)) not in board.tick():
        pass
    board.join("zoe")
    effects = board.tick()
    ended = "this seek has ended, because the bot was assigned to a tournament match: seek again"
    assert [effect for effect in effects if not isinstance(effect, WakeAt)] == [
        REFUND,
        told("unavailable", ended, "s"),
        StartAssigned("t-1", ()),
    ]
    assert board.lobby.free_slots("ann") == 0


def test_a_bot_that_does_not_come_in_time_is_absent() -> None:
    board = SeekBoard()
    board.join("ann")
    board.feed(MatchAssigned("t-1", ("zoe", "ann"), 9.0))
    board.advance(8.9)
    assert board.lobby.free_slots("ann") == 64
    assert board.tick()[-1] == StartAssigned("t-1", (0,))


def test_slots_that_become_free_are_kept_for_an_assigned_match_that_has_waited() -> None:
    board = SeekBoard()
    for bot in ("ann", "bob", "cid"):
        board.join(bot, slots=1)
        board.feed(MatchAdded(f"{bot} plays", (bot,)))
    board.feed(MatchAssigned("t-1", ("ann", "cid"), 9.0))
    board.advance(POLICY.reserve_delay_s)
    for bot in ("ann", "bob"):
        board.feed(SeatReleased(f"{bot} plays", bot, stayed=True))
        board.seek(bot, opponent="bob" if bot == "ann" else "ann")
    board.advance(60.0)
    assert (board.begun, board.seeks_of("ann")) == ([], ["s"])
    assert board.lobby.explain("ann", board.now) == {"s": "a slot of ann is reserved for an assigned match"}
    board.feed(AssignmentWithdrawn("t-1"))
    assert board.until(1) == [("ann", "bob")]


def test_a_bot_with_one_free_slot_more_than_are_reserved_is_paired_when_a_match_of_it_ends() -> None:
    board = SeekBoard()
    board.join("zoe", slots=1)
    board.join("ann", slots=3)
    for bot in ("ann", "bob", "zoe"):
        board.feed(BotReady(bot))
    for match, bot in (("1", "ann"), ("2", "ann"), ("3", "zoe")):
        board.feed(MatchAdded(match, (bot,)))
    board.feed(MatchAssigned("t-1", ("ann", "zoe"), 9.0))
    board.advance(POLICY.reserve_delay_s)
    board.seek("ann", opponent="bob")
    board.seek("bob", opponent="ann")
    board.advance(60.0)
    assert board.begun == []
    board.feed(SeatReleased("1", "ann", stayed=True))
    board.advance(1.0)
    assert board.begun == [("ann", "bob")]


# Why a seek waits, and the log


def test_each_seek_that_waits_has_a_reason() -> None:
    board = SeekBoard()
    board.seek("ann")
    board.seek("bob", "any", opponent="zoe")
    board.private("bob")
    board.open("bob")
    board.seek("cid", opponent="bob", heaps=[2])
    board.seek("dan", opponent="ann")
    board.bar("ann")
    board.seek("eve", heaps=[3])
    reasons = {bot: board.lobby.explain(bot, board.now) for bot in ("ann", "bob", "cid", "dan", "eve")}
    assert reasons == {
        "ann": {"s": "the quotas of address of ann are used up"},
        "bob": {
            "any": "zoe is not connected",
            "private": "no seek for this match names bob",
            "open": "no seek for nim needs this open seek",
        },
        "cid": {"s": "the next pairing round is due, or too few bots seek the other seats"},
        "dan": {"s": "the quotas of address of ann are used up"},
        "eve": {"s": "1 of 2 bots seek this match and may start it now; open seeks: 1"},
    }
    board.bar("ann", free=True)
    assert board.lobby.explain("ann", board.now) == {
        "s": "1 of 2 bots seek this match and may start it now; open seeks: 1"
    }
    board.feed(DrainStarted())
    assert board.lobby.explain("ann", board.now) == {"s": "no match begins, because the server drains"}


def test_a_seek_that_the_rate_limit_or_a_suspension_delays_says_so() -> None:
    board = SeekBoard(LobbyPolicy(max_matches_per_hour=1))
    for ref in ("1", "2"):
        for bot in ("ann", "bob"):
            board.seek(bot, ref)
    board.until(1)
    (reason,) = board.lobby.explain("ann", board.now).values()
    assert reason.startswith("the rate limit lets ann start its next ladder match in 360")
    board.feed(MatchAdded("m", ("bob",)))
    board.feed(SeatReleased("m", "bob", missed=True))
    board.seek("ann", "3", opponent="bob")
    assert board.lobby.explain("ann", board.now)["3"] == "bob has no seek for this match"
    assert board.lobby.explain("bob", board.now) == {}


def test_names_that_turn_out_to_be_unknown_are_marked_in_the_list_until_their_bot_comes() -> None:
    board = SeekBoard()
    board.seek("ann", opponent="zoe")
    board.feed(NameUnknown("zoe"))
    assert board.lobby.list_seeks("ann")[0].unknown == ["zoe"]
    board.join("zoe")
    assert board.lobby.list_seeks("ann")[0].unknown == []


def test_the_bots_that_a_seek_names_are_seated_in_the_order_of_their_names() -> None:
    others = ["eve", "bob", "dan", "fay", "cid"]
    board = SeekBoard()
    board.join("ann", *others)
    for bot in others:
        board.campaign(bot, *({"ann", *others} - {bot}), players=6)
    board.campaign("ann", *others, players=6)
    board.advance(5.0)
    (start,) = board.started
    assert list(start.bots[1:]) == sorted(set(start.bots) - {start.bots[0]})


def test_nothing_that_happens_to_a_lobby_breaks_what_holds_of_every_lobby() -> None:
    """Rules and invariants of the machine say what holds; here is said that matches began."""
    LobbyMachine.counts.clear()
    some = settings(max_examples=examples(12, nightly=500), stateful_step_count=50, deadline=None)
    run_state_machine_as_test(LobbyMachine, settings=some)
    assert LobbyMachine.counts["StartMatch"] > 5


async def test_the_log_of_a_server_tells_again_which_matches_it_started(serve: Any) -> None:
    log = io.BytesIO()
    served = await serve(lobby_log=log)
    first, second, start = await served.begun()
    await first.send(type="resign", match=start["match"])
    for client in (first, second):
        await client.expect("end")
    effects = [effect for _, found in replay(log.getvalue().splitlines(), Lobby()) for effect in found]
    (started,) = (effect for effect in effects if isinstance(effect, StartMatch))
    assert (started.match, sorted(started.bots), started.pool) == (start["match"], ["ann", "bob"], "nim/classic")
