"""One match refereed in this process: the referee's effects carried out among bots that are called.

Time is not the clock's but the referee's: what a bot thought is put on its account as if all others had thought on
machines of their own, and where nobody has anything to say any more, the time until the deadline is passed over.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from contextlib import nullcontext

from bots.playing.alarm import Alarm
from bots.playing.local_client import LocalClient
from machine.timestamps import utc
from protocol.messages import FromClient, FromServer, Move, Player, Ready
from referee.effects import (
    Absent,
    Deadline,
    Effect,
    Expired,
    Finish,
    MatchEvent,
    Played,
    Readied,
    Release,
    Resigned,
    Tell,
    Voided,
    Write,
)
from referee.footer import Closed
from referee.match import Match
from referee.record import Header, public, write_line

GRACE = 0.1
"""Seconds after its deadline at which a bot's code is stopped."""
ENDED_WITHIN = 10.0
"""Seconds for what a bot does when the match is over."""


def referee(header: Header, seed: bytes, guests: Sequence[LocalClient | None], *, timed: bool = True) -> Closed:
    """Play the match of a header between guests in seat order, None for one that does not come; `seed` is that of its
    commitment.

    Unless it is `timed` nobody's thinking takes time.
    """
    return _Table(header, seed, guests, timed).play()


class _Table:
    def __init__(self, header: Header, seed: bytes, guests: Sequence[LocalClient | None], timed: bool) -> None:
        self._match = Match(header, seed, [Player(bot=seat.bot, version=seat.version) for seat in header.seats])
        self._guests = {seat: guest for seat, guest in enumerate(guests) if guest is not None}
        """Those who are still to be told the end."""
        self._timed = timed
        self._now = 0.0
        self._deadline: float | None = None
        self._said: list[tuple[float, int, int, FromClient]] = []
        """What has yet to be looked at: when and as the how-manieth it was said, by which seat."""
        self._messages = 0
        self._alarm = Alarm()
        self._lines: list[bytes] = []
        self._over = False

    def play(self) -> Closed:
        with self._alarm.wound() if self._timed else nullcontext():
            self._carry_out(self._match.open(self._now))
            absent = [seat for seat in range(self._match.game.seats) if seat not in self._guests]
            for missing in map(Absent, absent) if self._guests else [Voided()]:
                self._carry_out(self._match.receive(missing, self._now))
            while not self._over:
                event = self._next()
                self._carry_out(self._match.receive(event, self._now))
            for seat in list(self._guests):
                self._tell(seat, self._match.farewell(seat))
        result = self._match.result(utc())
        return Closed(result, tuple(self._lines), self._match.footer(result, None))

    def _next(self) -> MatchEvent:
        """What happens next, at which time has come: something is said in time, or time is up."""
        while self._said and (self._deadline is None or self._said[0][0] <= self._deadline):
            self._now, _, seat, message = heapq.heappop(self._said)
            if seat in self._guests:
                return _event(seat, message)
        assert self._deadline is not None
        self._now = max(self._now, self._deadline)
        return Expired()

    def _carry_out(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Deadline):  # first, as it is that of whoever is told something
                self._deadline = effect.at
        for effect in effects:
            if isinstance(effect, Write):
                line = write_line(effect.line)
                if public(line):
                    self._lines.append(line)
            elif isinstance(effect, Tell):
                self._tell(effect.seat, effect.message)
            elif isinstance(effect, Release):
                self._guests.pop(effect.seat, None)
            elif isinstance(effect, Finish):
                self._over = True

    def _tell(self, seat: int, message: FromServer) -> None:
        if seat not in self._guests:
            return
        left = ENDED_WITHIN if self._deadline is None else self._deadline - self._now
        for seconds, said in self._guests[seat].hear(message, self._alarm, left + GRACE if self._timed else None):
            self._messages += 1
            at = self._now + seconds if self._timed else self._now
            heapq.heappush(self._said, (at, self._messages, seat, said))


def _event(seat: int, message: FromClient) -> MatchEvent:
    """What a seat says, as the referee takes it; of the client's messages these belong to a match."""
    if isinstance(message, Move):
        return Played(seat, message.ply, message.move, message.info, waited=0.0)
    if isinstance(message, Ready):
        return Readied(seat, bytes.fromhex(message.nonce or ""))
    return Resigned(seat)
