"""Who is told of a match: peers, and of these the watchers after the seats, in order, and many of them in portions."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Protocol

from msgspec.structs import replace

from machine.log_output import about
from protocol.codec import Codec, Frame
from protocol.messages import End, FromServer, Start, Turn

PORTION = 32
"""Watchers that are told in one turn of the event loop: half a millisecond, and as much again for the kernel."""
BETWEEN = 0.003
"""Seconds between two portions, and at least so many times as long as the first of them took: the kernel takes
several times as much again, and who plays should keep nine tenths of the time, whoever watches."""
REST = 40
MOST_WAITING, MOST_EVENTS = 64, 256
"""Turns that wait to be told one by one, and the events of those that are told in one beyond that."""

Report = Callable[[FromServer], None]
"""Is told what is shown, and neither waits nor takes long."""

log = logging.getLogger("arena.host.broadcast")


class EncodedMessages:
    """Messages that many are told, in order: made ready for the wire once for each encoding, not for each peer."""

    def __init__(self, messages: Sequence[FromServer]) -> None:
        self.messages = messages
        self._ready: dict[Codec, bytes] = {}

    def ready(self, codec: Codec, framed: Callable[[Frame], bytes]) -> bytes:
        """The bytes of all of them in an encoding, one frame behind the other."""
        ready = self._ready.get(codec)
        if ready is None:
            ready = self._ready[codec] = b"".join(framed(codec.encode(message)) for message in self.messages)
        return ready


class Peer(Protocol):
    """Whoever sits on a seat or watches: a connection here, or one behind a broker on another node."""

    def send(self, message: FromServer) -> None:
        """Deliver a message without waiting."""

    def show(self, shown: EncodedMessages) -> None:
        """Deliver messages that others are told as well."""


class Broadcaster:
    """What is told to many, of all matches: portion after portion, of each round in turn."""

    def __init__(self) -> None:
        self.subscribers: dict[Peer, None] = {}
        """Who is told the start and the end of every match."""
        self._under_way: deque[Iterator[None]] = deque()
        self._waits = False
        """Whether a portion is told now, or was just now."""
        self._loop = asyncio.get_running_loop()

    def begin(self, portions: Iterator[None]) -> None:
        """Have the first portion told now, if none was just now, and each other one in a turn of its own."""
        self._under_way.append(portions)
        if not self._waits:
            self._tell()

    def _tell(self) -> None:
        self._waits = bool(self._under_way)
        if self._waits:
            began = self._loop.time()
            portions = self._under_way.popleft()
            if next(portions, self) is None:
                self._under_way.append(portions)
            self._loop.call_later(max(BETWEEN, REST * (self._loop.time() - began)), self._tell)


class Audience:
    """The watchers of a match, and those who report it; subscribers of all are told its start and its end alone.

    A round tells everyone what was shown before it, a portion of them in each turn of the event loop. What is shown
    meanwhile comes in the next round, all at once: so watchers may be late, and never hold up those who play. Only who
    reports is told at once, whatever goes on in other matches.
    """

    def __init__(self, rounds: Broadcaster, name: str) -> None:
        self.rounds = rounds
        self._name = name
        self._watchers: dict[Peer, int] = {}
        """With the number of the first message that each has yet to be told."""
        self._reporters: list[Report] = []
        self._shown: list[FromServer] = []
        """What no round tells yet, and how many there were before."""
        self._before = 0
        self._newcomers = False
        """Whether somebody came since the last of these, who knows of it."""
        self._in_round = False

    @property
    def watchers(self) -> Collection[Peer]:
        """Who watches, without those who report."""
        return self._watchers

    @property
    def wants_turns(self) -> bool:
        """Whether anybody is told every turn."""
        return bool(self._watchers or self._reporters)

    def report_to(self, report: Report) -> None:
        """Tell a reporter everything from now on."""
        self._reporters.append(report)

    def watch(self, peer: Peer) -> None:
        """Tell a peer everything that is shown from now on."""
        self._watchers[peer] = self._before + len(self._shown)
        self._newcomers = True

    def unwatch(self, peer: Peer) -> None:
        """Tell a peer no turns any more."""
        self._watchers.pop(peer, None)

    def show(self, message: FromServer) -> None:
        """Have everyone told whom it concerns."""
        for report in self._reporters:
            try:
                report(message)
            except Exception:
                log.exception("match %s: it could not be reported", self._name, extra=about(match=self._name))
        if self._watchers or (self.rounds.subscribers and isinstance(message, Start | End)):
            self._append(message)
            if not self._in_round:
                self._in_round = True
                self.rounds.begin(self._portions())

    def _append(self, message: FromServer) -> None:
        """Have a message wait; where many turns do, the newest takes the place of the last, with its events."""
        shown = self._shown
        if len(shown) >= MOST_WAITING and not self._newcomers:
            last = shown[-1]
            if type(message) is Turn and type(last) is Turn:
                shown[-1] = replace(message, events=[*last.events, *message.events][-MOST_EVENTS:])
                return
        self._newcomers = False
        shown.append(message)

    def _portions(self) -> Iterator[None]:
        """Tell rounds until nothing new was shown. It stops after each portion but the last."""
        told = 0
        while self._shown:
            one = _Round(self._before, self._shown)
            self._before += len(self._shown)
            self._shown = []
            for peer in list(self._watchers | self.rounds.subscribers if one.news else self._watchers):
                if told == PORTION:
                    yield
                    told = 0
                told += 1
                self._tell(peer, one)
        self._in_round = False

    def _tell(self, peer: Peer, one: _Round) -> None:
        """One peer's trouble is nobody else's."""
        first = self._watchers.get(peer)
        shown = one.news if first is None and peer in self.rounds.subscribers else one.since(first)
        try:
            if shown is not None:
                peer.show(shown)
        except Exception:
            log.exception("match %s: a watcher could not be told", self._name, extra=about(match=self._name))


class _Round:
    """What one round tells: all of it, or what is new to some; `news` are start and end."""

    def __init__(self, first: int, messages: list[FromServer]) -> None:
        self._first = first
        self._messages = messages
        self._made: dict[int, EncodedMessages] = {}
        news = [message for message in messages if isinstance(message, Start | End)]
        self.news = EncodedMessages(news) if news else None

    def since(self, number: int | None) -> EncodedMessages | None:
        """The messages from a number on; None if there are none, or for nobody."""
        if number is None or number >= self._first + len(self._messages):
            return None
        at = max(number - self._first, 0)
        if at not in self._made:
            self._made[at] = EncodedMessages(self._messages[at:])
        return self._made[at]
