"""A program that runs as a process and exchanges lines with a bot.

It always ends when this process does (machine/keeper.py).
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence

from bots.commands.match_logs import OutputReader
from machine.fork_requests import ForkedProgram, ForkRequest
from machine.keeper import FAILED_MESSAGE, FORKED_FUNCTION
from machine.process_tree import ProcessorTimes, read_processor_times, wait_until_idle
from machine.subprocesses import describe_exit
from protocol.errors import Fault, UsageFault
from protocol.match_logs import STATE_MARK
from protocol.messages import MAX_CLIENT_FRAME_BYTES

MAX_LINE_BYTES = MAX_CLIENT_FRAME_BYTES
"""The maximum number of bytes of a line from a program. A longer move could not be sent to the arena."""
KILL_TIMEOUT_S = 2.0
"""Seconds that a keeper has to end a program's processes, on a busy machine."""
SILENCE_S = 0.25
"""Seconds without an answer after which a program's waits for a processor are measured."""
BUSY_RATIO = 0.5
"""The part of a turn for which a program had no processor, from which it is late because the machine is busy."""
_READ_CHUNK_BYTES = 65536
"""The maximum number of bytes of a program's output that are read at a time."""


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
            self._process = _start_keeper(command, environment, theirs.fileno(), logged)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._in, False)
        os.set_blocking(self._out, False)
        self.output = None if self._process.stderr is None else OutputReader(self._process.stderr)
        self._input = bytearray()
        self._output = bytearray()
        self._is_closed = False
        self._asked = 0.0
        """The time since which an answer is awaited."""
        self._times: ProcessorTimes | None = None
        """The program's processor times early in its turn; None if it was not silent for long."""
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
        self._asked, self._times = time.monotonic(), None
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
        ready = self._poll(polled, deadline)
        if not ready:
            raise UnusableAnswer(f"{self._describe_silence()} until its time was over{self._describe_delay()}")
        if self._in in ready:
            self._write()
        if self._out in ready:
            self._read()

    def _poll(self, polled: select.poll, deadline: float) -> dict[int, int]:
        """Return the descriptors that are ready before the deadline, with their events."""
        left = deadline - time.monotonic()
        if self._times is None and left > SILENCE_S:
            if ready := polled.poll(SILENCE_S * 1000):
                return dict(ready)
            self._times = read_processor_times(self._process.pid)
            left = deadline - time.monotonic()
        return dict(polled.poll(left * 1000)) if left > 0 else {}

    def _describe_delay(self) -> str:
        """Return that the machine was busy, as the end of a message, if the program was late for that reason."""
        if self._times is None:
            return ""
        return describe_delay(time.monotonic() - self._asked, self._times, read_processor_times(self._process.pid))

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


def describe_delay(took_s: float, before: ProcessorTimes, after: ProcessorTimes) -> str:
    """Return that the machine was busy, as the end of a message, if a program had no processor for most of `took_s`
    seconds. Threads of a program that computes wait for each other, too: that is not the machine's fault.
    """
    delay_s = min(after.delay_s - before.delay_s, took_s)
    if delay_s < BUSY_RATIO * took_s or after.used_s - before.used_s > BUSY_RATIO * took_s:
        return ""
    return f": the machine was busy, and it waited for a processor for {delay_s:.1f} of {took_s:.1f} s"


def _start_keeper(
    command: Sequence[str], environment: Mapping[str, str], line: int, logged: bool
) -> subprocess.Popen[bytes] | ForkedProgram:
    """Start the keeper of a program: by a fork server if this process has one, else by a command, which is slower."""
    with contextlib.suppress(OSError):
        return ForkedProgram(ForkRequest(FORKED_FUNCTION, dict(environment), tuple(command)), [line], logged=logged)
    return subprocess.Popen(  # noqa: S603 - the author's own command line
        (sys.executable, "-P", "-m", "machine.keeper", str(line), *command),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE if logged else None,
        pass_fds=[line],
        env=dict(environment),
        bufsize=0,
        start_new_session=True,
    )


def _quote_end(written: bytearray) -> str:
    text = repr(written.decode(errors="replace"))
    return text if len(text) <= 60 else "..." + text[-57:]


def _explain_start_failure(program: str, error_number: int) -> str:
    """Return why the system can't run a program, and what the user can do about it."""
    if error_number == errno.ENOENT and shutil.which(program) is None and not os.path.exists(program):
        return f"there is no program {program!r}: give its path, as in ./mybot, or a name that is on PATH"
    if error_number == errno.ENOENT and os.path.isfile(program) and "/" not in program:
        return f"{program!r} is not on PATH: write ./{program}"
    if error_number == errno.ENOENT:
        return f"{program!r} names an interpreter in its first line, after #!, that is not there"
    if error_number == errno.EACCES and os.path.isdir(program):
        return f"{program!r} is a folder: give the path of a program in it"
    if error_number == errno.EACCES:
        return f"{program!r} can't be executed: chmod +x {program}"
    if error_number == errno.ENOEXEC:
        return f"{program!r} is not a program: begin a script with #!/bin/sh, or put its interpreter before it"
    return f"{program!r} can't be started: {os.strerror(error_number)}"
