"""The zygote: a process that has imported the project, and forks programs from itself on request.

tests/zygote.py starts it and documents the protocol. It has no thread and no event loop, and never runs a command
itself, so every program begins in the same state.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import importlib
import io
import json
import os
import pkgutil
import resource
import runpy
import select
import signal
import socket
import sys
import termios
from array import array
from collections.abc import Iterator
from fcntl import ioctl
from types import ModuleType
from typing import Any

from machine.subprocesses import die_with_parent

MAX_REQUEST_BYTES = 2**20
DESCRIPTORS = 4
"""Standard input, output and error of the program, and the socket on which its caller hears of it."""
PACKAGES = ("arena.commands", "arena.processes", "arena.runs", "bots.client", "bots.commands", "protocol.games")
"""Whole packages that commands import when they are called. None of them imports numpy or numba."""
MODULES = (
    "arena.cli",
    "bots.agents.server",
    "bots.cli",
    "bots.playing.local_match",
    "bots.reference.random_bot",
    "cryptography.hazmat.primitives.asymmetric.ed25519",
    "encodings.idna",
    "multiprocessing.popen_spawn_posix",
    "multiprocessing.synchronize",
    "pydantic",
    "pydantic.type_adapter",
    "rich._emoji_codes",
    "rich.progress",
    "trueskill",
    "typer._adapters",
    "uvloop",
    "zoneinfo",
)
"""Modules that commands import later still, or that are imported at their first use."""
NEEDED_AT_END = {
    *sys.builtin_module_names,
    *(name for name in sys.modules if name.partition(".")[0] == "encodings"),
    *("__main__", "_frozen_importlib", "_frozen_importlib_external", "abc", "codecs", "io", "os", "threading"),
}
"""Modules that Python itself uses as it ends."""

_imported: dict[str, ModuleType] = {}


def main(control: socket.socket, imports: bool) -> None:
    """Import, then fork programs until nobody holds the other end of `control`. In a forked program, run that."""
    atexit.register(_keep_modules)  # it comes last, as it is the first
    gc.disable()  # nothing that is imported becomes garbage
    with _recorded_reads() as names:
        if imports:
            _import_all()
    gc.enable()
    _imported.update({name: module for name, module in sys.modules.items() if name not in NEEDED_AT_END})
    gc.collect()
    gc.freeze()  # a collection in a program would touch, and so copy, what it shares with the others
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the programs, and for whoever holds `control`
    request = _Zygote(control, names).serve()
    if request is not None:
        run_module(request)


def _keep_modules() -> None:
    """Spare a program that ends the freeing of all that the zygote had imported: a third of what a short one takes.

    Objects that the program itself has made are freed, unless these modules keep them.
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_imported))
    for name in _imported:
        sys.modules.pop(name, None)


def run_module(request: dict[str, Any]) -> None:
    """Run `python -m MODULE WORDS` in this process."""
    module, *words = request["words"]
    sys.argv = ["-m", *words]
    sys.orig_argv[:] = [sys.executable, "-m", module, *words]  # in place: it is a default argument somewhere
    sys.path[0] = request["cwd"]
    if "multiprocessing.process" in sys.modules:
        sys.modules["multiprocessing.process"].ORIGINAL_DIR = request["cwd"]  # type: ignore[attr-defined]
    program = sys.modules["__main__"].__dict__
    program.clear()
    program.update(ModuleType("__main__").__dict__, __builtins__=sys.modules["builtins"], __annotations__={})
    runpy._run_module_as_main(module)  # type: ignore[attr-defined]


@contextlib.contextmanager
def _recorded_reads() -> Iterator[set[str]]:
    """Collect the names of environment variables that are read meanwhile."""
    names: set[str] = set()
    kind = type(os.environ)
    read = kind.__getitem__

    def recording(self: os._Environ[str], name: str) -> str:
        names.add(name)
        return read(self, name)

    kind.__getitem__ = recording  # type: ignore[method-assign]
    try:
        yield names
    finally:
        kind.__getitem__ = read  # type: ignore[method-assign]


def _import_all() -> None:
    for name in PACKAGES:
        package = importlib.import_module(name)
        for module in pkgutil.walk_packages(package.__path__, f"{name}."):
            importlib.import_module(module.name)
    for name in MODULES:
        importlib.import_module(name)


class _Zygote:
    """What the zygote waits for: requests, the ends of its programs, and callers that go away."""

    def __init__(self, control: socket.socket, names: set[str]) -> None:
        self._control = control
        self._names = sorted(names)
        self._callers: dict[int, tuple[int, socket.socket]] = {}
        """By the descriptor of a program's pidfd: its process id and its caller."""
        self._poll = select.poll()
        self._poll.register(control, select.POLLIN)

    def serve(self) -> dict[str, Any] | None:
        """Fork programs: the request of a program in its own process, None in the zygote when it has to end."""
        while True:
            descriptor = self._poll.poll()[0][0]  # one at a time, as each may close the descriptor of the next
            if descriptor in self._callers:
                self._report(descriptor)
            elif descriptor == self._control.fileno():
                request = self._next_request()
                if request is None:
                    self._end_all()
                    return None
                if request["words"] and (program := self._fork(request)) is not None:
                    return program
            else:
                self._caller_gone(descriptor)

    def _next_request(self) -> dict[str, Any] | None:
        """Receive one request, its descriptors under `files`; None when nobody is left to send one."""
        room = socket.CMSG_SPACE(DESCRIPTORS * array("i").itemsize)
        try:
            data, ancillary, _, _ = self._control.recvmsg(MAX_REQUEST_BYTES, room)
        except ConnectionResetError:
            return None
        if not data:
            return None
        files = array("i")
        for _, _, content in ancillary:
            files.frombytes(content)
        request: dict[str, Any] = json.loads(data)
        request["files"] = list(files)
        if not request["words"]:
            with socket.socket(fileno=request["files"][0]) as caller:
                _tell(caller, {"names": self._names})
        return request

    def _fork(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """Fork a program; returns its request in the program's process only."""
        *files, line = request["files"]
        caller = socket.socket(fileno=line)
        zygote = os.getpid()
        child = os.fork()
        if child == 0:
            caller.close()
            self._let_go()
            try:
                _become(request, files, zygote)
            except BaseException as fault:  # the caller reads it where the program would have written
                os.write(2, f"the zygote could not start a program: {fault!r}\n".encode())
                os._exit(127)
            return request
        for file in files:
            os.close(file)
        end = os.pidfd_open(child)
        self._callers[end] = child, caller
        self._poll.register(end, select.POLLIN)
        self._poll.register(caller, 0)  # only its end
        _tell(caller, {"pid": child})
        return None

    def _report(self, end: int) -> None:
        """Tell the caller of a program that has ended of its wait status and its processor time."""
        child, caller = self._callers.pop(end)
        self._poll.unregister(end)
        os.close(end)
        _, status, used = os.wait4(child, 0)
        _tell(caller, {"status": status, "cpu_seconds": used.ru_utime + used.ru_stime})
        self._poll.unregister(caller)
        caller.close()

    def _caller_gone(self, descriptor: int) -> None:
        """Kill the program of a caller that has closed its socket."""
        for end, (child, caller) in list(self._callers.items()):
            if caller.fileno() == descriptor:
                os.kill(child, signal.SIGKILL)
                self._report(end)
                return

    def _end_all(self) -> None:
        for child, _ in self._callers.values():
            os.kill(child, signal.SIGKILL)
        for end in list(self._callers):
            self._report(end)

    def _let_go(self) -> None:
        """Close what belongs to the zygote, in a program that was forked from it."""
        self._control.close()
        for end, (_, caller) in self._callers.items():
            os.close(end)
            caller.close()


def _tell(caller: socket.socket, message: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):  # nobody listens any more
        caller.sendall(json.dumps(message).encode())


def _become(request: dict[str, Any], files: list[int], parent: int) -> None:
    """Give this process what `exec` would have given it."""
    die_with_parent()
    if os.getppid() != parent:  # it had ended by then
        os._exit(1)
    for number, file in enumerate(files):
        os.dup2(file, number)
    for file in files:
        os.close(file)
    if request["session"]:
        os.setsid()
    if request["terminal"]:
        ioctl(0, termios.TIOCSCTTY, 0)
    os.chdir(request["cwd"])
    os.umask(request["umask"])
    os.environ.clear()
    os.environ.update(request["environ"])
    for kind, soft, hard in request["limits"]:
        resource.setrlimit(kind, (soft, hard))
    sys.stdin = sys.__stdin__ = _text_stream(0, sys.stdin)  # type: ignore[misc]
    sys.stdout = sys.__stdout__ = _text_stream(1, sys.stdout)  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = _text_stream(2, sys.stderr)  # type: ignore[misc]
    for number in request["ignored_signals"]:
        signal.signal(number, signal.SIG_IGN)
    for number in _ignored_signals() - set(request["ignored_signals"]):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _ignored_signals() -> set[int]:
    return {number for number in signal.valid_signals() if signal.getsignal(number) is signal.SIG_IGN}


def _text_stream(descriptor: int, like: Any) -> io.TextIOWrapper:
    """Make a standard stream as Python does at its start, with the encoding of the zygote's own."""
    unbuffered = like.write_through
    buffer: Any = io.FileIO(descriptor, "rb" if descriptor == 0 else "wb", closefd=False)
    buffer.name = like.name
    shown_at_once = not unbuffered and (descriptor == 2 or buffer.isatty())
    if descriptor == 0:
        buffer = io.BufferedReader(buffer)
    elif not unbuffered:
        buffer = io.BufferedWriter(buffer)
    stream = io.TextIOWrapper(
        buffer, like.encoding, like.errors, newline="\n", line_buffering=shown_at_once, write_through=unbuffered
    )
    stream.mode = "r" if descriptor == 0 else "w"  # type: ignore[misc]
    return stream
