"""An arena that is one of several nodes, as far as that shows without the others: they are scripted here."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from arena.host.journal import JournalFault
from arena.lobby.policy import LobbyPolicy
from arena.runs.play_request import PlayRequest
from arena.server.nodes import MIN_READ_INTERVAL_S, NODE_LOST_WARNING_S, ClusterView, SingleNode
from arena.store.announcements import Announcement, AnnouncementBatch
from arena.store.async_store import AsyncStore
from arena.store.nodes import BotGone, MatchInProgress, NodeStatus
from arena.store.registry import rename_bot, revoke_bots, rotate_token
from arena.store.tokens import hash_token
from machine.arguments import read_clock
from machine.event_loop import background_task
from machine.timestamps import format_timestamp
from protocol.dice import SEED_BYTES
from protocol.errors import ArenaFault
from referee.record import Header
from referee_table import header
from virtual_time import advance

OTHER = "ws://arena/b"


class Scripted(SingleNode):
    """Another node pairs the games in `there`."""

    url = "ws://arena/a"

    def __init__(self) -> None:
        super().__init__()
        self.there: set[str] = set()
        self.asked: Counter[str] = Counter()

    def other_urls(self) -> list[str]:
        return [OTHER]

    def url_of_other_owner(self, game: str) -> str | None:
        self.asked[game] += 1
        return OTHER if game in self.there else None


def replaced(served: Any) -> None:
    served.store.write(rotate_token, "ann", hash_token("n" * 16))


class Noted:
    """In place of the store: all `nodes`, and the matches that are `under_way` on this one."""

    notifies = True

    def __init__(self) -> None:
        self.nodes: list[NodeStatus] = []
        self.under_way: list[MatchInProgress] = []
        self.writes = 0

    async def read(self, query: Any, *words: Any) -> list[MatchInProgress]:
        return list(self.under_way)

    async def write(self, change: Any, matches: list[MatchInProgress]) -> dict[str, Any]:
        self.writes += 1
        self.under_way += matches
        return {}

    async def write_first(self, change: Any, *words: Any) -> list[NodeStatus]:
        return self.nodes


def node(
    name: str, matches: int = 0, *, alive: bool = True, draining: bool = False, seen: str | None = None
) -> NodeStatus:
    return NodeStatus(name=name, url=f"ws://arena/{name}", seen=seen, alive=alive, draining=draining, matches=matches)


class Waking(Noted):
    """In place of the store and the database: whoever listens is woken a hundred times a second."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = 0

    async def read(self, query: Any, *words: Any) -> Any:
        self.reads += 1
        return AnnouncementBatch([], 0) if words else 0

    async def write(self, change: Any, *words: Any) -> Any:
        return "arena_channel"

    async def notifications(self, *channels: str) -> AsyncGenerator[str, None]:
        yield ""
        while True:
            await asyncio.sleep(0.01)
            yield channels[0]


CHANGES: dict[str, Callable[[Any], None]] = {
    "the operator gave ann a new token: use that one": replaced,
    "the operator revoked ann: it may no longer connect": lambda served: served.store.write(revoke_bots, ["ann"]),
    "the operator renamed ann or deleted it": lambda served: served.store.write(rename_bot, "ann", "eve"),
}


@pytest.mark.parametrize(
    ("why", "announced"), [*((why, Announcement("bots", ["ann"])) for why in CHANGES), (next(iter(CHANGES)), None)]
)
async def test_a_bot_goes_whose_token_was_taken_on_another_node_and_others_stay(
    serve: Any, why: str, announced: Announcement | None
) -> None:
    served = await serve()
    ann, bob = [await served.enter(bot) for bot in ("Ann", "bob")]
    CHANGES[why](served)
    await served.arena.on_announcement(announced)
    assert (await ann.expect("error"))["message"].lower() == why.lower()
    await bob.send(type="list")
    assert [bot["bot"] for bot in (await bob.expect("listing"))["bots"]] == ["bob"]


async def test_who_is_coming_in_while_its_token_is_taken_on_another_node_stays_out(serve: Any, door: Any) -> None:
    served = await serve()
    await (await served.enter("ann")).wire.close()
    door.hold()
    client = await served.connect()
    await client.send(type="hello", bot="ann", token=f"{'ann':*>16}")
    await door.looked_up.wait()
    replaced(served)
    await served.arena.on_announcement(Announcement("bots", ["ann"]))
    door.go_on.set()
    assert (await client.expect("error"))["code"] == "auth_failed"


async def test_all_bots_are_looked_up_in_one_query_where_announcements_were_missed(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = await serve()
    for bot in ("ann", "bob", "cid"):
        await served.enter(bot)
    asked: Counter[str] = Counter()
    read = AsyncStore.read

    def counted(store: AsyncStore, query: Any, *words: Any, **options: Any) -> Awaitable[Any]:
        asked[query.__name__] += 1
        return read(store, query, *words, **options)

    monkeypatch.setattr(AsyncStore, "read", counted)
    await served.arena.on_announcement(None)
    assert asked["find_registered_bots"] == 1
    assert asked["find_registered_bot"] == 0


async def test_who_comes_in_is_told_of_the_other_nodes(serve: Any) -> None:
    served = await serve(nodes=Scripted())
    ann = await served.enter("ann")
    assert (ann.passed[-1]["url"], ann.passed[-1]["nodes"]) == (Scripted.url, [OTHER])


async def test_seeks_of_a_game_that_moves_are_sent_on_and_who_pairs_it_is_computed_once(serve: Any) -> None:
    nodes = Scripted()
    served = await serve(nodes=nodes)
    ann = await served.enter("ann", slots=4)
    for seek, game in (("s1", "nim"), ("s2", "nim"), ("s3", "tictactoe")):
        await ann.send(type="seek", id=seek, game=game, private=True)
    await ann.send(type="unseek", id="none")
    await ann.expect("unseeked")
    nodes.there.add("nim")
    nodes.asked.clear()
    served.arena.on_nodes_changed()
    sent = [await ann.expect("error") for _ in range(2)]
    assert {(error["ref"], error["code"], error["url"]) for error in sent} == {
        ("s1", "elsewhere", OTHER),
        ("s2", "elsewhere", OTHER),
    }
    assert set(nodes.asked.values()) == {1}


POOL = "nim/classic"


class Gone(Scripted):
    """A bot is renamed on another node between the pairing of its first match and when that is noted."""

    def __init__(self) -> None:
        super().__init__()
        self.is_gone = True

    def register_match(self, header: Header, seed: bytes) -> asyncio.Future[None] | None:
        if not self.is_gone:
            return None
        self.is_gone = False
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        future.set_exception(BotGone("ann"))
        return future

    async def register_resumed(self, header: Header, seed: bytes) -> None:
        raise BotGone("ann")


@pytest.mark.virtual_time
async def test_a_match_whose_bot_is_gone_before_it_is_noted_leaves_nothing_and_its_seats_seek_again(
    serve: Any,
) -> None:
    served = await serve(nodes=Gone(), policy=LobbyPolicy(rated_per_pair=1, max_matches_per_hour=1))
    clients = [await served.enter(name) for name in ("ann", "bob")]
    for number, client in enumerate(clients):
        await client.send(type="seek", id=f"s{number}", game="nim")
    await served.matched(*clients)
    for number, client in enumerate(clients):
        told = await client.expect("error")
        assert (told["code"], told["ref"]) == ("unavailable", f"s{number}")
        assert (
            told["message"] == "the match does not start, because ann was renamed or deleted a moment ago: seek again"
        )
    assert list((served.data / "journal").glob("*.jsonl")) == []
    assert served.arena.host.clients.runners == {}
    assert served.arena.host.events.begun_matches == {}
    assert [served.arena.lobby.known_bots.total_encounters(name, POOL) for name in ("ann", "bob")] == [0, 0]
    assert sum(served.arena.lobby.known_bots.encounter_counts("ann", POOL).values()) == 0
    start, _ = await served.meet(*clients)
    assert served.arena.host.events.begun_matches == {"nim": 1}
    assert served.arena.lobby.known_bots.encounter_counts("ann", POOL) == {"bob": 1}
    assert start["rated"], "the one that did not begin does not count"


@pytest.mark.virtual_time
async def test_a_match_whose_journal_cannot_be_written_does_not_count_and_is_tried_again(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = await serve(policy=LobbyPolicy(max_matches_per_hour=1))
    clients = [await served.enter(name) for name in ("ann", "bob")]
    journal = served.arena.host._journal
    failed = asyncio.Event()

    def fail(match: str) -> None:
        failed.set()
        raise JournalFault("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(journal, "create", fail)
        for client in clients:
            await client.send(type="seek", id="s", game="nim")
        while not failed.is_set():
            await advance(1.0)
    assert served.arena.lobby.known_bots.total_encounters("ann", POOL) == 0
    await advance(60.0)
    assert [(await client.expect("start"))["seek"] for client in clients] == ["s", "s"]
    assert served.arena.lobby.known_bots.encounter_counts("ann", POOL) == {"bob": 1}


async def test_nobody_waits_to_be_let_in_for_a_database_that_hangs(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = Scripted()
    served = await serve(nodes=nodes)
    monkeypatch.setattr(nodes, "long_database_problem", lambda: "the database is unreachable")
    client = await served.connect()
    await client.send(type="hello", bot="ann", token=f"{'ann':*>16}")
    told = await client.expect("error")
    assert (told["code"], told["message"]) == (
        "unavailable",
        "hello: the arena can't look up bots at present: connect again later",
    )
    await served.spectator()


async def test_an_assigned_match_whose_bot_is_gone_is_refused_to_who_asked_for_it(serve: Any) -> None:
    served = await serve(nodes=Gone())
    for name in ("ann", "bob"):
        await served.enter(name)
    play = PlayRequest(
        match="t-1",
        tournament="t",
        game="nim",
        config={},
        bots=["ann", "bob"],
        seed="00" * SEED_BYTES,
        clock=read_clock("60+0"),
        place=0,
    )
    with pytest.raises(BotGone, match="the match does not start, because ann was renamed or deleted"):
        await served.perform(play)
    assert served.arena.host.clients.runners == {}


async def test_a_match_of_the_journal_that_nobody_was_told_of_does_not_go_on_without_its_bots(serve: Any) -> None:
    served = await serve(nodes=Gone())
    assert not await served.arena.should_resume(header(match="m-1"), bytes(SEED_BYTES))


async def test_of_matches_that_go_on_those_are_noted_that_were_not() -> None:
    store: Any = Noted()
    nodes = ClusterView(store, store, "a", 1, "ws://arena/a")
    store.under_way = [nodes._under_way(header(match=match), bytes(SEED_BYTES)) for match in ("m-1", "m-2")]
    for match in ("m-1", "m-2", "m-3"):
        await nodes.register_resumed(header(match=match), bytes(SEED_BYTES))
    assert store.writes == 1
    assert [one.match for one in store.under_way] == ["m-1", "m-2", "m-3"]


@pytest.mark.virtual_time
async def test_whoever_wakes_a_node_often_has_it_read_ten_times_a_second() -> None:
    store: Any = Waking()
    nodes = ClusterView(store, store, "a", 1, "ws://arena/a")
    async with background_task(nodes.listen()), background_task(nodes.read_when_woken()):
        await advance(10.0)
    assert 10.0 / MIN_READ_INTERVAL_S - 1 <= store.reads <= 10.0 / MIN_READ_INTERVAL_S + 1


async def test_it_is_said_which_nodes_stay_away_with_matches() -> None:
    store: Any = Noted()
    now = 100.0
    nodes = ClusterView(store, store, "a", 1, "ws://arena/a", clock=lambda: now)
    store.nodes = [node("a", 4), node("a-2", 1, alive=False), node("b", 2, alive=False), node("c", alive=False)]
    await nodes.send_heartbeat()
    assert nodes.warnings.current() == [], "they may only be starting anew"
    now += NODE_LOST_WARNING_S - 0.01
    await nodes.send_heartbeat()
    assert nodes.warnings.current() == []
    now += 0.01
    await nodes.send_heartbeat()
    (warning,) = nodes.warnings.current()
    assert warning.startswith("1 match of node a-2, 2 matches of node b can't be resumed")
    store.nodes = [node("a", 4), node("a-2"), node("b", 2)]
    await nodes.send_heartbeat()
    assert nodes.warnings.current() == []


async def test_a_node_whose_clock_is_wrong_does_not_begin_and_says_so_later() -> None:
    store: Any = Noted()
    now = 1_800_000_000.0
    ahead_s = 0.0
    nodes = ClusterView(store, store, "a", 1, "ws://arena/a", wall_clock=lambda: now + ahead_s)
    differences = ((40 * 86400.0, "3456000 s ahead of"), (-61.0, "61 s behind"), (59.0, None), (-59.0, None))
    for difference_s, told in differences:
        ahead_s = difference_s
        store.nodes = [node("a", seen=format_timestamp(datetime.fromtimestamp(now, UTC)))]
        await nodes.send_heartbeat()
        if told is None:
            nodes.check_clock()
            assert nodes.warnings.current() == []
        else:
            with pytest.raises(ArenaFault, match=f"the clock of this machine is {told} the database's: set"):
                nodes.check_clock()
            (warning,) = nodes.warnings.current()
            assert told in warning


async def test_a_database_that_answers_late_does_not_make_a_clock_wrong() -> None:
    store: Any = Noted()
    times = iter((1_800_000_000.0, 1_800_000_300.0))
    nodes = ClusterView(store, store, "a", 1, "ws://arena/a", wall_clock=lambda: next(times))
    store.nodes = [node("a", seen=format_timestamp(datetime.fromtimestamp(1_800_000_150.0, UTC)))]
    await nodes.send_heartbeat()
    assert nodes.clock_difference_s == 0


async def test_a_node_says_what_has_become_of_the_others_and_that_it_is_drained_itself(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store: Any = Noted()
    nodes = ClusterView(store, store, "a", 1, "ws://arena/a")
    caplog.set_level(logging.INFO)
    gone = node("c", alive=False, seen="2026-11-26T17:05:12.000Z")
    for there, told in (
        ([node("a"), node("b"), gone, node("d", alive=False)], ["node b at ws://arena/b accepts matches"]),
        ([node("a", 1), node("b", 1), gone], ["node d was declared lost: its matches are void"]),
        (
            [node("a", draining=True), node("b", draining=True), node("c")],
            [
                "this node is draining: it accepts no new matches",
                "node b at ws://arena/b is draining: it accepts no new matches",
                "node c at ws://arena/c accepts matches",
            ],
        ),
        (
            [node("a"), node("b", alive=False), gone],
            ["this node accepts matches again", "node b at ws://arena/b has stopped", "node c at ws://arena/c is gone"],
        ),
    ):
        caplog.clear()
        store.nodes = there
        await nodes.send_heartbeat()
        assert caplog.messages == told
