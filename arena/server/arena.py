"""The arena: puts the lobby, the referee's runners, the journal, the store and the feed behind one WebSocket server."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import errno
import logging
import secrets
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Protocol

from websockets.asyncio.server import Server, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.typing import Subprotocol

from arena.ratings.ladder import INITIAL
from arena.referee.effects import Delayed
from arena.referee.match import Match
from arena.referee.record import Header, RecordedSeat, Secret, header_of, pack
from arena.referee.result import Ratings, Result
from arena.server.identity import Door
from arena.server.journal import Journal, JournalFault
from arena.server.lobby import Lobby, NotAllowed, Sought, Unavailable
from arena.server.runner import HEARTBEAT, LATE, Runner
from arena.server.session import NO_HELLO, NOT_AUTHENTICATED, TOO_MANY_CONNECTIONS, Action, Session, Wire, refuse
from arena.store.archive import Archive
from arena.store.finishing import Finished
from protocol.codec import CODECS, MSGPACK, Codec
from protocol.dice import SEED_BYTES
from protocol.errors import ArenaFault, BotFault, Fault, MalformedMessage
from protocol.games import NAMES
from protocol.games.base import Game
from protocol.messages import (
    MAX_CLIENT_FRAME,
    MAX_STRIKES,
    ClientMessage,
    Clock,
    End,
    Error,
    Hello,
    Limits,
    Player,
    Seek,
    Start,
    Turn,
    Welcome,
)

if TYPE_CHECKING:
    from arena.feed.feed import Feed

HELLO_WITHIN = 5.0
PING_EVERY = 10.0
PONG_WITHIN = 20.0
BOARD_EVERY = 0.5
"""The leaderboard in the feed follows results at most this often, in seconds."""
RESTARTING = 1012
GOING_AWAY = 1001

log = logging.getLogger("arena")


class PortFault(ArenaFault):
    """The address can't be listened on."""


class Settle(Protocol):
    """Stores and rates finished matches; `Archive.finish`, or a tournament's in the order of its schedule."""

    def __call__(self, finished: Finished) -> asyncio.Future[Ratings | None]: ...


class Arena:
    """One server. `listen`, then `restore` the matches of the journal; `close` leaves matches under way in it.

    With `end_first` everyone is told `end` before the result is stored, and so without ratings. With `assigned` only
    `begin` starts matches, and a seek is refused.
    """

    def __init__(
        self,
        archive: Archive,
        journal: Journal,
        door: Door,
        clock: Clock,
        *,
        settle: Settle | None = None,
        end_first: bool = False,
        assigned: bool = False,
        feed: Feed | None = None,
        max_connections: int = 1000,
    ) -> None:
        self.lobby = Lobby(self._begin_sought, self._rating_of)
        self.finished: Callable[[Result], None] = lambda result: None
        """Called when a match has been told its end; set by a tournament."""
        self.changed: Callable[[], None] = lambda: None
        """Called when a bot came in, or dropped out of a match that goes on; set by a tournament."""
        self._archive = archive
        self._journal = journal
        self._door = door
        self._clock = clock
        self._settle = settle or archive.finish
        self._end_first = end_first
        self._act = _act_assigned(self.lobby) if assigned else self.lobby.act
        self._feed = feed
        self._max_connections = max_connections
        self._ratings: dict[tuple[str, str], tuple[float, float]] = {}
        self._server: Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._boards: dict[str, asyncio.TimerHandle] = {}
        self._loop = asyncio.get_running_loop()
        self._beat = self._loop.call_later(HEARTBEAT, self._heartbeat, self._loop.time() + HEARTBEAT)

    async def listen(self, host: str, port: int) -> int:
        """Take connections; the port, which is a free one for port 0. Raises `PortFault`."""
        try:
            self._server = await serve(
                self._serve,
                host,
                port,
                create_connection=Wire,
                subprotocols=[Subprotocol(name) for name in CODECS],
                select_subprotocol=_select,
                process_request=_refuse_unknown_subprotocols,
                compression=None,
                max_size=MAX_CLIENT_FRAME,
                ping_interval=PING_EVERY,
                ping_timeout=PONG_WITHIN,
                close_timeout=1,
                server_header=None,
            )
        except OSError as exc:
            if exc.errno == errno.EADDRINUSE:
                raise PortFault(f"port {port} on {host} is in use: choose another one, or 0 for a free one") from exc
            raise PortFault(f"{host} port {port} can't be listened on: {exc.strerror or exc}") from exc
        bound: int = next(iter(self._server.sockets)).getsockname()[1]
        return bound

    async def restore(self) -> int:
        """Go on with the matches of the journal; how many there are. A tournament's matches are left to it."""
        count = 0
        for match in self._journal.unfinished():
            try:
                count += await self._restore(match, self._journal.read(match))
            except Fault as fault:
                log.warning("match %s can't go on, its journal is left as it is: %s", match, fault)
        return count

    async def publish_boards(self) -> None:
        """Publish the leaderboard of every game with rated matches: a broker may have forgotten them."""
        if self._feed is not None:
            for game in await self._archive.ask(self._archive.store.games):
                await self._read_board(game)

    def begin(self, header: Header, seed: bytes, seeks: Sequence[str | None] = ()) -> Runner:
        """Start a match between bots that are here. Raises `JournalFault`; then there is no match."""
        match = Match(header, seed, self._players(header), seeks)
        runner = Runner(match, self._journal.begin(match.id), self._over, self._released)
        self._add(runner)
        try:
            runner.open()
        except ArenaFault:
            self._withdraw(runner)
            raise
        return runner

    def header(
        self,
        match: str,
        game: Game[Any, Any],
        bots: Sequence[str],
        seed: bytes,
        *,
        rated: bool,
        tournament: str | None = None,
        place: int | None = None,
    ) -> Header:
        """The header of a match between `bots` in seat order, with the versions they announced."""
        versions = [self.lobby.sessions[bot.lower()].version for bot in bots]
        return header_of(
            match=match,
            game=game.name,
            config=game.config,
            seats=[RecordedSeat(bot=bot, version=version) for bot, version in zip(bots, versions, strict=True)],
            seed=seed,
            rated=rated,
            clock=self._clock,
            started=utc(),
            tournament=tournament,
            place=place,
        )

    async def close(self, code: int = RESTARTING) -> None:
        """Stop: connections are closed with `code`, matches under way stay in the journal, results are written."""
        self._beat.cancel()
        self.lobby.close()
        for runner in self.lobby.runners.values():
            runner.stop()
        if self._server is not None:
            self._server.close(code=code)
            await self._server.wait_closed()
        if self._tasks:
            await asyncio.wait(self._tasks)
        while self._boards:
            game, timer = self._boards.popitem()
            timer.cancel()
            await self._read_board(game)

    async def _restore(self, match: str, lines: list[Any]) -> bool:
        if len(lines) < 2 or not isinstance(lines[0], Secret) or not isinstance(lines[1], Header):
            self._journal.forget(match)  # the process ended before anyone was told of the match
            return False
        header = lines[1]
        if header.tournament is not None:
            return False
        if await self._archive.ask(self._archive.store.record, match) is not None:
            self._journal.forget(match)
            return False
        for seat in header.seats:
            await self._look_up(seat.bot)
        resumed = Match(header, bytes.fromhex(lines[0].seed), self._players(header))
        runner = Runner(resumed, self._journal.proceed(match), self._over, self._released)
        self._add(runner)
        try:
            runner.resume(lines[2:])
        except Fault:
            self._withdraw(runner)
            raise
        return True

    def _withdraw(self, runner: Runner) -> None:
        """Take back a match that nobody has been told of."""
        runner.stop()
        self.lobby.remove(runner)

    def _players(self, header: Header) -> list[Player]:
        players = []
        for seat in header.seats:
            mu, sigma = self._rating_of(seat.bot, header.game)
            players.append(Player(bot=seat.bot, version=seat.version, mu=mu, sigma=sigma))
        return players

    def _add(self, runner: Runner) -> None:
        self.lobby.add(runner)
        if self._feed is not None:
            runner.watch_quietly(_Reporter(self._feed))

    def _begin_sought(self, pair: Sequence[Sought]) -> None:
        """Seats are drawn at random."""
        seated = list(pair)
        secrets.SystemRandom().shuffle(seated)
        now = datetime.datetime.now(datetime.UTC)
        match = f"{now:%y%m%d-%H%M%S}-{secrets.token_hex(4)}"
        seed = secrets.token_bytes(SEED_BYTES)
        bots = [sought.bot for sought in seated]
        header = self.header(match, seated[0].game, bots, seed, rated=seated[0].rated)
        try:
            self.begin(header, seed, [sought.id for sought in seated])
        except ArenaFault as fault:
            log.error("match %s can't begin: %s", match, fault)
            for sought in seated:
                text = "the arena can't begin a match now: seek again later"
                sought.session.send(Error(code="unavailable", message=text, ref=sought.id))

    def _rating_of(self, bot: str, game: str) -> tuple[float, float]:
        return self._ratings.get((bot.lower(), game), (INITIAL.mu, INITIAL.sigma))

    def _released(self, runner: Runner, seat: int) -> None:
        self.lobby.release(runner, seat)
        self.changed()

    def _over(self, runner: Runner) -> None:
        task = asyncio.create_task(self._conclude(runner))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _conclude(self, runner: Runner) -> None:
        """Store the result, then tell it; a result that can't be stored stays in the journal for the next start."""
        match = runner.match
        result = match.result(utc())
        runner.stop()

        def close(ratings: Ratings | None) -> bytes:
            return pack(runner.journal.record_lines(), match.footer(result, ratings))

        settled = self._settle(Finished(result, close))
        if self._end_first:
            self._part(runner, None)
            self.finished(result)
        ratings = None
        try:
            ratings = await settled
        except Exception as exc:  # whatever it was, the bots are told the end and have their slots back
            unforeseen = None if isinstance(exc, Fault) else exc
            log.error(
                "the result of match %s can't be stored, it stays in the journal: %s",
                match.id,
                exc,
                exc_info=unforeseen,
            )
        else:
            self._forget(match.id)
        if ratings is not None:
            self._learn(result, ratings)
        if not self._end_first:
            self._part(runner, ratings)
            self.finished(result)
        if self._feed is not None and ratings is not None:
            self._publish_board(result.game)

    def _forget(self, match: str) -> None:
        """Remove the journal of a stored match; one that stays is removed at the next start."""
        try:
            self._journal.forget(match)
        except JournalFault as fault:
            log.error("match %s is stored, but %s", match, fault)

    def _part(self, runner: Runner, ratings: Ratings | None) -> None:
        self.lobby.remove(runner)
        runner.farewell(ratings)

    def _learn(self, result: Result, ratings: Ratings) -> None:
        for seat, rating in zip(result.seats, ratings.seats, strict=True):
            self._ratings[seat.bot.lower(), ratings.pool] = (rating.mu_after, rating.sigma_after)

    def _publish_board(self, game: str) -> None:
        if game not in self._boards:
            self._boards[game] = self._loop.call_later(BOARD_EVERY, self._send_board, game)

    def _send_board(self, game: str) -> None:
        del self._boards[game]
        task = asyncio.create_task(self._read_board(game))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _read_board(self, game: str) -> None:
        try:
            rows = await self._archive.ask(self._archive.store.leaderboard, game)
        except Fault as fault:
            log.error("the leaderboard of %s can't be read, and is not published: %s", game, fault)
            return
        if self._feed is not None:
            self._feed.leaderboard(game, rows)

    def _heartbeat(self, expected: float) -> None:
        """Notice that the loop was held up, and give that time back to whoever is to move."""
        late = self._loop.time() - expected
        if late > LATE:
            for runner in list(self.lobby.runners.values()):
                runner.receive(Delayed(late))
        self._beat = self._loop.call_later(HEARTBEAT, self._heartbeat, self._loop.time() + HEARTBEAT)

    async def _serve(self, wire: Any) -> None:
        """One connection, from its handshake to its end."""
        codec = CODECS.get(wire.subprotocol or "", MSGPACK)
        assert self._server is not None
        if len(self._server.connections) > self._max_connections:
            wire.drop(TOO_MANY_CONNECTIONS, "too many connections")
            return
        with contextlib.suppress(ConnectionClosed):
            session = await self._admit(wire, codec)
            if session is None:
                return
            try:
                async for frame in wire:
                    session.receive(frame)
            finally:
                self.lobby.leave(session)

    async def _admit(self, wire: Wire, codec: Codec) -> Session | None:
        """The handshake: `hello` in time, a name with its token. None: refused, and told why."""
        try:
            async with asyncio.timeout(HELLO_WITHIN):
                frame = await wire.recv()
        except TimeoutError:
            wire.drop(NO_HELLO, "no hello in time")
            return None
        try:
            hello = codec.decode_client(frame)
            if not isinstance(hello, Hello):
                raise MalformedMessage(f"{type(hello).__name__.lower()}: the first message of a connection is hello")
            bot, token = await self._door.identify(hello)
            if bot is not None:
                await self._look_up(bot)
        except BotFault as fault:
            refuse(wire, codec, fault, NO_HELLO if isinstance(fault, MalformedMessage) else NOT_AUTHENTICATED)
            return None
        except ArenaFault as fault:
            log.error("a bot can't be let in: %s", fault)
            refuse(wire, codec, Unavailable("hello: the arena can't look bots up now: come back later"), RESTARTING)
            return None
        await wire.ping()
        session = Session(wire, codec, hello, bot, self._act)
        resumed = self.lobby.enter(session) if bot is not None else []
        limits = Limits(max_message=MAX_CLIENT_FRAME, strikes=MAX_STRIKES, slots=hello.slots)
        session.send(Welcome(bot=bot, token=token, games=list(NAMES), limits=limits, resumed=resumed))
        if bot is not None:
            self.lobby.resume(session)
            self.changed()
        return session

    async def _look_up(self, bot: str) -> None:
        """Read a bot's ratings into memory, where pairing and `start` find them."""
        for game, standing in (await self._archive.ask(self._archive.store.standings, bot)).items():
            self._ratings[bot.lower(), game] = (standing.mu, standing.sigma)


def _act_assigned(lobby: Lobby) -> Action:
    """What messages do where matches are assigned: a client that seeks nevertheless is told, and may wait."""

    def act(session: Session, message: ClientMessage) -> None:
        if isinstance(message, Seek):
            raise NotAllowed("seek: matches are assigned here: wait for start")
        lobby.act(session, message)

    return act


class _Reporter:
    """A watcher that publishes what it is told."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed

    def send(self, message: Any) -> None:
        if isinstance(message, Turn):
            self._feed.turned(message)
        elif isinstance(message, Start):
            self._feed.started(message)
        elif isinstance(message, End):
            self._feed.ended(message)


def utc() -> str:
    """Now, in ISO 8601 with milliseconds."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _select(connection: Any, offered: Sequence[Subprotocol]) -> Subprotocol | None:
    """The client's first subprotocol that we speak."""
    return next((name for name in offered if name in CODECS), None)


def _refuse_unknown_subprotocols(connection: Any, request: Request) -> Response | None:
    offered = [name.strip() for value in request.headers.get_all("Sec-WebSocket-Protocol") for name in value.split(",")]
    if offered and not any(name in CODECS for name in offered):
        text = f"none of the subprotocols is known here: offer one of {', '.join(CODECS)}\n"
        refused: Response = connection.respond(HTTPStatus.BAD_REQUEST, text)
        return refused
    return None
