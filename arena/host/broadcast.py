"""Sends the messages of a match to its spectators, in order and in batches, after the players have got theirs."""

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
"""Spectators served in one turn of the event loop. That takes half a millisecond, and as long again in the kernel."""
BETWEEN = 0.003
"""Minimum seconds between two batches. The pause is also at least `REST` times as long as the batch took: the kernel
takes several times as long again, and playing bots should keep nine tenths of the time however many watch.
"""
REST = 40
MOST_WAITING, MOST_EVENTS = 64, 256
"""The number of turns that queue one by one, and how many events the last of them collects beyond that."""

Report = Callable[[FromServer], None]
"""A function that gets every message shown to spectators. It must return quickly and not wait."""

log = logging.getLogger("arena.host.broadcast")


class EncodedMessages:
    """Messages for many recipients, in order. They are encoded once per codec, not once per recipient."""

    def __init__(self, messages: Sequence[FromServer]) -> None:
        self.messages = messages
        self._ready: dict[Codec, bytes] = {}

    def ready(self, codec: Codec, framed: Callable[[Frame], bytes]) -> bytes:
        """Return all messages in one encoding, as consecutive frames."""
        ready = self._ready.get(codec)
        if ready is None:
            ready = self._ready[codec] = b"".join(framed(codec.encode(message)) for message in self.messages)
        return ready


class Peer(Protocol):
    """A client on a seat or a spectator: a connection to this host, or one behind a broker on another node."""

    def send(self, message: FromServer) -> None:
        """Send a message without waiting."""

    def show(self, shown: EncodedMessages) -> None:
        """Send messages that other peers get as well."""


class Broadcaster:
    """Sends messages to the spectators of all matches: one batch at a time, the matches in turn."""

    def __init__(self) -> None:
        self.subscribers: dict[Peer, None] = {}
        """Peers that get the start and the end of every match."""
        self._under_way: deque[Iterator[None]] = deque()
        self._waits = False
        """True from the start of a batch to the end of the pause after it."""
        self._loop = asyncio.get_running_loop()

    def begin(self, portions: Iterator[None]) -> None:
        """Queue batches. The first is sent now, unless a pause is running; each of the others gets its own turn."""
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
    """The spectators and reporters of a match. Subscribers of all matches get only its start and its end.

    A round sends every spectator all messages from before it, one batch in each turn of the event loop. Messages that
    come meanwhile go into the next round, all at once. So spectators may lag, but never delay the players. Reporters
    get each message immediately.
    """

    def __init__(self, rounds: Broadcaster, name: str) -> None:
        self.rounds = rounds
        self._name = name
        self._watchers: dict[Peer, int] = {}
        """The spectators, each with the number of the first message not yet sent to it."""
        self._reporters: list[Report] = []
        self._shown: list[FromServer] = []
        """The messages that are in no round yet, and the number of those before them."""
        self._before = 0
        self._newcomers = False
        """True if a spectator joined after the last message in `_shown`, which must then not be replaced."""
        self._in_round = False

    @property
    def watchers(self) -> Collection[Peer]:
        """The spectators, without the reporters."""
        return self._watchers

    @property
    def wants_turns(self) -> bool:
        """True if anyone receives every turn."""
        return bool(self._watchers or self._reporters)

    def report_to(self, report: Report) -> None:
        """Pass every message from now on to a reporter."""
        self._reporters.append(report)

    def watch(self, peer: Peer) -> None:
        """Send a peer every message from now on."""
        self._watchers[peer] = self._before + len(self._shown)
        self._newcomers = True

    def unwatch(self, peer: Peer) -> None:
        self._watchers.pop(peer, None)

    def show(self, message: FromServer) -> None:
        """Send a message to reporters, spectators and, if it is a start or an end, subscribers."""
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
        """Queue a message. When the queue is full, a turn replaces the last queued turn and takes over its events."""
        shown = self._shown
        if len(shown) >= MOST_WAITING and not self._newcomers:
            last = shown[-1]
            if type(message) is Turn and type(last) is Turn:
                shown[-1] = replace(message, events=[*last.events, *message.events][-MOST_EVENTS:])
                return
        self._newcomers = False
        shown.append(message)

    def _portions(self) -> Iterator[None]:
        """Send rounds until there are no new messages. Yield after each batch but the last."""
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
        """Send a round to one peer. An error affects only this peer."""
        first = self._watchers.get(peer)
        shown = one.news if first is None and peer in self.rounds.subscribers else one.since(first)
        try:
            if shown is not None:
                peer.show(shown)
        except Exception:
            log.exception("match %s: a watcher could not be told", self._name, extra=about(match=self._name))


class _Round:
    """The messages of one round. `news` are its starts and ends, None if it has none."""

    def __init__(self, first: int, messages: list[FromServer]) -> None:
        self._first = first
        self._messages = messages
        self._made: dict[int, EncodedMessages] = {}
        news = [message for message in messages if isinstance(message, Start | End)]
        self.news = EncodedMessages(news) if news else None

    def since(self, number: int | None) -> EncodedMessages | None:
        """Return the messages from a number on; None if there are none, or the number is None."""
        if number is None or number >= self._first + len(self._messages):
            return None
        at = max(number - self._first, 0)
        if at not in self._made:
            self._made[at] = EncodedMessages(self._messages[at:])
        return self._made[at]
