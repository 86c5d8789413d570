"""A command on a pseudo-terminal, as a person sits before it."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import termios

import zygote
from timeouts import WITHIN


class Terminal:
    """A command on a terminal of this size, and what it drew."""

    def __init__(self, *words: str, lines: int, columns: int) -> None:
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.before = termios.tcgetattr(self.slave)
        self.process = zygote.program(
            ["arena", *words],
            env=dict(os.environ),
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            start_new_session=True,
            terminal=True,
        )
        self.seen = b""

    def close(self) -> None:
        """Kill the command, if it still runs."""
        self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.slave)

    @property
    def drawn(self) -> str:
        return self.seen.decode(errors="ignore")

    def press(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def until(self, words: str) -> str:
        """The frame on which `words` come up, without what was drawn before."""
        while words not in self.frame():
            self.hear(words)
        return self.frame()

    def hear(self, words: str = "anything") -> None:
        """Take what is drawn next, on the way to `words`."""
        ready, _, _ = select.select([self.master], [], [], WITHIN)
        assert ready, f"{words!r} does not come up: {self.drawn[-500:]!r}"
        self.seen += os.read(self.master, 4096)

    def frame(self) -> str:
        return self.drawn.rpartition("\x1b[2J")[2].replace("\r\n", "\n")

    def ends(self) -> int:
        """The exit code; the terminal must be as it was before."""
        code = self.process.wait(WITHIN)
        while select.select([self.master], [], [], 0)[0]:
            self.seen += os.read(self.master, 4096)
        assert termios.tcgetattr(self.slave) == self.before
        assert self.drawn.rstrip().endswith("\x1b[?25h") or not self.drawn.count("\x1b[?25l")
        return code
