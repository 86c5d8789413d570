"""Who may come in under which name, over real sockets."""

from __future__ import annotations

from typing import Any

import pytest

from arena.store.database import StoreFailed


async def test_the_same_name_without_its_token_stays_out(serve: Any) -> None:
    served = await serve()
    await served.enter("ann")
    for token, code in ((None, "name_taken"), ("x" * 16, "auth_failed")):
        client = await served.connect()
        await client.send(type="hello", bot="ANN", **({} if token is None else {"token": token}))
        error = await client.expect("error")
        assert (error["code"], error["fatal"]) == (code, True)
        assert await client.closed() == 4001


async def test_a_new_bot_without_a_token_is_given_one_once(serve: Any) -> None:
    served = await serve()
    client = await served.connect()
    await client.send(type="hello", bot="ann")
    token = (await client.expect("welcome"))["token"]
    again = await served.connect()
    await again.send(type="hello", bot="ann", token=token)
    assert "token" not in await again.expect("welcome")


async def test_with_closed_registration_a_new_name_stays_out(serve: Any) -> None:
    served = await serve(registration="closed")
    client = await served.connect()
    await client.send(type="hello", bot="ann")
    assert (await client.expect("error"))["code"] == "not_allowed"
    assert await client.closed() == 4001


async def test_two_connections_of_a_new_bot_at_once_are_both_let_in(serve: Any) -> None:
    served = await serve()
    clients = [await served.connect() for _ in range(2)]
    for client in clients:
        await client.send(type="hello", bot="ann", token="a" * 16)
    for client in clients:
        assert (await client.receive())["type"] == "welcome"


async def test_a_store_that_fails_lets_nobody_in_and_says_to_come_back(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(name: str) -> None:
        raise StoreFailed("arena.db: disk I/O error")

    served = await serve()
    monkeypatch.setattr(served.store, "bot", fails)
    client = await served.connect()
    await client.send(type="hello", bot="ann", token="a" * 16)
    assert await client.closed() == 1012
    assert [(error["code"], error["fatal"]) for error in client.passed] == [("unavailable", True)]
