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
from machine.event_loop import BackgroundTasks
from machine.keyed_limiter import KeyedLimiter, TokenBucket
from machine.log_output import SuppressedLineCounter, log_fields
from machine.timestamps import utc_now
from protocol import close_codes
from protocol.display import escape_unprintable, format_count, truncate
from protocol.errors import ArenaFault
from protocol.games import game_class
from protocol.messages import MAX_BAD_MESSAGES
from protocol.names import fold_name
from protocol.reasons import FAILED, NATURAL_ENDINGS, NO_SHOW, RESIGNED
from referee.record import Header
from referee.result import Result

ADDRESS_LINES_RATE = TokenBucket(burst=100, per_second=0.5)
"""The rate limit on log lines about clients of one address that connect, leave or are refused."""
END_LINES_RATE = TokenBucket(burst=60, per_second=1.0)
"""The rate limit on log lines about finished matches. Further lines are logged at level debug."""
BOT_INCIDENTS_RATE = TokenBucket(burst=10, per_second=1 / 60)
"""The rate limit on the noted incidents of one bot. Further incidents are dropped."""
INCIDENTS_RATE = TokenBucket(burst=50, per_second=1.0)
"""The rate limit on the noted incidents of all bots together. Further incidents are dropped."""
NORMAL_CLOSE_CODES = (1000, close_codes.GOING_AWAY, close_codes.RESTARTING)
"""The codes with which the arena closes the connection of a client that has done nothing wrong."""
NO_CLOSE_CODE = 1006
"""The code that an incident has if the connection ended without a close frame."""
MAX_FAILURES = 50
"""Maximum number of recent failures that are kept."""
MAX_CONFIG_CHARS = 80
"""Maximum characters of a custom config in a log line."""
BUCKET_S, HOUR_S = 10, 3600
"""Finished matches are counted for the last `HOUR_S` seconds, in buckets of `BUCKET_S` seconds."""

log = logging.getLogger("arena.events")


class EventLog:
    """Logs events, keeps recent failures, counts finished matches, and records incidents with `record_incident`, which
    may raise `ArenaFault`. `clock` returns seconds.
    """

    def __init__(
        self, record_incident: Callable[[str, Incident], Awaitable[None]], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._record_incident = record_incident
        self._now = clock
        self._incidents_of_bot = KeyedLimiter(BOT_INCIDENTS_RATE)
        self._incidents = KeyedLimiter(INCIDENTS_RATE)
        self._recording = BackgroundTasks()
        self._address_lines = KeyedLimiter(ADDRESS_LINES_RATE)
        self._end_lines = KeyedLimiter(END_LINES_RATE)
        self._suppressed = SuppressedLineCounter(log)
        self.client_level = logging.INFO
        """The level of the lines about clients that connect, or that leave without trouble."""
        self._ended_counts: deque[tuple[int, int]] = deque(maxlen=HOUR_S // BUCKET_S + 1)
        """Pairs of a bucket (a period of `BUCKET_S` seconds, numbered) and the count of matches that ended in it."""
        self.begun_matches: Counter[str] = Counter()
        """The number of matches that began, by game."""
        self.ended_matches: Counter[tuple[str, str]] = Counter()
        """The number of matches that ended, by game and reason."""
        self.missed_matches = 0
        """The number of times that a bot missed its match."""
        self.rejected_clients: Counter[str] = Counter()
        """The number of clients refused after they had connected, by error code."""
        self.failures: deque[Failure] = deque(maxlen=MAX_FAILURES)
        """Recent failures, newest last."""

    def log_connected(self, bot: str, version: str, client: str, address: str) -> None:
        text = " ".join(filter(None, (bot, version, client and f"({client})", f"connected from {address}")))
        self._log_client(
            "came", address, text, level=self.client_level, bot=bot, version=version, client=client, address=address
        )

    def log_registered(self, bot: str, address: str) -> None:
        """Log that a name was registered or changed its owner."""
        self._log_client("registered", address, f"{bot} was registered from {address}", bot=bot, address=address)

    def log_disconnected(
        self, bot: str, address: str, close_info: CloseInfo, last_fault: str, running_matches: int
    ) -> None:
        """Log that a bot's connection ended while the bot had this number of running matches. `last_fault` is the error
        in its last bad message.
        """
        trouble = describe_trouble(close_info, last_fault, running_matches)
        if trouble is not None:
            self._add_failure(bot, trouble)
            self.note_incident(bot, close_info.code or NO_CLOSE_CODE, trouble)
        fields = {
            "bot": bot,
            "address": address,
            "why": trouble or describe_normal_close(close_info),
            "failed": trouble is not None,
        }
        level = self.client_level if trouble is None else logging.INFO
        self._log_client("left", address, f"{bot} disconnected: {fields['why']}", level=level, **fields)

    def log_refused(self, address: str, reason: str, bot: str | None = None, code: str | None = None) -> None:
        """Log that a client was refused. `code` is the error code, given if the client had already connected."""
        if code is not None:
            self.rejected_clients[code] += 1
        self._add_failure(bot or address, f"rejected: {reason}")
        who = f"{bot} from {address}" if bot else address
        self._log_client("refused", address, f"{who} was rejected: {reason}", bot=bot, address=address, why=reason)

    def note_impostor(self, bot: str, code: str, *, with_token: bool) -> None:
        """Note an incident of a bot: a client used the bot's name with another token or, if `with_token` is false,
        without a token.
        """
        what = "with another token" if with_token else "without its token"
        self.note_incident(bot, code, f"a client used this name {what} and was rejected")

    def note_missed_match(self, bot: str, match: str, pause_s: float) -> None:
        """Log and note that a bot missed its match, and may not seek for `pause_s` seconds."""
        self.missed_matches += 1
        text = f"missed {match} and is suspended for {pause_s:g} s"
        self._add_failure(bot, text)
        self._write(logging.DEBUG, "missed", f"{bot} {text}", bot=bot, match=match, pause=pause_s)
        how = "it was not ready in time, or dropped out without a move"
        self.note_incident(bot, NO_SHOW, f"it missed {match} and is suspended for {pause_s:g} s: {how}")

    def note_incident(self, bot: str, code: object, text: str) -> None:
        """Record an incident that a bot caused, unless this bot, or all bots together, have had too many incidents."""
        now = self._now()
        if self._incidents_of_bot.take(fold_name(bot), now) or self._incidents.take(None, now):
            return
        self._recording.start(self._note(bot, Incident(at=utc_now(), code=str(code), text=text)))

    def log_begun(self, header: Header) -> None:
        self.begun_matches[header.game] += 1
        bots = [seat.bot for seat in header.seats]
        text = f"{header.match} began: {header.game}, {', '.join(bots)}"
        fields = {
            "match": header.match,
            "game": header.game,
            "config": _describe_config(header.game, header.config),
            "bots": bots,
        }
        self._write(logging.DEBUG, "begun", text, **fields)

    def log_ended(self, result: Result, failures: Mapping[int, str]) -> None:
        """Log that a match ended. `failures` gives, by seat, why bots' programs failed."""
        now = self._now()
        self._count_ended(now)
        self.ended_matches[result.game, result.reason] += 1
        for number, seat in enumerate(result.seats):
            if seat.reason not in (*NATURAL_ENDINGS, RESIGNED):
                why = f": {failures[number]}" if number in failures else ""
                self._add_failure(seat.bot, f"{seat.reason} in {result.match}{why}")
            if seat.reason == FAILED:
                self.note_incident(
                    seat.bot, FAILED, f"its program failed in {result.match}: see the output of the program"
                )
        level = logging.INFO
        if self._end_lines.take(None, now):
            level = logging.DEBUG
            self._suppressed.add("ended")
        bots = [seat.bot for seat in result.seats]
        ranks = [seat.rank for seat in result.seats]
        fared = ", ".join(f"{rank}. {bot}" for rank, bot in sorted(zip(ranks, bots, strict=True)))
        text = f"{result.match} ended: {result.game}, {fared}, {result.reason} after {result.plies} plies"
        config = _describe_config(result.game, result.config)
        fields: dict[str, Any] = {"match": result.match, "game": result.game, "config": config, "bots": bots}
        fields |= {"ranks": ranks, "reason": result.reason, "plies": result.plies, "rated": result.rated}
        self._write(level, "ended", text, reasons=[seat.reason for seat in result.seats], **fields)

    def count_ended_within(self, seconds: float) -> int:
        """Return how many matches ended in the last `seconds`, up to an hour, in steps of `BUCKET_S`."""
        first = (self._now() - seconds) // BUCKET_S
        return sum(count for bucket, count in self._ended_counts if bucket > first)

    async def close(self) -> None:
        """Log how many log lines were dropped, and wait until all incidents are written."""
        self._suppressed.report()
        await self._recording.wait()

    async def _note(self, bot: str, incident: Incident) -> None:
        try:
            await self._record_incident(bot, incident)
        except ArenaFault as fault:
            log.warning("an incident of %s can't be stored: %s", bot, fault, extra=log_fields(bot=bot))

    def _count_ended(self, now: float) -> None:
        bucket = int(now // BUCKET_S)
        if self._ended_counts and self._ended_counts[-1][0] == bucket:
            self._ended_counts[-1] = bucket, self._ended_counts[-1][1] + 1
        else:
            self._ended_counts.append((bucket, 1))

    def _add_failure(self, source: str, text: str) -> None:
        self.failures.append(Failure(at=utc_now(), who=escape_unprintable(source), text=escape_unprintable(text)))

    def _log_client(self, event: str, address: str, text: str, /, *, level: int = logging.INFO, **fields: Any) -> None:
        """Log a line about a client that connects, leaves or is refused, unless its address has too many such lines."""
        if self._address_lines.take(address, self._now()):
            self._suppressed.add(event)
        else:
            log.log(level, "%s", text, extra={"event": event, "fields": fields, "of_stranger": True})

    def _write(self, level: int, event: str, text: str, /, **fields: Any) -> None:
        log.log(level, "%s", text, extra={"event": event, "fields": fields})


def _describe_config(game: str, config: Mapping[str, Any]) -> str:
    """Return the name of a config's preset. If it is not a preset's, return the beginning of its JSON."""
    return game_class(game).preset_of(config) or truncate(msgspec.json.encode(config).decode(), MAX_CONFIG_CHARS)


def describe_normal_close(close_info: CloseInfo) -> str:
    """Describe how a connection ended without an error."""
    if close_info.by_arena:
        return f"the arena closed the connection ({close_info.code}): {close_info.reason or 'no reason given'}"
    return f"the bot closed the connection ({close_info.code})"


def describe_trouble(close_info: CloseInfo, last_fault: str, running_matches: int) -> str | None:
    """Describe what went wrong at the end of a connection; None if nothing did."""
    left = f", with {format_count(running_matches, 'match', 'matches')} under way" if running_matches else ""
    if not close_info.by_arena:
        if close_info.code is None:
            return f"the connection broke without a close frame{left}"
        return f"the bot closed the connection ({close_info.code}){left}" if running_matches else None
    if close_info.code in NORMAL_CLOSE_CODES:
        return None
    if close_info.code == close_codes.TOO_MANY_BAD_MESSAGES:
        return f"closed after {MAX_BAD_MESSAGES} bad messages; the last: {last_fault}"
    if close_info.code == close_codes.SUPERSEDED:
        return f"replaced by a newer connection under the same name: the bot reconnected, or runs twice{left}"
    if close_info.code == close_codes.READS_TOO_SLOWLY:
        return f"closed because the bot read its messages too slowly{left}"
    return f"closed by the arena ({close_info.code}): {close_info.reason or 'no reason given'}{left}"
