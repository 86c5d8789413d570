"""Matches between bots that are connected to a running server and run by their owners."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import AsyncExitStack

from arena.operator.client import NoServer, NoServerAnswer, OperatorConnection, connect_to_folder, connect_to_url
from arena.ratings.tournament_pairing import Pairing
from arena.runs.job import Aborted, LocalServer, MatchJob, MatchReport, Server
from arena.runs.play_request import PlayReply, PlayRequest, report_assigned
from machine import event_loop
from protocol.errors import Fault

RETRY_DELAY_S = 2.0
"""Seconds between two attempts to reach a server."""

_client_by_run: dict[str, RemoteClient] = {}
"""The clients of this process, by the key of the tournament's run that uses them."""
_clients_lock = threading.Lock()


def play_match(server: Server, job: MatchJob, pairing: Pairing) -> MatchReport | Aborted:
    """Play a match on a server, which may restart meanwhile. Return the match's report, or the reason why the
    tournament can play no further match.
    """
    with _clients_lock:
        if job.key not in _client_by_run:
            _client_by_run[job.key] = RemoteClient(server)
        line = _client_by_run[job.key]
    request, down_since = PlayRequest.from_plan(job.plan, pairing, job.connect_timeout_s), 0.0
    while True:
        try:
            closed = line.ask(request).to_closed()
        except (NoServer, NoServerAnswer) as fault:
            down_since = down_since or time.monotonic()
            if time.monotonic() - down_since > job.connect_timeout_s:
                return Aborted(fault)
            time.sleep(RETRY_DELAY_S)
        except Fault as fault:
            return Aborted(fault)
        else:
            return report_assigned(closed)


def close_run(key: str) -> None:
    """Close the connection that this process has for a run of a tournament."""
    line = _client_by_run.pop(key, None)
    if line is not None:
        line.close()


class RemoteClient:
    """A client of a server, with one connection for all matches. A connection for each match would exceed the limits.

    It connects at the first request, and again after the connection is lost. Its event loop runs in a thread of its
    own, so that pings are answered between requests.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._held = AsyncExitStack()
        self._operator: OperatorConnection | None = None
        self._connecting = asyncio.Lock()
        self._loop = event_loop.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="operator", daemon=True).start()

    def ask(self, request: PlayRequest) -> PlayReply:
        """Send a request and return the reply. Raise the errors of `OperatorConnection.ask` and `connect_to_folder`."""
        return asyncio.run_coroutine_threadsafe(self._ask(request), self._loop).result()

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._held.aclose(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)

    async def _ask(self, request: PlayRequest) -> PlayReply:
        at = self._server
        async with self._connecting:
            if self._operator is None:
                line = connect_to_folder(at.folder) if isinstance(at, LocalServer) else connect_to_url(at.url, at.token)
                self._operator = await self._held.enter_async_context(line)
            operator = self._operator
        try:
            return await operator.ask(request, PlayReply)
        except NoServerAnswer:
            if self._operator is operator:
                self._operator = None
                await self._held.aclose()
            raise
