"""What a real server answers in the midst of a round, and before a hand is dealt."""

from __future__ import annotations

from typing import Any

import pytest


async def asked(client: Any) -> dict[str, Any]:
    """What comes next to a client, were there nothing but the answer to its question."""
    await client.send(type="unseek", id="is-there-anything")
    answer: dict[str, Any] = await client.receive()
    return answer


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
        (0, {"choose": 0}, "not_your_turn", "you have already moved at ply 0: the others still have to move"),
        (1, {"choose": 0}, "stale_ply", "ply 1 has not been reached: the match is at ply 0"),
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
