"""Matches among the bots that are connected to a running server, where their owners run them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

from arena.operator.client import NoAnswer, NoServer, connected
from arena.ratings.pairing import Pairing
from arena.tournament.calls import HandedOver, Play
from arena.tournament.plan import Plan
from arena.tournament.terms import Halted, MatchReport, Server, Terms
from protocol.errors import Fault
from protocol.reasons import NO_SHOW

TRY_AGAIN = 2.0
WHY: Mapping[str, str] = {NO_SHOW: "it was not there"}


class Afar:
    """Has matches played by a server, which may restart meanwhile."""

    def __init__(self, server: Server, terms: Terms) -> None:
        self._server = server
        self._terms = terms

    def play(self, match: Pairing) -> MatchReport | Halted:
        """The match, played; or why no more can be."""
        since = time.monotonic()
        while True:
            try:
                closed = asyncio.run(self._played(self._terms.plan, match)).closed()
            except (NoServer, NoAnswer) as fault:
                if time.monotonic() - since > self._terms.hello_within:
                    return Halted(fault)
                time.sleep(TRY_AGAIN)
            except Fault as fault:
                return Halted(fault)
            else:
                seats = enumerate(closed.result.seats)
                return MatchReport(closed, None, {at: WHY[seat.reason] for at, seat in seats if seat.reason in WHY})

    async def _played(self, plan: Plan, match: Pairing) -> HandedOver:
        header, seed = plan.header_of(match, "", lambda bot: "")
        request = Play(
            match=header.match,
            game=header.game,
            config=header.config,
            bots=list(match.seats),
            seed=seed.hex(),
            clock=header.clock,
            tournament=plan.id,
            place=match.place,
            pool=header.pool,
            wait_s=self._terms.hello_within,
        )
        async with connected(self._server.url, self._server.token) as operator:
            return await operator.ask(request, HandedOver)
