"""`arena-bot pipe`: a bot whose moves come from a program in any language, which runs as a process and exchanges lines.

Each match in progress has its own process. After a match, the process may play another one. It always ends when this
process does (machine/keeper.py). The lines are JSON, described in docs/other-languages.md: the messages of
docs/protocol.md, except that a turn begins with the fields that programs without a JSON parser look for.
"""

from __future__ import annotations

import argparse
import codecs
import contextlib
import errno
import json
import os
import select
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from bots.client.bot import Bot, Choice, GiveUp, ProgramFailed, Turn
from bots.client.finish_signal import FinishSignal
from bots.client.options import OptionParser, add_options, read_options
from bots.client.run import play
from bots.client.settings import PartialSettings
from bots.commands.match_logs import MatchLogFolder, OutputLog, OutputReader
from machine.keeper import FAILED_MESSAGE
from machine.process_tree import wait_until_idle
from machine.subprocesses import describe_exit
from machine.terminal import say
from protocol import bot_launch
from protocol.codec import read_integer
from protocol.display import list_choices, short_repr
from protocol.errors import Fault, UsageFault
from protocol.games import game_names
from protocol.match_logs import STATE_HEADERS_BYTES, STATE_MARK
from protocol.messages import MAX_CLIENT_FRAME_BYTES, End, Info, Rejected, Start
from protocol.reasons import VOID
from referee.clock import max_compensation_ms

CLOCK_GRACE_S = 0.5
"""Seconds from the end of a bot's clock until its program is killed, so that the arena ends the match first."""
SHUTDOWN_TIMEOUT_S = 1.0
"""Seconds that programs have to exit when there is nothing left to play."""
MAX_QUOTED_LENGTH = 60
"""The maximum number of characters that a message quotes of a program's output."""
MAX_LINE_BYTES = MAX_CLIENT_FRAME_BYTES
"""The maximum number of bytes of a line from a program. A longer move could not be sent to the arena."""
_INFO_NAMES = Info.__struct_fields__
"""The names of the fields of a move's `info`."""
READY_TIMEOUT_S = 5.0
"""Seconds that a program started ahead of its match has to get ready, before its bot goes on."""
KEEP_TIMEOUT_S = 5.0
"""Seconds that a program which keeps files has to exit after its match."""
KILL_TIMEOUT_S = 2.0
"""Seconds that a keeper has to end a program's processes, on a busy machine."""
_READ_CHUNK_BYTES = 65536
"""The maximum number of bytes of a program's output that are read at a time."""
_PRIVATE_VARIABLES = (bot_launch.TOKEN_VARIABLE, bot_launch.TOKEN_FD_VARIABLE)
"""The environment variables that a program must not see."""


def pipe(args: Sequence[str], prog_name: str) -> None:
    """Play the moves that a program writes, as a bot with the settings of a command line, until the bot's matches are
    played or the user stops it.

    Raise `Fault` if that fails, `SystemExit` after `--help` and for an exit code other than 0.
    """
    if sys.platform == "win32":
        raise UsageFault("arena-bot pipe needs Linux, macOS or another Unix; on Windows, use WSL")
    parser = OptionParser(
        prog=prog_name,
        usage="%(prog)s [options] -- PROGRAM [ARGUMENT ...]",
        description="Play by a program: it reads a line of JSON for each message and writes one for each move.",
        epilog="docs/other-languages.md has the lines. --name is the program's without folder and ending if not given.",
        allow_abbrev=False,
    )
    add_options(parser)
    parser.add_argument("--version", default="", help="of the program, to be shown and recorded")
    parser.add_argument("--fresh", action="store_true", help="start the program anew for each match")
    parser.add_argument(
        "--match-logs",
        type=Path,
        metavar="FOLDER",
        help="write what the program prints in a match to a file of this folder, in place of the terminal; it is "
        "started anew for each match",
    )
    parser.add_argument("--keep-state", type=int, default=0, help=argparse.SUPPRESS)  # for runners
    parser.add_argument(
        "--finish-on-sigterm", action="store_true", help="on SIGTERM, end when the matches under way are over"
    )
    own, program = split_arguments(args)
    read = parser.parse_args(own)
    if not program:
        raise UsageFault(
            f"there is no program to run: give it at the end, as in {prog_name} --game {game_names()[0]} -- ./mybot"
        )
    folder = None if read.match_logs is None else MatchLogFolder(read.match_logs)
    bot = PipedBot(
        Path(program[0]).stem,
        program,
        read.version,
        fresh=read.fresh,
        match_logs=folder,
        max_state_bytes=0 if folder is None else read.keep_state,
    )
    options = read_options(read)
    signal_ = FinishSignal() if read.finish_on_sigterm else None
    bot.start()
    try:
        play(bot, options, PartialSettings(), signal_)
    finally:
        bot.close()


def split_arguments(args: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Return two lists of words: those before the first `--`, and those after it (the program's command line)."""
    at = args.index("--") if "--" in args else len(args)
    return args[:at], args[at + 1 :]


class ProgramExited(Fault):
    """Raised if the program exited during a turn. `code` is its exit code, negative for a signal."""

    def __init__(self, code: int, unfinished: str) -> None:
        super().__init__(describe_exit(code) + unfinished)
        self.code = code


class UnusableAnswer(Fault):
    """A program gives no answer to a turn, an answer that is no move, or more output than it may write."""


class PipedProgram:
    """A program that runs as a process. One thread at a time uses it. `UsageFault` is raised if it can't be started.

    If it is `logged`, its `output` has what it writes to standard error, which else goes to this process's.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], *, logged: bool = False) -> None:
        self._keeper_socket, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - the author's own command line
                (sys.executable, "-P", "-m", "machine.keeper", str(theirs.fileno()), *command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE if logged else None,
                pass_fds=[theirs.fileno()],
                env=dict(environment),
                bufsize=0,
                start_new_session=True,
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._in, False)
        os.set_blocking(self._out, False)
        self.output = None if self._process.stderr is None else OutputReader(self._process.stderr)
        self._input = bytearray()
        self._output = bytearray()
        self._is_closed = False
        said = self._keeper_socket.recv(64)
        if said.startswith(FAILED_MESSAGE):
            self.kill()
            raise UsageFault(_explain_start_failure(command[0], int(said.removeprefix(FAILED_MESSAGE))))

    @property
    def exit_code(self) -> int | None:
        """The program's exit code, negative for a signal; None while the program runs."""
        return self._process.poll()

    def wait_until_ready(self, timeout_s: float) -> None:
        """Wait until the program has started and waits for its input, for `timeout_s` seconds at most."""
        wait_until_idle(self._process.pid, timeout_s)

    def write_line(self, line: bytes) -> None:
        """Queue a line for the program. This never blocks."""
        self._input += line
        self._write()

    def read_line(self, deadline: float) -> bytes:
        """Return the next line of the program. Raise `ProgramExited` if it exits, or if the files that it keeps follow,
        `UnusableAnswer` if it writes no line before `deadline` (`time.monotonic()`) or too long a line.
        """
        while (length := self._output.find(b"\n")) < 0:
            if len(self._output) > MAX_LINE_BYTES:
                raise UnusableAnswer(f"wrote a line of more than {MAX_LINE_BYTES} bytes")
            self._exchange(deadline)
        line = bytes(self._output[:length])
        if line == STATE_MARK.strip():
            raise ProgramExited(0, "")
        del self._output[: length + 1]
        return line

    def discard_output(self) -> bytes:
        """Discard the output since the last line read, and return it. Raise `ProgramExited` if the files that the
        program keeps follow it, `UnusableAnswer` if it is too long.
        """
        with contextlib.suppress(BlockingIOError):
            self._read()
        written, mark, _ = bytes(self._output).partition(STATE_MARK)
        self._output.clear()
        if mark:
            raise ProgramExited(0, "")
        if len(written) >= _READ_CHUNK_BYTES:
            raise UnusableAnswer("keeps writing without being asked")
        return written

    def _exchange(self, deadline: float) -> None:
        """Wait until the program can read or has written something. Then write or read a chunk of bytes."""
        if self._is_closed:
            code = self._wait_for_exit(deadline)
            raise ProgramExited(code, f" in mid-line, after {_quote_end(self._output)}" if self._output else "")
        polled = select.poll()
        polled.register(self._out, select.POLLIN)
        if self._input:
            polled.register(self._in, select.POLLOUT)
        left = deadline - time.monotonic()
        ready = dict(polled.poll(left * 1000)) if left > 0 else {}
        if not ready:
            raise UnusableAnswer(f"{self._describe_silence()} until its time was over")
        if self._in in ready:
            self._write()
        if self._out in ready:
            self._read()

    def _wait_for_exit(self, deadline: float) -> int:
        """Return the exit code of a program that has closed its output."""
        try:
            return self._process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise UnusableAnswer("closed its standard output and did not exit until its time was over") from None

    def _describe_silence(self) -> str:
        if self._input:
            return "does not read its standard input"
        if self._output and b"\n" not in self._output:
            return f"wrote {_quote_end(self._output)} and no line feed"
        return "wrote no answer (does it flush what it writes?)"

    def _write(self) -> None:
        try:
            while self._input:
                del self._input[: os.write(self._in, self._input)]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            self._input.clear()  # it has ended or reads no more: the one is heard at the next turn, the other its own

    def _read(self) -> None:
        read = os.read(self._out, _READ_CHUNK_BYTES)
        self._output += read
        self._is_closed = not read

    def close_input(self) -> None:
        """Close the program's input, so that the program notices that no more lines follow."""
        assert self._process.stdin is not None
        self._process.stdin.close()

    def read_rest(self, timeout_s: float, max_bytes: int) -> bytes:
        """Return what the program still writes until it exits, or for `timeout_s` seconds, or until it has written more
        than `max_bytes`.
        """
        deadline = time.monotonic() + timeout_s
        self._input.clear()  # its input is closed
        with contextlib.suppress(ProgramExited, UnusableAnswer):
            while len(self._output) <= max_bytes:
                self._exchange(deadline)
        return bytes(self._output)

    def kill(self, timeout_s: float = 0.0) -> None:
        """Kill the program and all processes that it started, unless it exits within `timeout_s` seconds."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout_s)
        self._keeper_socket.close()
        try:
            self._process.wait(KILL_TIMEOUT_S)
        except subprocess.TimeoutExpired:  # somebody has stopped the keeper, with which the program ends
            self._process.kill()
            self._process.wait()
        if self.output is not None:
            self.output.finish()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()


def _quote_end(written: bytearray) -> str:
    text = repr(written.decode(errors="replace"))
    return text if len(text) <= 60 else "..." + text[-57:]


def _explain_start_failure(program: str, error_number: int) -> str:
    """Return why the system can't run a program, and what the user can do about it."""
    if error_number == errno.ENOENT and shutil.which(program) is None and not Path(program).exists():
        return f"there is no program {program!r}: give its path, as in ./mybot, or a name that is on PATH"
    if error_number == errno.ENOENT and Path(program).is_file() and "/" not in program:
        return f"{program!r} is not on PATH: write ./{program}"
    if error_number == errno.ENOENT:
        return f"{program!r} names an interpreter in its first line, after #!, that is not there"
    if error_number == errno.EACCES and Path(program).is_dir():
        return f"{program!r} is a folder: give the path of a program in it"
    if error_number == errno.EACCES:
        return f"{program!r} can't be executed: chmod +x {program}"
    if error_number == errno.ENOEXEC:
        return f"{program!r} is not a program: begin a script with #!/bin/sh, or put its interpreter before it"
    return f"{program!r} can't be started: {os.strerror(error_number)}"


class StaleAnswer(Fault):
    """A program answered a turn other than the open one."""


def encode_message(message: Start | Rejected | End) -> bytes:
    """Return a message of the arena as a line of JSON."""
    return msgspec.json.encode(message) + b"\n"


def encode_turn(turn: Turn) -> bytes:
    """Return a turn as a line of JSON that begins with `type` and `legal`. Fields that check dice are left out."""
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


def parse_answer(line: bytes, turn: Turn, on_discarded: Callable[[str], None] = lambda what: None) -> Choice | None:
    """Return the choice in a line of a program; None if the line is blank, so that the next one has to be read.
    `on_discarded` is called with a description of each part of `info` that is discarded.

    A line is a move in the form of those in `legal`, or a message `move` or `resign` of the protocol. Of `move` only
    the field `move` is required. Raise `StaleAnswer` for a move of another turn, `GiveUp` for `resign`,
    `UnusableAnswer` for all other lines.
    """
    line = line.removeprefix(codecs.BOM_UTF8)
    if not line.strip():
        return None
    try:
        said = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        said = _move_with_odd_numbers(line, turn)
    if not isinstance(said, dict):
        raise UnusableAnswer(f"wrote {quote_line(line)}, which is not a JSON map: {_expected_form(turn)}")
    match said.get("type"):
        case None:
            return Choice(said)
        case "resign":
            raise GiveUp
        case "move":
            return _parse_move(said, turn, on_discarded)
    raise UnusableAnswer(f"wrote {quote_line(line)}, whose type is neither move nor resign: {_expected_form(turn)}")


def _move_with_odd_numbers(line: bytes, turn: Turn) -> Any:
    """Return the message `move` in a line whose `info` has numbers that cannot be sent, such as NaN or one of 5,000
    digits. Many libraries write such numbers. They are left out of the move later. Return None if the line is not a
    message `move`.

    Raise `UnusableAnswer` for a line that has such numbers outside `info`.
    """
    try:
        said = json.loads(line, parse_int=read_integer)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict):
        return None
    is_move = said.get("type") == "move"
    try:
        json.dumps({key: value for key, value in said.items() if key != "info" or not is_move}, allow_nan=False)
    except ValueError:
        raise UnusableAnswer(
            f"wrote {quote_line(line)}, which has a number that no move has: {_expected_form(turn)}"
        ) from None
    return said if is_move else None


def _parse_move(said: Mapping[str, Any], turn: Turn, left_out: Callable[[str], None]) -> Choice:
    """Return the choice in a message `move`, with the supported fields of its `info`."""
    match, ply = said.get("match", turn.match), said.get("ply", turn.ply)
    if (match, ply) != (turn.match, turn.ply):
        raise StaleAnswer(f"answered ply {str(ply)[:20]} of {str(match)[:40]}")
    move, info = said.get("move"), said.get("info") or {}
    if not isinstance(move, dict):
        raise UnusableAnswer(f"wrote a move without a map in the field move: {_expected_form(turn)}")
    if not isinstance(info, dict):
        left_out(f"wrote a move whose info is {short_repr(info, MAX_QUOTED_LENGTH)}, not a map")
        return Choice(move)
    for name in sorted(info.keys() - {*_INFO_NAMES}):
        left_out(f"wrote a move whose info has {short_repr(name, MAX_QUOTED_LENGTH)}: {list_choices(_INFO_NAMES)}")
    return Choice(move, **{name: info[name] for name in _INFO_NAMES if name in info})


def _expected_form(turn: Turn) -> str:
    return (
        f"a move is a line like {msgspec.json.encode(turn.legal[0]).decode()}; write everything else to standard error"
    )


def quote_line(line: bytes) -> str:
    """Return a line of a program's output as text to quote in a message."""
    return short_repr(line.decode(errors="replace"), MAX_QUOTED_LENGTH)


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
            self._matches[start.match] = PipedMatch(
                line, CLOCK_GRACE_S + max_compensation_ms(start.clock.bank_ms) / 1000, program, log
            )

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
        if match.program is not None:
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
                following = None
                with contextlib.suppress(UsageFault):  # `prepare` meets it again, and reports it
                    following = self._start_idle()  # now, so that the next match need not wait for it
            if following is not None:  # another match, which waits for the lock, may take it before
                following.wait_until_ready(READY_TIMEOUT_S)
        self._keep_log(name, match)

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
        if self._match_logs is not None:
            try:
                self._match_logs.write(match.log.to_log(name), is_open=is_open)
            except UsageFault as fault:  # no match is lost by it
                self._say(str(fault))

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
        """End all programs: close their input, and kill those that do not exit within `SHUTDOWN_TIMEOUT_S`."""
        with self._lock:
            programs = self._idle + [match.program for match in self._matches.values() if match.program is not None]
        for program in programs:
            program.close_input()
        until = time.monotonic() + SHUTDOWN_TIMEOUT_S
        for program in programs:
            program.kill(timeout_s=max(0.0, until - time.monotonic()))


def _place_of(turn: Turn) -> str:
    return f"at ply {turn.ply} of {turn.match}"
