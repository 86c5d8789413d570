"""What the arena keeps in memory of names that came once: no more, however many there were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest

from arena.host.actions import ClientActions
from arena.host.session import ClientSession
from arena.lobby.events import BotLoaded, MatchRated
from arena.lobby.known_bots import KnownBots
from arena.lobby.policy import LobbyPolicy
from arena.lobby.suspensions import Suspensions
from arena.network.connection import Connection
from arena.ratings.rating_system import INITIAL_RATING
from arena.server.guess_limits import MAX_NAMES, GuessLimits
from arena.store.registry import RegisteredBot, find_registered_bot
from arena.store.result_queries import LadderBot, load_ladder_bot
from arena.store.tokens import hash_token
from census import entries
from machine.timestamps import utc_now
from protocol.codec import JSON
from protocol.messages import Hello, Seek, Unseek

NAMES = 1000
TOKEN = "t" * 16
POOL = "nim/classic"
NOW = 1_000_000.0


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


def grown(holder: object, come_and_go: Callable[[int], None], most: int) -> dict[str, int]:
    """The containers with more entries than so many after 1,000 names came and went."""
    for number in range(NAMES):
        come_and_go(number)
    return {where: count for where, count in entries(holder).items() if count > most}


async def known(query: Any, name: str, **options: Any) -> Any:
    """What a store would answer that has heard of no match of a bot, and of no bot that was called."""
    if query is find_registered_bot:
        return RegisteredBot(name=name, revoked=False, created=utc_now(), seen=utc_now(), token_hash=hash_token(TOKEN))
    return LadderBot({}, False, [], []) if query is load_ladder_bot else False


async def test_a_thousand_names_that_come_and_go_leave_no_more_than_a_few_hundred_did(
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
    bounded = {"GuessLimits._known_addresses": 2 * MAX_NAMES, "Lobby._unknown": LobbyPolicy().max_unknown_names}
    grown = {where: count for where, count in after.items() if count > max(before[where] + 50, bounded.get(where, 0))}
    assert grown == {}


def loaded(bot: str, encounters: Sequence[str] = ()) -> BotLoaded:
    """What the store says of a bot that had a rated match with each of these."""
    counts = [(POOL, other, encounters.count(other)) for other in dict.fromkeys(encounters)]
    rated = [(f"m{number}", POOL, other, NOW - 60.0) for number, other in enumerate(encounters)]
    return BotLoaded(bot, {POOL: (30.0, 2.0)}, has_history=True, encounters=counts, rated_matches=rated)


def test_bots_that_played_and_went_are_forgotten_and_what_is_known_of_others_stays() -> None:
    known = KnownBots(LobbyPolicy(rated_per_pair=2, max_absent_bots=20))
    known.on_joined("regular")
    known.load(loaded("regular"))

    def play(number: int) -> None:
        bots = ("regular", f"once-{number}")
        known.on_joined(bots[1])
        known.count_encounter(POOL, bots)
        known.begin_rated(f"m{number}", POOL, bots)
        known.on_left(bots[1])
        known.end_rated(MatchRated(f"m{number}", POOL, bots, ((25.0, 8.0),) * 2), NOW)

    assert grown(known, play, 150) == {}
    assert known.total_encounters("regular", POOL) == NAMES
    assert known.encounter_counts("regular", POOL) == {f"once-{number}": 1 for number in range(NAMES - 20, NAMES)}


def test_what_a_forgotten_bot_had_played_is_known_again_when_it_comes_back() -> None:
    known = KnownBots(LobbyPolicy(rated_per_pair=2, max_absent_bots=0))
    for bot in ("ann", "bob"):
        known.load(loaded(bot))
        known.on_joined(bot)
    known.load(loaded("ann", ["bob", "bob"]))
    known.load(loaded("bob", ["ann", "ann"]))

    def told() -> tuple[Any, ...]:
        return (
            *(dict(known.encounter_counts(bot, POOL)) for bot in ("ann", "bob")),
            known.total_encounters("bob", POOL),
            known.is_rated(POOL, ["ann", "bob"], NOW),
            known.rating("bob", POOL),
        )

    before = told()
    assert before == ({"bob": 2}, {"ann": 2}, 2, False, (30.0, 2.0))
    known.on_left("bob")
    assert told() == ({}, {}, 0, True, (INITIAL_RATING.mu, INITIAL_RATING.sigma))
    assert not known.on_joined("bob")
    known.load(loaded("bob", ["ann", "ann"]))
    assert told() == before


def test_a_bot_whose_rated_match_is_under_way_is_not_forgotten() -> None:
    known = KnownBots(LobbyPolicy(rated_per_pair=1, max_absent_bots=0))
    for bot in ("ann", "bob"):
        known.on_joined(bot)
        known.load(loaded(bot))
    known.begin_rated("m1", POOL, ("ann", "bob"))
    known.on_left("bob")
    assert not known.is_rated(POOL, ["ann", "bob"], NOW)
    known.end_unrated("m1")
    assert known.is_rated(POOL, ["ann", "bob"], NOW)
    assert not known.on_joined("bob")


def test_who_came_to_a_match_long_ago_has_to_show_it_again() -> None:
    suspensions = Suspensions(LobbyPolicy(max_trusted_bots=20))

    def visit(number: int) -> None:
        suspensions.on_seated(f"once-{number}", "192.0.2.1")
        suspensions.on_ready(f"once-{number}", ())
        suspensions.on_ready("regular", ())
        suspensions.on_released(f"once-{number}")

    assert grown(suspensions, visit, 40) == {}
    assert suspensions.is_trusted("regular")
    assert not suspensions.is_trusted("once-0")
    assert suspensions.is_trusted(f"once-{NAMES - 1}")


def test_who_is_online_stays_trusted_however_many_others_come() -> None:
    online = {f"online-{number}" for number in range(30)}
    suspensions = Suspensions(LobbyPolicy(max_trusted_bots=20))
    for bot in (*sorted(online), *(f"once-{number}" for number in range(50))):
        suspensions.on_ready(bot, online)
    assert all(map(suspensions.is_trusted, online))
    suspensions.on_ready("last", ())
    assert sum(map(suspensions.is_trusted, online)) == 19
    assert suspensions.is_trusted("last")


def test_addresses_of_names_are_kept_of_so_many_names() -> None:
    limits = GuessLimits(max_names=20)
    assert grown(limits, lambda number: limits.record_login("192.0.2.1", f"once-{number}"), 50) == {}
