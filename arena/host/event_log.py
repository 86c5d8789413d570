"""The events of a host: logged, counted for the operator, and noted as incidents of the bots that caused them.

Rates and sizes are bounded, so that clients can't fill the log or the database.
"""

from __future__ import annotations

import logging
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from arena.network.connection import CloseInfo
from arena.operator.failure import Failure
from arena.store.incident import Incident
from machine.event_loop import Tasks
from machine.log_output import LeftOut, about
from machine.timestamps import utc
from machine.token_bucket import TokenBucket
from protocol import close_codes
from protocol.display import counted, cut, printable
from protocol.errors import ArenaFault
from protocol.games import game_class
from protocol.messages import MAX_BAD_MESSAGES
from protocol.names import folded
from protocol.reasons import FAILED, NO_SHOW, PLAYED_OUT, RESIGNED
from referee.record import Header
from referee.result import Result

OF_ADDRESS, OF_ADDRESS_PER_SECOND = 100, 0.5
"""Burst and rate per second of an address's log lines about clients that come, leave or are refused."""
ENDS, ENDS_PER_SECOND = 60, 1.0
"""Burst and rate per second of log lines about finished matches; those beyond are logged at level debug."""
INCIDENTS_OF_BOT, INCIDENTS_OF_BOT_PER_SECOND = 10, 1 / 60
INCIDENTS, INCIDENTS_PER_SECOND = 50, 1.0
"""Burst and rate per second of noted incidents, for one bot and for all; those beyond are dropped."""
FINE = (1000, close_codes.GOING_AWAY, close_codes.RESTARTING)
"""Codes with which the arena closes a connection that has done nothing wrong."""
BROKEN = 1006
"""Stands for a connection that ended without a close frame."""
KEPT_FAILURES = 50
MOST_CONFIG = 80
"""Maximum characters shown of a config that is no preset."""
BUCKET, HOUR = 10, 3600
"""Seconds per bucket of the counter of finished matches, and seconds that it covers."""

log = logging.getLogger("arena.events")


class EventLog:
    """Logs events, keeps recent failures, counts finished matches, and records incidents with `note`.

    `note` may raise `ArenaFault`. `now` is a clock in seconds.
    """

    def __init__(
        self, note: Callable[[str, Incident], Awaitable[None]], now: Callable[[], float] = time.monotonic
    ) -> None:
        self._note_down = note
        self._now = now
        self._incidents_of_bot = TokenBucket(INCIDENTS_OF_BOT, INCIDENTS_OF_BOT_PER_SECOND)
        self._incidents = TokenBucket(INCIDENTS, INCIDENTS_PER_SECOND)
        self._noting = Tasks()
        self._of_address = TokenBucket(OF_ADDRESS, OF_ADDRESS_PER_SECOND)
        self._ends = TokenBucket(ENDS, ENDS_PER_SECOND)
        self._left_out = LeftOut(log)
        self._ended: deque[tuple[int, int]] = deque(maxlen=HOUR // BUCKET + 1)
        """The buckets of time, each with the number of matches that ended in it."""
        self.begun_matches: Counter[str] = Counter()
        """The number of matches begun, by game."""
        self.ended_matches: Counter[tuple[str, str]] = Counter()
        """The number of matches ended, by game and reason."""
        self.missed_matches = 0
        """The number of times that a bot missed its match."""
        self.rejected: Counter[str] = Counter()
        """The number of clients refused after they had connected, by error code."""
        self.failures: deque[Failure] = deque(maxlen=KEPT_FAILURES)
        """Recent failures, newest last."""

    def came(self, bot: str, version: str, client: str, address: str) -> None:
        """Log that a bot connected."""
        text = " ".join(filter(None, (bot, version, client and f"({client})", f"came from {address}")))
        self._of_strangers("came", address, text, bot=bot, version=version, client=client, address=address)

    def registered(self, bot: str, address: str) -> None:
        """Log that a name was registered or changed its owner."""
        self._of_strangers("registered", address, f"{bot} is registered, from {address}", bot=bot, address=address)

    def left(self, bot: str, address: str, ended: CloseInfo, last_fault: str, playing: int) -> None:
        """Log that a bot's connection ended with `playing` matches running. `last_fault` is its last bad message."""
        trouble = parting(ended, last_fault, playing)
        if trouble is not None:
            self._failed(bot, trouble)
            self.note(bot, ended.code or BROKEN, trouble)
        fields = {"bot": bot, "address": address, "why": trouble or ending(ended), "failed": trouble is not None}
        self._of_strangers("left", address, f"{bot} left: {fields['why']}", **fields)

    def refused(self, address: str, why: str, bot: str | None = None, code: str | None = None) -> None:
        """Log that a client was refused, with its error code if it had already connected."""
        if code is not None:
            self.rejected[code] += 1
        self._failed(bot or address, f"not let in: {why}")
        who = f"{bot} from {address}" if bot else address
        self._of_strangers("refused", address, f"{who} was not let in: {why}", bot=bot, address=address, why=why)

    def impostor(self, bot: str, code: str, *, with_token: bool) -> None:
        """Note for a bot that a client used its name without the right token."""
        what = "with another token" if with_token else "without its token"
        self.note(bot, code, f"somebody came under this name {what}, and was not let in")

    def missed(self, bot: str, match: str, pause: float) -> None:
        """Log and note that a bot missed its match; it may not seek for `pause` seconds."""
        self.missed_matches += 1
        text = f"did not come to {match}, and may not seek for {pause:g} s"
        self._failed(bot, text)
        self._write(logging.DEBUG, "missed", f"{bot} {text}", bot=bot, match=match, pause=pause)
        how = "not ready in time, or gone without a move"
        self.note(bot, NO_SHOW, f"it did not come to {match}: {how}; it may not seek for {pause:g} s")

    def note(self, bot: str, code: object, text: str) -> None:
        """Note an incident that a bot caused, unless there are too many."""
        now = self._now()
        if self._incidents_of_bot.take(folded(bot), now) or self._incidents.take(None, now):
            return
        self._noting.begin(self._note(bot, Incident(at=utc(), code=str(code), text=text)))

    def begun(self, header: Header) -> None:
        """Log that a match began."""
        self.begun_matches[header.game] += 1
        bots = [seat.bot for seat in header.seats]
        text = f"{header.match} began: {header.game}, {', '.join(bots)}"
        fields = {
            "match": header.match,
            "game": header.game,
            "config": _named(header.game, header.config),
            "bots": bots,
        }
        self._write(logging.DEBUG, "begun", text, **fields)

    def ended(self, result: Result, failures: Mapping[int, str]) -> None:
        """Log that a match ended. `failures` gives, by seat, why bots' programs failed."""
        now = self._now()
        self._count(now)
        self.ended_matches[result.game, result.reason] += 1
        for number, seat in enumerate(result.seats):
            if seat.reason not in (*PLAYED_OUT, RESIGNED):
                why = f": {failures[number]}" if number in failures else ""
                self._failed(seat.bot, f"{seat.reason} in {result.match}{why}")
            if seat.reason == FAILED:
                self.note(seat.bot, FAILED, f"its program failed in {result.match}: its own output says why")
        level = logging.INFO
        if self._ends.take(None, now):
            level = logging.DEBUG
            self._left_out.add("ended")
        bots = [seat.bot for seat in result.seats]
        ranks = [seat.rank for seat in result.seats]
        fared = ", ".join(f"{rank}. {bot}" for rank, bot in sorted(zip(ranks, bots, strict=True)))
        text = f"{result.match} ended: {result.game}, {fared}, {result.reason} after {result.plies} plies"
        config = _named(result.game, result.config)
        fields: dict[str, Any] = {"match": result.match, "game": result.game, "config": config, "bots": bots}
        fields |= {"ranks": ranks, "reason": result.reason, "plies": result.plies, "rated": result.rated}
        self._write(level, "ended", text, reasons=[seat.reason for seat in result.seats], **fields)

    def matches_within(self, seconds: float) -> int:
        """Return how many matches ended in the last `seconds`, up to an hour, in steps of `BUCKET`."""
        first = (self._now() - seconds) // BUCKET
        return sum(count for bucket, count in self._ended if bucket > first)

    async def close(self) -> None:
        """Log how many lines were dropped, and wait until all incidents are written."""
        self._left_out.tell()
        await self._noting.wait()

    async def _note(self, bot: str, incident: Incident) -> None:
        try:
            await self._note_down(bot, incident)
        except ArenaFault as fault:
            log.warning("an incident of %s can't be noted: %s", bot, fault, extra=about(bot=bot))

    def _count(self, now: float) -> None:
        bucket = int(now // BUCKET)
        if self._ended and self._ended[-1][0] == bucket:
            self._ended[-1] = bucket, self._ended[-1][1] + 1
        else:
            self._ended.append((bucket, 1))

    def _failed(self, who: str, text: str) -> None:
        self.failures.append(Failure(at=utc(), who=printable(who), text=printable(text)))

    def _of_strangers(self, event: str, address: str, text: str, /, **fields: Any) -> None:
        """Log a line about a client that comes or leaves, unless there are too many."""
        if self._of_address.take(address, self._now()):
            self._left_out.add(event)
        else:
            log.info("%s", text, extra={"event": event, "fields": fields, "of_stranger": True})

    def _write(self, level: int, event: str, text: str, /, **fields: Any) -> None:
        log.log(level, "%s", text, extra={"event": event, "fields": fields})


def _named(game: str, config: Mapping[str, Any]) -> str:
    """Return the name of a config's preset, or else the beginning of its JSON, as a map may be long."""
    return game_class(game).preset_of(config) or cut(msgspec.json.encode(config).decode(), MOST_CONFIG)


def ending(ended: CloseInfo) -> str:
    """Describe how a connection ended without an error."""
    if ended.here:
        return f"the arena closed the connection ({ended.code}): {ended.reason or 'no reason given'}"
    return f"the bot closed the connection ({ended.code})"


def parting(ended: CloseInfo, last_fault: str, playing: int) -> str | None:
    """Describe what went wrong at the end of a connection; None if nothing did."""
    left = f", with {counted(playing, 'match', 'matches')} under way" if playing else ""
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
    return f"closed by the arena ({ended.code}): {ended.reason or 'no reason given'}{left}"
