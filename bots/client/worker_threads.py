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
from protocol.display import short_repr
from protocol.errors import Fault, RulesUnavailable
from protocol.field_errors import field_error
from protocol.messages import MAX_CLIENT_FRAME_BYTES, MAX_NOTE_CHARS, End, Info, Move, Rejected, Start

MAX_QUOTED_LENGTH = 80
"""The maximum number of characters that a message quotes of what `choose` returned."""
MAX_PACE_RATIO = 1 / 20
"""The maximum fraction of a seat's time left that the setting `min_move_time` may use for one move."""


@dataclass(frozen=True, slots=True)
class Prepare:
    """A piece of work: call the bot's `prepare`."""

    match: str
    start: Start


@dataclass(frozen=True, slots=True)
class Choose:
    """A piece of work: call the bot's `choose`, after `rejected` if the arena rejected its last move in this turn."""

    match: str
    turn: Turn
    rejected: Rejected | None = None


@dataclass(frozen=True, slots=True)
class Conclude:
    """A piece of work: call the bot's `ended`, or `missed` if `end` is None."""

    match: str
    end: End | None


Work = Prepare | Choose | Conclude


@dataclass(frozen=True, slots=True, eq=False)
class RunningWork:
    """A piece of work in progress, with its thread's id and the time it began (`time.monotonic()`)."""

    work: Work
    thread: int
    began: float


@dataclass(frozen=True, slots=True)
class WorkResult:
    """The result of a piece of work: the `move` to send, a `message` for the author, and `details`, a traceback."""

    work: Work
    move: Move | None = None
    message: str | None = None
    details: str = ""
    gave_up: bool = False
    failure: str | None = None
    """The failure of the author's code, in one line; None if it has not failed."""
    cause: BaseException | None = None
    """The exception that the author's code raised; None if it has not failed."""
    discarded: str | None = None
    """Descriptions of the parts of `info` that are discarded, with reasons. The move is sent without these parts."""


MAX_INTEGER = 2**64 - 1
"""The largest integer that a message may contain."""


def do_work(bot: Bot, work: Work) -> WorkResult:
    """Do a piece of work. If the author's code raises an exception, only this match is lost; a `message` says why."""
    try:
        if type(work) is Choose:
            if work.rejected is not None:
                bot.rejected(work.rejected)
            move, left_out = read_choice(work.turn, bot.choose(work.turn))
            return WorkResult(work, move, discarded=left_out)
        if type(work) is Prepare:
            bot.prepare(work.start)
        elif type(work) is Conclude:
            bot.missed(work.match) if work.end is None else bot.ended(work.end)
        return WorkResult(work)
    except ProgramFailed as exc:
        return WorkResult(work, message=str(exc), failure=str(exc))
    except GiveUp as exc:
        return WorkResult(work, message=str(exc) or None, gave_up=True)
    except UnsendableMove as exc:
        return WorkResult(work, message=str(exc), failure=exc.failure, cause=exc)
    except RulesUnavailable as exc:
        failure = f"{exc}{_format_line(exc)}"
        return WorkResult(work, message=failure, failure=failure, cause=exc)
    except BaseException as exc:
        where = format_place(work.turn) if type(work) is Choose else f" in {work.match}"
        details = _format_traceback(exc)
        return WorkResult(
            work, message=f"its code failed{where}", failure=format_exception(exc), details=details, cause=exc
        )


class UnsendableMove(Fault):
    """`choose` returned something that cannot be sent. `failure` says what `choose` returned; the fault's text adds the
    turn and the reason.
    """

    def __init__(self, failure: str, turn: Turn, why: str) -> None:
        super().__init__(f"{failure}{format_place(turn)}{why}")
        self.failure = failure


def read_choice(turn: Turn, choice: Any) -> tuple[Move, str | None]:
    """Return the message with the move that `choose` returned, and the reasons why parts of its `info` are left out, if
    any. Raise `UnsendableMove` if the move cannot be sent.
    """
    info: dict[str, Any] | None = None
    move, left_out = choice, None
    if isinstance(choice, Choice):
        move = choice.move
        info, left_out = _read_info(choice)
    if not isinstance(move, Mapping):
        example = msgspec.json.encode(turn.legal[0]).decode()
        raise UnsendableMove(
            f"choose returned {short_repr(choice, MAX_QUOTED_LENGTH)}", turn, f": a move is a map like {example}"
        )
    message = Move(match=turn.match, ply=turn.ply, move=dict(move), info=info)
    try:
        size = len(MSGPACK.encode(message))
    except (TypeError, ValueError, OverflowError, RecursionError) as exc:
        raise UnsendableMove(
            f"choose returned {short_repr(move, MAX_QUOTED_LENGTH)}", turn, f", which cannot be sent: {exc}"
        ) from exc
    if size > MAX_CLIENT_FRAME_BYTES:
        raise UnsendableMove(f"choose returned a move of {size} bytes", turn, f": at most {MAX_CLIENT_FRAME_BYTES}")
    return message, left_out


def _read_info(choice: Choice) -> tuple[dict[str, Any] | None, str | None]:
    """Return the valid fields of a choice's `info`, and the reasons for leaving out the other fields."""
    info: dict[str, Any] = {}
    left_out = []
    for name, convert in _INFO_CONVERTERS.items():
        given = getattr(choice, name)
        if given is None:
            continue
        try:
            value = convert(given)
            wrong = field_error({name: value}, Info)
        except Exception as exc:  # the author's object may raise anything
            wrong = f"{name} is of type {type(given).__name__}: {_INFO_FORMS[name]} ({type(exc).__name__})"
        if wrong is None:
            info[name] = value
        else:
            left_out.append(wrong)
    return info or None, "; ".join(left_out) or None


def _to_finite(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError
    return number


def _to_count(value: Any) -> int:
    number = int(value)
    if number > MAX_INTEGER:
        raise ValueError
    return number


def _to_note(value: Any) -> str:
    text = str(value)[:MAX_NOTE_CHARS]
    text.encode()  # half a surrogate pair cannot be sent
    return text


_INFO_FORMS = {
    "value": "a finite number",
    "depth": "an integer from 0, of 64 bits at most",
    "nodes": "an integer from 0, of 64 bits at most",
    "note": f"a text of {MAX_NOTE_CHARS} characters",
}
"""A description of the valid values of each field of `info`, by the field's name."""
_INFO_CONVERTERS: dict[str, Callable[[Any], Any]] = {
    "value": _to_finite,
    "depth": _to_count,
    "nodes": _to_count,
    "note": _to_note,
}
"""The function that converts each field of `info`, by the field's name. It may raise an exception for an invalid
value."""


def format_place(turn: Turn) -> str:
    return f" at ply {turn.ply} of {turn.match}"


def format_exception(exc: BaseException) -> str:
    """Return which exception the author's code raised, and where: `raised ValueError: no plan, in mine.py line 7`."""
    try:
        text = str(exc).partition("\n")[0]
    except Exception:  # the author's class may have a faulty `__str__`
        text = ""
    return f"raised {type(exc).__name__}" + (f": {text}" if text else "") + _format_line(exc)


def _format_line(exc: BaseException) -> str:
    """Return the last line of the author's code that an exception passed: `, in mine.py line 7`; empty without one. Add
    what to do if the line imports a module beside its file: that is found while the file is loaded, not later.
    """
    lines = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(exc.__traceback__)]
    own = [(Path(file), line) for file, line in lines[1:] if not is_library(file)]
    if not own:
        return ""
    file, line = own[-1]
    beside = file.parent / str(exc.name) if isinstance(exc, ModuleNotFoundError) and exc.name else None
    is_there = beside is not None and (beside.is_dir() or beside.with_suffix(".py").is_file())
    return f", in {file.name} line {line}" + (": import it at the top of the file" if is_there else "")


def _format_traceback(exc: BaseException) -> str:
    """Return the author's part of the traceback, without the frame of this module."""
    inner = exc.__traceback__.tb_next if exc.__traceback__ else None
    return "".join(traceback.format_exception(type(exc), exc, inner)).rstrip()


def pace_delay(min_move_time: float, thinking_time_s: float, time_left_s: float) -> float:
    """Return how many seconds to wait after `thinking_time_s` of thinking, so that the move takes `min_move_time`."""
    return max(0.0, min(min_move_time - thinking_time_s, time_left_s * MAX_PACE_RATIO))


class WorkerThreads:
    """The threads in which the bot thinks, one for each piece of work that runs at the same time.

    They are daemon threads that start on demand, so that a `choose` that never returns blocks neither the exit of the
    process nor the next match.
    """

    def __init__(self, bot: Bot, on_result: Callable[[WorkResult], None], min_move_time: float = 0.0) -> None:
        self._bot = bot
        self._done = on_result
        self._min_move_time_s = min_move_time
        self._work: queue.SimpleQueue[Work] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self.unfinished_work: list[Work] = []
        self._by_thread: dict[int, RunningWork] = {}

    def running_work(self) -> list[RunningWork]:
        """Return the pieces of work that are in progress."""
        return [*self._by_thread.values()]

    def submit(self, work: Work) -> None:
        """Queue a piece of work. The thread that does it then calls `on_result` with the result."""
        with self._lock:
            self.unfinished_work.append(work)
            begin = len(self.unfinished_work) > self._threads
            self._threads += begin
        self._work.put(work)
        if begin:
            threading.Thread(target=self._think, name=f"{self._bot.name}-thinking", daemon=True).start()

    def _think(self) -> None:
        me = threading.get_ident()
        while True:
            work, began = self._work.get(), time.monotonic()
            self._by_thread[me] = RunningWork(work, me, began)
            thought = do_work(self._bot, work)
            del self._by_thread[me]
            if self._min_move_time_s and type(work) is Choose:
                time.sleep(pace_delay(self._min_move_time_s, time.monotonic() - began, work.turn.time_left))
            with self._lock:
                self.unfinished_work = [other for other in self.unfinished_work if other is not work]
            self._done(thought)
