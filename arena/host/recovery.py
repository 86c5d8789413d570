"""The matches of the journal, brought back after a restart: refereed again in a thread, while the loop goes on."""

from __future__ import annotations

import asyncio
import logging
from typing import NamedTuple

from arena.host.handler import HostHandler
from arena.host.journal import Journal, MatchJournal
from protocol.errors import BadRecord, Fault
from protocol.messages import Player
from referee.match import Match
from referee.record import AnyLine, Header, Secret
from referee.replay import Recalled

log = logging.getLogger("arena.host.recovery")


class Recovered(NamedTuple):
    """A match that stands where its journal left it."""

    match: Match
    recalled: Recalled
    journal: MatchJournal


async def recovered(journal: Journal, handler: HostHandler) -> list[Recovered]:
    """All matches that go on, as the handler decides; what can't be read is left as it is."""
    found: list[Recovered] = []
    try:
        for match in journal.unfinished():
            try:
                one = await _recovered(match, journal, handler)
            except Fault as fault:
                log.warning("match %s can't go on, its journal is left as it is: %s", match, fault)
            else:
                found += [one] if one is not None else []
    except asyncio.CancelledError:
        for one in found:
            one.journal.close()
        raise
    return found


async def _recovered(match: str, journal: Journal, handler: HostHandler) -> Recovered | None:
    lines = await asyncio.to_thread(journal.read, match)
    if not lines or (len(lines) == 1 and isinstance(lines[0], Secret)):
        log.warning("match %s: its journal ends before the header, so nobody was told of it, and is removed", match)
        journal.forget(match)
        return None
    if len(lines) == 1 or not isinstance(lines[0], Secret) or not isinstance(lines[1], Header):
        raise BadRecord("it does not begin with a secret and a header")
    header = lines[1]
    if not await handler.resumes(header):
        journal.forget(match)
        return None
    played, recalled = await asyncio.to_thread(_recalled, header, lines[0], lines[2:], handler.players(header))
    return Recovered(played, recalled, journal.proceed(match))


def _recalled(header: Header, secret: Secret, lines: list[AnyLine], players: list[Player]) -> tuple[Match, Recalled]:
    match = Match(header, bytes.fromhex(secret.seed), players)
    return match, match.recall(lines)
