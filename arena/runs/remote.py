"""Players that are connected to another process: a running server, which an operator may ask for matches."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from math import ceil
from pathlib import Path
from typing import NamedTuple, TypeAlias, TypeVar

from msgspec import Struct

from arena.operator.channel import MAX_PENDING_REQUESTS
from arena.operator.client import NoServer, NoServerAnswer, OperatorConnection, connect_to_folder, connect_to_url
from arena.operator.hosted_matches import HostedMatchReport, MatchOrder, PlayHostedMatch
from arena.operator.requests import Request
from arena.ratings.tournament_pairing import Pairing
from arena.runs.connected import ConnectedPlayers
from arena.runs.hosted_players import RunnerPlayers
from arena.runs.job import MatchReport, measure_luck
from arena.runs.plan import Plan
from arena.runs.play_request import PlayReply, PlayRequest
from arena.runs.run import RunLedger, RunPlayers, play_run, run_blocking
from arena.store.entrants import HostedEntrant
from machine import event_loop
from machine.backoff import Backoff, Retry
from referee.footer import ClosedMatch

T = TypeVar("T")
RETRY_DELAY_S = 2.0
"""Seconds between two attempts to reach a server."""


class RemoteServer(Struct, frozen=True):
    """A running server whose bots play the matches: its URL and the operator's token."""

    url: str
    token: str


class LocalServer(Struct, frozen=True):
    """A running server on this machine, named by its data folder, because its address may change with each start."""

    folder: Path


Server: TypeAlias = RemoteServer | LocalServer


class RemotePlayers(ConnectedPlayers):
    """Plays the matches of a run among the bots of a running server, which may restart meanwhile.

    The server must be back within `wait_s` seconds. Luck is measured by the value function `value`, unless it is None.
    """

    def __init__(self, server: Server, plan: Plan, wait_s: float, concurrency: int, value: str | None) -> None:
        super().__init__(plan, wait_s, concurrency)
        self._value = value
        self._links = _ServerLinks(server, wait_s, concurrency)

    def play_run(self, ledger: RunLedger) -> None:
        """Play a run on an event loop of its own. The ledger blocks, and so works in a thread."""
        _play_remotely(self, ledger, self._links)

    async def close(self) -> None:
        """Close the connections to the server."""
        await self._links.close()

    async def play_match(self, pairing: Pairing) -> MatchReport:
        return await asyncio.to_thread(measure_luck, await super().play_match(pairing), self._value)

    async def ask(self, request: PlayRequest) -> ClosedMatch:
        """Have the server play a match. While it is away, try again. Raise `Fault` if it refuses the match."""
        return (await self._links.ask(request, PlayReply)).to_closed()


class RemoteRunnerPlayers(RunnerPlayers):
    """Plays the matches of a run of hosted bots by the runners of a running server, which may restart meanwhile.

    The server must be back within `wait_s` seconds, and a runner that has enough slots. `logs` is as in
    `RunnerPlayers`; luck is measured as by `RemotePlayers`. The constructor raises `UsageFault` if runners can't run
    one of the bots.
    """

    def __init__(
        self,
        server: Server,
        plan: Plan,
        entrants: Sequence[HostedEntrant],
        logs: Path,
        wait_s: float,
        concurrency: int,
        value: str | None,
    ) -> None:
        super().__init__(plan, entrants, logs, self._ask, concurrency)
        self._wait_s = wait_s
        self._value = value
        self._links = _ServerLinks(server, wait_s, concurrency)

    def play_run(self, ledger: RunLedger) -> None:
        """Play a run on an event loop of its own. The ledger blocks, and so works in a thread."""
        _play_remotely(self, ledger, self._links)

    async def play_match(self, pairing: Pairing) -> MatchReport:
        return await asyncio.to_thread(measure_luck, await super().play_match(pairing), self._value)

    async def _ask(self, order: MatchOrder) -> bytes:
        request = PlayHostedMatch(order=order, wait_s=self._wait_s)
        return (await self._links.ask(request, HostedMatchReport)).report


def _play_remotely(players: RunPlayers, ledger: RunLedger, links: _ServerLinks) -> None:
    async def play() -> None:
        try:
            await play_run(players, _ThreadLedger(ledger))
        finally:
            await links.close()

    event_loop.run(play())


class _ThreadLedger(NamedTuple):
    """A ledger that blocks, with its work done in a thread."""

    ledger: RunLedger

    async def missing(self) -> list[Pairing]:
        return await asyncio.to_thread(lambda: run_blocking(self.ledger.missing()))

    async def hand_in(self, reports: Sequence[MatchReport]) -> bool:
        return await asyncio.to_thread(lambda: run_blocking(self.ledger.hand_in(reports)))


class _ServerLinks:
    """Connections to a server that take up to `concurrency` requests at a time."""

    def __init__(self, server: Server, wait_s: float, concurrency: int) -> None:
        self._wait_s = wait_s
        self._links = [_ServerLink(server) for _ in range(ceil(concurrency / MAX_PENDING_REQUESTS))]
        self._free = self._links * MAX_PENDING_REQUESTS
        """The links, each as often as it takes further requests."""

    async def ask(self, request: Request, kind: type[T]) -> T:
        """Return the server's answer. While it is away, try again for `wait_s` seconds. Raise `Fault` if it refuses."""
        retry = Retry((NoServer, NoServerAnswer), Backoff(RETRY_DELAY_S), self._wait_s)
        link = self._free.pop()
        try:
            return await retry.run(lambda: link.ask(request, kind))
        finally:
            self._free.append(link)

    async def close(self) -> None:
        for link in self._links:
            await link.close()


class _ServerLink:
    """A connection to a server for many requests. It is made at the first one, and again after it was lost."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._held = AsyncExitStack()
        self._operator: OperatorConnection | None = None
        self._connecting = asyncio.Lock()

    async def ask(self, request: Request, kind: type[T]) -> T:
        """Send a request and return the reply. Raise the errors of `OperatorConnection.ask` and `connect_to_folder`."""
        at = self._server
        async with self._connecting:
            if self._operator is None:
                line = connect_to_folder(at.folder) if isinstance(at, LocalServer) else connect_to_url(at.url, at.token)
                self._operator = await self._held.enter_async_context(line)
            operator = self._operator
        try:
            return await operator.ask(request, kind)
        except NoServerAnswer:
            if self._operator is operator:
                await self.close()
            raise

    async def close(self) -> None:
        self._operator = None
        await self._held.aclose()
