"""What the operator decides about bots counts at once, for those that are connected too."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from arena.lobby.policy import LobbyPolicy
from arena.network.admission import Access
from arena.operations.administration import all_handlers
from arena.operator.changes import Approve, DisconnectedBots, Revoke, Rotate
from arena.operator.client import OperatorConnection, connect_to_folder, connect_to_url
from arena.operator.status import ServerStatus, StatusRequest
from arena.server.auth import Registration
from arena.store.registry import add_bots, revoke_bots
from arena.store.tokens import hash_token
from processes import run, serving
from protocol.errors import UsageFault
from protocol.messages import Clock
from timeouts import WITHIN
from virtual_time import advance

TOKEN = "secret"


async def operated(serve: Any, **options: Any) -> Any:
    return await serve(access=Access(operator_token=TOKEN), make_operations=all_handlers, **options)


def operator_of(served: Any) -> Any:
    return connect_to_url(f"ws://127.0.0.1:{served.port}", TOKEN)


async def refused(served: Any, **hello: str) -> str:
    client = await served.connect()
    await client.send(type="hello", **hello)
    told = await client.expect("error")
    return f"{told['code']}: {told['message']}"


async def revoke(operator: OperatorConnection, *names: str) -> list[str]:
    return (await operator.ask(Revoke(names=list(names)), DisconnectedBots)).bots


async def test_a_revoked_bot_is_told_why_and_its_connection_ends(serve: Any) -> None:
    served = await operated(serve)
    ann, bob = await served.enter("ann"), await served.enter("bob")
    async with operator_of(served) as operator:
        assert await revoke(operator, "ANN") == ["ANN"]
        error = await ann.expect("error")
        assert (error["code"], error["fatal"]) == ("auth_failed", True)
        assert error["message"] == "the operator revoked ann: it may no longer connect"
        assert await ann.closed() == 4001
        assert (await revoke(operator, "ann")) == []
    await bob.send(type="list")
    assert [bot["bot"] for bot in (await bob.expect("listing"))["bots"]] == ["bob"]


@pytest.mark.virtual_time
async def test_a_revoked_bot_is_away_from_its_match_and_its_clock_runs_out(serve: Any) -> None:
    served = await operated(serve, clock=Clock(bank_ms=2000, increment_ms=0))
    _, second, start = await served.begun()
    async with operator_of(served) as operator:
        await revoke(operator, start["seats"][0]["bot"])
        await advance(2.0)
    end = await second.expect("end")
    assert (end["reason"], end["ranks"]) == ("disconnected", [2, 1])


async def test_a_rotated_bot_comes_back_to_its_match_with_its_new_token(serve: Any) -> None:
    served = await operated(serve)
    first, _, start = await served.begun()
    name = start["seats"][0]["bot"]
    async with operator_of(served) as operator:
        told = await operator.ask(Rotate(name=name, token_hash=hash_token("n" * 16)), DisconnectedBots)
    assert told.bots == [name]
    assert (await first.expect("error"))["message"] == f"the operator gave {name} a new token: use that one"
    assert await first.closed() == 4001
    assert (
        await refused(served, bot=name, token=f"{name:*>16}")
        == f"auth_failed: {name} is taken here, not by this token; choose another name, or give its token"
    )
    client = await served.connect()
    await client.send(type="hello", bot=name, token="n" * 16)
    assert (await client.expect("welcome"))["resumed"] == [start["match"]]


@pytest.mark.parametrize(("known", "token"), [(True, f"{'ann':*>16}"), (False, f"{'ann':*>16}"), (False, None)])
async def test_who_is_coming_in_when_it_is_revoked_stays_out(
    serve: Any, door: Any, known: bool, token: str | None
) -> None:
    served = await operated(serve)
    if known:
        await (await served.enter("ann")).wire.close()
    door.hold()
    coming = asyncio.create_task(refused(served, bot="ann", token=token))
    await door.looked_up.wait()
    async with operator_of(served) as operator:
        assert await revoke(operator, "ann") == []
    door.go_on.set()
    assert "ann was revoked by the operator" in await coming


async def test_revoked_wrong_token_and_closed_registration_are_three_messages(serve: Any) -> None:
    served = await operated(serve, registration=Registration(open=False))
    for name in ("ann", "bob"):
        served.store.write(add_bots, {name: hash_token(f"{name:*>16}")})
    served.store.write(revoke_bots, ["ann"])
    revoked = "auth_failed: ann was revoked by the operator, who alone can give it a new token"
    assert await refused(served, bot="ANN", token=f"{'ann':*>16}") == revoked
    assert await refused(served, bot="ann") == revoked
    assert (
        await refused(served, bot="bob", token="x" * 16)
        == "auth_failed: bob is taken here, not by this token; choose another name, or give its token"
    )
    closed = "not_allowed: cid is not registered, and registration is closed: ask the operator"
    assert await refused(served, bot="cid", token="x" * 16) == closed


async def test_what_is_no_hash_of_a_token_is_refused(serve: Any) -> None:
    served = await operated(serve)
    await (await served.enter("ann")).wire.close()
    async with operator_of(served) as operator:
        for token_hash in ("ä" * 64, "0" * 63, "A" * 64, "0" * 64 + "\n"):
            with pytest.raises(UsageFault, match=r"^rotate: token_hash is "):
                await operator.ask(Rotate(name="ann", token_hash=token_hash), DisconnectedBots)
    assert await served.enter("ann")


async def test_an_unknown_name_changes_nothing(serve: Any) -> None:
    served = await operated(serve)
    ann = await served.enter("ann")
    async with operator_of(served) as operator:
        with pytest.raises(UsageFault, match="there is no bot called eve"):
            await revoke(operator, "ann", "eve")
    await ann.send(type="list")
    assert await ann.expect("listing")


async def test_an_approval_counts_for_the_next_match(serve: Any) -> None:
    served = await operated(serve, policy=LobbyPolicy(approved_only=True))
    clients = [await served.enter(name) for name in ("ann", "bob")]
    async with operator_of(served) as operator:
        await operator.ask(Approve(names=["ann", "bob"]), type(None))
    for client in clients:
        await client.send(type="seek", id="s1", game="nim")
    assert (await clients[0].expect("start"))["rated"] is True


async def _on_line(data: Path, *names: str) -> None:
    """Return once these bots are connected."""
    async with asyncio.timeout(WITHIN), connect_to_folder(data) as operator:
        while {bot.bot for bot in (await operator.ask(StatusRequest(), ServerStatus)).bots} < {*names}:
            pass


async def test_a_running_bot_that_is_revoked_or_rotated_stops_with_a_line_that_says_so(tmp_path: Path) -> None:
    data = ("--data", str(tmp_path))
    async with serving(tmp_path) as served:
        bots = [
            asyncio.create_task(
                run("arena-bot", "run", "random", "--name", name, "--url", served.url, "--game", "nim", folder=tmp_path)
            )
            for name in ("ann", "bob")
        ]
        await _on_line(tmp_path, "ann", "bob")
        code, out, err = await run("arena", "bot", "revoke", "ann", *data, folder=tmp_path)
        assert (code, err) == (0, "")
        assert out == (
            "ann may no longer connect; its connection was ended; `arena bot rotate ann` gives it a new token\n"
        )
        code, _, err = await bots[0]
        assert (code, "ann: the operator revoked ann: it may no longer connect (auth_failed)\n" in err) == (1, True)
        database = ("--db", f"sqlite:///{tmp_path}/arena.db")  # named by itself, it is the server's all the same
        code, out, err = await run("arena", "bot", "rotate", "bob", *database, folder=tmp_path)
        assert (code, re.fullmatch(r"\S{43}\n", out) is not None) == (0, True)
        assert err.splitlines()[1] == "arena: bob was online with its old token: that connection was ended"
        code, _, err = await bots[1]
        assert (code, "the operator gave bob a new token: use that one" in err) == (1, True)
