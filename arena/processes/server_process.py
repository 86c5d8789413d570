"""A server, or its pages alone, as a process for a program that tests or measures it."""

from __future__ import annotations

import re
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired
from typing import IO, Any

STOP_TIMEOUT_S = 60.0
"""Seconds that a process usually has to end after a signal."""
_PORT_OPTIONS = {"serve": "--port", "web": "--web-port"}
"""The commands that serve, with the options for their ports."""
_URL_PATTERN = re.compile(r"(?:listening on|the page is at) (\w+://\S+:(\d+))")
"""Matches the line in which a command reports that it serves, and captures the URL and the port."""


def start_module(words: Sequence[str], **options: Any) -> Popen[bytes]:
    """Start `python -m WORDS`, with options of `Popen`."""
    return Popen((sys.executable, "-P", "-m", *words), **options)  # noqa: S603 - our own


class LoggedProcess:
    """A process and its log, which is its standard error.

    `start_program(stdin=..., stdout=..., stderr=...)` starts it. `on_line` is called in a thread after each line.
    """

    def __init__(self, start_program: Callable[..., Popen[bytes]], on_line: Callable[[], None] = lambda: None) -> None:
        self.log: list[str] = []
        """The lines that the process has logged, of all its runs."""
        self._start_program = start_program
        self._on_line = on_line
        self._changed = threading.Condition()
        self._process: Popen[bytes] | None = None
        self._reading: threading.Thread | None = None
        self._has_ended = False

    @property
    def process(self) -> Popen[bytes]:
        """The process, which may have ended."""
        assert self._process is not None
        return self._process

    def start(self) -> None:
        """Start the process. Its log is read in a thread."""
        if self._reading is not None:
            self._reading.join()
        self._has_ended = False
        self._process = self._start_program(stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE)
        self._reading = threading.Thread(target=self._read_log, args=(self._process.stderr,), daemon=True)
        self._reading.start()

    def wait_for_line(self, text: str, timeout_s: float, count: int = 1) -> str:
        """Return the line of the log that is the `count`-th with this text, once there is one.

        Raise `TimeoutError` if the process ends before that, or takes longer.
        """

        def find() -> list[str]:
            return [line for line in self.log if text in line][count - 1 :]

        with self._changed:
            self._changed.wait_for(lambda: find() or self._has_ended, timeout_s)
        if not (found := find()):
            raise TimeoutError(f"no line with {text!r} in the log: {''.join(self.log)}")
        return found[0]

    def stop(self, number: int = signal.SIGTERM, *, timeout_s: float = STOP_TIMEOUT_S) -> int:
        """Send a signal to the process, wait until it ends, and return its exit status.

        If it takes longer than `timeout_s` seconds, kill it, and raise `TimeoutExpired`.
        """
        self.process.send_signal(number)
        try:
            return self.process.wait(timeout_s)
        except TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            assert self._reading is not None
            self._reading.join()

    def _read_log(self, stream: IO[bytes]) -> None:
        with stream:
            for line in stream:
                with self._changed:
                    self._add_line(line.decode(errors="replace"))
                    self._changed.notify_all()
                self._on_line()
        with self._changed:
            self._has_ended = True
            self._changed.notify_all()

    def _add_line(self, line: str) -> None:
        self.log.append(line)


class ServerProcess(LoggedProcess):
    """A process of `arena serve` or `arena web` on a free port.

    `start_program` also gets the words after `python -m`. `options` follow the option for the port, so they may set
    another port. A process that is started again gets the port of the first one.
    """

    def __init__(
        self,
        command: str,
        *options: str,
        start_program: Callable[..., Popen[bytes]] = start_module,
        on_line: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(self._start_command, on_line)
        self._words = ("arena", command, _PORT_OPTIONS[command])
        self._options = options
        self._start_module = start_program
        self.url = ""
        self.port = 0

    def start(self) -> None:
        self.url = ""
        super().start()

    def wait_until_ready(self, timeout_s: float) -> bool:
        """Wait until the process serves. Return False if it ends before that, or takes longer."""
        with self._changed:
            self._changed.wait_for(lambda: self.url or self._has_ended, timeout_s)
        return self.url != ""

    def _start_command(self, **streams: int) -> Popen[bytes]:
        return self._start_module((*self._words, str(self.port), *self._options), **streams)

    def _add_line(self, line: str) -> None:
        super()._add_line(line)
        if not self.url and (found := _URL_PATTERN.search(line)):
            self.url, self.port = found[1], int(found[2])
