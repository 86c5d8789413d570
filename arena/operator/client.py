"""The operator's client: sends requests to the server of a data folder, or to one at a URL."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, InvalidURI, WebSocketException
from websockets.typing import Subprotocol

from arena.network.admission import OPERATOR_SUBPROTOCOL
from arena.operator import credentials
from arena.operator.requests import COMMAND_LINE_ORIGIN, Reply, Request, encode_request
from arena.store.data_folder import is_held
from machine.timeouts import scale_timeouts
from protocol.display import escape_unprintable
from protocol.errors import ArenaFault, UsageFault

if TYPE_CHECKING:
    from arena.store.database import Database

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorTimeouts:
    """A command's time limits for the server, in seconds."""

    connect_timeout_s: float = 5.0
    ping_interval_s: float = 5.0
    pong_timeout_s: float = 10.0
    """Seconds in which the server must answer a ping. An answer to a request may take longer."""


class NoServer(ArenaFault):
    """Raised if no server runs on the data folder or at the URL."""


class TokenRefused(ArenaFault):
    """Raised if the server rejects the operator's token."""


class NoServerAnswer(ArenaFault):
    """Raised if a server is there but gives no valid answer."""


class OperatorConnection:
    """An operator's connection to a server. Requests may run concurrently.

    If the connection is lost, each request raises `NoServerAnswer`. The audit log shows `origin` as the source of the
    requests.
    """

    def __init__(self, connection: ClientConnection, server_name: str, origin: str = COMMAND_LINE_ORIGIN) -> None:
        self._connection = connection
        self._server_name = server_name
        self._origin = origin
        self._numbers = itertools.count(1)
        self._replies: dict[int, asyncio.Queue[Reply | None]] = {}
        self._listening = asyncio.create_task(self._listen())

    async def ask(
        self,
        request: Request,
        answer_type: type[T],
        event_type: type[Any] = dict,
        on_event: Callable[[Any], None] = lambda _: None,
    ) -> T:
        """Send a request and return its answer. `on_event` receives the events that precede the answer.

        Raise the server's error: `UsageFault` if the request is wrong, else `ArenaFault`.
        """
        number = next(self._numbers)
        replies = self._replies[number] = asyncio.Queue()
        try:
            with contextlib.suppress(ConnectionClosed):
                await self._connection.send(encode_request(number, request, self._origin))
            while True:
                reply = None if self._listening.done() and replies.empty() else await replies.get()
                if reply is None:
                    raise NoServerAnswer(
                        f"the server {self._server_name} ended the connection before it answered: see its log"
                    )
                if reply.fault is not None:
                    raise (UsageFault if reply.usage else ArenaFault)(escape_unprintable(reply.fault))
                if reply.event is None:
                    return self._convert(reply.ok, answer_type)
                on_event(self._convert(reply.event, event_type))
        finally:
            del self._replies[number]

    def _convert(self, value: Any, type_: type[T]) -> T:
        """Convert an answer or event. Raise `NoServerAnswer` if it does not have the expected type."""
        try:
            return msgspec.convert(value, type=type_)
        except msgspec.ValidationError as exc:
            raise NoServerAnswer(
                f"the server {self._server_name} answers like another version: restart it with this version: {exc}"
            ) from exc

    async def _listen(self) -> None:
        """Pass each reply to the request that awaits it. At the end of the connection, release all waiting requests."""
        try:
            async for frame in self._connection:
                reply = msgspec.json.decode(frame, type=Reply)
                if reply.id in self._replies:
                    self._replies[reply.id].put_nowait(reply)
        except (ConnectionClosed, msgspec.MsgspecError):
            pass
        finally:
            for replies in self._replies.values():
                replies.put_nowait(None)

    async def aclose(self) -> None:
        await self._connection.close()
        await self._listening


@asynccontextmanager
async def connect_to_url(
    url: str, token: str, by: str = COMMAND_LINE_ORIGIN, timeouts: OperatorTimeouts | None = None
) -> AsyncIterator[OperatorConnection]:
    """Connect to the server at a URL. Raise `NoServer`, `TokenRefused` or `NoServerAnswer` if that fails."""
    where = f"at {url}"
    async with contextlib.aclosing(
        OperatorConnection(await _connect(url, token, where, timeouts), where, by)
    ) as operator:
        yield operator


@asynccontextmanager
async def connect_to_folder(folder: Path, database: Database | None = None) -> AsyncIterator[OperatorConnection]:
    """Connect to the server that runs on a data folder. Raise as `connect_to_url` does.

    If `database` is given and the server uses another database, raise `NoServer`.
    """
    where = f"on {folder}"
    found = credentials.running_credentials(folder)
    if found is None or (database is not None and not found.has_database(database)):
        raise _no_server(folder)
    try:
        wire = await _connect(found.url, found.token, where)
    except ArenaFault:
        if is_held(folder):
            raise
        raise _no_server(folder) from None
    async with contextlib.aclosing(OperatorConnection(wire, where)) as operator:
        yield operator


def ask_server(data: Path, request: Request, answer: type[T], database: Database | None = None) -> T:
    """Send a request to the server of a data folder, from synchronous code, and return the answer.

    Raise as `connect_to_folder` and `OperatorConnection.ask` do.
    """

    async def ask() -> T:
        async with connect_to_folder(data, database) as operator:
            return await operator.ask(request, answer)

    return asyncio.run(ask())


def no_server(data: Path, otherwise: str) -> NoServer:
    """Return the error to raise if no server runs on a data folder. Its message ends with the advice `otherwise`.

    If another process holds the folder, the message says instead how to see what that process does.
    """
    if is_held(data):
        busy = f"no server runs on {data}, but a tournament or another command (or a server that is about to answer)"
        return NoServer(f"{busy}: `arena web --data {data}` shows in a browser how it goes")
    return NoServer(f"no server runs on {data}: {otherwise}")


def _no_server(data: Path) -> NoServer:
    return no_server(data, f"start `arena serve --data {data}` first")


async def _connect(url: str, token: str, where: str, timeouts: OperatorTimeouts | None = None) -> ClientConnection:
    timeouts = timeouts or scale_timeouts(OperatorTimeouts())
    try:
        return await connect(
            url,
            subprotocols=[Subprotocol(OPERATOR_SUBPROTOCOL)],
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
        said = escape_unprintable((exc.response.body or b"").decode(errors="replace").strip()) or "it says no more"
        if exc.response.status_code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.TOO_MANY_REQUESTS):
            raise TokenRefused(f"the server {where} refuses the operator's token: {said}") from exc
        raise NoServerAnswer(f"the server {where} rejects operators: {said}") from exc
    except ConnectionRefusedError as exc:
        raise NoServer(f"no server runs {where}") from exc
    except TimeoutError as exc:
        raise NoServerAnswer(
            f"the server {where} does not answer within {timeouts.connect_timeout_s:g} s: see its log"
        ) from exc
    except (OSError, WebSocketException, ValueError, EOFError) as exc:
        raise NoServerAnswer(
            f"the server {where} does not answer like an arena: {escape_unprintable(str(exc))}"
        ) from exc
