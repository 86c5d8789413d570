"""The process between a program and whoever runs it: `python -m machine.keeper LINE COMMAND…`.

LINE is the descriptor of a socket, on which is said `STARTED`, or `FAILED` with the number of the system's error.
It ends as the program ends. Whenever the socket's other side is closed, the program and all that it started are killed.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import subprocess
import sys

from machine.subprocesses import die_with_parent, end_all, end_as, news, reap

STARTED = b"started\n"
FAILED = b"failed "


def main() -> None:
    """Run the command with this process's standard input and output, and watch it and the socket."""
    line, command = socket.socket(fileno=int(sys.argv[1])), sys.argv[2:]
    line.set_inheritable(False)
    heard = news()
    try:
        process = subprocess.Popen(  # noqa: S603 - the author's own command line
            command, start_new_session=True, preexec_fn=die_with_parent
        )
    except OSError as exc:
        line.sendall(FAILED + str(exc.errno).encode())
        return
    process.returncode = 0  # it is waited for below, with all the others
    with contextlib.suppress(OSError):
        line.sendall(STARTED)
    for ours in (0, 1):
        os.close(ours)  # so that either end of the program's is seen
    status = _watch(process.pid, line, heard)
    end_all(process.pid)
    if status is not None:
        end_as(status)


def _watch(child: int, line: socket.socket, heard: socket.socket) -> int | None:
    """The program's wait status when it has ended, None when nobody is there for it any more."""
    while True:
        ready, _, _ = select.select([heard, line], [], [])
        if line in ready:
            return None
        heard.recv(4096)
        status = reap(child)
        if status is not None:
            return status


if __name__ == "__main__":
    main()
