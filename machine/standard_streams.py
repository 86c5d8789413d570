"""Standard input, output and error, made safe when they are closed, full or have a limited encoding.

If a descriptor below 3 is closed, the next file or socket gets its number. Printed text would be written into that
file, and some libraries would abort.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import Any, TextIO

from protocol.errors import ArenaFault

ENCODING_ERRORS = "backslashreplace"
"""The name of the error handler for characters that the encoding of a stream lacks."""
_ENCODING_SAMPLE = "ascii \\ é ─ 🎲\n"
"""The text that `_can_write` tries to encode, to test an encoding."""
_lenient = False


class OutputFault(ArenaFault):
    """The error that standard output cannot be written to."""


class ReaderGone(SystemExit):
    """The exit of a program because the reader of its standard output has closed it. The exit code is 0."""


def prepare() -> None:
    """Open closed standard streams, and escape characters that an encoding lacks. Call it first in a program.

    After this, a failed write to standard output raises `ReaderGone` if the reader is gone, else `OutputFault`, for
    example on a full disk. Only the first failed write raises an error. Failures of standard error are ignored.
    """
    fill_descriptors()
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", errors=ENCODING_ERRORS, closefd=False)  # noqa: SIM115 - for the whole program
    sys.stdout = _prepare_stream(sys.stdout, 1)
    sys.stderr = _prepare_stream(sys.stderr, 2)
    if isinstance(sys.stdin, io.TextIOWrapper) and sys.stdin.errors == "strict":
        sys.stdin.reconfigure(errors=ENCODING_ERRORS)


def fill_descriptors() -> None:
    """Open each of the descriptors 0, 1 and 2 that is closed, to the null device."""
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
    """Ignore failed writes to standard output from now on. This suits a program that does more than print."""
    global _lenient
    _lenient = True


class _GuardedDescriptor(io.FileIO):
    """A descriptor whose first failed write raises an error, as `prepare` describes. Later failures are ignored."""

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


def _prepare_stream(stream: TextIO | None, descriptor: int) -> TextIO:
    """Return a stream for the descriptor that handles failed writes and unencodable characters as `prepare` describes.
    A stream that was replaced, as in tests, is returned unchanged.
    """
    if stream is None:
        return open(descriptor, "w", encoding="utf-8", errors=ENCODING_ERRORS, closefd=False)
    if type(stream) is not io.TextIOWrapper or isinstance(getattr(stream.buffer, "raw", None), _GuardedDescriptor):
        return stream
    encoding = stream.encoding if _can_write(stream.encoding) else "utf-8"
    raw = getattr(stream.buffer, "raw", stream.buffer)
    if type(raw) is not io.FileIO or raw.fileno() != descriptor:  # the Windows console
        stream.reconfigure(encoding=encoding, errors=ENCODING_ERRORS)
        return stream
    stream.flush()
    buffered = io.BufferedWriter(_GuardedDescriptor(descriptor))
    return io.TextIOWrapper(
        buffered,
        encoding=encoding,
        errors=ENCODING_ERRORS,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def _can_write(encoding: str) -> bool:
    """Return whether an encoding can write escapes for characters that it lacks. `idna` (host names) cannot."""
    try:
        _ENCODING_SAMPLE.encode(encoding, ENCODING_ERRORS)
    except (UnicodeError, LookupError):
        return False
    return True
