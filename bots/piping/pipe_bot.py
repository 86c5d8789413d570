"""The bot whose moves a program chooses: each match has a process to itself, which then plays the next one.

What goes to a program and what comes back are lines of JSON, which docs/other-languages.md describes: the messages of
docs/protocol.md, but for a turn, which begins with what a program without JSON looks for.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from bots.client.bot import Bot, Choice, GiveUp, Turn
from bots.piping.program import Gone, Program, Silent
from machine.subprocesses import ending
from protocol import bot_launch
from protocol.display import printable, shown
from protocol.errors import Fault, UsageFault
from protocol.field_errors import field_error
from protocol.messages import End, Info, Rejected, Start
from referee.clock import most_given

LATE = 0.5
"""Seconds after the end of its clock until a program is ended, so that the arena has the first word."""
SHUTDOWN_TIMEOUT = 1.0
"""Seconds that programs have to end by themselves when there is nothing more to play."""
_OURS = (bot_launch.TOKEN, bot_launch.TOKEN_FD)
MOST_SHOWN = 60
"""Characters of what a program wrote, in a message."""


class Unusable(Fault):
    """A program wrote what is no answer to a turn."""


class Passed(Fault):
    """A program answered another turn than the one that is open."""


def told(message: Start | Rejected | End) -> bytes:
    """A message as the arena sent it, as a line."""
    return msgspec.json.encode(message) + b"\n"


def asked(turn: Turn) -> bytes:
    """A turn as a line: `type` comes first, then `legal`; what only serves to check the arena's dice is left out."""
    options = {} if turn.options is None else {"options": turn.options}
    message = {
        "type": "turn",
        "legal": turn.legal,
        **options,
        "match": turn.match,
        "ply": turn.ply,
        "to_move": turn.seat,
        "state": turn.state,
        "events": turn.events,
        "clock": turn.clock_ms,
    }
    return msgspec.json.encode(message) + b"\n"


def answer(line: bytes, turn: Turn) -> Choice | None:
    """The move in a line; None where there is nothing to it, and another one has to be waited for.

    A line is a move as in `legal`, or the protocol's message `move`, of which only `move` is needed, or `resign`.
    Raises `Passed` for another turn's, `Unusable` for what is none of that, `GiveUp` for `resign`.
    """
    if not line.strip():
        return None
    try:
        said = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        said = None
    if not isinstance(said, dict):
        raise Unusable(f"wrote {quoted(line)}, which is no map in JSON: {_right(turn)}")
    match said.get("type"):
        case None:
            return Choice(said)
        case "resign":
            raise GiveUp
        case "move":
            return _moved(said, turn)
    raise Unusable(f"wrote {quoted(line)}, whose type is neither move nor resign: {_right(turn)}")


def _moved(said: Mapping[str, Any], turn: Turn) -> Choice:
    """The choice in a `move`, with an `info` that the arena would take."""
    match, ply = said.get("match", turn.match), said.get("ply", turn.ply)
    if (match, ply) != (turn.match, turn.ply):
        raise Passed(f"answered ply {str(ply)[:20]} of {str(match)[:40]}")
    move, info = said.get("move"), said.get("info", {})
    if not isinstance(move, dict):
        raise Unusable(f"wrote a move without a map in the field move: {_right(turn)}")
    fault = field_error(info, Info) if isinstance(info, dict) else "it is no map"
    if fault is not None:
        raise Unusable(f"wrote a move whose info can't be sent: {fault}")
    return Choice(move, **info)


def _right(turn: Turn) -> str:
    return f"a move is a line like {msgspec.json.encode(turn.legal[0]).decode()}, and all else goes to standard error"


def quoted(line: bytes) -> str:
    """What a program wrote, for a message."""
    return shown(line.decode(errors="replace"), MOST_SHOWN)


@dataclass(slots=True)
class _Match:
    """A match under way; `program` is None where it has to be started anew."""

    start: bytes
    grace: float
    """Seconds after the end of the clock, as this side knows it, until it is over for the arena too."""
    program: Program | None
    warned: bool = False
    """Whether it was said that it writes more than it is asked for."""


class Piped(Bot):
    """Plays what `command` writes. As many processes run as there were matches at once."""

    def __init__(self, name: str, command: Sequence[str], version: str = "") -> None:
        super().__init__(name, version)
        self._command = command
        self._environment = {key: value for key, value in os.environ.items() if key not in _OURS}
        self._lock = threading.Lock()
        self._idle: list[Program] = []
        self._matches: dict[str, _Match] = {}

    def begin(self) -> None:
        """Have a program wait for the first match. Raises `UsageFault` where it can't be started."""
        self._idle.append(self._started())

    def prepare(self, start: Start) -> None:
        line = told(start)
        try:
            program = self._taken()
        except UsageFault as exc:
            raise GiveUp(str(exc)) from None
        program.tell(line)
        with self._lock:
            self._matches[start.match] = _Match(line, LATE + most_given(start.clock.bank_ms) / 1000, program)

    def rejected(self, rejected: Rejected) -> None:
        program = self._matches[rejected.match].program
        if program is not None:  # else it is started for the turn that comes with this
            program.tell(told(rejected))

    def ended(self, end: End) -> None:
        self._over(end.match, told(end))

    def missed(self, match: str) -> None:
        self._over(match, b"")

    def _over(self, name: str, line: bytes) -> None:
        """A match is over: its program, told so, may play the next one."""
        with self._lock:
            match = self._matches.pop(name, None)
        if match is not None and match.program is not None:
            match.program.tell(line)
            with self._lock:
                self._idle.append(match.program)

    def choose(self, turn: Turn) -> Choice:
        match = self._matches[turn.match]
        try:
            try:
                return self._asked(match, turn)
            except Gone as exc:
                self._drop(match)
                if exc.code:
                    self._say(f"{_at(turn)} its program {exc}; it is started again")
                return self._asked(match, turn)
        except UsageFault as exc:
            raise GiveUp(str(exc)) from None
        except Fault as exc:  # nobody knows what it would answer next
            self._drop(match)
            when = {Gone: ", for the second time", Silent: " until its time was over"}.get(type(exc), "")
            raise GiveUp(f"{_at(turn)} its program {exc}{when}") from None

    def _asked(self, match: _Match, turn: Turn) -> Choice:
        """The answer of the program, which is started if there is none."""
        program = match.program
        if program is None:
            program = match.program = self._started()
            program.tell(match.start)
        if (written := program.unasked()).strip():
            self._leave_out(match, f"wrote {quoted(written)} before it was asked", turn)
        program.tell(asked(turn))
        until = time.monotonic() + turn.time_left + match.grace
        while True:
            try:
                choice = answer(program.hear(until), turn)
            except Passed as exc:
                self._leave_out(match, str(exc), turn)
                continue
            if choice is not None:
                return choice

    def _leave_out(self, match: _Match, what: str, turn: Turn) -> None:
        """Say what is left out, once a match: a program that writes too much does so at every turn."""
        if not match.warned:
            match.warned = True
            self._say(f"{_at(turn)} its program {what}: it is left out")

    def _started(self) -> Program:
        return Program(self._command, self._environment)

    def _taken(self) -> Program:
        """One of the programs that have nothing to play, or a new one."""
        with self._lock:
            program = self._idle.pop() if self._idle else None
        if program is None:
            return self._started()
        code = program.code
        if code is None:
            return program
        program.kill()
        if code:
            self._say(f"its program {ending(code)} between two matches; it is started again")
        return self._taken()

    def _drop(self, match: _Match) -> None:
        if match.program is not None:
            match.program.kill()
            match.program = None

    def _say(self, line: str) -> None:
        print(printable(f"{self.name}: {line}"), file=sys.stderr, flush=True)

    def close(self) -> None:
        """End all programs: each is told by the end of its input, and has a second to leave by itself."""
        with self._lock:
            programs = self._idle + [match.program for match in self._matches.values() if match.program is not None]
        for program in programs:
            program.leave()
        until = time.monotonic() + SHUTDOWN_TIMEOUT
        for program in programs:
            program.kill(after=max(0.0, until - time.monotonic()))


def _at(turn: Turn) -> str:
    return f"at ply {turn.ply} of {turn.match}"
