"""What went wrong with a bot by its own doing is kept, and told; strangers do not keep the disk busy with it."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import closing
from typing import Any

import pytest

from arena.host import event_log
from arena.host.event_log import EventLog, describe_trouble
from arena.host.timeouts import HostTimeouts
from arena.network.connection import CloseInfo
from arena.store.incident import Incident
from arena.store.registry import MAX_INCIDENTS, add_bots, latest_incidents, log_incident, register_bot
from arena.store.store import Reader
from arena.store.tokens import hash_token
from databases import EVERY_DATABASE
from patience import patient_host
from timeouts import WITHIN
from virtual_time import advance

pytestmark = EVERY_DATABASE


async def noted(served: Any, bot: str, count: int = 1) -> list[Incident]:
    """What is kept of a bot, once it is so much; the newest first."""
    with closing(Reader.open(served.data / "arena.db")) as reader:
        async with asyncio.timeout(WITHIN):
            while len(found := await asyncio.to_thread(reader.read, latest_incidents, bot)) < count:
                pass
        return found


async def test_twenty_bad_messages_are_noted_with_the_last(serve: Any) -> None:
    served = await serve()
    ann = await served.enter("ann")
    for _ in range(20):
        await ann.send(type="seek", id="s", game=5)
    assert await ann.closed() == 4000
    assert ann.passed[-2]["ref"] == "s"
    (incident,) = await noted(served, "ANN")
    assert incident.code == "4000"
    last = "seek: game is 5: the name of a game, as in welcome"
    assert incident.text == f"closed after 20 bad messages; the last: {last}"


async def test_a_connection_that_breaks_off_or_is_closed_with_a_match_under_way_is_noted(serve: Any) -> None:
    served = await serve()
    first, second, _ = await served.begun()
    names = [client.passed[0]["bot"] for client in (first, second)]
    first.wire.transport.abort()
    await second.wire.close()
    assert [(one.code, one.text) for one in await noted(served, names[0])] == [
        ("1006", "the connection broke without a close frame, with 1 match under way")
    ]
    assert [(one.code, one.text) for one in await noted(served, names[1])] == [
        ("1000", "the bot closed the connection (1000), with 1 match under way")
    ]


@pytest.mark.virtual_time
async def test_a_match_that_a_bot_does_not_come_to_is_noted(serve: Any) -> None:
    served = await serve(timeouts=HostTimeouts())
    _, second, start, _ = await served.pair()
    await second.ready(start)
    await second.heard()
    await advance(HostTimeouts().match.ready_timeout_s)
    absent = start["seats"][0]["bot"]
    (incident,) = await noted(served, absent)
    text = (
        f"it missed {start['match']} and is suspended for 10 s: it was not ready in time, or dropped out without a move"
    )
    assert (incident.code, incident.text) == ("no_show", text)


async def test_a_wrong_token_is_noted_for_a_name_that_is_known_and_for_no_other(serve: Any) -> None:
    served = await serve()
    await served.archive.write(add_bots, {"ann": hash_token("a" * 16)})
    for token in ({"token": "b" * 16}, {}):
        client = await served.connect()
        await client.send(type="hello", bot="Ann", **token)
        assert await client.closed() == 4001
    texts = [(one.code, one.text) for one in await noted(served, "ann", 2)]
    assert texts == [
        ("name_taken", "a client used this name without its token and was rejected"),
        ("auth_failed", "a client used this name with another token and was rejected"),
    ]


async def test_a_bot_that_leaves_in_order_and_a_stop_of_the_arena_are_no_incidents(serve: Any) -> None:
    served = await serve()
    ann, _ = await served.enter("ann"), await served.enter("bob")
    await ann.wire.close()
    await served.restart()
    assert await noted(served, "ann", 0) == await noted(served, "bob", 0) == []


async def test_who_has_many_incidents_keeps_the_disk_busy_no_longer() -> None:
    noted_of: Counter[str] = Counter()

    async def note(bot: str, incident: Incident) -> None:
        noted_of[bot] += 1

    events = EventLog(note, clock=lambda: 0.0)
    for bot in ("ann",) * 1000 + ("bob",) + tuple(f"stranger-{number}" for number in range(1000)):
        events.note_incident(bot, 4000, "")
    await events.close()
    assert (noted_of["ann"], noted_of["bob"]) == (event_log.BOT_INCIDENTS_RATE.burst, 1)
    assert noted_of.total() == event_log.INCIDENTS_RATE.burst


async def test_the_last_incidents_of_a_bot_are_kept_and_none_of_a_name_that_is_given_away(serve: Any) -> None:
    served = await serve()
    store = served.store
    store.write(register_bot, "ann", "a" * 64)
    for number in range(MAX_INCIDENTS + 5):
        store.write(
            log_incident, "ann", Incident(at="2026-01-31T12:00:00.000Z", code="4000", text=f"{number} " + "x" * 1000)
        )
    kept = await noted(served, "ann")
    assert [one.text.split()[0] for one in kept] == [str(number) for number in range(MAX_INCIDENTS + 4, 4, -1)]
    assert {len(one.text) for one in kept} == {500}
    store.write(register_bot, "Ann", "b" * 64, unused_since="9999")
    assert await noted(served, "ann", 0) == []
    store.write(log_incident, "nobody", kept[0])


def test_how_a_connection_ended_is_told_in_a_sentence() -> None:
    silent = CloseInfo(1011, "keepalive ping timeout", by_arena=True)
    assert (
        describe_trouble(silent, "", 2)
        == "closed by the arena (1011): keepalive ping timeout, with 2 matches under way"
    )
    twice = "replaced by a newer connection under the same name: the bot reconnected, or runs twice"
    assert describe_trouble(CloseInfo(4003, "superseded", by_arena=True), "", 0) == twice
    slow = "closed because the bot read its messages too slowly"
    assert describe_trouble(CloseInfo(4005, "does not read", by_arena=True), "", 0) == slow
    assert describe_trouble(CloseInfo(1000, "", by_arena=False), "", 0) is None
    assert describe_trouble(CloseInfo(None, "", by_arena=False), "", 0) == "the connection broke without a close frame"


async def test_who_reads_nothing_is_noted_as_such(serve: Any) -> None:
    served = await serve(timeouts=patient_host(write_timeout_s=0.05))
    ann = await served.enter("ann")
    ann.wire.transport.pause_reading()
    wire = next(iter(served.arena.host.clients.sessions.values())).connection
    while not wire.is_write_paused:
        wire.send_frame(bytes(100_000))
        await asyncio.sleep(0)
    assert (await noted(served, "ann"))[0].code == "4005"
    ann.wire.transport.abort()  # who reads nothing does not answer a close either, for which the server waits
