"""Standard input, output and error as whoever starts a program left them: closed, full, in an encoding of few letters.

A descriptor below 3 that is free would be given to the next file or socket, which prints would be written into, and on
which libraries abort.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import Any, TextIO

from protocol.errors import ArenaFault

ERRORS = "backslashreplace"
"""How characters are written that an encoding does not have."""
_SAMPLE = "ascii \\ é ─ 🎲\n"
_lenient = False


class OutputFault(ArenaFault):
    """Standard output takes no more."""


class ReaderGone(SystemExit):
    """Whoever read standard output has had enough: the program ends, and did not fail."""


def prepare() -> None:
    """Make standard streams of closed ones, and have text of any encoding written; call it where a program begins.

    Afterwards standard output raises `OutputFault` where it is full and `ReaderGone` where its reader went, once; what
    standard error does not take is lost.
    """
    fill_descriptors()
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", errors=ERRORS, closefd=False)  # noqa: SIM115 - for the whole program
    sys.stdout = _prepared(sys.stdout, 1)
    sys.stderr = _prepared(sys.stderr, 2)
    if isinstance(sys.stdin, io.TextIOWrapper) and sys.stdin.errors == "strict":
        sys.stdin.reconfigure(errors=ERRORS)


def fill_descriptors() -> None:
    """Open those of the descriptors 0, 1 and 2 that are closed, to nothing."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            opened = os.open(os.devnull, os.O_RDONLY if descriptor == 0 else os.O_WRONLY)
            if opened != descriptor:
                os.dup2(opened, descriptor)
                os.close(opened)
            os.set_inheritable(descriptor, True)


def tolerate_lost_output() -> None:
    """Have nothing raised from now on where output is lost: for a program that does more than print."""
    global _lenient
    _lenient = True


class _Descriptor(io.FileIO):
    """A descriptor that tells its first failure as `prepare` says, and none of those after it."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor, "wb", closefd=False)
        self._lost = False

    def write(self, data: Any, /) -> int:
        try:
            written = super().write(data)
        except OSError as exc:
            told = self._lost or _lenient or self.fileno() != 1
            self._lost = True
            if not told and exc.errno in (errno.EPIPE, errno.ESHUTDOWN):
                raise ReaderGone(0) from None
            if not told:
                raise OutputFault(f"standard output can't be written: {exc.strerror}") from None
            return len(memoryview(data).cast("B"))
        return len(memoryview(data).cast("B")) if written is None else written


def _prepared(stream: TextIO | None, descriptor: int) -> TextIO:
    """A stream that writes to a descriptor; one that somebody put in its place, as tests do, stays."""
    if stream is None:
        return open(descriptor, "w", encoding="utf-8", errors=ERRORS, closefd=False)
    if type(stream) is not io.TextIOWrapper or isinstance(getattr(stream.buffer, "raw", None), _Descriptor):
        return stream
    encoding = stream.encoding if _can_write(stream.encoding) else "utf-8"
    raw = getattr(stream.buffer, "raw", stream.buffer)
    if type(raw) is not io.FileIO or raw.fileno() != descriptor:  # the console of Windows
        stream.reconfigure(encoding=encoding, errors=ERRORS)
        return stream
    stream.flush()
    buffered = io.BufferedWriter(_Descriptor(descriptor))
    return io.TextIOWrapper(
        buffered,
        encoding=encoding,
        errors=ERRORS,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def _can_write(encoding: str) -> bool:
    """Return whether an encoding takes escapes for what it does not have: one of names for hosts does not."""
    try:
        _SAMPLE.encode(encoding, ERRORS)
    except (UnicodeError, LookupError):
        return False
    return True
