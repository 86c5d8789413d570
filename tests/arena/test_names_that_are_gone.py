"""What the arena keeps in memory of names that came once: no more, however many there were."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest

from arena.host.actions import ClientActions
from arena.host.session import ClientSession
from arena.network.connection import Connection
from arena.ratings.rating_system import INITIAL_RATING
from arena.server.bot_cache import MAX_UNKNOWN_NAMES, BotCache
from arena.server.guess_limits import MAX_NAMES, GuessLimits
from arena.server.playban import Playbans
from arena.store.async_store import AsyncStore
from arena.store.finish import finish_matches
from arena.store.registry import RegisteredBot, find_registered_bot
from arena.store.result_queries import LadderBot, load_ladder_bot
from arena.store.store import Store
from arena.store.tokens import hash_token
from census import entries
from machine.timestamps import utc_now
from protocol.codec import JSON
from protocol.messages import Hello, Seek, Unseek
from seasons import header, result
from stored_matches import storable

NAMES = 2000
TOKEN = "t" * 16
POOL = "nim/classic"


class Wire:
    """All of a connection that a session needs; what is sent goes nowhere."""

    address = "192.0.2.1"
    round_trip_s = 0.0
    late: Any = None

    def send_framed(self, frame: bytes) -> None:
        pass

    def run_in_turns(self, pieces: Any) -> None:
        list(pieces)

    def start_close(self, code: int, reason: str) -> None:
        pass


@pytest.fixture
async def archive(tmp_path: Path) -> AsyncIterator[AsyncStore]:
    with closing(Store.open(tmp_path / "arena.db")) as store:
        archive = AsyncStore(store)
        yield archive
        await archive.drain()


def grown(holder: object, come_and_go: Callable[[int], None], most: int) -> dict[str, int]:
    """The containers with more entries than so many after 2,000 names came and went."""
    for number in range(NAMES):
        come_and_go(number)
    return {where: count for where, count in entries(holder).items() if count > most}


async def known(query: Any, name: str, **options: Any) -> Any:
    """What a store would answer that has heard of no match of a bot, and of no bot that was called."""
    if query is find_registered_bot:
        return RegisteredBot(name=name, revoked=False, created=utc_now(), seen=utc_now(), token_hash=hash_token(TOKEN))
    return LadderBot({}, False, [], []) if query is load_ladder_bot else False


async def test_two_thousand_names_that_come_and_go_leave_no_more_than_a_few_hundred_did(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = await serve()
    arena = served.arena
    monkeypatch.setattr(served.archive, "read", known)

    async def visit(number: int) -> None:
        hello = Hello(bot=f"once-{number}", token=TOKEN)
        identity = await arena.authenticate(hello, Wire.address)
        session = ClientSession(cast(Connection, Wire()), JSON, hello, identity.bot, ClientActions(arena.host.clients))
        arena.host.clients.add_session(session)
        arena.handle_message(session, Seek(id="s", game="nim", opponent=f"nobody-{number}"))
        arena.handle_message(session, Unseek(id="s"))
        arena.host.clients.remove_session(session)

    kept: list[Counter[str]] = []
    for span in (range(NAMES // 4), range(NAMES // 4, NAMES)):
        for number in span:
            await visit(number)
        await arena._auth.last_seen.close()
        kept.append(entries(arena))
    before, after = kept
    bounded = {"GuessLimits._known_addresses": 2 * MAX_NAMES, "UnknownNames._unknown": MAX_UNKNOWN_NAMES}
    grown = {where: count for where, count in after.items() if count > max(before[where] + 50, bounded.get(where, 0))}
    assert grown == {}


async def test_bots_that_played_and_went_are_forgotten_and_known_again_when_they_come(archive: AsyncStore) -> None:
    bots = BotCache(archive, per_pair=2, max_absent=20)
    bots.on_connected("regular")
    await bots.load("regular")

    def play(number: int) -> None:
        once = f"once-{number}"
        bots.on_connected(once)
        bots.count_encounter(POOL, ["regular", once])
        match = header(f"m{number}", ("regular", once), pool=POOL)
        bots.begin_rated(match)
        bots.on_disconnected(once)
        bots.record_rated(result(f"m{number}", ("regular", once), pool=POOL))

    assert grown(bots, play, 150) == {}
    assert bots.total_encounters("regular", POOL) == NAMES
    assert bots.encounter_counts("regular", POOL) == {f"once-{number}": 1 for number in range(NAMES - 20, NAMES)}


async def test_what_a_forgotten_bot_had_played_is_read_when_it_comes_back(archive: AsyncStore) -> None:
    matches = [result(f"m{number}", ("ann", "bob"), finished=utc_now()) for number in range(2)]
    await archive.write(finish_matches, [storable(done) for done in matches])
    bots = BotCache(archive, per_pair=2, max_absent=0)
    for bot in ("ann", "bob"):
        await bots.load(bot)
        bots.on_connected(bot)
        await bots.load(bot)

    def known() -> tuple[Any, ...]:
        return (
            *(dict(bots.encounter_counts(bot, POOL)) for bot in ("ann", "bob")),
            *(bots.total_encounters(bot, POOL) for bot in ("ann", "bob")),
            bots.is_rated(POOL, ["ann", "bob"]),
            bots.rating("bob", POOL),
        )

    before = known()
    assert before[:5] == ({"bob": 2}, {"ann": 2}, 2, 2, False)
    bots.on_disconnected("bob")
    assert dict(bots.encounter_counts("ann", POOL)) == {}
    assert bots.total_encounters("ann", POOL) == 2
    assert bots.rating("bob", POOL) == (INITIAL_RATING.mu, INITIAL_RATING.sigma)
    assert not bots.on_connected("bob")
    await bots.load("bob")
    assert known() == before


async def test_a_bot_whose_rated_match_is_under_way_is_not_forgotten(archive: AsyncStore) -> None:
    bots = BotCache(archive, per_pair=1, max_absent=0)
    for bot in ("ann", "bob"):
        bots.on_connected(bot)
        await bots.load(bot)
    bots.begin_rated(header("m1", ("ann", "bob"), pool=POOL))
    bots.on_disconnected("bob")
    assert not bots.is_rated(POOL, ["ann", "bob"])
    bots.end_unrated("m1")
    assert bots.is_rated(POOL, ["ann", "bob"])
    assert not bots.on_connected("bob")


def test_who_came_to_a_match_long_ago_has_to_show_it_again() -> None:
    playbans = Playbans(lambda: 0.0, max_tried=20)

    def visit(number: int) -> None:
        playbans.on_seated(f"once-{number}", "192.0.2.1")
        playbans.on_ready(f"once-{number}")
        playbans.on_ready("regular")
        playbans.on_released(f"once-{number}")

    assert grown(playbans, visit, 40) == {}
    assert playbans.is_trusted("regular")
    assert not playbans.is_trusted("once-0")
    assert playbans.is_trusted(f"once-{NAMES - 1}")


def test_who_is_online_stays_trusted_however_many_others_come() -> None:
    online = {f"online-{number}" for number in range(30)}
    playbans = Playbans(lambda: 0.0, is_online=online.__contains__, max_tried=20)
    for bot in (*sorted(online), *(f"once-{number}" for number in range(50))):
        playbans.on_ready(bot)
    assert all(map(playbans.is_trusted, online))
    online.clear()
    playbans.on_ready("last")
    assert sum(map(playbans.is_trusted, (f"online-{number}" for number in range(30)))) == 19
    assert playbans.is_trusted("last")


def test_addresses_of_names_are_kept_of_so_many_names() -> None:
    limits = GuessLimits(max_names=20)
    assert grown(limits, lambda number: limits.record_login("192.0.2.1", f"once-{number}"), 50) == {}
