"""The thinking threads, which run the author's code while the connection is served. No sockets here."""

from __future__ import annotations

import math
import queue
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from bots.client.bot import Bot, Choice, GiveUp, ProgramFailed, Turn
from bots.mistakes import is_library
from protocol.codec import MSGPACK
from protocol.display import shown
from protocol.errors import Fault
from protocol.field_errors import field_error
from protocol.messages import MAX_CLIENT_FRAME, MAX_NOTE, End, Info, Move, Rejected, Start

MOST_SHOWN = 80
"""Characters of what `choose` returned that a message quotes."""
SHARE = 1 / 20
"""The greatest fraction of the time left that `min_move_time` may use."""


@dataclass(frozen=True, slots=True)
class Prepare:
    """Call the bot's `prepare`."""

    match: str
    start: Start


@dataclass(frozen=True, slots=True)
class Choose:
    """Call `choose`, and before it `rejected` if the last answer to this turn was not accepted."""

    match: str
    turn: Turn
    rejected: Rejected | None = None


@dataclass(frozen=True, slots=True)
class Conclude:
    """Call the bot's `ended`, or `missed` if `end` is None."""

    match: str
    end: End | None


Work = Prepare | Choose | Conclude


@dataclass(frozen=True, slots=True, eq=False)
class UnderWay:
    """Work in progress: its thread's id, and its start (`time.monotonic()`)."""

    work: Work
    thread: int
    began: float


@dataclass(frozen=True, slots=True)
class Thought:
    """The outcome of a piece of work: a move to send, or none. `trouble` is a message for the author, `details` the
    traceback.
    """

    work: Work
    move: Move | None = None
    trouble: str | None = None
    details: str = ""
    gave_up: bool = False
    failure: str | None = None
    """The failure of the author's code, in a line; None if there is none."""
    cause: BaseException | None = None
    """What the author's code raised, or is blamed for."""
    left_out: str | None = None
    """The parts of `info` that are discarded, with reasons; the move stands without them."""


MAX_COUNTED = 2**64 - 1
"""The largest integer in a message."""


def think(bot: Bot, work: Work) -> Thought:
    """Do the work. Any exception of the author's code becomes a `trouble` and costs this match, not the others."""
    try:
        if type(work) is Choose:
            if work.rejected is not None:
                bot.rejected(work.rejected)
            move, left_out = read_choice(work.turn, bot.choose(work.turn))
            return Thought(work, move, left_out=left_out)
        if type(work) is Prepare:
            bot.prepare(work.start)
        elif type(work) is Conclude:
            bot.missed(work.match) if work.end is None else bot.ended(work.end)
        return Thought(work)
    except ProgramFailed as exc:
        return Thought(work, trouble=str(exc), failure=str(exc))
    except GiveUp as exc:
        return Thought(work, trouble=str(exc) or None, gave_up=True)
    except NoMove as exc:
        return Thought(work, trouble=str(exc), failure=exc.failure, cause=exc)
    except BaseException as exc:
        where = on(work.turn) if type(work) is Choose else f" in {work.match}"
        details = _traceback(exc)
        return Thought(work, trouble=f"its code failed{where}", failure=_raised(exc), details=details, cause=exc)


class NoMove(Fault):
    """`choose` returned something that can't be sent. `failure` says what; the message also says when and why."""

    def __init__(self, failure: str, turn: Turn, why: str) -> None:
        super().__init__(f"{failure}{on(turn)}{why}")
        self.failure = failure


def read_choice(turn: Turn, choice: Any) -> tuple[Move, str | None]:
    """Return what `choose` returned as a message, and the left-out parts of its `info`. Raises `NoMove`."""
    info: dict[str, Any] | None = None
    move, left_out = choice, None
    if isinstance(choice, Choice):
        move = choice.move
        info, left_out = _info(choice)
    if not isinstance(move, Mapping):
        example = msgspec.json.encode(turn.legal[0]).decode()
        raise NoMove(f"choose returned {shown(choice, MOST_SHOWN)}", turn, f": a move is a map like {example}")
    message = Move(match=turn.match, ply=turn.ply, move=dict(move), info=info)
    try:
        size = len(MSGPACK.encode(message))
    except (TypeError, ValueError, OverflowError, RecursionError) as exc:
        raise NoMove(f"choose returned {shown(move, MOST_SHOWN)}", turn, f", which cannot be sent: {exc}") from exc
    if size > MAX_CLIENT_FRAME:
        raise NoMove(f"choose returned a move of {size} bytes", turn, f": at most {MAX_CLIENT_FRAME}")
    return message, left_out


def _info(choice: Choice) -> tuple[dict[str, Any] | None, str | None]:
    """Return the valid fields of `info`, and the reasons for leaving out the others."""
    info: dict[str, Any] = {}
    left_out = []
    for name, convert in _INFO_FIELDS.items():
        given = getattr(choice, name)
        if given is None:
            continue
        try:
            value = convert(given)
            wrong = field_error({name: value}, Info)
        except Exception as exc:  # the author's object may raise anything
            wrong = f"{name} is of type {type(given).__name__}: {_RIGHT_INFO[name]} ({type(exc).__name__})"
        if wrong is None:
            info[name] = value
        else:
            left_out.append(wrong)
    return info or None, "; ".join(left_out) or None


def _finite(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError
    return number


def _counted(value: Any) -> int:
    number = int(value)
    if number > MAX_COUNTED:
        raise ValueError
    return number


def _noted(value: Any) -> str:
    text = str(value)[:MAX_NOTE]
    text.encode()  # half a surrogate pair cannot be sent
    return text


_RIGHT_INFO = {
    "value": "a finite number",
    "depth": "an integer from 0, of 64 bits at most",
    "nodes": "an integer from 0, of 64 bits at most",
    "note": f"a text of {MAX_NOTE} characters",
}
_INFO_FIELDS: dict[str, Callable[[Any], Any]] = {"value": _finite, "depth": _counted, "nodes": _counted, "note": _noted}


def on(turn: Turn) -> str:
    return f" at ply {turn.ply} of {turn.match}"


def _raised(exc: BaseException) -> str:
    """Return what the author's code raised, and where: `raised ValueError: no plan, in mine.py line 7`."""
    text = str(exc).partition("\n")[0]
    said = f"raised {type(exc).__name__}" + (f": {text}" if text else "")
    lines = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(exc.__traceback__)]
    own = [(file, line) for file, line in lines[1:] if not is_library(file)]
    return f"{said}, in {Path(own[-1][0]).name} line {own[-1][1]}" if own else said


def _traceback(exc: BaseException) -> str:
    """Return the author's part of the traceback, without this module's own frame."""
    inner = exc.__traceback__.tb_next if exc.__traceback__ else None
    return "".join(traceback.format_exception(type(exc), exc, inner)).rstrip()


def rest(min_move_time: float, thought: float, left: float) -> float:
    """Return the seconds to wait after `thought` seconds of thinking, so that the move takes `min_move_time`."""
    return max(0.0, min(min_move_time - thought, left * SHARE))


class WorkerThreads:
    """Threads in which the bot thinks, as many as there is work at once.

    They are daemons and start on demand, so that a `choose` that never returns blocks neither the exit of the process
    nor the next match.
    """

    def __init__(self, bot: Bot, done: Callable[[Thought], None], min_move_time: float = 0.0) -> None:
        self._bot = bot
        self._done = done
        self._pace = min_move_time
        self._work: queue.SimpleQueue[Work] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self.under_way: list[Work] = []
        self._by_thread: dict[int, UnderWay] = {}

    def at_work(self) -> list[UnderWay]:
        """Return the work in progress."""
        return [*self._by_thread.values()]

    def submit(self, work: Work) -> None:
        """Queue the work; `done` is called with its outcome, in the thinking thread."""
        with self._lock:
            self.under_way.append(work)
            begin = len(self.under_way) > self._threads
            self._threads += begin
        self._work.put(work)
        if begin:
            threading.Thread(target=self._think, name=f"{self._bot.name}-thinking", daemon=True).start()

    def _think(self) -> None:
        me = threading.get_ident()
        while True:
            work, began = self._work.get(), time.monotonic()
            self._by_thread[me] = UnderWay(work, me, began)
            thought = think(self._bot, work)
            del self._by_thread[me]
            if self._pace and type(work) is Choose:
                time.sleep(rest(self._pace, time.monotonic() - began, work.turn.time_left))
            with self._lock:
                self.under_way = [other for other in self.under_way if other is not work]
            self._done(thought)
