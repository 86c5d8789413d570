"""`arena-bot pipe`: a bot whose moves come from a program in any language, which runs as a process and exchanges lines.

Each match has its own process, which then plays the next match. It ends together with this process, in every case
(machine/keeper.py). The lines are JSON, described in docs/other-languages.md: the messages of docs/protocol.md, except
that a turn begins with the fields that programs without a JSON parser look for.
"""

from __future__ import annotations

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
from bots.client.options import Parser, add_options, given
from bots.client.run import play
from bots.client.settings import Given
from machine.keeper import FAILED
from machine.subprocesses import ending
from machine.terminal import say
from protocol import bot_launch
from protocol.codec import read_integer
from protocol.display import among, shown
from protocol.errors import Fault, UsageFault
from protocol.messages import MAX_CLIENT_FRAME, End, Info, Rejected, Start
from referee.clock import most_given

LATE = 0.5
"""Seconds between the end of a bot's clock and the end of its program, so that the arena ends the match first."""
SHUTDOWN_TIMEOUT = 1.0
"""Seconds for programs to exit when there is nothing left to play."""
MOST_SHOWN = 60
"""Characters of a program's output that a message quotes."""
LONGEST_LINE = MAX_CLIENT_FRAME
"""Bytes. A longer move could not be sent."""
_INFO_NAMES = Info.__struct_fields__
KILL_WITHIN = 2.0
"""Seconds for a keeper to end all processes on a busy machine."""
_READ = 65536
_OURS = (bot_launch.TOKEN, bot_launch.TOKEN_FD)


def pipe(args: Sequence[str], prog_name: str) -> None:
    """Play a program's moves with the settings of a command line, until its matches are played or it is stopped.

    Raises `Fault`; `SystemExit` after `--help` and for an exit code other than 0.
    """
    if sys.platform == "win32":
        raise UsageFault("arena-bot pipe needs Linux, macOS or another Unix; on Windows that is WSL")
    parser = Parser(
        prog=prog_name,
        usage="%(prog)s [options] -- PROGRAM [ARGUMENT ...]",
        description="Play by a program: it reads a line of JSON for each message and writes one for each move.",
        epilog="docs/other-languages.md has the lines. --name is the program's without folder and ending if not given.",
        allow_abbrev=False,
    )
    add_options(parser)
    parser.add_argument("--version", default="", help="of the program, to be shown and recorded")
    own, program = _parted(args)
    read = parser.parse_args(own)
    if not program:
        raise UsageFault(f"there is no program to run: give it at the end, as in {prog_name} --game nim -- ./mybot")
    bot = Piped(Path(program[0]).stem, program, read.version)
    options = given(read)
    bot.begin()
    try:
        play(bot, options, Given())
    finally:
        bot.close()


def _parted(args: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Return the words before the first `--`, and those after it, which belong to the program."""
    at = args.index("--") if "--" in args else len(args)
    return args[:at], args[at + 1 :]


class Gone(Fault):
    """The program has exited. `code` is its exit code, negative for a signal."""

    def __init__(self, code: int, unfinished: str) -> None:
        super().__init__(ending(code) + unfinished)
        self.code = code


class Unusable(Fault):
    """A program gives no answer to a turn, a wrong one, or far too much output."""


class Program:
    """A running program, used by one thread at a time. Raises `UsageFault` if it can't be started."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._line, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - the author's own command line
                (sys.executable, "-P", "-m", "machine.keeper", str(theirs.fileno()), *command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
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
        self._unsent = bytearray()
        self._heard = bytearray()
        self._over = False
        said = self._line.recv(64)
        if said.startswith(FAILED):
            self.kill()
            raise UsageFault(_not_started(command[0], int(said.removeprefix(FAILED))))

    @property
    def code(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs."""
        return self._process.poll()

    def tell(self, line: bytes) -> None:
        """Queue a line for the program; never blocks."""
        self._unsent += line
        self._push()

    def hear(self, until: float) -> bytes:
        """Return the next line that it writes, until a time of `time.monotonic`. Raises `Gone`, `Unusable`."""
        while (length := self._heard.find(b"\n")) < 0:
            if len(self._heard) > LONGEST_LINE:
                raise Unusable(f"wrote a line of more than {LONGEST_LINE} bytes")
            self._wait(until)
        line = bytes(self._heard[:length])
        del self._heard[: length + 1]
        return line

    def unasked(self) -> bytes:
        """Return and discard what it has written since the last line was read. Raises `Unusable`."""
        with contextlib.suppress(BlockingIOError):
            self._read()
        written = bytes(self._heard)
        self._heard.clear()
        if len(written) >= _READ:
            raise Unusable("writes on and on without being asked")
        return written

    def _wait(self, until: float) -> None:
        """Wait for input or output, and read and write a little of it."""
        if self._over:
            raise Gone(self._process.wait(), f" in mid-line, after {_end(self._heard)}" if self._heard else "")
        polled = select.poll()
        polled.register(self._out, select.POLLIN)
        if self._unsent:
            polled.register(self._in, select.POLLOUT)
        left = until - time.monotonic()
        ready = dict(polled.poll(left * 1000)) if left > 0 else {}
        if not ready:
            raise Unusable(f"{self._silence()} until its time was over")
        if self._in in ready:
            self._push()
        if self._out in ready:
            self._read()

    def _silence(self) -> str:
        if self._unsent:
            return "does not read its standard input"
        if self._heard and b"\n" not in self._heard:
            return f"wrote {_end(self._heard)} and no line feed"
        return "wrote no answer (does it flush what it writes?)"

    def _push(self) -> None:
        try:
            while self._unsent:
                del self._unsent[: os.write(self._in, self._unsent)]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            self._unsent.clear()  # it has ended or reads no more: the one is heard at the next turn, the other its own

    def _read(self) -> None:
        read = os.read(self._out, _READ)
        self._heard += read
        self._over = not read

    def leave(self) -> None:
        """Close its input, to tell it that nothing follows."""
        assert self._process.stdin is not None
        self._process.stdin.close()

    def kill(self, after: float = 0.0) -> None:
        """Kill it and everything it started, unless it exits within `after` seconds."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(after)
        self._line.close()
        try:
            self._process.wait(KILL_WITHIN)
        except subprocess.TimeoutExpired:  # somebody has stopped the keeper, with which the program ends
            self._process.kill()
            self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()


def _end(written: bytearray) -> str:
    text = repr(written.decode(errors="replace"))
    return text if len(text) <= 60 else "..." + text[-57:]


def _not_started(program: str, why: int) -> str:
    """Return why the system can't run a program, and what would help."""
    if why == errno.ENOENT and shutil.which(program) is None and not Path(program).exists():
        return f"there is no program {program!r}: give its path, as in ./mybot, or a name that is on PATH"
    if why == errno.ENOENT and Path(program).is_file() and "/" not in program:
        return f"{program!r} is not on PATH: write ./{program}"
    if why == errno.ENOENT:
        return f"{program!r} names an interpreter in its first line, after #!, that is not there"
    if why == errno.EACCES and Path(program).is_dir():
        return f"{program!r} is a folder: give the path of a program in it"
    if why == errno.EACCES:
        return f"{program!r} can't be executed: chmod +x {program}"
    if why == errno.ENOEXEC:
        return f"{program!r} is no program: a script begins with #!/bin/sh, or is given after its interpreter"
    return f"{program!r} can't be started: {os.strerror(why)}"


class Passed(Fault):
    """A program answered a turn other than the open one."""


def told(message: Start | Rejected | End) -> bytes:
    """Return a message as a line, as the arena sent it."""
    return msgspec.json.encode(message) + b"\n"


def asked(turn: Turn) -> bytes:
    """Return a turn as a line: `type` first, then `legal`, without what only serves to check the arena's dice."""
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


def answer(line: bytes, turn: Turn, left_out: Callable[[str], None] = lambda what: None) -> Choice | None:
    """Return the move in a line; None if the line is blank and the next one has to be read. `left_out` is called with
    descriptions of `info` that is discarded.

    A line is a move as in `legal`, or a message `move` or `resign` of the protocol; of `move` only the field `move` is
    required. Raises `Passed` for another turn's move, `Unusable` for anything else, `GiveUp` for `resign`.
    """
    line = line.removeprefix(codecs.BOM_UTF8)
    if not line.strip():
        return None
    try:
        said = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        said = _move_with_odd_numbers(line, turn)
    if not isinstance(said, dict):
        raise Unusable(f"wrote {quoted(line)}, which is no map in JSON: {_right(turn)}")
    match said.get("type"):
        case None:
            return Choice(said)
        case "resign":
            raise GiveUp
        case "move":
            return _moved(said, turn, left_out)
    raise Unusable(f"wrote {quoted(line)}, whose type is neither move nor resign: {_right(turn)}")


def _move_with_odd_numbers(line: bytes, turn: Turn) -> Any:
    """Return a message `move` in whose `info` are numbers that nobody keeps, as NaN and 5,000 digits; else None.

    Many libraries write them. They cannot be kept, and the move stands without them. Raises `Unusable` for a line that
    has them anywhere else.
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
        raise Unusable(f"wrote {quoted(line)}, in which is a number that no move has: {_right(turn)}") from None
    return said if is_move else None


def _moved(said: Mapping[str, Any], turn: Turn, left_out: Callable[[str], None]) -> Choice:
    """Return the choice in a `move`, with the supported fields of its `info`."""
    match, ply = said.get("match", turn.match), said.get("ply", turn.ply)
    if (match, ply) != (turn.match, turn.ply):
        raise Passed(f"answered ply {str(ply)[:20]} of {str(match)[:40]}")
    move, info = said.get("move"), said.get("info") or {}
    if not isinstance(move, dict):
        raise Unusable(f"wrote a move without a map in the field move: {_right(turn)}")
    if not isinstance(info, dict):
        left_out(f"wrote a move whose info is {shown(info, MOST_SHOWN)}, no map")
        return Choice(move)
    for name in sorted(info.keys() - {*_INFO_NAMES}):
        left_out(f"wrote a move whose info has {shown(name, MOST_SHOWN)}: {among(_INFO_NAMES)}")
    return Choice(move, **{name: info[name] for name in _INFO_NAMES if name in info})


def _right(turn: Turn) -> str:
    return f"a move is a line like {msgspec.json.encode(turn.legal[0]).decode()}, and all else goes to standard error"


def quoted(line: bytes) -> str:
    """Return a program's output for a message."""
    return shown(line.decode(errors="replace"), MOST_SHOWN)


@dataclass(slots=True)
class _Match:
    """A match under way. `program` is None if it has to be started again."""

    start: bytes
    grace: float
    """Seconds after the end of the clock, as known here, until it has ended for the arena too."""
    program: Program | None
    warned: bool = False
    """True once the author was told that it writes more than it is asked for."""


class Piped(Bot):
    """A bot that plays what `command` writes. It runs as many processes as there are matches at once."""

    def __init__(self, name: str, command: Sequence[str], version: str = "") -> None:
        super().__init__(name, version)
        self._command = command
        self._environment = {key: value for key, value in os.environ.items() if key not in _OURS}
        self._lock = threading.Lock()
        self._idle: list[Program] = []
        self._matches: dict[str, _Match] = {}

    def begin(self) -> None:
        """Start a program for the first match. Raises `UsageFault` if that fails."""
        self._idle.append(self._started())

    def prepare(self, start: Start) -> None:
        line = told(start)
        try:
            program = self._taken()
        except UsageFault as exc:
            raise ProgramFailed(str(exc)) from None
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
        """End a match. Its program gets `line` and may then play the next match."""
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
            raise ProgramFailed(str(exc)) from None
        except Fault as exc:  # nobody knows what it would answer next
            self._drop(match)
            again = ", for the second time" if isinstance(exc, Gone) else ""
            raise ProgramFailed(f"{_at(turn)} its program {exc}{again}") from None

    def _asked(self, match: _Match, turn: Turn) -> Choice:
        """Return the program's answer; start the program first if there is none."""
        program = match.program
        if program is None:
            program = match.program = self._started()
            program.tell(match.start)
        if (written := program.unasked().removeprefix(codecs.BOM_UTF8)).strip():
            self._leave_out(match, turn, f"wrote {quoted(written)} before it was asked")
        program.tell(asked(turn))
        until = time.monotonic() + turn.time_left + match.grace
        while True:
            try:
                choice = answer(program.hear(until), turn, partial(self._leave_out, match, turn))
            except Passed as exc:
                self._leave_out(match, turn, str(exc))
                continue
            if choice is not None:
                return choice

    def _leave_out(self, match: _Match, turn: Turn, what: str) -> None:
        """Report what is discarded, once a match: a program that writes too much does so at every turn."""
        if not match.warned:
            match.warned = True
            self._say(f"{_at(turn)} its program {what}: it is left out")

    def _started(self) -> Program:
        return Program(self._command, self._environment)

    def _taken(self) -> Program:
        """Return an idle program, or a new one."""
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
        say(f"{self.name}: {line}", err=True)

    def close(self) -> None:
        """End all programs: close their input, and kill those that do not exit within a second."""
        with self._lock:
            programs = self._idle + [match.program for match in self._matches.values() if match.program is not None]
        for program in programs:
            program.leave()
        until = time.monotonic() + SHUTDOWN_TIMEOUT
        for program in programs:
            program.kill(after=max(0.0, until - time.monotonic()))


def _at(turn: Turn) -> str:
    return f"at ply {turn.ply} of {turn.match}"
