"""A bot whose moves come from a program in any language.

Each match in progress has its own process. After a match, the process may play another one.
"""

import codecs
import contextlib
import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from bots.client.bot import Bot, Choice, ProgramFailed, Turn
from bots.commands.match_logs import MatchLogFolder, OutputLog
from bots.commands.piped_lines import StaleAnswer, encode_message, encode_turn, parse_answer, quote_line
from bots.commands.piped_program import PipedProgram, ProgramExited
from machine.subprocesses import describe_exit
from machine.terminal import say
from protocol import bot_launch
from protocol.errors import Fault, UsageFault
from protocol.match_logs import STATE_HEADERS_BYTES, STATE_MARK
from protocol.messages import End, Rejected, Start
from protocol.reasons import VOID
from referee.clock import max_compensation_ms

CLOCK_GRACE_S = 0.5
"""Seconds from the end of a bot's clock until its program is killed, so that the arena ends the match first."""
SHUTDOWN_TIMEOUT_S = 1.0
"""Seconds that programs have to exit when there is nothing left to play."""
READY_TIMEOUT_S = 5.0
"""Seconds that a program started ahead of its match has to get ready, before its bot goes on."""
KEEP_TIMEOUT_S = 15.0
"""Seconds that a program which keeps files has to exit after its match. On a busy machine, it may take more than 5 s to
get the processor time in which it exits.
"""
_PRIVATE_VARIABLES = (bot_launch.TOKEN_VARIABLE, bot_launch.TOKEN_FD_VARIABLE)
"""The environment variables that a program must not see."""


@dataclass(slots=True)
class PipedMatch:
    """A match in progress. `program` is None if it has to be started again."""

    start: bytes
    grace_s: float
    """Seconds after the end of the clock in this process until the clock has surely ended in the arena too."""
    program: PipedProgram | None
    log: OutputLog
    """The output of the programs of the match, with notes. Without a folder for logs, it is dropped at the end."""
    warned: bool = False
    """True once a message told the author that some of the program's output is discarded."""


class PipedBot(Bot):
    """A bot that plays the moves that `command` writes. It runs one process for each match in progress.

    If it is `fresh`, no process plays a second match. It is if `match_logs` has the folder for the logs of matches,
    where programs also keep files of `max_state_bytes` together.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        version: str = "",
        *,
        fresh: bool = False,
        match_logs: MatchLogFolder | None = None,
        max_state_bytes: int = 0,
    ) -> None:
        super().__init__(name, version)
        self._command = command
        self._fresh = fresh or match_logs is not None
        self._match_logs = match_logs
        self._max_state_bytes = max_state_bytes
        self._state_lock = threading.Lock() if max_state_bytes else contextlib.nullcontext()
        """The lock held from the end of a match until the next program has started with the files that were kept."""
        self.seeks_when_done = self._fresh
        self._environment = {key: value for key, value in os.environ.items() if key not in _PRIVATE_VARIABLES}
        self._lock = threading.Lock()
        self._idle: list[PipedProgram] = []
        self._matches: dict[str, PipedMatch] = {}
        self._log_written = threading.Condition()
        self._unlogged: dict[str, PipedMatch] = {}
        """The matches whose logs are not written, or not for the last time."""

    def start(self) -> None:
        """Start a program for the next match. If each match has a new one, wait until it is ready: a match should not
        begin with its start. Raise `UsageFault` if that fails.
        """
        program = self._start_idle()
        if self._fresh:
            program.wait_until_ready(READY_TIMEOUT_S)

    def _start_idle(self) -> PipedProgram:
        program = self._start_program()
        with self._lock:
            self._idle.append(program)
        return program

    def _encode_start(self, start: Start) -> bytes:
        """Return what a program reads when a match begins."""
        return encode_message(start)

    def _encode_end(self, end: End) -> bytes:
        """Return what a program reads when a match is over."""
        return encode_message(end)

    def prepare(self, start: Start) -> None:
        line = self._encode_start(start)
        try:
            with self._state_lock:
                program = self._take_program()
        except UsageFault as exc:
            raise ProgramFailed(str(exc)) from None
        program.write_line(line)
        log = OutputLog() if program.output is None else program.output.log
        with self._lock:
            match = self._matches[start.match] = PipedMatch(
                line, CLOCK_GRACE_S + max_compensation_ms(start.clock.bank_ms) / 1000, program, log
            )
        if self._match_logs is not None:
            self._unlogged[start.match] = match

    def rejected(self, rejected: Rejected) -> None:
        program = self._matches[rejected.match].program
        if program is not None:  # else it is started for the turn that comes with this
            program.write_line(encode_message(rejected))

    def ended(self, end: End) -> None:
        self._end_match(end.match, self._encode_end(end), is_void=end.reason == VOID)

    def missed(self, match: str) -> None:
        self._end_match(match, b"")

    def _end_match(self, name: str, line: bytes, *, is_void: bool = True) -> None:
        """End a match. Write `line` to its program, which may then play the next match, unless each has a new one.

        What the program keeps is kept unless the match `is_void`.
        """
        with self._lock:
            match = self._matches.pop(name, None)
        if match is None:
            return
        if match.program is None:
            self._keep_log(name, match)
        else:
            match.program.write_line(line)
            if not self._fresh:
                with self._lock:
                    self._idle.append(match.program)
                return
            with self._state_lock:
                match.program.close_input()
                if self._max_state_bytes and not is_void:
                    self._keep_state(match.program, match.log)
                match.program.kill(timeout_s=SHUTDOWN_TIMEOUT_S)
                self._keep_log(name, match)  # before the next program starts, for a bot that plays one match alone
                following = None
                with contextlib.suppress(UsageFault):  # `prepare` meets it again, and reports it
                    following = self._start_idle()  # now, so that the next match need not wait for it
            if following is not None:  # another match, which waits for the lock, may take it before
                following.wait_until_ready(READY_TIMEOUT_S)

    def _keep_state(self, program: PipedProgram, log: OutputLog) -> None:
        """Leave the tar that follows the output of a program beside the logs, for the next program and the runner."""
        assert self._match_logs is not None
        max_bytes = self._max_state_bytes + STATE_HEADERS_BYTES
        rest = program.read_rest(KEEP_TIMEOUT_S, max_bytes)
        _, mark, state = rest.partition(STATE_MARK)
        if len(rest) > max_bytes:
            log.add_note(f"its files are not kept: they have more than {self._max_state_bytes} bytes together")
        elif program.exit_code is None:
            log.add_note(f"its files are not kept: it did not exit within {KEEP_TIMEOUT_S:g} s of the end of the match")
        elif program.exit_code or not mark:
            log.add_note(f"its files are not kept: it {describe_exit(program.exit_code)}")
        else:
            try:
                self._match_logs.write_state(state)
            except UsageFault as fault:  # the next program must start, and the log be kept
                log.add_note("its files are not kept: they can't be written")
                self._say(str(fault))

    def _add_fault(self, match: PipedMatch, turn: Turn, what: str) -> None:
        """Add a fault of the program to the log, and write it now: the bot may not live to the end of the match."""
        match.log.add_fault(turn.ply, what)
        self._keep_log(turn.match, match, is_open=True)

    def _keep_log(self, name: str, match: PipedMatch, *, is_open: bool = False) -> None:
        if self._match_logs is None:
            return
        with self._log_written:
            if not is_open and self._unlogged.pop(name, None) is None:
                return
            try:
                self._match_logs.write(match.log.to_log(name), is_open=is_open)
            except UsageFault as fault:  # no match is lost by it
                self._say(str(fault))
            self._log_written.notify_all()

    def choose(self, turn: Turn) -> Choice:
        match = self._matches[turn.match]
        try:
            try:
                return self._ask_program(match, turn)
            except ProgramExited as exc:
                self._drop(match)
                if exc.code:
                    self._say(f"{_place_of(turn)} its program {exc}; it is restarted")
                    self._add_fault(match, turn, f"{exc}; it is restarted")
                return self._ask_program(match, turn)
        except UsageFault as exc:
            raise ProgramFailed(str(exc)) from None
        except Fault as exc:  # nobody knows what it would answer next
            self._drop(match)
            again = ", also after a restart" if isinstance(exc, ProgramExited) else ""
            self._add_fault(match, turn, f"{exc}{again}")
            raise ProgramFailed(f"{_place_of(turn)} its program {exc}{again}") from None

    def _ask_program(self, match: PipedMatch, turn: Turn) -> Choice:
        """Return the answer of a match's program to a turn. Start the program first if it does not run."""
        program = match.program
        if program is None:
            program = match.program = self._start_program()
            if program.output is not None:
                program.output.write_to(match.log)
            program.write_line(match.start)
        return self._exchange_turn(match, program, turn, time.monotonic() + turn.time_left + match.grace_s)

    def _exchange_turn(self, match: PipedMatch, program: PipedProgram, turn: Turn, deadline: float) -> Choice:
        """Write a turn to a program, and return its answer. Raise `ProgramExited`, `UnusableAnswer` or `GiveUp`."""
        if (written := program.discard_output().removeprefix(codecs.BOM_UTF8)).strip():
            match.log.add(written)
            self._report_discarded(match, turn, f"wrote {quote_line(written)} before it was asked")
        program.write_line(encode_turn(turn))
        while True:
            try:
                choice = parse_answer(program.read_line(deadline), turn, partial(self._report_discarded, match, turn))
            except StaleAnswer as exc:
                self._report_discarded(match, turn, str(exc))
                continue
            if choice is not None:
                return choice

    def _report_discarded(self, match: PipedMatch, turn: Turn, what: str) -> None:
        """Report that a program's output is discarded. Do so once in a match: it may happen at every turn."""
        match.log.add_note(f"at ply {turn.ply} its program {what}: it is left out")
        if not match.warned:
            match.warned = True
            self._say(f"{_place_of(turn)} its program {what}: it is left out")

    def _start_program(self) -> PipedProgram:
        return PipedProgram(self._command, self._environment, logged=self._match_logs is not None)

    def _take_program(self) -> PipedProgram:
        """Return a program that runs and has no match; if there is none, a new one."""
        with self._lock:
            program = self._idle.pop() if self._idle else None
        if program is None:
            return self._start_program()
        code = program.exit_code
        if code is None:
            return program
        program.kill()
        if code:
            self._say(f"its program {describe_exit(code)} between two matches; it is restarted")
        following = self._take_program()
        if program.output is not None and following.output is not None:
            program.output.log.add_fault(0, f"{describe_exit(code)} before the match; it is restarted")
            following.output.write_to(program.output.log)
        return following

    def _drop(self, match: PipedMatch) -> None:
        if match.program is not None:
            match.program.kill()
            match.program = None

    def _say(self, line: str) -> None:
        say(f"{self.name}: {line}", err=True)

    def close(self) -> None:
        """End all programs: close their input, and kill those that do not exit within `SHUTDOWN_TIMEOUT_S`. Then write
        the logs of matches that have no end here, or whose end was not dealt with yet.
        """
        with self._lock:
            programs = self._idle + [match.program for match in self._matches.values() if match.program is not None]
        for program in programs:
            program.close_input()
        until = time.monotonic() + SHUTDOWN_TIMEOUT_S
        for program in programs:
            program.kill(timeout_s=max(0.0, until - time.monotonic()))
        with self._log_written:  # of the matches that another thread ends now
            until_written = max(0.0, until - time.monotonic())
            self._log_written.wait_for(lambda: self._unlogged.keys() <= self._matches.keys(), until_written)
        for name, match in list(self._unlogged.items()):
            self._keep_log(name, match)


def _place_of(turn: Turn) -> str:
    return f"at ply {turn.ply} of {turn.match}"
