"""The headers of the matches that an arena starts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arena.host.client_registry import ClientRegistry
from machine.timestamps import utc_now
from protocol.games.base import Game
from protocol.messages import Clock
from referee.record import Header, RecordedSeat, make_header


class MatchHeaders:
    """Makes headers. Matches have the `clock` of the arena, or its `slow_clock`.

    A disconnected seat drops out after `away_s` seconds or, if that is 0, when its clock runs out.
    """

    def __init__(self, clients: ClientRegistry, clock: Clock, slow_clock: Clock, away_s: float) -> None:
        self._clients = clients
        self._clock = clock
        self.slow_clock = slow_clock
        self._away_ms = round(away_s * 1000)

    def make(
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
        """Return the header of a match between `bots` in seat order, with the versions that they announced. The match
        is rated if `pool` is given. Its clock is the arena's usual clock unless `clock` is given.
        """
        return make_header(
            match=match,
            game=game,
            seats=[RecordedSeat(bot=bot, version=self._clients.version_of(bot)) for bot in bots],
            seed=seed,
            pool=pool,
            clock=clock or self._clock,
            away_ms=self._away_ms,
            started=utc_now(),
            tournament=tournament,
            place=place,
        )
