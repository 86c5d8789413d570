"""The process between a program and whoever runs it: `python -m machine.keeper LINE COMMAND…`.

LINE is the descriptor of a socket, on which is said `STARTED`, or `FAILED` with the number of the system's error. What
is sent on it then asks the program to end. It ends as the program ends. Whenever the socket's other side is closed,
the program and all that it started are killed.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable

from machine.subprocesses import die_with_parent, end_all, end_as, news, reap

STARTED = b"started\n"
FAILED = b"failed "


def main() -> None:
    """Run the command with this process's standard input and output."""
    line = socket.socket(fileno=int(sys.argv[1]))
    line.set_inheritable(False)

    def start() -> int:
        process = subprocess.Popen(  # noqa: S603 - the author's own command line
            sys.argv[2:], start_new_session=True, preexec_fn=die_with_parent
        )
        process.returncode = 0  # it is waited for by `keep`, with all the others
        for ours in (0, 1):
            os.close(ours)  # so that either end of the program's is seen
        return process.pid

    keep(line, start)


def keep(line: socket.socket, start: Callable[[], int]) -> None:
    """Start a program, which gives its process id or raises `OSError`, and watch it and the socket to the end."""
    heard = news()
    try:
        child = start()
    except OSError as exc:
        line.sendall(FAILED + str(exc.errno).encode())
        return
    with contextlib.suppress(OSError):
        line.sendall(STARTED)
    status = _watch(child, line, heard)
    end_all(child)
    if status is not None:
        end_as(status)


def _watch(child: int, line: socket.socket, heard: socket.socket) -> int | None:
    """The program's wait status when it has ended, None when nobody is there for it any more."""
    while True:
        ready, _, _ = select.select([heard, line], [], [])
        if heard in ready:
            heard.recv(4096)
            status = reap(child)
            if status is not None:
                return status
        if line in ready:
            try:
                asked = line.recv(4096)
            except OSError:
                asked = b""
            if not asked:
                return None
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGTERM)


if __name__ == "__main__":
    main()
