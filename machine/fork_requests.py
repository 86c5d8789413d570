"""Requests to a fork server (machine/fork_server.py), and the processes that it forks, as `subprocess` has them."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from io import FileIO
from typing import IO

import msgspec

MAX_REQUEST_BYTES = 128 * 1024
"""Maximum bytes of a request, most of which are the environment."""
MAX_ANSWER_BYTES = 64
"""Maximum bytes of an answer of a server."""

line_to_server: socket.socket | None = None
"""The socket of a forked process to its server, which forks others for it; None in all other processes."""


class ForkRequest(msgspec.Struct, frozen=True):
    """A function `MODULE:NAME` that a new process calls, and the environment of that process. Its `sys.argv` has the
    function's name, the descriptors that it was given, and the arguments.
    """

    function: str
    environment: dict[str, str]
    arguments: tuple[str, ...] = ()
    niceness: int = msgspec.field(default_factory=lambda: os.nice(0))
    """The nice value of the new process, which is that of the server at least. By default it is the requester's."""


def send_fork_request(server: socket.socket, request: ForkRequest, files: Sequence[int]) -> socket.socket:
    """Send a request, and return the socket on which the server answers. `files` are the descriptors of the standard
    input, output and error, and further ones. Raise `OSError` if the server has ended.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        try:
            ours.send(msgspec.json.encode(request))
            socket.send_fds(server, [b"f"], [theirs.fileno(), *files])
        except OSError:
            ours.close()
            raise
    return ours


def receive_answer(line: socket.socket) -> tuple[str, int | None]:
    """Return an answer of a server: the id of a process with its pidfd, or its wait status and None when it has ended.
    The answer is empty if the server has ended.
    """
    try:
        said, descriptors, _, _ = socket.recv_fds(line, MAX_ANSWER_BYTES, 1)
    except OSError:
        return "", None
    return said.decode(), descriptors[0] if descriptors else None


def exit_code_of(answer: str) -> int:
    """Return the exit code, negative for a signal, of a process that has ended with this answer."""
    return os.waitstatus_to_exitcode(int(answer)) if answer else -signal.SIGKILL


def kill_by_pidfd(pidfd: int) -> None:
    """Kill a process, unless it has ended: its end may not have been reported yet."""
    if sys.platform == "linux":
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)


class ForkedProgram:
    """A process that the server of this process has forked, with pipes to its standard input and output, and from its
    standard error if it is `logged`. Methods and attributes are those of `subprocess.Popen`.

    Raise `OSError` if this process has no server, or if that has ended.
    """

    def __init__(self, request: ForkRequest, files: Sequence[int], *, logged: bool) -> None:
        if line_to_server is None:
            raise ChildProcessError("this process was not forked by a server")
        self.returncode: int | None = None
        pipes = [os.pipe() for _ in range(3 if logged else 2)]
        self.stdin: IO[bytes] = FileIO(pipes[0][1], "wb")
        self.stdout: IO[bytes] = FileIO(pipes[1][0], "rb")
        self.stderr: IO[bytes] | None = FileIO(pipes[2][0], "rb") if logged else None
        theirs = [pipes[0][0], *(write for _, write in pipes[1:])]
        try:
            streams = theirs if logged else [*theirs, 2]
            self._line = send_fork_request(line_to_server, request, [*streams, *files])
        finally:
            for file in theirs:
                os.close(file)
        answer, self._pidfd = receive_answer(self._line)
        if self._pidfd is None:
            raise ChildProcessError("the fork server has ended")
        self.pid = int(answer)

    def poll(self) -> int | None:
        return self._wait(0.0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._wait(timeout)
        if code is None:
            assert timeout is not None
            raise subprocess.TimeoutExpired(str(self.pid), timeout)
        return code

    def kill(self) -> None:
        if self._pidfd is not None:
            kill_by_pidfd(self._pidfd)

    def _wait(self, timeout: float | None) -> int | None:
        if self.returncode is None:
            polled = select.poll()
            polled.register(self._line, select.POLLIN)
            if polled.poll(None if timeout is None else 1000 * timeout):
                self.returncode = exit_code_of(receive_answer(self._line)[0])
                self._line.close()
                if self._pidfd is not None:
                    os.close(self._pidfd)
                    self._pidfd = None
        return self.returncode
