"""`arena watch`: shows a running match live."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidURI
from websockets.typing import Subprotocol

from arena.commands.match_view import format_clocks, format_outcome
from arena.commands.output import redraw, terminal_columns
from arena.operator import credentials
from arena.operator.client import no_server
from arena.replay.transcript import describe_line
from machine.backoff import Backoff, Retry
from machine.terminal import say
from protocol.close_codes import RESTARTING
from protocol.codec import MSGPACK
from protocol.display import escape_unprintable, format_count
from protocol.errors import ArenaFault, UsageFault
from protocol.games.base import Game
from protocol.games.wire_game import load_started_game
from protocol.messages import (
    MAX_SERVER_FRAME_BYTES,
    End,
    Error,
    Event,
    FromClient,
    FromServer,
    Hello,
    List,
    Listing,
    Start,
    Turn,
    Unwatch,
    Watch,
)
from referee.record import Header, Ply, RecordedSeat

CONNECT_TIMEOUT_S = 10.0
"""Seconds in which a node must accept the connection of a spectator."""
POLL_INTERVAL_S = 1.0
"""Seconds between two checks for a new match."""
MIN_RETRY_DELAY_S = 0.1
"""Seconds between the first two attempts to reconnect to a node."""
RECONNECT_TIMEOUT_S = 30.0
"""Seconds for which a spectator tries to reconnect to a node."""


class MatchNotRunning(UsageFault):
    """Raised if a match is not under way on a node. `url` is the URL of the node on which it is under way, if any."""

    def __init__(self, text: str, url: str | None = None) -> None:
        super().__init__(text)
        self.url = url


class ConnectionLost(ArenaFault):
    """Raised if the connection to a node has ended."""


def watch(data: Path, url: str | None, match: str | None, *, follow: bool) -> None:
    """Show the match with an id, or the newest match, until it is over. Raise `Fault` if it cannot be shown.

    With `follow`, then show the next match.
    """
    where = url or _url_of(data)
    try:
        asyncio.run(_watch(where, match, follow))
    finally:
        if sys.stdout.isatty():  # output continues below the board
            say()


def _url_of(data: Path) -> str:
    found = credentials.running_credentials(data)
    if found is None or not found.public:
        raise no_server(data, "--url names one elsewhere, like wss://arena.example.org:8765")
    return found.public


async def _watch(url: str, named: str | None, follow: bool) -> None:
    seen, match = "", named
    async with AsyncExitStack() as stack:
        nodes = SpectatorPool(stack)
        while True:
            if match is None:
                spectator, seen = await _wait_for_match(nodes, url, seen)
            else:
                spectator, seen = await nodes.get(url), match
            try:
                await _show(spectator, seen)
            except ConnectionLost as fault:
                say(f"{fault}; trying again", err=True)
                url, match = spectator.url, seen
                named = named if follow else seen
                await nodes.reconnect(url)
                continue
            except MatchNotRunning as fault:
                if fault.url is not None:
                    url, match = fault.url, seen
                    continue
                if named is not None:
                    raise
                match = None  # the listing may be a second old
                continue
            if not follow:
                return
            named = match = None


async def _wait_for_match(pool: SpectatorPool, url: str, previous: str) -> tuple[Spectator, str]:
    """Wait until a match other than `previous` runs. Return a spectator of its node, and the match's id.

    A match on the node at `url` is preferred.
    """
    said = False
    while True:
        here, *others = [found async for found in pool.listings(url)]
        for spectator, listing in (here, *others):
            found = next((one.match for one in listing.matches if one.match != previous), None)
            if found is not None:
                return spectator, found
        if not said:
            bots = len({bot.bot for _, listing in (here, *others) for bot in listing.bots}) + here[1].more_bots
            say(f"waiting for a match to begin; {format_count(bots, 'bot', 'bots')} online", err=True)
            said = True
        await asyncio.sleep(POLL_INTERVAL_S)


async def _show(spectator: Spectator, match: str) -> None:
    """Show one match to its end. Raise `MatchNotRunning` if it is not under way on this node."""
    await spectator.send(Watch(match=match))
    display: MatchDisplay | None = None
    while True:
        message = await spectator.receive()
        if isinstance(message, Error) and message.ref == match:
            over = f"if it is over, `arena replay show {match} --boards` tells it"
            raise MatchNotRunning(f"{escape_unprintable(message.message)}: {over}", message.url)
        if getattr(message, "match", None) != match:
            continue
        if isinstance(message, Start):
            display = display or MatchDisplay(message)
        elif isinstance(message, Turn) and display is not None:
            display.show_turn(message)
        elif isinstance(message, End) and display is not None:
            display.show_end(message)
            await spectator.send(Unwatch(match=match))
            return


class MatchDisplay:
    """The display of a running match: on a terminal each board replaces the last, else boards are printed."""

    def __init__(self, start: Start) -> None:
        self._game: Game[Any, Any] = load_started_game(start)
        self._header = Header(
            format=0,
            version="",
            match=start.match,
            game=start.game,
            config=start.config,
            seats=[RecordedSeat(bot=seat.bot, version=seat.version) for seat in start.seats],
            commitment=start.commitment,
            rated=start.rated,
            clock=start.clock,
            started="",
        )
        self._clock = [start.clock.bank_ms] * len(start.seats)
        self._terminal = sys.stdout.isatty()
        seats = ", ".join(f"{seat.bot} {seat.version}".rstrip() for seat in start.seats)
        self._title = f"{start.match}: {start.game}, {'rated' if start.rated else 'unrated'}, {seats}"
        if not self._terminal:
            say(self._title, flush=True)

    def show_turn(self, turn: Turn) -> None:
        """Show the events since the last turn, and the board."""
        self._clock = turn.clock
        movers = [self._header.seats[seat].bot for seat in turn.movers]
        waits = f"{' and '.join(movers)} {'is' if len(movers) == 1 else 'are'} to move"
        self._show(turn.events, turn.state, turn.digest, [waits])

    def show_end(self, end: End) -> None:
        """Show the last events, the board and the result."""
        seats = [(seat.rank, seat.bot, seat.reason, seat.payoff) for seat in end.seats]
        lines = format_outcome(self._header.game, end.reason, end.ply, seats)
        lines.append(f"`arena replay show {end.match} --step` shows it again")
        self._show(end.events, end.state, end.digest, lines)

    def _show(self, events: Sequence[Event], state: dict[str, Any], digest: str, below: Sequence[str]) -> None:
        told = [
            describe_line(Ply(event=event, clock=self._clock, digest=digest), self._game, self._header, {}).sentence()
            for event in events
        ]
        board = self._game.draw_board(self._game.decode_state(state)) if state else ""
        if self._terminal:
            left = format_clocks(self._header, self._clock, terminal_columns())
            redraw([*board.split("\n"), "", self._title, *told[-1:], *left, *below])
        else:
            say("\n".join(["", *told, board, *below]), flush=True)


class Spectator:
    """A connection to a node of an arena as a spectator. A spectator has no name."""

    def __init__(self, connection: ClientConnection, url: str) -> None:
        self._wire = connection
        self.url = url

    @property
    def is_lost(self) -> bool:
        """True if the connection has ended."""
        return self._wire.close_code is not None

    async def send(self, message: FromClient) -> None:
        """Send a message. Raise `ConnectionLost` if the connection has ended."""
        try:
            await self._wire.send(MSGPACK.encode(message))
        except ConnectionClosed as exc:
            raise self._lost() from exc

    async def receive(self) -> FromServer:
        """Return the next message. Raise `ConnectionLost` after the last one, `ArenaFault` if it can't be decoded."""
        while True:
            try:
                message = MSGPACK.decode_server(await self._wire.recv())
            except ConnectionClosed as exc:
                raise self._lost() from exc
            if message is not None:
                return message

    async def list(self) -> Listing:
        """Return the node's listing of its bots and matches. Raise the errors of `receive`."""
        await self.send(List())
        while not isinstance(listing := await self.receive(), Listing):
            pass
        return listing

    def _lost(self) -> ConnectionLost:
        code = self._wire.close_code
        why = "was stopped or restarts" if code == RESTARTING else f"ended the connection ({code})"
        return ConnectionLost(f"the arena at {self.url} {why}")


class SpectatorPool:
    """Spectators of an arena's nodes, one for each node. A spectator connects when it is first needed. Closing `stack`
    disconnects all.
    """

    def __init__(self, stack: AsyncExitStack) -> None:
        self._stack = stack
        self._spectators: dict[str, Spectator] = {}

    async def get(self, url: str) -> Spectator:
        """Return the spectator of the node at a URL; connect it if needed. Raise the errors of `connect_spectator`."""
        if url not in self._spectators or self._spectators[url].is_lost:
            self._spectators[url] = await self._stack.enter_async_context(connect_spectator(url))
        return self._spectators[url]

    async def reconnect(self, url: str) -> None:
        """Try for up to `RECONNECT_TIMEOUT_S` seconds to reconnect to a node. Then raise the last error of `get`."""
        backoff = Backoff(MIN_RETRY_DELAY_S, POLL_INTERVAL_S)
        await Retry(ArenaFault, backoff, timeout_s=RECONNECT_TIMEOUT_S).run(partial(self.get, url))

    async def listings(self, url: str) -> AsyncIterator[tuple[Spectator, Listing]]:
        """Yield the listing of the node at a URL, then those of the other nodes that answer."""
        spectator = await self.get(url)
        listing = await spectator.list()
        yield spectator, listing
        for other in listing.elsewhere:
            with contextlib.suppress(ArenaFault):
                spectator = await self.get(other)
                yield spectator, await spectator.list()


@asynccontextmanager
async def connect_spectator(url: str) -> AsyncIterator[Spectator]:
    """Connect to the node at a URL as a spectator. Raise `UsageFault` if the URL is invalid.

    Raise `ArenaFault` if no arena answers, or if it rejects the spectator.
    """
    try:
        wire = await connect(
            url,
            subprotocols=[Subprotocol(MSGPACK.subprotocol)],
            compression=None,
            max_size=MAX_SERVER_FRAME_BYTES,
            open_timeout=CONNECT_TIMEOUT_S,
        )
    except InvalidURI as exc:
        raise UsageFault(f"{url!r} is no URL of an arena: it is like wss://arena.example.org:8765") from exc
    except TimeoutError as exc:
        raise ArenaFault(f"no arena answers at {url} in time") from exc
    except (OSError, InvalidHandshake, ValueError, EOFError) as exc:
        why = os.strerror(exc.errno).lower() if isinstance(exc, OSError) and exc.errno else str(exc)
        raise ArenaFault(f"no arena answers at {url}: {escape_unprintable(why)}") from exc
    async with wire:
        spectator = Spectator(wire, url)
        await spectator.send(Hello(client="arena watch"))
        answer = await spectator.receive()
        if isinstance(answer, Error):
            raise ArenaFault(f"the arena at {url} says: {escape_unprintable(answer.message)}")
        yield spectator
