"""A process that has imported modules, and forks processes from itself: `python -m machine.fork_server LINE MODULE…`.

LINE is the descriptor of a socket to the owner. With each byte on it, the owner sends descriptors: a socket, on which
it has sent a `ForkRequest`; the standard input, output and error of a new process; and further ones for it. On that
socket, the server sends the id and a pidfd of the process once it is forked, and its wait status when it has ended. The
new processes request others in the same way, on a socket that they share.

The server has no thread and no event loop, so that it can fork. It ends when the owner has closed the socket and no
process is left. If it ends before, its processes are killed.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import pkgutil
import select
import signal
import socket
import sys
from collections.abc import Callable

import msgspec

from machine import fork_requests
from machine.fork_requests import MAX_REQUEST_BYTES, ForkRequest
from machine.subprocesses import die_with_parent

MAX_FILES = 8
"""Maximum number of descriptors of a request."""
_SURVIVED_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""The signals that end no server: a service manager sends them to all processes of a service."""


def main() -> None:
    """Import the modules on the command line, then fork processes. In a new process, call its function."""
    control = socket.socket(fileno=int(sys.argv[1]))
    control.set_inheritable(False)
    for number in _SURVIVED_SIGNALS:
        signal.signal(number, lambda *_: None)
    gc.disable()
    for name in sys.argv[2:]:
        with contextlib.suppress(ImportError):  # whoever needs it says so
            importlib.import_module(name)
    gc.enable()
    gc.freeze()  # a collection in a new process would touch, and so copy, what it shares with the others
    function = _ForkServer(control).serve()
    if function is not None:
        function()


class _ForkServer:
    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._processes: dict[int, tuple[int, socket.socket]] = {}
        """The id of each process, and the socket on which its end is reported, by its pidfd."""
        self._requests, fork_requests.line_to_server = socket.socketpair()
        self._poll = select.poll()
        for requests in (control, self._requests):
            self._poll.register(requests, select.POLLIN)

    def serve(self) -> Callable[[], None] | None:
        """Fork processes. Return the function to call in a new process, None in the server when it is to end."""
        is_wanted, control = True, self._control.fileno()
        while is_wanted or self._processes:
            for descriptor, _ in self._poll.poll():
                if descriptor in self._processes:
                    self._report_end(descriptor)
                elif files := _receive_files(self._control if descriptor == control else self._requests):
                    if (function := self._fork(files)) is not None:
                        return function
                else:
                    is_wanted = False
                    self._poll.unregister(self._control)
        return None

    def _fork(self, files: list[int]) -> Callable[[], None] | None:
        answers, *files = files
        line = socket.socket(fileno=answers)
        server = os.getpid()
        try:
            child = os.fork()
        except OSError:  # whoever waits for the answer notices the end of the socket
            child = -1
        if child == 0:
            self._close()
            with line:
                return _become(_receive_request(line), files, server)
        for file in files:
            os.close(file)
        if child < 0:
            line.close()
            return None
        end = os.pidfd_open(child)
        self._processes[end] = child, line
        self._poll.register(end, select.POLLIN)
        with contextlib.suppress(OSError):  # the owner has gone
            socket.send_fds(line, [str(child).encode()], [end])
        return None

    def _report_end(self, end: int) -> None:
        child, line = self._processes.pop(end)
        self._poll.unregister(end)
        os.close(end)
        status = os.waitpid(child, 0)[1]
        with line, contextlib.suppress(OSError):
            line.send(str(status).encode())

    def _close(self) -> None:
        """Close what belongs to the server, in a new process."""
        self._control.close()
        self._requests.close()
        for end, (_, line) in self._processes.items():
            os.close(end)
            line.close()


def _receive_files(requests: socket.socket) -> list[int]:
    """Return the descriptors of a request; none if all other ends of the socket are closed."""
    with contextlib.suppress(OSError):
        return socket.recv_fds(requests, 1, MAX_FILES)[1]
    return []


def _receive_request(line: socket.socket) -> ForkRequest:
    """Return the request of a new process. End the process if the owner of the request is gone."""
    with contextlib.suppress(OSError):
        if request := line.recv(MAX_REQUEST_BYTES):
            return msgspec.json.decode(request, type=ForkRequest)
    raise SystemExit(1)


def _become(request: ForkRequest, files: list[int], server: int) -> Callable[[], None]:
    """Give this process what a start by `exec` would have given it, and return its function."""
    die_with_parent()
    if os.getppid() != server:
        raise SystemExit(1)
    for number, stream in enumerate(files[:3]):
        os.dup2(stream, number)
        os.close(stream)
    sys.argv = [request.function, *map(str, files[3:]), *request.arguments]
    os.setsid()
    os.nice(max(0, request.niceness - os.nice(0)))
    os.environ.clear()
    os.environ.update(request.environment)
    for number in _SURVIVED_SIGNALS:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    function: Callable[[], None] = pkgutil.resolve_name(request.function)
    return function


if __name__ == "__main__":
    main()
