"""The bot whose moves a program chooses: each match has a process to itself, which then plays the next one."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from bots.client.bot import Bot, Choice, GiveUp, Turn
from bots.piping.lines import Passed, Unusable, answer, asked, quoted, told
from bots.piping.program import Gone, Program, Silent, TooMuch
from machine.subprocesses import ending
from protocol import bot_launch
from protocol.display import printable
from protocol.errors import UsageFault
from protocol.messages import End, Rejected, Start
from referee.clock import most_given

LATE = 0.5
"""Seconds after the end of its clock until a program is ended, so that the arena has the first word."""
SHUTDOWN_TIMEOUT = 1.0
"""Seconds that programs have to end by themselves when there is nothing more to play."""
_OURS = (bot_launch.TOKEN, bot_launch.TOKEN_FD)


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
        except Gone as exc:
            self._drop(match)
            raise GiveUp(f"{_at(turn)} its program {exc}, for the second time") from None
        except Silent as exc:
            self._drop(match)
            raise GiveUp(f"{_at(turn)} its program {exc} until its time was over") from None
        except (TooMuch, Unusable) as exc:  # nobody knows what it would answer next
            self._drop(match)
            raise GiveUp(f"{_at(turn)} its program {exc}") from None
        except UsageFault as exc:
            raise GiveUp(str(exc)) from None

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
