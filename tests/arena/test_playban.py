"""Bots that do not come to their matches: what it costs them, and how little it costs the others."""

from __future__ import annotations

from typing import Any

import pytest

from arena.host.timeouts import HostTimeouts
from arena.lobby.events import BotLeft, BotReady
from arena.lobby.policy import LobbyPolicy
from arena.lobby.suspensions import Suspensions, pause_message
from protocol.messages import Clock
from seek_board import SeekBoard
from virtual_time import advance

HERE, THERE = "192.0.2.1", "192.0.2.2"

READY_TIMEOUT_S = HostTimeouts().match.ready_timeout_s


POLICY = LobbyPolicy()


@pytest.fixture
def suspensions() -> Suspensions:
    return Suspensions(POLICY)


def test_a_pause_is_told_in_whole_seconds() -> None:
    assert pause_message(9.2).endswith("seek again in 10 s")


def test_who_has_not_come_yet_has_one_match_at_a_time(suspensions: Suspensions) -> None:
    now = 1000.0
    assert suspensions.may_start("ann", HERE, now)
    suspensions.on_seated("ann", HERE)
    assert not suspensions.may_start("ann", HERE, now)
    assert not suspensions.may_start("ann", THERE, now)
    assert suspensions.on_ready("ann", ())
    assert suspensions.may_start("ann", HERE, now)
    suspensions.on_seated("ann", HERE)
    assert suspensions.may_start("ann", HERE, now)
    assert not suspensions.on_ready("ann", ())


def test_bots_of_one_address_that_have_not_come_yet_have_one_match_together(suspensions: Suspensions) -> None:
    now = 1000.0
    suspensions.on_seated("ann", HERE)
    assert (suspensions.may_start("bob", HERE, now), suspensions.may_start("cid", THERE, now)) == (False, True)
    suspensions.on_seated("bob", HERE)  # the other seat of the same match
    suspensions.on_ready("ann", ())
    assert suspensions.may_start("ann", HERE, now)
    assert not suspensions.may_start("dan", HERE, now)
    assert suspensions.on_released("bob")
    assert suspensions.may_start("dan", HERE, now)
    assert not suspensions.on_released("bob")


def test_who_misses_a_match_pauses_and_is_not_tried_any_more(suspensions: Suspensions) -> None:
    now = 1000.0
    suspensions.on_ready("ann", ())
    assert suspensions.on_missed("ann", now) == POLICY.first_pause_s
    assert (suspensions.pause_s("ann", HERE, now), suspensions.pause_s("bob", HERE, now)) == (POLICY.first_pause_s, 0)
    assert not suspensions.is_trusted("ann")
    now += POLICY.first_pause_s
    assert suspensions.pause_s("ann", HERE, now) == 0
    suspensions.on_seated("ann", HERE)
    assert not suspensions.may_start("ann", HERE, now)


def test_an_address_whose_new_bots_do_not_come_has_a_tenth_of_the_time(suspensions: Suspensions) -> None:
    now = 1000.0
    suspensions.on_ready("ann", ())
    pauses = []
    for number in range(6):
        troll = f"troll-{number}"
        assert suspensions.may_start(troll, HERE, now)
        suspensions.on_seated(troll, HERE)
        now += READY_TIMEOUT_S
        missed = suspensions.on_missed(troll, now)
        suspensions.on_released(troll)
        assert missed == suspensions.pause_s(troll, HERE, now)
        assert not suspensions.may_start("newcomer", HERE, now)
        pauses.append(suspensions.pause_s("newcomer", HERE, now))
        now += pauses[-1]
    assert pauses == [10, 20, 40, 80, 90, 90]
    assert pauses[-1] == POLICY.max_address_pause_s == 9 * READY_TIMEOUT_S
    assert (suspensions.pause_s("ann", HERE, now), suspensions.pause_s("newcomer", THERE, now)) == (0, 0)


def test_a_silent_bot_with_64_slots_takes_one_honest_bot_at_a_time() -> None:
    board = SeekBoard(held=True)
    for number in range(64):
        board.seek("troll", str(number))
    for bot in ("ann", "bob", "cid"):
        board.join(bot)
        board.feed(BotReady(bot))
        board.seek(bot)
        board.advance(60.0)
    assert board.begun == [("ann", "troll"), ("bob", "cid")]


def test_bots_that_leave_while_a_round_goes_on_are_passed_over() -> None:
    board = SeekBoard(LobbyPolicy(pairing_batch_size=2))
    for number in range(5):
        board.seek(f"bot-{number}")
    board.tick()
    for number in range(5):
        board.feed(BotLeft(f"bot-{number}"))
    board.advance(60.0)
    assert (board.begun, board.wake_at) == ([], None)


# Over sockets


@pytest.mark.virtual_time
async def test_a_seek_of_who_missed_a_match_is_answered_with_the_pause(serve: Any) -> None:
    served = await serve(timeouts=HostTimeouts())
    ann, bob = await served.enter("ann"), await served.enter("bob", slots=3)
    for ref in ("1", "2"):
        await bob.send(type="seek", id=ref, game="nim")
    await bob.send(type="seek", id="other", game="grundy")
    await ann.send(type="seek", id="a", game="nim")
    await served.matched(bob, ann)
    await ann.ready(await ann.expect("start"))
    await ann.heard()
    await advance(READY_TIMEOUT_S)
    assert (await ann.expect("end"))["reason"] == "no_show"
    taken_back = {(await bob.expect("error"))["ref"] for _ in range(2)}
    assert taken_back == {"2", "other"}
    await bob.send(type="seek", id="again", game="nim")
    error = await bob.expect("error")
    assert (error["code"], error["ref"]) == ("unavailable", "again")
    assert error["message"].endswith("seek again in 10 s")
    await ann.send(type="seek", id="b", game="nim")
    cid = await served.enter("cid")
    await cid.send(type="seek", id="c", game="nim")
    assert (await cid.expect("error"))["code"] == "unavailable", "a new bot of that address"


async def test_who_walks_away_frees_the_opponent(serve: Any) -> None:
    served = await serve(away_s=0.05, clock=Clock(bank_ms=600_000, increment_ms=0))
    first, second, start = await served.begun()
    assert start["away_ms"] == 50
    await first.expect("turn")
    await first.wire.close()
    end = await second.expect("end")
    assert [seat["reason"] for seat in end["seats"]] == ["disconnected", "win"]
