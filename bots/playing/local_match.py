"""One match refereed in this process. Bots are called; they do not connect.

All messages are encoded and decoded as on a network, so that neither side can change the other's objects. Time is
simulated: each bot is charged for its own thinking, as if every bot thought on its own machine. When no bot has
anything more to say, the time until the deadline is skipped.
"""

from __future__ import annotations

import contextlib
import heapq
import time
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from bots.client.bot import Bot
from bots.client.conversation import Conversation
from bots.client.settings import Settings
from bots.client.worker_threads import Work, WorkResult, do_work
from bots.mistakes import is_of_project
from machine.client.client_protocol import PrintLine
from machine.code_timer import CodeTimer, TimeUp
from machine.timestamps import utc_now
from protocol.codec import MSGPACK
from protocol.errors import MalformedMessage, UsageFault
from protocol.games import game_class, guard_game, is_builtin_game, shared_game
from protocol.games.author_methods import name_call
from protocol.games.base import Game
from protocol.games.turn_game import RulesError
from protocol.messages import (
    MAX_CLIENT_FRAME_BYTES,
    MAX_STRIKES,
    MIN_TOKEN_CHARS,
    Clock,
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
    Abort,
    DeadlineReached,
    Effect,
    FinishMatch,
    MatchEvent,
    MoveReceived,
    NoShow,
    Reconnect,
    ReleaseSeat,
    ReportRulesFault,
    Resignation,
    SeatReady,
    SendToSeat,
    SendToSeats,
    SetDeadline,
    WriteLine,
)
from referee.footer import ClosedMatch
from referee.match import Match, MatchTimeouts
from referee.record import Begun, Header, Ply, RecordedSeat, Strike, is_public, make_header, write_line
from referee.replay import JournalSummary
from referee.state import MatchStanding

if TYPE_CHECKING:
    from referee.in_process import MatchObserver

RULES_TIMEOUT_S = 10.0
"""Maximum number of seconds of a call of rules that are not built in, if the match is timed."""
STOP_GRACE_S = 0.1
"""Seconds between a bot's deadline and the interruption of its code."""
_PLACEHOLDER_TOKEN = "-" * MIN_TOKEN_CHARS
"""The token of every bot in this process, where no token is checked."""
_LIMITS = Limits(max_message=MAX_CLIENT_FRAME_BYTES, strikes=MAX_STRIKES, slots=1)
"""The limits that the welcome message names to a bot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalTimeouts:
    """The time limits of a match in this process, in seconds."""

    match: MatchTimeouts = field(default_factory=MatchTimeouts)
    end_timeout_s: float = 10.0
    """Time limit for a bot's work after the end of a match."""
    repeated_stop_interval_s: float = 1.0
    """Interval at which a bot's code is interrupted again if it ignores the interruption."""


class LocalClient:
    """The client of a bot in this process (a guest). It plays any number of matches, one after the other.

    The bot plays as `name`. Its choices and nonces follow from `seed`; it is warmed up for `game`. `say` receives
    messages for its author. If its code raises an exception, it loses the match, as in an arena; with `raises`, the
    exception is raised here. The constructor raises `UsageFault` for a name or version that no arena accepts.
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
        self._conversation = Conversation(bot, Settings(seed=seed, assigned=True), _PLACEHOLDER_TOKEN, game)
        try:
            hello = MSGPACK.decode_client(MSGPACK.encode(replace(self._conversation.hello(), bot=name)))
        except MalformedMessage as fault:
            raise UsageFault(f"{name}: {fault}") from fault
        assert isinstance(hello, Hello)
        self.name = name
        self.version = hello.version
        self._conversation.receive(Welcome(games=[*bot.games], limits=_LIMITS, resumed=[]), 0.0)

    def send(
        self, message: FromServer, timer: CodeTimer, timeout_s: float | None = None
    ) -> list[tuple[float, FromClient]]:
        """Send the bot a message. Return its answers, each with the seconds that the bot had been thinking by then.

        A bot's code that runs for longer than `timeout_s` seconds is interrupted and answers nothing.
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
            elif isinstance(effect, PrintLine):
                self._say(effect.line)
            elif isinstance(effect, Work):
                began = self._clock()
                thought = self._think(effect, timer, timeout_s)
                thought_for += self._clock() - began
                effects.extend(self._conversation.handle_result(thought))
        return said

    def _think(self, work: Work, timer: CodeTimer, timeout_s: float | None) -> WorkResult:
        try:
            thought = timer.call(timeout_s, do_work, self._bot, work)
        except TimeUp:  # it rang just as the work was done
            return WorkResult(work)
        if isinstance(thought.cause, TimeUp):
            frames = traceback.extract_tb(thought.cause.__traceback__)
            place = traceback.format_list([frame for frame in frames if not is_of_project(frame.filename)])
            told = f"{self.name}: stopped in {work.match}, long after its time was up"
            self._say("\n".join([told, *map(str.rstrip, place)]))
            return WorkResult(work)
        if thought.cause is not None and (self._raises or isinstance(thought.cause, KeyboardInterrupt)):
            raise thought.cause
        return thought


def make_local_header(
    match: str, seed: bytes, game: Game[Any, Any], guests: Sequence[LocalClient], clock: Clock
) -> Header:
    """Return the header of an unrated match between guests, which begins now."""
    seats = [RecordedSeat(bot=guest.name, version=guest.version) for guest in guests]
    return make_header(match=match, game=game, seats=seats, seed=seed, pool=None, clock=clock, started=utc_now())


class LocalMatch:
    """A match in this process, described by a header that commits to `seed`. The guests are in seat order, None for an
    absent bot.

    If `timed` is false, thinking takes no time on a bot's clock. If the rules of the game fail, `RulesFault` is raised.
    """

    def __init__(
        self,
        header: Header,
        seed: bytes,
        guests: Sequence[LocalClient | None],
        *,
        timed: bool = True,
        on_ply: MatchObserver | None = None,
        timeouts: LocalTimeouts | None = None,
    ) -> None:
        self._timeouts = timeouts or LocalTimeouts()
        players = [Player(bot=seat.bot, version=seat.version) for seat in header.seats]
        is_trusted = is_builtin_game(header.game)
        game = None if is_trusted else guard_game(shared_game(header.game, header.config), self._call_rules)
        self._match = Match(header, seed, players, timeouts=self._timeouts.match, game=game)
        self._guests = {seat: guest for seat, guest in enumerate(guests) if guest is not None}
        """The clients of bots that still have to be told of the match's end, by seat."""
        self._timed = timed
        self._told = on_ply
        self._now = 0.0
        self._deadline: float | None = None
        self._inbox: list[tuple[float, int, int, FromClient]] = []
        """The messages from bots that are not yet processed: a heap of time, serial number, seat and message."""
        self._message_count = 0
        self._alarm = CodeTimer(self._timeouts.repeated_stop_interval_s)
        self._lines: list[bytes] = []
        self._failures: dict[int, str] = {}
        """The description of the failure of a bot's program, by seat."""
        self._over = False

    def _call_rules(self, method: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call rules that are not built in. Raise `RulesError` if they take too long."""
        try:
            return self._alarm.call(RULES_TIMEOUT_S if self._timed else None, function, *arguments)
        except TimeUp as exc:
            name = name_call(game_class(self._match.header.game), method, exc)
            raise RulesError(f"{name} was interrupted, as it took longer than {RULES_TIMEOUT_S:g} s") from exc

    def play(self) -> ClosedMatch:
        """Play the match to its end."""
        with self._alarm.install_handler() if self._timed else contextlib.nullcontext():
            self._perform(self._match.start_match(self._now))
            absent = [seat for seat in range(self._match.game.seats) if seat not in self._guests]
            for missing in map(NoShow, absent) if self._guests else [Abort()]:
                self._perform(self._match.receive(missing, self._now))
            return self._play_to_end()

    def resume(self, standing: MatchStanding, events: Sequence[MatchEvent]) -> ClosedMatch:
        """Continue a match from its state `standing`: apply `events`, then play on. The result begins with `events`."""
        self._match.standing = standing
        with self._alarm.install_handler() if self._timed else contextlib.nullcontext():
            for act in events:  # no guest is present yet, so only lines and deadlines matter
                done = self._match.receive(act, self._now)
                self._perform([effect for effect in done if isinstance(effect, (WriteLine, SetDeadline, FinishMatch))])
            out = standing.current_course.dropped_out
            self._guests = {seat: guest for seat, guest in self._guests.items() if seat not in out}
            if not self._over:
                self._perform(self._match.resume(JournalSummary(begun=True, is_void=False), self._now))
                for seat in list(self._guests):
                    self._perform(self._match.receive(Reconnect(seat), self._now))
            return self._play_to_end()

    def _play_to_end(self) -> ClosedMatch:
        while not self._over:
            event = self._next_event()
            self._perform(self._match.receive(event, self._now))
        for seat in list(self._guests):
            self._send(seat, self._match.end_message(seat))
        result = self._match.result(utc_now())
        return ClosedMatch(result, tuple(self._lines), self._match.footer(result, None), self._failures)

    def _next_event(self) -> MatchEvent:
        """Return the next event, a bot's message or the end of the deadline, and advance the time to it."""
        while self._inbox and (self._deadline is None or self._inbox[0][0] <= self._deadline):
            self._now, _, seat, message = heapq.heappop(self._inbox)
            if seat in self._guests:
                if isinstance(message, Resign) and message.failure is not None:
                    self._failures.setdefault(seat, message.failure)
                return _event_of(seat, message)
        assert self._deadline is not None
        self._now = max(self._now, self._deadline)
        return DeadlineReached()

    def _perform(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, SetDeadline):  # first, as messages depend on it
                self._deadline = effect.time
        for effect in effects:
            if isinstance(effect, WriteLine):
                line = write_line(effect.line)
                if is_public(line):
                    self._lines.append(line)
                if self._told is not None:
                    self._report_line(effect)
            elif isinstance(effect, SendToSeat):
                self._send(effect.seat, effect.message)
            elif isinstance(effect, SendToSeats):
                for seat in effect.seats:
                    self._send(seat, effect.message)
            elif isinstance(effect, ReportRulesFault):
                raise effect.fault
            elif isinstance(effect, ReleaseSeat):
                self._guests.pop(effect.seat, None)
            elif isinstance(effect, FinishMatch):
                self._over = True

    def _report_line(self, write_line: WriteLine) -> None:
        assert self._told is not None
        if isinstance(write_line.line, Begun):
            self._told(None, self._match.standing.current_course.state)
        elif isinstance(write_line.line, Ply):
            self._told(write_line.line, write_line.state)
        elif isinstance(write_line.line, Strike):
            self._told(write_line.line, self._match.standing.current_course.state)

    def _send(self, seat: int, message: FromServer) -> None:
        if seat not in self._guests:
            return
        left = self._timeouts.end_timeout_s if self._deadline is None else self._deadline - self._now
        for seconds, said in self._guests[seat].send(
            message, self._alarm, left + STOP_GRACE_S if self._timed else None
        ):
            self._message_count += 1
            at = self._now + seconds if self._timed else self._now
            heapq.heappush(self._inbox, (at, self._message_count, seat, said))


def _event_of(seat: int, message: FromClient) -> MatchEvent:
    """Return the referee's event for a bot's message about the match."""
    if isinstance(message, Move):
        return MoveReceived(seat, message.ply, message.move, message.info, waited_s=0.0)
    if isinstance(message, Ready):
        return SeatReady(seat, bytes.fromhex(message.nonce or ""))
    return Resignation(seat, failed=isinstance(message, Resign) and message.failure is not None)
