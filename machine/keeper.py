"""A supervisor process that runs a program for its owner: `python -m machine.keeper LINE COMMAND…`.

LINE is the descriptor of a socket to the owner. On the socket, the keeper reports `STARTED_MESSAGE`, or
`FAILED_MESSAGE` with an errno. After that, any data from the owner asks the program to end (SIGTERM). The keeper exits
as the program does. When the owner closes its side of the socket, the keeper kills the program and all its descendants.
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
from pathlib import Path

from machine.subprocesses import adopt_orphans, die_with_parent, end_first_without_memory

FORKED_FUNCTION = "machine.keeper:main_forked"
"""The function of a keeper in a process of a fork server."""
STARTED_MESSAGE = b"started\n"
"""The keeper's report that the program has started."""
FAILED_MESSAGE = b"failed "
"""The beginning of the keeper's report that the program cannot be started. An errno follows."""


def main() -> None:
    """Run and supervise the program on this process's command line, with this process's standard input and output."""
    line = socket.socket(fileno=int(sys.argv[1]))
    line.set_inheritable(False)

    def start() -> int:
        process = subprocess.Popen(  # noqa: S603 - the author's own command line
            sys.argv[2:], start_new_session=True, preexec_fn=die_with_parent
        )
        process.returncode = 0  # `supervise` waits for it, with all the others
        for ours in (0, 1):
            os.close(ours)  # so that each end of the program's pipes is noticed when it closes
        return process.pid

    supervise(line, start)


def main_forked() -> None:
    """Do as `main` in a process of a fork server, and end without freeing what that has imported, which takes long."""
    end_first_without_memory()
    try:
        main()
    except SystemExit as stop:
        os._exit(int(stop.code or 0))
    os._exit(0)


def supervise(line: socket.socket, start: Callable[[], int], on_ended: Callable[[], None] = lambda: None) -> None:
    """Start a program and supervise it until the program ends or the owner closes its side of the socket.

    `start` returns its process id or raises `OSError`. `on_ended` is called when the program and its descendants have
    ended.
    """
    heard = _prepare_signals()
    try:
        child = start()
    except OSError as exc:
        line.sendall(FAILED_MESSAGE + str(exc.errno).encode())
        return
    with contextlib.suppress(OSError):
        line.sendall(STARTED_MESSAGE)
    status = _watch(child, line, heard)
    _kill_all(child)
    on_ended()
    if status is not None:
        _end_as(status)


def _watch(child: int, line: socket.socket, signals: socket.socket) -> int | None:
    """Wait until the program ends, and return its wait status. Return None if the owner closes the socket first."""
    while True:
        ready, _, _ = select.select([signals, line], [], [])
        if signals in ready:
            signals.recv(4096)
            status = _reap(child)
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


def _prepare_signals() -> socket.socket:
    """Become a subreaper, and survive SIGTERM, SIGINT and SIGHUP. Return a socket that gets a byte for each signal."""
    adopt_orphans()
    read, write = socket.socketpair()
    write.setblocking(False)
    signal.set_wakeup_fd(write.detach())
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)  # not SIG_IGN, which children would inherit
    return read


def _reap(child: int) -> int | None:
    """Collect all ended children, and return the wait status of `child` if it is among them."""
    found = None
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == child:
                found = ended[1]
    return found


def _kill_all(child: int) -> None:
    """Kill the child's process group, then orphaned descendants until there are no more."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while True:
            for orphan in _children():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(orphan, signal.SIGKILL)
            os.waitpid(-1, 0)


def _children() -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]
    except OSError:
        return []


def _end_as(status: int) -> None:
    """End this process as the child ended: with the child's exit code, or by the signal that killed the child."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    raise SystemExit(os.WEXITSTATUS(status))


if __name__ == "__main__":
    main()
