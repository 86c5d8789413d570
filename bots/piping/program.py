"""A program as a process, lines in and lines out. It ends with this process, however that ends (machine/keeper.py)."""

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
from pathlib import Path

from machine.keeper import FAILED
from machine.subprocesses import ending
from protocol.errors import Fault, UsageFault
from protocol.messages import MAX_CLIENT_FRAME

LONGEST_LINE = MAX_CLIENT_FRAME
"""Bytes; no longer move could be sent."""
KILL_WITHIN = 2.0
"""Seconds that a keeper has to end all, on a busy machine."""
_READ = 65536


class Silent(Fault):
    """The program did not answer in time."""


class Gone(Fault):
    """The program has ended. `code` is its exit code, negative for a signal."""

    def __init__(self, code: int, unfinished: str) -> None:
        super().__init__(ending(code) + unfinished)
        self.code = code


class TooMuch(Fault):
    """The program writes what nobody could want to read."""


class Program:
    """A program that runs. It is used by one thread at a time. Raises `UsageFault` where it can't be started."""

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
        """Its exit code where it has ended, negative for a signal."""
        return self._process.poll()

    def tell(self, line: bytes) -> None:
        """Give it a line to read; never waits."""
        self._unsent += line
        self._push()

    def hear(self, until: float) -> bytes:
        """The next line that it writes, without the line feed, until a time of `time.monotonic`.

        Raises `Silent`, `Gone`, `TooMuch`.
        """
        while (length := self._heard.find(b"\n")) < 0:
            if len(self._heard) > LONGEST_LINE:
                raise TooMuch(f"wrote a line of more than {LONGEST_LINE} bytes")
            self._wait(until)
        line = bytes(self._heard[:length])
        del self._heard[: length + 1]
        return line

    def unasked(self) -> bytes:
        """What it has written since the last line that was heard, which is thrown away. Raises `TooMuch`."""
        with contextlib.suppress(BlockingIOError):
            self._read()
        written = bytes(self._heard)
        self._heard.clear()
        if len(written) >= _READ:
            raise TooMuch("writes on and on without being asked")
        return written

    def _wait(self, until: float) -> None:
        """Have a little of what there is read and written."""
        if self._over:
            raise Gone(self._process.wait(), f" in mid-line, after {_end(self._heard)}" if self._heard else "")
        polled = select.poll()
        polled.register(self._out, select.POLLIN)
        if self._unsent:
            polled.register(self._in, select.POLLOUT)
        left = until - time.monotonic()
        ready = dict(polled.poll(left * 1000)) if left > 0 else {}
        if not ready:
            raise Silent(self._silence())
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
        """Tell it by the end of its input that nothing follows."""
        assert self._process.stdin is not None
        self._process.stdin.close()

    def kill(self, after: float = 0.0) -> None:
        """End it and all that it started, unless it has ended by itself after so many seconds."""
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
    """What keeps the system from running a program, and what would help."""
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
