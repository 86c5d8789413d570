"""How a connection becomes a session: `hello` in time, a name with its token, then `welcome`."""

from __future__ import annotations

import asyncio
import logging

from msgspec.structs import replace

from arena.host.actions import Unavailable
from arena.host.event_log import Events
from arena.host.incidents import Incidents
from arena.host.lobby import Lobby
from arena.host.session import Action, Session
from arena.network.connection import Connection
from arena.server.auth import Door, Revoked, TooOften
from arena.server.rating_cache import RatingCache
from protocol.close_codes import NO_HELLO, NOT_AUTHENTICATED, RESTARTING, TOO_MANY
from protocol.codec import Codec, Frame
from protocol.error_codes import AUTH_FAILED, NAME_TAKEN
from protocol.errors import ArenaFault, BotFault, MalformedMessage
from protocol.games import NAMES
from protocol.messages import MAX_CLIENT_FRAME, MAX_STRIKES, Error, Hello, Limits, Welcome

HELLO_WITHIN = 5.0

log = logging.getLogger("arena.host.handshake")


class Handshake:
    """Lets clients in whom `door` knows; `act` is what their messages do."""

    def __init__(
        self, door: Door, lobby: Lobby, ratings: RatingCache, act: Action, incidents: Incidents, events: Events
    ) -> None:
        self._door = door
        self._lobby = lobby
        self._ratings = ratings
        self._act = act
        self._incidents = incidents
        self._events = events
        self._opened = asyncio.Event()
        self._opened.set()
        self._changes = 0
        """How often tokens were taken away."""

    def hold(self) -> None:
        """Answer no `hello` until `open`: what there is to tell is not known yet."""
        self._opened.clear()

    def open(self) -> None:
        """Answer every `hello`, those that came meanwhile first."""
        self._opened.set()

    def look_again(self) -> None:
        """A token was taken away: who is being looked up is looked up again."""
        self._changes += 1

    async def admit(self, wire: Connection, codec: Codec) -> Session | None:
        """The session of a client that is in the lobby and was welcomed. None: refused, and told why."""
        try:
            async with asyncio.timeout(HELLO_WITHIN):
                frame = await wire.first()
        except TimeoutError:
            self._events.refused(wire.address, "no hello in time")
            wire.drop(NO_HELLO, "no hello in time")
            return None
        wire.place.enter()
        if not self._opened.is_set():
            await self._held(wire)
            if wire.gone:  # it may be back on another connection, which this one must not replace
                return None
        hello = None
        try:
            hello = _hello(codec, frame)
            bot, token = await self._identify(hello, wire.address)
        except BotFault as fault:
            self._events.refused(wire.address, str(fault), None if hello is None else hello.bot)
            if isinstance(fault, TooOften):
                _refuse(wire, codec, fault, TOO_MANY)
                return None
            _refuse(wire, codec, fault, NO_HELLO if isinstance(fault, MalformedMessage) else NOT_AUTHENTICATED)
            return None
        except ArenaFault as fault:
            log.error("a bot can't be let in: %s", fault)
            _refuse(wire, codec, Unavailable("hello: the arena can't look bots up now: come back later"), RESTARTING)
            return None
        session = Session(wire, codec, hello, bot, self._act)
        resumed = self._lobby.enter(session) if bot is not None else []
        limits = Limits(max_message=MAX_CLIENT_FRAME, strikes=MAX_STRIKES, slots=hello.slots)
        session.send(Welcome(bot=bot, token=token, games=list(NAMES), limits=limits, resumed=resumed))
        if bot is not None:
            self._events.came(bot, hello.version, hello.client, wire.address)
            self._lobby.resume(session)
        return session

    async def _held(self, wire: Connection) -> None:
        """Wait until hellos are answered, or the connection is gone."""
        either = [asyncio.create_task(self._opened.wait()), asyncio.create_task(wire.wait_closed())]
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in either:
                task.cancel()

    async def _identify(self, hello: Hello, address: str) -> tuple[str | None, str | None]:
        """The bot of a `hello`, and its token if that was made just now."""
        changes = self._changes
        try:
            bot, token = await self._door.identify(hello, address)
        except Revoked as fault:
            self._incidents.note(fault.bot, fault.code, "it came though it is revoked, and was not let in")
            raise
        except BotFault as fault:
            if hello.bot is not None and fault.code in (AUTH_FAILED, NAME_TAKEN):
                self._incidents.refused(hello.bot, fault.code, with_token=hello.token is not None)
            raise
        if bot is not None:
            await self._ratings.look_up(bot)
        if changes != self._changes:
            again = hello if token is None else replace(hello, token=token)
            bot, made = await self._identify(again, address)
            return bot, token or made
        return bot, token


def _hello(codec: Codec, frame: Frame) -> Hello:
    """The `hello` that a first frame has to be."""
    hello = codec.decode_client(frame)
    if not isinstance(hello, Hello):
        raise MalformedMessage(f"{type(hello).__name__.lower()}: the first message of a connection is hello")
    return hello


def _refuse(wire: Connection, codec: Codec, fault: BotFault, close_code: int) -> None:
    """Tell the client why, and close."""
    wire.push(codec.encode(Error(code=fault.code, message=str(fault), fatal=True)))
    wire.drop(close_code, fault.code)
