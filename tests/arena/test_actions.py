"""The log of what the operator does: who did what when, by a server and without one."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from arena.network.admission import Access
from arena.operations.administration import all_handlers
from arena.operator.changes import DisconnectedBots, Register, Revoke
from arena.operator.client import connect_to_url
from arena.operator.requests import COMMAND_LINE_ORIGIN
from arena.operator.status import ServerStatus, StatusRequest
from arena.store.actions import MAX_CONCERNED_NAMES, AuditEntry, actions_page, log_action
from arena.store.registry import add_bots, anonymize_bot, rename_bot
from arena.store.store import Store
from commands import call
from databases import EVERY_DATABASE
from protocol.errors import UsageFault

pytestmark = EVERY_DATABASE

TOKEN = "secret"


def told(store: Store) -> list[AuditEntry]:
    """All that is kept, the newest first."""
    return store.read(actions_page, limit=500).rows


def facts(action: AuditEntry) -> tuple[str, str, list[str], str | None]:
    return action.by, action.do, action.concerns, action.fault


async def test_a_change_is_kept_with_who_made_it_and_what_was_wrong_and_a_question_is_not(serve: Any) -> None:
    served = await serve(access=Access(operator_token=TOKEN), make_operations=all_handlers)
    url = f"ws://127.0.0.1:{served.port}"
    async with connect_to_url(url, TOKEN) as commands, connect_to_url(url, TOKEN, "admin page, from 10.0.0.7") as page:
        await commands.ask(Register(hashes={"anna": "a" * 64, "ben": "b" * 64}), type(None))
        await page.ask(StatusRequest(), ServerStatus)
        await page.ask(Revoke(names=["ben"]), DisconnectedBots)
        with pytest.raises(UsageFault):
            await page.ask(Revoke(names=["zoe"]), DisconnectedBots)
    found = await asyncio.to_thread(told, served.store)
    assert list(map(facts, found)) == [
        ("admin page, from 10.0.0.7", "revoke", ["zoe"], "there is no bot called zoe: `arena bot list` names them"),
        ("admin page, from 10.0.0.7", "revoke", ["ben"], None),
        (COMMAND_LINE_ORIGIN, "register", ["anna", "ben"], None),
    ]
    assert all(action.at.endswith("Z") for action in found)


async def test_what_can_not_be_kept_is_done_all_the_same(
    serve: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*words: object) -> int:
        raise UsageFault("the disk is full")

    monkeypatch.setattr("arena.server.action_log.log_action", fail)
    served = await serve(access=Access(operator_token=TOKEN), make_operations=all_handlers)
    async with connect_to_url(f"ws://127.0.0.1:{served.port}", TOKEN) as commands:
        await commands.ask(Register(hashes={"anna": "a" * 64}), type(None))
    assert "the log of actions lacks a register: the disk is full" in caplog.text


def test_commands_without_a_server_are_kept_too(store: Store, tmp_path: Path) -> None:
    data = str(tmp_path)
    for words in (("bot", "add", "anna"), ("bot", "revoke", "anna"), ("season", "start", "second")):
        assert call("arena", *words, "--data", data).code == 0
    assert list(map(facts, told(store))) == [
        (COMMAND_LINE_ORIGIN, "start_season", ["second"], None),
        (COMMAND_LINE_ORIGIN, "revoke", ["anna"], None),
        (COMMAND_LINE_ORIGIN, "register", ["anna"], None),
    ]


def test_a_bot_is_called_in_the_log_as_it_is_called_now(store: Store) -> None:
    store.write(add_bots, {"anna": "a" * 64, "ben": "b" * 64})
    store.write(log_action, COMMAND_LINE_ORIGIN, "revoke", ["Anna", "ben"])
    store.write(rename_bot, "anna", "zoe")
    assert [action.concerns for action in told(store)] == [["zoe", "ben"]]
    placeholder = store.write(anonymize_bot, "zoe")
    assert [action.concerns for action in told(store)] == [[placeholder, "ben"]]


def test_of_a_long_list_the_beginning_is_kept_and_how_many_more_there_were(tmp_path: Path) -> None:
    names = [f"bot{number}" for number in range(MAX_CONCERNED_NAMES + 7)]
    with closing(Store.open(tmp_path / "arena.db")) as store:
        store.write(log_action, COMMAND_LINE_ORIGIN, "register", names)
        (action,) = told(store)
    assert (action.concerns, action.more) == (names[:MAX_CONCERNED_NAMES], 7)
