"""An `info` that no record can keep: the move stands, its bot is told, and the match goes on."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from timeouts import WITHIN


@pytest.mark.parametrize(
    ("info", "says"),
    [
        ('{"nodes": 18446744073709551616}', "info: an integer of more than 64 bits"),
        (f'{{"nodes": {"9" * 5000}}}', "info: not JSON: Integer value out of range"),
        ('{"value": NaN}', "info: not JSON"),
    ],
)
async def test_a_move_stands_whose_info_cannot_be_kept(serve: Any, info: str, says: str) -> None:
    served = await serve()
    other = await served.enter("other")
    raw = await served.connect(subprotocols=["arena.v1.json"])

    async def said(kind: str) -> dict[str, Any]:
        while (message := json.loads(await asyncio.wait_for(raw.wire.recv(), WITHIN)))["type"] != kind:
            assert message["type"] != "rejected", message
        return dict(message)

    await raw.wire.send(json.dumps({"type": "hello", "bot": "raw", "token": "r" * 16}))
    await said("welcome")
    await raw.wire.send(json.dumps({"type": "seek", "id": "s", "game": "nim"}))
    await other.send(type="seek", id="s", game="nim")
    start = await said("start")
    await raw.wire.send(json.dumps({"type": "ready", "match": start["match"]}))
    await other.ready(await other.expect("start"))
    if start["seat"] == 1:  # who is not to move hears nothing
        mine = await other.expect("turn")
        await other.send(type="move", match=start["match"], ply=mine["ply"], move=mine["legal"][0])
    turn = await said("turn")
    move = json.dumps({"type": "move", "match": start["match"], "ply": turn["ply"], "move": turn["legal"][0]})
    await raw.wire.send(f'{move[:-1]}, "info": {info}}}')
    error = await said("error")
    assert (error["code"], error["ref"]) == ("bad_message", start["match"])
    assert error["message"].startswith(says)
    assert error["message"].endswith(f"the move at ply {turn['ply']} counts")
    answer = await other.expect("turn")
    assert answer["events"][-1]["move"] == turn["legal"][0]
