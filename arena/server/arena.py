"""The arena: puts the lobby, the referee's runners, the journal, the store and the feed behind one WebSocket server."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from arena.host.actions import everything
from arena.host.broadcast import Broadcaster
from arena.host.event_log import Events
from arena.host.handshake import Handshake
from arena.host.health import Health
from arena.host.incidents import Incidents, Write, ending, parting
from arena.host.journal import Journal, JournalFault, MatchJournal
from arena.host.lobby import Lobby
from arena.host.recovery import restored
from arena.host.runner import TRY_AGAIN, Runner
from arena.host.session import Action, Session
from arena.network.admission import Access, Admission
from arena.network.connection import Connection
from arena.network.encryption import Encryption
from arena.network.listener import Listener
from arena.operator.channel import Channel
from arena.operator.requests import Handler
from arena.server.assigned_matches import AssignedMatches
from arena.server.auth import Door
from arena.server.feed_publisher import FeedPublisher
from arena.server.finalizing import Settle, Settling, StoreFirst
from arena.server.match_rate import Pace
from arena.server.rating_cache import RatingCache
from arena.server.rating_policy import RatingPolicy
from arena.server.seek_index import ActiveSeek, agreed
from arena.server.unknown_names import UnknownNames
from arena.store.async_store import AsyncStore
from machine.timestamps import utc
from protocol.close_codes import RESTARTING
from protocol.codec import Codec
from protocol.dice import SEED_BYTES
from protocol.errors import ArenaFault
from protocol.games.base import Game
from protocol.messages import Clock
from referee.match import Match
from referee.record import Header, RecordedSeat, header_of
from referee.result import Ratings, Result
from referee.rules import rules_of

if TYPE_CHECKING:
    from arena.feed.feed import Feed

log = logging.getLogger("arena")


class Arena:
    """One server. `restore` the matches of the journal and `listen`; `close` leaves matches under way in it.

    Unrated matches in which somebody asks for it have the `slow_clock`. A seat that is `away` for so many seconds has
    dropped out, 0: when its clock has run out. `settle` has finished matches stored and told,
    `actions` says what a lobby does at the messages of clients, and `freed` is called when a bot may take a match that
    it could not take before: it came in, or dropped out of one that goes on. `note` writes incidents down, where
    the store does not; `operations` is what it does for an operator, whom `access` lets in.
    """

    def __init__(
        self,
        archive: AsyncStore,
        journal: Journal,
        door: Door,
        clock: Clock,
        *,
        slow_clock: Clock | None = None,
        away: float = 0.0,
        settle: Settle | None = None,
        actions: Callable[[Lobby], Action] = everything,
        freed: Callable[[], None] = lambda: None,
        feed: Feed | None = None,
        access: Access | None = None,
        encryption: Encryption | None = None,
        eligibility: RatingPolicy | None = None,
        pace: Pace | None = None,
        note: Write | None = None,
        operations: Callable[[Arena], Mapping[str, Handler]] = lambda arena: {},
    ) -> None:
        self._archive = archive
        self._door = door
        self._journal = journal
        self._clock = clock
        self._slow_clock = slow_clock or clock
        self._away_ms = round(away * 1000)
        self._freed = freed
        self._eligibility = eligibility or RatingPolicy(archive)
        self._incidents = Incidents(note or partial(archive.ask, archive.store.note))
        self._ratings = RatingCache(archive, self._eligibility)
        self.health = Health()
        self.events = Events()
        """What happens here."""
        archive.troubled = lambda reason: self.health.tell("store", reason)
        self.lobby = Lobby(
            self._begin_sought,
            self._ratings.of,
            self._ratings.meetings,
            lambda: self.health.reason is not None,
            self._eligibility.spent,
            self._eligibility.bot,
            self._missed,
            pace,
            UnknownNames(archive),
        )
        self._reporter = None if feed is None else FeedPublisher(feed, archive)
        self._handshake = Handshake(door, self.lobby, self._ratings, actions(self.lobby), self._incidents, self.events)
        self.calls = AssignedMatches(self.lobby, self.begin, settle or StoreFirst(archive))
        """Matches that the operator has played."""
        self._settling = Settling(journal, self.calls, self._part, self._rated, self.events.ended)
        self._channel = Channel(operations(self))
        self._listener = Listener(
            self._serve,
            Admission(access or Access(), self.events.refused),
            encryption,
            lambda: self.health.reason,
            self._channel.serve,
        )
        self._rounds = Broadcaster()
        self._restoring: asyncio.Task[int] | None = None

    async def listen(self, host: str, port: int) -> int:
        """Take connections; the port, which is a free one for port 0. Raises `PortFault`."""
        return await self._listener.open(host, port)

    async def listen_on(self, sockets: list[socket.socket]) -> None:
        """Take connections from sockets that listen already."""
        await self._listener.on(sockets)

    async def take(self, bound: socket.socket, address: str, *, operators: bool = False) -> Callable[[], None]:
        """Take connections also from a socket that listens already, as if from `address`; what is returned ends it.

        With `operators` nobody else comes in there.
        """
        return await self._listener.take(bound, address, operators=operators)

    @property
    def archive(self) -> AsyncStore:
        """Where the store is asked."""
        return self._archive

    def dismiss(self, bots: Iterable[str], why: str, reason: str) -> list[str]:
        """End the connections of bots that may no longer have them: those there were. A hello under way is looked up
        again. `why` is what they are told, with `{bot}` for the name; `reason` goes with the close.
        """
        self._handshake.look_again()
        return [bot for bot in bots if self.lobby.dismiss(bot, why, reason)]

    async def approvals_changed(self, bots: Iterable[str]) -> None:
        """Have the approvals of these bots count from now on. Raises `StoreFailed`."""
        for bot in bots:
            await self._eligibility.look_up(bot)
            self.lobby.seeks.reconsider(bot)
        self.lobby.seeks.again()

    async def ratings_changed(self, pools: Iterable[str]) -> None:
        """Know the ratings of bots anew, and publish the leaderboards of these pools. Raises `StoreFailed`."""
        await self._ratings.renew()
        if self._reporter is not None:
            for pool in pools:
                self._reporter.rated(pool)

    def restore(self) -> asyncio.Task[int]:
        """Go on with the matches of the journal: how many there are. Until all are back no `hello` is answered."""
        self._handshake.hold()
        self._restoring = asyncio.create_task(self._restore())
        return self._restoring

    async def publish_boards(self) -> None:
        """Publish the leaderboard of every game with rated matches: a broker may have forgotten them."""
        if self._reporter is not None:
            await self._reporter.publish_boards()

    def begin(self, header: Header, seed: bytes, seeks: Sequence[str | None] = ()) -> None:
        """Start a match between bots that are here. Raises `JournalFault`; then there is no match."""
        match = Match(header, seed, self._ratings.players(header), seeks)
        runner = self._runner(match, self._journal.begin(match.id))
        self._add(runner)
        try:
            runner.open()
        except ArenaFault:
            self._withdraw(runner)
            with contextlib.suppress(JournalFault):
                self._journal.forget(match.id)
            raise
        self.events.begun(header)

    def header(
        self,
        match: str,
        game: Game[Any, Any],
        bots: Sequence[str],
        seed: bytes,
        *,
        pool: str | None,
        clock: Clock | None = None,
        tournament: str | None = None,
        place: int | None = None,
    ) -> Header:
        """The header of a match between `bots` in seat order, with their versions; rated where a `pool` is given.

        It has the usual clock, unless there is another.
        """
        return header_of(
            match=match,
            game=game,
            seats=[RecordedSeat(bot=bot, version=self.lobby.version(bot)) for bot in bots],
            seed=seed,
            pool=pool,
            clock=clock or self._clock,
            away_ms=self._away_ms,
            started=utc(),
            tournament=tournament,
            place=place,
        )

    async def close(self, code: int = RESTARTING) -> None:
        """Stop: connections are closed with `code`, matches under way stay in the journal, results are written."""
        if self._restoring is not None:
            self._restoring.cancel()
        self.lobby.close()
        await self._listener.close(code)
        await self._channel.close()
        self._archive.hurry()
        await self._door.close()
        await self._incidents.wait()
        await self._settling.wait()
        self.events.close()
        if self._reporter is not None:
            await self._reporter.close()

    async def _serve(self, wire: Connection, codec: Codec) -> None:
        """One connection, from its handshake to its end."""
        session = await self._handshake.admit(wire, codec)
        if session is None:
            return
        try:
            if session.bot is not None:
                self._door.came(session.bot)
                self._tell_freed()
            await wire.deliver(session.receive, session.awaited)
        finally:
            self.lobby.leave(session)
            if session.bot is not None:
                self._door.left(session.bot)
                self._parted(session.bot, session, wire)

    def _parted(self, bot: str, session: Session, wire: Connection) -> None:
        """Note how the connection of a bot ended."""
        playing = self.lobby.playing(session)
        self._incidents.parted(bot, wire.ended, session.fault, playing)
        trouble = parting(wire.ended, session.fault, playing)
        self.events.left(bot, wire.address, trouble or ending(wire.ended), failed=trouble is not None)

    def _missed(self, bot: str, match: str, pause: float) -> None:
        self._incidents.missed(bot, match, pause)
        self.events.missed(bot, match, pause)

    async def _restore(self) -> int:
        matches = await restored(self._journal, self._archive, self._ratings)
        for match, recalled, journal in matches:
            runner = self._runner(match, journal)
            self._add(runner)
            runner.resume(recalled)
            await asyncio.sleep(0)
        self._handshake.open()
        return len(matches)

    def _runner(self, match: Match, journal: MatchJournal) -> Runner:
        return Runner(match, journal, self._settling.begin, self._released, self._held, self._rounds)

    def _add(self, runner: Runner) -> None:
        self.lobby.add(runner)
        if self._reporter is not None:
            self._reporter.watch(runner)

    def _withdraw(self, runner: Runner) -> None:
        """Take back a match that nobody has been told of."""
        runner.stop()
        self.lobby.remove(runner)

    def _begin_sought(self, group: Sequence[ActiveSeek]) -> None:
        """Seats are drawn at random."""
        seated = list(group)
        secrets.SystemRandom().shuffle(seated)
        match = f"{datetime.now(UTC):%y%m%d-%H%M%S}-{secrets.token_hex(4)}"
        seed = secrets.token_bytes(SEED_BYTES)
        bots = [sought.bot for sought in seated]
        kind = agreed(group)
        rules = rules_of(kind.game, kind.config)  # held here, so that the match finds them
        rated = kind.rated and kind.pool is not None and self._eligibility.group(kind.pool, bots)
        clock = self._slow_clock if not rated and any(sought.slow for sought in seated) else self._clock
        header = self.header(match, rules, bots, seed, pool=kind.pool if rated else None, clock=clock)
        try:
            self.begin(header, seed, [sought.id for sought in seated])
        except ArenaFault as fault:
            self.lobby.seeks.put_back(group)
            self._hold_seeks(fault)

    def _hold_seeks(self, fault: ArenaFault) -> None:
        """No match begins until a journal can be made."""
        self.health.tell("seeks", str(fault))
        asyncio.get_running_loop().call_later(TRY_AGAIN, self._try_again)

    def _try_again(self) -> None:
        try:
            self._journal.probe()
        except JournalFault as fault:
            self._hold_seeks(fault)
        else:
            self.health.tell("seeks", None)

    def _held(self, runner: Runner, reason: str | None) -> None:
        self.health.tell(runner.id, reason)

    def _tell_freed(self) -> None:
        """A bot may take a match that it could not take before."""
        self.calls.again()
        self._freed()

    def _released(self, runner: Runner, seat: int) -> None:
        self.lobby.release(runner, seat)
        self._tell_freed()

    def _part(self, runner: Runner, ratings: Ratings | None) -> None:
        self.lobby.remove(runner)
        runner.farewell(ratings)
        self.calls.again()

    def _rated(self, result: Result, ratings: Ratings) -> None:
        self._ratings.learn(result, ratings)
        if self._reporter is not None:
            self._reporter.rated(ratings.pool)
