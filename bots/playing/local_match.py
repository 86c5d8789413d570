"""One match refereed in this process, among bots that are called instead of connected.

Everything that is said is packed and unpacked as on a wire, so that neither side can change what the other one holds.
Time is not the clock's but the referee's: what a bot thought is put on its account as if all others had thought on
machines of their own, and where nobody has anything to say any more, the time until the deadline is passed over.
"""

from __future__ import annotations

import contextlib
import heapq
import signal
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from msgspec.structs import replace

from bots.client.bot import Bot
from bots.client.conversation import Conversation
from bots.client.settings import Settings
from bots.client.talk import Say
from bots.client.worker_threads import Thought, Work, think
from machine.timestamps import utc
from protocol.codec import MSGPACK
from protocol.errors import MalformedMessage, UsageFault
from protocol.games.base import Game
from protocol.messages import (
    MAX_CLIENT_FRAME,
    MAX_STRIKES,
    SHORTEST_TOKEN,
    Error,
    FromClient,
    FromServer,
    Hello,
    Limits,
    Move,
    Player,
    Ready,
    Resign,
    Welcome,
)
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
    Returned,
    Tell,
    TellMany,
    Voided,
    Write,
)
from referee.footer import Closed
from referee.in_process import Told
from referee.match import Match, MatchTimeouts
from referee.record import Begun, Header, Ply, Strike, public, write_line
from referee.replay import Recalled
from referee.state import MatchStanding

GRACE = 0.1
"""Seconds after its deadline at which a bot's code is stopped."""
_NO_TOKEN = "-" * SHORTEST_TOKEN
"""Nobody asks for one here."""
_LIMITS = Limits(max_message=MAX_CLIENT_FRAME, strikes=MAX_STRIKES, slots=1)


class TimeUp(BaseException):
    """Raised in the bot's code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalTimeouts:
    """The time limits of a match in this process for the code of a bot, in seconds."""

    match: MatchTimeouts = field(default_factory=MatchTimeouts)
    end_timeout_s: float = 10.0
    """A bot finishes its work after the end of a match within this time."""
    repeated_stop_interval_s: float = 1.0
    """Code that goes on although it was stopped is stopped again after this time."""


class Alarm:
    """An alarm clock. It works in the main thread of a program on POSIX, where it uses SIGALRM; elsewhere it is still.

    Compiled code, which looks at no signals, is stopped when it returns.
    """

    def __init__(self, repeat_interval_s: float = 1.0) -> None:
        self._repeat_interval_s = repeat_interval_s
        has_timer = sys.platform != "win32" and hasattr(signal, "setitimer")
        self._works = has_timer and threading.current_thread() is threading.main_thread()
        self._set = False

    @contextlib.contextmanager
    def wound(self) -> Iterator[None]:
        """Ready to be `set_for`. Afterwards the signal is whoever's it was, and a timer that was set for it goes on."""
        if sys.platform == "win32" or not self._works:
            yield
            return
        timer = signal.setitimer(signal.ITIMER_REAL, 0)
        before = signal.signal(signal.SIGALRM, self._ring)
        try:
            yield
        finally:
            signal.signal(signal.SIGALRM, before)
            signal.setitimer(signal.ITIMER_REAL, *timer)

    @contextlib.contextmanager
    def set_for(self, seconds: float | None) -> Iterator[None]:
        """Raise `TimeUp` in what is done inside once it has taken so long; None: let it take its time."""
        if sys.platform == "win32" or not self._works or seconds is None:
            yield
            return
        self._set = True
        signal.setitimer(signal.ITIMER_REAL, seconds, self._repeat_interval_s)
        try:
            try:
                yield
            finally:
                self._still()
        except TimeUp:  # which may have come before it was still
            self._still()
            raise

    def _still(self) -> None:
        self._set = False
        if sys.platform != "win32":
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _ring(self, number: int, frame: FrameType | None) -> None:
        if self._set:  # it may have rung when that was done
            raise TimeUp


class LocalClient:
    """A bot at the referee's table, for as many matches as it plays one after the other.

    It plays as `name`; `seed` is what its choices and nonces follow from, `game` the one that it was warmed up with.
    `say` is told what its author has to know. What its code raises is raised if it `raises`; else it costs the match,
    as in an arena. Raises `UsageFault` for a name or version that no arena takes.
    """

    def __init__(
        self,
        bot: Bot,
        name: str,
        seed: str,
        game: Game[Any, Any],
        say: Callable[[str], None],
        *,
        raises: bool = False,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._clock = clock
        """The clock that measures how long the bot thinks."""
        self._bot = bot
        self._say = say
        self._raises = raises
        self._conversation = Conversation(bot, Settings(seed=seed, assigned=True), _NO_TOKEN, game)
        try:
            hello = MSGPACK.decode_client(MSGPACK.encode(replace(self._conversation.hello(), bot=name)))
        except MalformedMessage as fault:
            raise UsageFault(f"{name}: {fault}") from fault
        assert isinstance(hello, Hello)
        self.name = name
        self.version = hello.version
        self._conversation.receive(Welcome(games=[*bot.games], limits=_LIMITS, resumed=[]), 0.0)

    def hear(self, message: FromServer, alarm: Alarm, within: float | None = None) -> list[tuple[float, FromClient]]:
        """Tell it a message: what it says then, each with the seconds that it had thought before.

        What its code does not do `within` so many seconds it is stopped at, and says nothing.
        """
        said: list[tuple[float, FromClient]] = []
        thought_for = 0.0
        effects = deque(self._conversation.receive(MSGPACK.decode_server(MSGPACK.encode(message)), time.monotonic()))
        while effects:
            effect = effects.popleft()
            if isinstance(effect, FromClient):
                try:
                    said.append((thought_for, MSGPACK.decode_client(MSGPACK.encode(effect))))
                except MalformedMessage as fault:
                    effects.extend(self._conversation.receive(Error(code=fault.code, message=str(fault)), 0.0))
            elif isinstance(effect, Say):
                self._say(effect.line)
            elif isinstance(effect, Work):
                began = self._clock()
                thought = self._think(effect, alarm, within)
                thought_for += self._clock() - began
                effects.extend(self._conversation.thought(thought))
        return said

    def _think(self, work: Work, alarm: Alarm, within: float | None) -> Thought:
        try:
            with alarm.set_for(within):
                thought = think(self._bot, work)
        except TimeUp:  # it rang just as that was done
            return Thought(work)
        if isinstance(thought.cause, TimeUp):
            place = "".join(traceback.format_tb(thought.cause.__traceback__)[1:-1]).rstrip()  # the author's part of it
            self._say(f"{self.name}: its time was long up in {work.match}, and it was stopped\n{place}")
            return Thought(work)
        if thought.cause is not None and (self._raises or isinstance(thought.cause, KeyboardInterrupt)):
            raise thought.cause
        return thought


class LocalMatch:
    """The match of a header between guests in seat order, None for one that does not come; `seed` is that of its
    commitment.

    Unless it is `timed` nobody's thinking takes time.
    """

    def __init__(
        self,
        header: Header,
        seed: bytes,
        guests: Sequence[LocalClient | None],
        *,
        timed: bool = True,
        told: Told | None = None,
        timeouts: LocalTimeouts | None = None,
    ) -> None:
        self._timeouts = timeouts or LocalTimeouts()
        players = [Player(bot=seat.bot, version=seat.version) for seat in header.seats]
        self._match = Match(header, seed, players, timeouts=self._timeouts.match)
        self._guests = {seat: guest for seat, guest in enumerate(guests) if guest is not None}
        """Those who are still to be told the end."""
        self._timed = timed
        self._told = told
        self._now = 0.0
        self._deadline: float | None = None
        self._said: list[tuple[float, int, int, FromClient]] = []
        """What has yet to be looked at: when and as the how-manieth it was said, by which seat."""
        self._messages = 0
        self._alarm = Alarm(self._timeouts.repeated_stop_interval_s)
        self._lines: list[bytes] = []
        self._failures: dict[int, str] = {}
        """By seat, why bots failed."""
        self._over = False

    def play(self) -> Closed:
        """Play it to its end."""
        with self._alarm.wound() if self._timed else contextlib.nullcontext():
            self._carry_out(self._match.open(self._now))
            absent = [seat for seat in range(self._match.game.seats) if seat not in self._guests]
            for missing in map(Absent, absent) if self._guests else [Voided()]:
                self._carry_out(self._match.receive(missing, self._now))
            return self._to_the_end()

    def play_on(self, standing: MatchStanding, acts: Sequence[MatchEvent]) -> Closed:
        """Play it from where it stands, after these acts, to its end; the guests come in as after a restart.

        What is told, and closed, begins with the acts.
        """
        self._match.standing = standing
        with self._alarm.wound() if self._timed else contextlib.nullcontext():
            for act in acts:  # nobody is there yet who could be told more than the lines
                done = self._match.receive(act, self._now)
                self._carry_out([effect for effect in done if isinstance(effect, (Write, Deadline, Finish))])
            out = standing.playing.out
            self._guests = {seat: guest for seat, guest in self._guests.items() if seat not in out}
            if not self._over:
                self._carry_out(self._match.resume(Recalled(begun=True, called_off=False), self._now))
                for seat in list(self._guests):
                    self._carry_out(self._match.receive(Returned(seat), self._now))
            return self._to_the_end()

    def _to_the_end(self) -> Closed:
        while not self._over:
            event = self._next()
            self._carry_out(self._match.receive(event, self._now))
        for seat in list(self._guests):
            self._tell(seat, self._match.farewell(seat))
        result = self._match.result(utc())
        return Closed(result, tuple(self._lines), self._match.footer(result, None), self._failures)

    def _next(self) -> MatchEvent:
        """What happens next, at which time has come: something is said in time, or time is up."""
        while self._said and (self._deadline is None or self._said[0][0] <= self._deadline):
            self._now, _, seat, message = heapq.heappop(self._said)
            if seat in self._guests:
                if isinstance(message, Resign) and message.failure is not None:
                    self._failures.setdefault(seat, message.failure)
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
                if self._told is not None:
                    self._tell_of(effect)
            elif isinstance(effect, Tell):
                self._tell(effect.seat, effect.message)
            elif isinstance(effect, TellMany):
                for seat in effect.seats:
                    self._tell(seat, effect.message)
            elif isinstance(effect, Release):
                self._guests.pop(effect.seat, None)
            elif isinstance(effect, Finish):
                self._over = True

    def _tell_of(self, written: Write) -> None:
        assert self._told is not None
        if isinstance(written.line, Begun):
            self._told(None, self._match.standing.playing.state)
        elif isinstance(written.line, Ply):
            self._told(written.line, written.state)
        elif isinstance(written.line, Strike):
            self._told(written.line, self._match.standing.playing.state)

    def _tell(self, seat: int, message: FromServer) -> None:
        if seat not in self._guests:
            return
        left = self._timeouts.end_timeout_s if self._deadline is None else self._deadline - self._now
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
    return Resigned(seat, failed=isinstance(message, Resign) and message.failure is not None)
