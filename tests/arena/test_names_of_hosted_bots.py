"""The name of a hosted bot stays its owner's, also if the bot has not played yet, and is no runner's afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from arena.server.arena import Arena
from arena.server.auth import Authenticator, AuthFailed, Registration, Tickets
from arena.store.bot_versions import add_version, count_versions
from arena.store.registry import find_registered_bot, register_bot
from arena.store.store import Store
from arena.store.tokens import hash_token
from databases import alter
from machine.timestamps import utc_now
from protocol.messages import Hello

TOKEN = "a" * 16


class DirectStore:
    """A store whose queries need no thread."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def read(self, query: Any, *words: Any) -> Any:
        return self._store.read(query, *words)

    async def write(self, query: Any, *words: Any) -> Any:
        return self._store.write(query, *words)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store with the bot ann, who handed a program in, and whom nobody has seen for long."""
    with closing(Store.open(tmp_path / "arena.db")) as store:
        store.write(register_bot, "ann", hash_token(TOKEN))
        _hand_in(store)
        _forget(store)
        yield store


def _hand_in(store: Store) -> None:
    store.write(add_version, "ann", "0" * 64, b"zip", '{"games": ["nim"]}')


def _forget(store: Store) -> None:
    alter(store.database, f"UPDATE bots SET seen = '{utc_now(days_ago=31)}'")


async def test_a_runner_that_logs_a_bot_in_takes_no_name_that_was_unused_for_long(store: Store) -> None:
    authenticator = Authenticator(DirectStore(store), Registration())  # type: ignore[arg-type]
    ticket = authenticator.tickets.issue("ann")
    identity = await authenticator.identify(Hello(bot="ann", token=ticket, client="runner"), "127.0.0.1")
    assert (identity.bot, identity.registered) == ("ann", False)
    assert store.read(find_registered_bot, "ann").token_hash == hash_token(TOKEN)
    assert store.read(count_versions, "ann") == 1


async def test_a_name_is_in_use_for_which_a_program_is_handed_in(store: Store) -> None:
    _hand_in(store)
    authenticator = Authenticator(DirectStore(store), Registration())  # type: ignore[arg-type]
    with pytest.raises(AuthFailed):
        await authenticator.identify(Hello(bot="ann", token="x" * 16, client="stranger"), "127.0.0.1")
    assert store.read(count_versions, "ann") == 1


def test_no_runner_logs_in_under_a_name_that_a_bot_had() -> None:
    tickets = Tickets()
    ticket = tickets.issue("ann")
    Arena.on_renamed(Mock(tickets=tickets), "ann", "eve")
    assert not tickets.is_valid(ticket, "ann")


@pytest.mark.parametrize("bot", ["ann", "eve"])
async def test_a_ticket_that_is_over_registers_no_bot(store: Store, bot: str) -> None:
    authenticator = Authenticator(DirectStore(store), Registration())  # type: ignore[arg-type]
    ticket = Tickets().issue(bot)
    with pytest.raises(AuthFailed, match=f"{bot} was renamed or deleted while a runner ran it"):
        await authenticator.identify(Hello(bot=bot, token=ticket, client="runner"), "127.0.0.1")
    assert store.read(count_versions, "ann") == 1
