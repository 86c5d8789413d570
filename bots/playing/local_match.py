"""One match refereed in this process, with bots that are called instead of connected.

All messages are encoded and decoded as on a wire, so that neither side can change the other's objects. Time is
simulated: each bot is charged for its own thinking, as if all others thought on other machines. Once all bots are
silent, the time until the deadline is skipped.
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
"""Seconds between a bot's deadline and the interruption of its code."""
_NO_TOKEN = "-" * SHORTEST_TOKEN
"""A placeholder: no token is checked here."""
_LIMITS = Limits(max_message=MAX_CLIENT_FRAME, strikes=MAX_STRIKES, slots=1)


class TimeUp(BaseException):
    """Interrupts the code of a bot that exceeds its time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalTimeouts:
    """The time limits for the code of a bot in a match in this process, in seconds."""

    match: MatchTimeouts = field(default_factory=MatchTimeouts)
    end_timeout_s: float = 10.0
    """Time for a bot to finish its work after the end of a match."""
    repeated_stop_interval_s: float = 1.0
    """Interval at which code that ignores the interruption is interrupted again."""


class Alarm:
    """A timer that interrupts code. It uses SIGALRM in the main thread on POSIX; elsewhere it does nothing.

    Compiled code does not notice signals, so it is only interrupted when it returns.
    """

    def __init__(self, repeat_interval_s: float = 1.0) -> None:
        self._repeat_interval_s = repeat_interval_s
        has_timer = sys.platform != "win32" and hasattr(signal, "setitimer")
        self._works = has_timer and threading.current_thread() is threading.main_thread()
        self._set = False

    @contextlib.contextmanager
    def wound(self) -> Iterator[None]:
        """Install the signal handler. On exit, restore the previous handler and its timer."""
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
        """Raise `TimeUp` in the body after `seconds`; None: never."""
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
        except TimeUp:  # it may have come before the alarm was off
            self._still()
            raise

    def _still(self) -> None:
        self._set = False
        if sys.platform != "win32":
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _ring(self, number: int, frame: FrameType | None) -> None:
        if self._set:  # it may ring just after the body has finished
            raise TimeUp


class LocalClient:
    """A bot as a guest of the referee, for any number of matches, one after the other.

    It plays as `name`. Its choices and nonces follow from `seed`; `game` is the game that it was warmed up for. `say`
    receives messages for its author. Exceptions of its code are raised again if `raises` is set; otherwise they lose
    the match, as in an arena. Raises `UsageFault` for a name or version that no arena accepts.
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
        """The clock that measures the bot's thinking time."""
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
        """Send the bot a message. Return its answers, each with the seconds that it had thought until then.

        Code that runs for longer than `within` seconds is interrupted and answers nothing.
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
        except TimeUp:  # it rang just as the work was done
            return Thought(work)
        if isinstance(thought.cause, TimeUp):
            place = "".join(traceback.format_tb(thought.cause.__traceback__)[1:-1]).rstrip()  # only the author's frames
            self._say(f"{self.name}: its time was long up in {work.match}, and it was stopped\n{place}")
            return Thought(work)
        if thought.cause is not None and (self._raises or isinstance(thought.cause, KeyboardInterrupt)):
            raise thought.cause
        return thought


class LocalMatch:
    """The match that a header describes, between guests in seat order (None: absent). `seed` belongs to the header's
    commitment.

    Unless it is `timed`, thinking takes no time.
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
        """The guests who still have to receive the end of the match."""
        self._timed = timed
        self._told = told
        self._now = 0.0
        self._deadline: float | None = None
        self._said: list[tuple[float, int, int, FromClient]] = []
        """A heap of messages not yet processed: time, running number, seat, message."""
        self._messages = 0
        self._alarm = Alarm(self._timeouts.repeated_stop_interval_s)
        self._lines: list[bytes] = []
        self._failures: dict[int, str] = {}
        """The bots' failures by seat."""
        self._over = False

    def play(self) -> Closed:
        """Play the match to its end."""
        with self._alarm.wound() if self._timed else contextlib.nullcontext():
            self._carry_out(self._match.open(self._now))
            absent = [seat for seat in range(self._match.game.seats) if seat not in self._guests]
            for missing in map(Absent, absent) if self._guests else [Voided()]:
                self._carry_out(self._match.receive(missing, self._now))
            return self._to_the_end()

    def play_on(self, standing: MatchStanding, acts: Sequence[MatchEvent]) -> Closed:
        """Play the match to its end from a standing, after these acts, with which the result begins."""
        self._match.standing = standing
        with self._alarm.wound() if self._timed else contextlib.nullcontext():
            for act in acts:  # no guest is present yet, so only lines and deadlines matter
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
        """Advance the time and return the next event: a message in time, or the expiry of the deadline."""
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
            if isinstance(effect, Deadline):  # first, as messages depend on it
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
    """Return a client's message as the event that the referee takes. All of these messages belong to a match."""
    if isinstance(message, Move):
        return Played(seat, message.ply, message.move, message.info, waited=0.0)
    if isinstance(message, Ready):
        return Readied(seat, bytes.fromhex(message.nonce or ""))
    return Resigned(seat, failed=isinstance(message, Resign) and message.failure is not None)
