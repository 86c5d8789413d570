"""What went wrong with a bot by its own doing, noted in the store: so often that no stranger keeps the disk busy."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from arena.network.connection import CloseInfo
from arena.network.rate_limits import TokenBucket
from arena.store.incidents import Incident
from machine.timestamps import utc
from protocol import close_codes, reasons
from protocol.errors import ArenaFault
from protocol.messages import MAX_BAD_MESSAGES
from protocol.names import folded

OF_BOT, OF_BOT_PER_SECOND = 10, 1 / 60
OF_ALL, OF_ALL_PER_SECOND = 50, 1.0
"""So many at once, then so many a second; what is beyond that is not noted."""
FINE = (1000, close_codes.GOING_AWAY, close_codes.RESTARTING)
"""Codes with which the arena closes a connection that nothing is wrong with."""
BROKEN = 1006
"""Stands for a close that never came."""

log = logging.getLogger("arena.host.incidents")


Write = Callable[[str, Incident], Awaitable[None]]


class Incidents:
    """Has incidents of bots written down. `now` is in seconds of one clock."""

    def __init__(self, write: Write, now: Callable[[], float] = time.monotonic) -> None:
        self._write_down = write
        self._now = now
        self._of_bot = TokenBucket(OF_BOT, OF_BOT_PER_SECOND)
        self._of_all = TokenBucket(OF_ALL, OF_ALL_PER_SECOND)
        self._writing: set[asyncio.Task[None]] = set()

    def parted(self, bot: str, ended: CloseInfo, last_fault: str, playing: int) -> None:
        """A bot's connection ended, with so many matches under way; its last bad message had the `last_fault`."""
        trouble = parting(ended, last_fault, playing)
        if trouble is not None:
            self.note(bot, ended.code or BROKEN, trouble)

    def missed(self, bot: str, match: str, pause: float) -> None:
        """A bot did not come to a match."""
        how = "not ready in time, or gone without a move"
        self.note(bot, reasons.NO_SHOW, f"it did not come to {match}: {how}; it may not seek for {pause:g} s")

    def refused(self, bot: str, code: str, *, with_token: bool) -> None:
        """Somebody came under the name of a bot and could not prove it."""
        what = "with another token" if with_token else "without its token"
        self.note(bot, code, f"somebody came under this name {what}, and was not let in")

    def note(self, bot: str, code: object, text: str) -> None:
        """Note what happened to a bot, unless that happens too often."""
        now = self._now()
        if self._of_bot.take(folded(bot), now) or self._of_all.take(None, now):
            return
        task = asyncio.create_task(self._write(bot, Incident(at=utc(), code=str(code), text=text)))
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)

    async def wait(self) -> None:
        """Return when all that was noted is written."""
        if self._writing:
            await asyncio.wait(self._writing)

    async def _write(self, bot: str, incident: Incident) -> None:
        try:
            await self._write_down(bot, incident)
        except ArenaFault as fault:
            log.warning("an incident of %s can't be noted: %s", bot, fault)


def ending(ended: CloseInfo) -> str:
    """How a connection ended with which nothing went wrong."""
    if ended.here:
        return f"the arena closed the connection ({ended.code}): {ended.reason or 'without a word'}"
    return f"the bot closed the connection ({ended.code})"


def parting(ended: CloseInfo, last_fault: str, playing: int) -> str | None:
    """What went wrong where a connection ended so; None if nothing did."""
    left = f", with {playing} {'match' if playing == 1 else 'matches'} under way" if playing else ""
    if not ended.here:
        if ended.code is None:
            return f"the connection broke off without a close{left}"
        return f"the bot closed the connection ({ended.code}){left}" if playing else None
    if ended.code in FINE:
        return None
    if ended.code == close_codes.TOO_MANY_BAD_MESSAGES:
        return f"closed after {MAX_BAD_MESSAGES} bad messages; the last: {last_fault}"
    if ended.code == close_codes.SUPERSEDED:
        return f"replaced by a newer connection under the same name: the bot came back, or runs twice{left}"
    if ended.code == close_codes.READS_TOO_SLOWLY:
        return f"closed because the bot did not read what it was sent{left}"
    return f"closed by the arena ({ended.code}): {ended.reason or 'without a word'}{left}"
