"""The matches of the journal, brought back after a restart: refereed again in a thread, while the loop goes on."""

from __future__ import annotations

import asyncio
import logging
from typing import NamedTuple

from arena.host.journal import Journal, MatchJournal
from arena.server.rating_cache import RatingCache
from arena.store.async_store import AsyncStore
from protocol.errors import BadRecord, Fault
from protocol.messages import Player
from referee.match import Match
from referee.record import AnyLine, Header, Secret
from referee.replay import Recalled

log = logging.getLogger("arena.host.recovery")


class Restored(NamedTuple):
    """A match that stands where its journal left it."""

    match: Match
    recalled: Recalled
    journal: MatchJournal


async def restored(journal: Journal, archive: AsyncStore, ratings: RatingCache) -> list[Restored]:
    """All matches that can go on. A tournament has its own played again; what can't be read is left as it is."""
    found: list[Restored] = []
    try:
        for match in journal.unfinished():
            try:
                one = await _restored(match, journal, archive, ratings)
            except Fault as fault:
                log.warning("match %s can't go on, its journal is left as it is: %s", match, fault)
            else:
                found += [one] if one is not None else []
    except asyncio.CancelledError:
        for one in found:
            one.journal.close()
        raise
    return found


async def _restored(match: str, journal: Journal, archive: AsyncStore, ratings: RatingCache) -> Restored | None:
    lines = await asyncio.to_thread(journal.read, match)
    if not lines or (len(lines) == 1 and isinstance(lines[0], Secret)):
        log.warning("match %s: its journal ends before the header, so nobody was told of it, and is removed", match)
        journal.forget(match)
        return None
    if len(lines) == 1 or not isinstance(lines[0], Secret) or not isinstance(lines[1], Header):
        raise BadRecord("it does not begin with a secret and a header")
    header = lines[1]
    if header.tournament is not None or await archive.ask(archive.store.record, match) is not None:
        journal.forget(match)
        return None
    for seat in header.seats:
        await ratings.look_up(seat.bot)
    played, recalled = await asyncio.to_thread(_recalled, header, lines[0], lines[2:], ratings.players(header))
    return Restored(played, recalled, journal.proceed(match))


def _recalled(header: Header, secret: Secret, lines: list[AnyLine], players: list[Player]) -> tuple[Match, Recalled]:
    match = Match(header, bytes.fromhex(secret.seed), players)
    return match, match.recall(lines)
