"""How a connection becomes a session: `hello` in time, a name with its token, then `welcome`."""

from __future__ import annotations

import asyncio
import logging

from arena.host.actions import actions
from arena.host.event_log import EventLog
from arena.host.handler import HostHandler
from arena.host.lobby import Lobby
from arena.host.refusals import TooOften, Unavailable
from arena.host.session import Session
from arena.network.connection import Connection
from protocol.close_codes import NO_HELLO, NOT_AUTHENTICATED, RESTARTING, TOO_MANY
from protocol.codec import Codec, Frame
from protocol.errors import ArenaFault, BotFault, MalformedMessage
from protocol.games import NAMES
from protocol.messages import MAX_CLIENT_FRAME, MAX_STRIKES, Error, Hello, Limits, Welcome

HELLO_WITHIN = 5.0

log = logging.getLogger("arena.host.handshake")


class Handshake:
    """Lets clients in whom the `handler` knows."""

    def __init__(self, handler: HostHandler, lobby: Lobby, events: EventLog) -> None:
        self._handler = handler
        self._lobby = lobby
        self._act = actions(lobby, handler)
        self._events = events
        self._opened = asyncio.Event()
        self._opened.set()

    def hold(self) -> None:
        """Answer no `hello` until `open`: what there is to tell is not known yet."""
        self._opened.clear()

    def open(self) -> None:
        """Answer every `hello`, those that came meanwhile first."""
        self._opened.set()

    async def admit(self, connection: Connection, codec: Codec) -> Session | None:
        """The session of a client that is in the lobby and was welcomed. None: refused, and told why."""
        try:
            async with asyncio.timeout(HELLO_WITHIN):
                frame = await connection.first()
        except TimeoutError:
            self._events.refused(connection.address, "no hello in time")
            connection.drop(NO_HELLO, "no hello in time")
            return None
        connection.place.enter()
        if not self._opened.is_set():
            await self._held(connection)
            if connection.gone:  # it may be back on another connection, which this one must not replace
                return None
        hello = None
        try:
            hello = _hello(codec, frame)
            bot, token = await self._handler.authenticate(hello, connection.address)
        except BotFault as fault:
            self._events.refused(connection.address, str(fault), None if hello is None else hello.bot)
            if isinstance(fault, TooOften):
                _refuse(connection, codec, fault, TOO_MANY)
                return None
            _refuse(connection, codec, fault, NO_HELLO if isinstance(fault, MalformedMessage) else NOT_AUTHENTICATED)
            return None
        except ArenaFault as fault:
            log.error("a bot can't be let in: %s", fault)
            _refuse(
                connection, codec, Unavailable("hello: the arena can't look bots up now: come back later"), RESTARTING
            )
            return None
        session = Session(connection, codec, hello, bot, self._act)
        resumed = self._lobby.enter(session) if bot is not None else []
        limits = Limits(max_message=MAX_CLIENT_FRAME, strikes=MAX_STRIKES, slots=hello.slots)
        session.send(Welcome(bot=bot, token=token, games=list(NAMES), limits=limits, resumed=resumed))
        if bot is not None:
            self._events.came(bot, hello.version, hello.client, connection.address)
            self._lobby.resume(session)
        return session

    async def _held(self, connection: Connection) -> None:
        """Wait until hellos are answered, or the connection is gone."""
        either = [asyncio.create_task(self._opened.wait()), asyncio.create_task(connection.wait_closed())]
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in either:
                task.cancel()


def _hello(codec: Codec, frame: Frame) -> Hello:
    """The `hello` that a first frame has to be."""
    hello = codec.decode_client(frame)
    if not isinstance(hello, Hello):
        raise MalformedMessage(f"{type(hello).__name__.lower()}: the first message of a connection is hello")
    return hello


def _refuse(connection: Connection, codec: Codec, fault: BotFault, close_code: int) -> None:
    """Tell the client why, and close."""
    connection.push(codec.encode(Error(code=fault.code, message=str(fault), fatal=True)))
    connection.drop(close_code, fault.code)
