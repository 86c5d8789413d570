"""What a real server tells of a hand and of a round that go on: to seats, to whoever watches or lists, in its log."""

from __future__ import annotations

import logging
from typing import Any

import msgspec
import pytest

from arena.operator.status import StatusRequest
from arena.store.result_queries import record_of


async def asked(client: Any) -> dict[str, Any]:
    """What comes next to a client, were there nothing but the answer to its question."""
    await client.send(type="unseek", id="is-there-anything")
    answer: dict[str, Any] = await client.receive()
    return answer


async def watching(served: Any, match: str) -> Any:
    watcher = await served.connect()
    await watcher.send(type="hello")
    await watcher.expect("welcome")
    await watcher.send(type="watch", match=match)
    return watcher


async def test_nobody_is_told_a_card_but_the_seat_that_holds_it(serve: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    served = await serve()
    first, second, start = await served.begun("kuhn", config={"hands": 9})
    watcher = await watching(served, start["match"])
    turn = await first.expect("turn")
    shown = await watcher.expect("turn")
    (own,) = [card for card in turn["state"]["cards"] if card is not None]
    assert turn["events"][0]["move"] == {"cards": [own, None]}
    assert shown["state"]["cards"] == shown["events"][0]["move"]["cards"] == [None, None]
    await first.send(type="move", match=start["match"], ply=1, move={"do": "bet"}, info={"note": "I hold it"})
    answer = await second.expect("turn")
    assert answer["state"]["cards"][0] is None
    assert "I hold it" not in str(answer)
    assert "I hold it" not in str(await watcher.expect("turn"))
    await watcher.send(type="list")
    listing = await watcher.expect("listing")
    status = await served.perform(StatusRequest())
    for told in (listing, msgspec.to_builtins(status), caplog.text):
        assert "card" not in str(told)
        assert "I hold it" not in str(told)
    assert served.store.read(record_of, start["match"]) is None, "there is no record before the end"
    await second.send(type="resign", match=start["match"])
    end = await watcher.expect("end")
    assert None not in end["state"]["cards"]


async def test_a_move_in_a_round_is_no_frame_to_anyone_until_all_have_moved(serve: Any) -> None:
    served = await serve()
    first, second, start = await served.begun("dilemma")
    match = start["match"]
    watcher = await watching(served, match)
    for client in (first, second, watcher):
        assert (await client.expect("turn"))["to_move"] == [0, 1]
    await first.send(type="move", match=match, ply=0, move={"choose": 1})
    for client in (first, second, watcher):
        assert (await asked(client))["type"] == "unseeked"
    late = await watching(served, match)
    turn = await late.expect("turn")
    assert (turn["events"], turn["clock"]) == ([], [60_000, 60_000])
    (under_way,) = (await served.perform(StatusRequest())).matches
    assert (under_way.ply, under_way.clock_ms, under_way.to_move) == (0, [60_000, 60_000], None)
    await second.send(type="move", match=match, ply=0, move={"choose": 0})
    for client in (first, second, watcher, late):
        (event,) = (await client.expect("turn"))["events"]
        assert event["moves"] == [{"choose": 1}, {"choose": 0}]


async def test_who_comes_back_in_the_midst_of_a_round_learns_nothing_of_the_others(serve: Any) -> None:
    served = await serve()
    first, second, start = await served.begun("dilemma")
    turn = await second.expect("turn")
    await first.expect("turn")
    await first.send(type="move", match=start["match"], ply=0, move={"choose": 1})
    assert (await asked(first))["type"] == "unseeked"
    again = await served.enter(start["seats"][1]["bot"])
    assert (await again.expect("start"))["resumed"]
    told = await again.expect("turn")
    assert {**told, "clock": told["clock"][:1]} == {**turn, "clock": turn["clock"][:1]}


@pytest.mark.parametrize(
    ("ply", "move", "code", "said"),
    [
        (0, {"choose": 0}, "not_your_turn", "you have moved at ply 0, and that stands: the others are still to move"),
        (1, {"choose": 0}, "stale_ply", "ply 1 is not asked yet: the match is at ply 0"),
    ],
)
async def test_a_second_move_in_a_round_is_refused_in_one_line(
    serve: Any, ply: int, move: dict[str, Any], code: str, said: str
) -> None:
    first, _, start = await (await serve()).begun("dilemma")
    await first.expect("turn")
    await first.send(type="move", match=start["match"], ply=0, move={"choose": 1})
    await first.send(type="move", match=start["match"], ply=ply, move=move)
    rejected = await first.receive()
    assert (rejected["type"], rejected["code"], rejected["message"]) == ("rejected", code, said)
    assert "strikes_left" not in rejected


async def test_moves_before_the_deal_and_for_anothers_seat_are_refused_in_one_line(serve: Any) -> None:
    first, second, start, _ = await (await serve()).pair("kuhn")
    move = {"type": "move", "match": start["match"], "move": {"do": "check"}}
    await second.send(**move, ply=0)
    early = await second.expect("rejected")
    assert early["message"] == "the match has not begun: it begins when every seat has sent ready"
    for client in (first, second):
        await client.ready(start)
    await first.expect("turn")
    await second.send(**move, ply=1)
    assert (await second.receive())["message"] == "seat 0 is to move at ply 1"
    await second.send(**move, ply=0)
    assert (await second.receive())["message"] == "ply 0 has passed: the match is at ply 1"
    await first.send(**move | {"move": {"do": "call"}}, ply=1)
    rejected = await first.receive()
    assert (rejected["message"], rejected["strikes_left"]) == ("call is not possible now: one of check, bet", 2)
