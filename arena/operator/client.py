"""The operator's end of the channel: asks the server that runs on a data folder, or one at a URL."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI
from websockets.typing import Subprotocol

from arena.network.admission import OPERATOR
from arena.operator import credentials
from arena.operator.requests import COMMAND_LINE, Reply, Request, encoded
from arena.store.data_folder import is_held
from arena.store.database import Database
from machine.timeouts import scaled
from protocol.display import printable
from protocol.errors import ArenaFault, UsageFault

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorTimeouts:
    """A command's time limits for the server, in seconds."""

    connect_timeout_s: float = 5.0
    ping_interval_s: float = 5.0
    pong_timeout_s: float = 10.0
    """With the pings before it, a server that hangs is known after a quarter of a minute, however long an answer may
    take.
    """


class NoServer(ArenaFault):
    """No server runs on the data folder."""


class TokenRefused(ArenaFault):
    """The server does not take the token."""


class NoAnswer(ArenaFault):
    """There is a server, and it does not answer."""


class Operator:
    """A connection to a server. Requests may be asked beside each other, and each raises `NoAnswer` when it is lost.

    `by` says in the log of actions where they were made.
    """

    def __init__(self, wire: ClientConnection, where: str, by: str = COMMAND_LINE) -> None:
        self._wire = wire
        self._where = where
        self._by = by
        self._numbers = itertools.count(1)
        self._replies: dict[int, asyncio.Queue[Reply | None]] = {}
        self._listening = asyncio.create_task(self._listen())

    async def ask(
        self, request: Request, answer: type[T], event: type[Any] = dict, tell: Callable[[Any], None] = lambda _: None
    ) -> T:
        """The answer, once it comes; `tell` is told the events before it. Raises what the server says is wrong:
        `UsageFault` where the request is, else `ArenaFault`.
        """
        number = next(self._numbers)
        replies = self._replies[number] = asyncio.Queue()
        try:
            with contextlib.suppress(ConnectionClosed):
                await self._wire.send(encoded(number, request, self._by))
            while True:
                reply = None if self._listening.done() and replies.empty() else await replies.get()
                if reply is None:
                    raise NoAnswer(f"the server {self._where} ended the connection before it answered: see its log")
                if reply.fault is not None:
                    raise (UsageFault if reply.usage else ArenaFault)(printable(reply.fault))
                if reply.event is None:
                    return self._read(reply.ok, answer)
                tell(self._read(reply.event, event))
        finally:
            del self._replies[number]

    def _read(self, told: Any, kind: type[T]) -> T:
        """What the server told. Raises `NoAnswer`."""
        try:
            return msgspec.convert(told, type=kind)
        except msgspec.ValidationError as exc:
            raise NoAnswer(
                f"the server {self._where} answers as another version would: start it with this one: {exc}"
            ) from exc

    async def _listen(self) -> None:
        """Pass every reply to who waits for it, and an end of the connection to all."""
        try:
            async for frame in self._wire:
                reply = msgspec.json.decode(frame, type=Reply)
                if reply.id in self._replies:
                    self._replies[reply.id].put_nowait(reply)
        except (ConnectionClosed, msgspec.MsgspecError):
            pass
        finally:
            for replies in self._replies.values():
                replies.put_nowait(None)

    async def aclose(self) -> None:
        """Leave."""
        await self._wire.close()
        await self._listening


@asynccontextmanager
async def connected(
    url: str, token: str, by: str = COMMAND_LINE, timeouts: OperatorTimeouts | None = None
) -> AsyncIterator[Operator]:
    """A connection to the server at a URL. Raises `NoServer`, `TokenRefused` or `NoAnswer`."""
    where = f"at {url}"
    async with contextlib.aclosing(Operator(await _connect(url, token, where, timeouts), where, by)) as operator:
        yield operator


@asynccontextmanager
async def connected_to(data: Path, database: Database | None = None) -> AsyncIterator[Operator]:
    """A connection to the server that runs on a data folder, and has this `database` open, if one is named.

    Raises as `connected`.
    """
    where = f"on {data}"
    found = credentials.of_running(data)
    if found is None or (database is not None and not found.is_of(database)):
        raise _none(data)
    try:
        wire = await _connect(found.url, found.token, where)
    except ArenaFault:
        if is_held(data):
            raise
        raise _none(data) from None
    async with contextlib.aclosing(Operator(wire, where)) as operator:
        yield operator


def asked(data: Path, request: Request, answer: type[T], database: Database | None = None) -> T:
    """The answer of the server that runs on a data folder, for who has no event loop. Raises as `Operator.ask`."""

    async def ask() -> T:
        async with connected_to(data, database) as operator:
            return await operator.ask(request, answer)

    return asyncio.run(ask())


def no_server(data: Path, otherwise: str) -> NoServer:
    """Return that no server is reached on a data folder, with what to do: `otherwise`, or, where somebody else has the
    folder, so that none could be started, how to see what goes on.
    """
    if is_held(data):
        busy = f"no server runs on {data}, but a tournament or another command (or a server that is about to answer)"
        return NoServer(f"{busy}: `arena web --data {data}` shows in a browser how it goes")
    return NoServer(f"no server runs on {data}: {otherwise}")


def _none(data: Path) -> NoServer:
    return no_server(data, f"start `arena serve --data {data}` first")


async def _connect(url: str, token: str, where: str, timeouts: OperatorTimeouts | None = None) -> ClientConnection:
    timeouts = timeouts or scaled(OperatorTimeouts())
    try:
        return await connect(
            url,
            subprotocols=[Subprotocol(OPERATOR)],
            additional_headers={"Authorization": f"Bearer {token}"},
            open_timeout=timeouts.connect_timeout_s,
            ping_interval=timeouts.ping_interval_s,
            ping_timeout=timeouts.pong_timeout_s,
            max_size=None,
            compression=None,
            proxy=None,
        )
    except InvalidURI as exc:
        raise UsageFault(f"{url!r} is no URL of an arena: it is like wss://arena.example.org:8765") from exc
    except InvalidStatus as exc:
        said = printable((exc.response.body or b"").decode(errors="replace").strip()) or "it says no more"
        if exc.response.status_code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.TOO_MANY_REQUESTS):
            raise TokenRefused(f"the server {where} refuses the operator's token: {said}") from exc
        raise NoAnswer(f"the server {where} lets no operator in: {said}") from exc
    except ConnectionRefusedError as exc:
        raise NoServer(f"no server runs {where}") from exc
    except TimeoutError as exc:
        raise NoAnswer(
            f"the server {where} does not answer within {timeouts.connect_timeout_s:g} s: see its log"
        ) from exc
    except (OSError, InvalidHandshake, ValueError, EOFError) as exc:
        raise NoAnswer(f"the server {where} does not answer as an arena does: {printable(str(exc))}") from exc
