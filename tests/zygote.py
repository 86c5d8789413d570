"""Programs of the project, forked from a process that has imported it: a start by `exec` takes three times the work.

`ForkedProgram` is a `subprocess.Popen`, and `start` gives an `asyncio.subprocess.Process`. A program runs as
`python -m MODULE WORDS` would. `can_fork` says where it could not: where its environment differs in what Python and
the modules read as they start. Callers use `exec` then, and also where the start itself is tested.

The zygote (tests/zygote_process.py) is started at the first use. Workers that are forked later share it. It ends when
the last of them has ended, however that happens. A program is killed when its caller ends, or the zygote.

Protocol: a request is one message on the zygote's socket, JSON with four descriptors: three standard streams, and a
socket on which the zygote sends {"pid"}, then {"status", "cpu_seconds"}. A request without words asks for {"names"}:
the environment variables that were read as the zygote imported.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import termios
from array import array
from asyncio import base_subprocess
from asyncio.subprocess import Process, SubprocessStreamProtocol
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from arena.doctor import harness
from arena.processes import process
from machine.subprocesses import die_with_parent

REPOSITORY = Path(__file__).parents[1]
TESTS = Path(__file__).parent
MAX_MESSAGE_BYTES = 2**20
STREAM_LIMIT_BYTES = 2**16
"""The limit of asyncio's own subprocesses for a line."""
READ_BY_PYTHON = (
    "COV",
    "GCONV",
    "LANG",
    "LC_",
    "LD_",
    "MALLOC_",
    "NUMBA_",
    "OMP_",
    "OPENBLAS_",
    "OPENSSL_",
    "PYTHON",
    "TZ",
)
"""How the names of variables begin that Python, or a library written in C, reads when it starts."""

FORKABLE_OPTIONS = {"env", "cwd", "stdin", "stdout", "stderr", "start_new_session", "limit"}
"""Arguments of `asyncio.create_subprocess_exec` that `start` takes too."""

_SIGNALS = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGINT}

_environ = {name: value for name, value in os.environ.items() if not name.startswith("ARENA_")}
"""As it was before any test could change it."""


class _Zygote:
    """This process's connection with the zygote."""

    def __init__(self, imports: bool) -> None:
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.control.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MAX_MESSAGE_BYTES)
        self._said = os.fdopen(os.memfd_create("zygote"), "r+b")
        code = (
            f"import socket, sys; sys.path.insert(1, {str(TESTS)!r}); import zygote_process; "
            f"del sys.path[1]; zygote_process.main(socket.socket(fileno={theirs.fileno()}), {imports})"
        )
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-c", code],
                cwd=REPOSITORY,
                env=_environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._said,
                pass_fds=[theirs.fileno()],
            )
        self._names: list[str] | None = None

    def names(self) -> list[str]:
        """The environment variables that it read as it imported."""
        if self._names is None:
            line = self.send({"words": []}, [])
            with line:
                self._names = self.heard(line)["names"]
        return self._names

    def has_ended(self) -> bool:
        """Whether it has, though this process has not: it was killed."""
        return bool(select.select([self.control], [], [], 0)[0])  # it never sends anything here

    def send(self, request: Mapping[str, Any], files: Sequence[int]) -> socket.socket:
        """Send a request; returns the socket on which it is answered."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            content = array("i", [*files, theirs.fileno()])
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, content)]
            self.control.sendmsg([json.dumps(request).encode()], rights)
        return ours

    def heard(self, line: socket.socket) -> dict[str, Any]:
        """The next answer on a socket that `send` returned."""
        try:
            data = line.recv(MAX_MESSAGE_BYTES)
        except ConnectionResetError:
            data = b""
        if not data:
            self._said.seek(0)
            raise RuntimeError(f"the zygote has ended: {self._said.read().decode(errors='replace')}")
        answer: dict[str, Any] = json.loads(data)
        return answer


_zygote: _Zygote | None = None
_cpu_seconds = 0.0
_programs = 0


def begin(imports: bool = True) -> None:
    """Start the zygote, unless it runs. It imports on its own meanwhile; processes forked from this one share it.

    Without `imports` it imports nothing, which is quicker where programs of tests need nothing of the project.
    """
    global _zygote, _programs
    if _zygote is None:
        _zygote = _Zygote(imports)
        _programs -= 1  # the test that happens to need it first is not to be charged


def end() -> None:
    """End the zygote, in the process that began it and when no worker holds it any more, and wait for that."""
    global _zygote
    if _zygote is not None:
        _zygote.control.close()
        _zygote.process.wait()
        _zygote = None


def _running() -> _Zygote:
    """The zygote, begun anew if it was killed."""
    global _zygote
    begin()
    assert _zygote is not None
    if _zygote.has_ended():
        _zygote = None
        begin()
        assert _zygote is not None
    return _zygote


def cpu_seconds() -> float:
    """Return the processor time of the forked programs of this process that were waited for, with what they waited for.

    Neither `RUSAGE_CHILDREN` nor `os.times` of this process have it: the zygote is the programs' parent. What the
    zygote itself took (some 1.5 s for imports, 2 ms a program) is not in it.
    """
    return _cpu_seconds


def programs_forked() -> int:
    """Return how many programs this process has had forked."""
    return _programs


def can_fork(environ: Mapping[str, str]) -> bool:
    """Whether a forked program would read the same settings from this environment as one that is started by `exec`."""
    early = {name for name in (*environ, *_environ) if name.startswith(READ_BY_PYTHON)}
    return all(environ.get(name) == _environ.get(name) for name in (*early, *_running().names()))


def environment(**more: str) -> dict[str, str]:
    """The smallest environment that can be forked into: what is read at the start, as the zygote has it; and `more`."""
    names = {name for name in _environ if name.startswith(READ_BY_PYTHON)}.union(_running().names())
    return {**{name: _environ[name] for name in names if name in _environ}, **more}


class ForkedProgram(subprocess.Popen[Any]):
    """A program that the zygote has forked, by the arguments of `subprocess.Popen` as far as they are named here.

    `words` are what follows `python -m`. With `terminal` its standard input becomes its controlling terminal. `limits`
    are arguments of `resource.setrlimit`.
    """

    def __init__(
        self,
        words: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str | os.PathLike[str] = REPOSITORY,
        stdin: Any = None,
        stdout: Any = None,
        stderr: Any = None,
        bufsize: int = -1,
        text: bool = False,
        start_new_session: bool = False,
        terminal: bool = False,
        limits: Sequence[tuple[int, int, int]] = (),
    ) -> None:
        self._request = {
            "words": list(words),
            "environ": dict(env),
            "cwd": os.path.abspath(cwd),
            "umask": _umask(),
            "session": start_new_session,
            "terminal": terminal,
            "limits": list(limits),
            "ignored_signals": [number for number in _SIGNALS if signal.getsignal(number) is signal.SIG_IGN],
        }
        self.line: socket.socket
        """Where the zygote tells of its end; readable then."""
        super().__init__(
            [sys.executable, "-m", *words], bufsize=bufsize, stdin=stdin, stdout=stdout, stderr=stderr, text=text
        )

    def _execute_child(self, *given: Any) -> None:
        pipes = given[10:16]  # what is theirs and ours of each stream; -1 where it is inherited
        theirs = (pipes[0], pipes[3], pipes[5])
        files = [file if file != -1 else number for number, file in enumerate(theirs)]
        try:
            self._zygote = _running()
            self.line = self._zygote.send(self._request, files)
            self.pid = self._zygote.heard(self.line)["pid"]
            self._child_created = True
        finally:
            self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]
        global _programs
        _programs += 1

    def _internal_poll(self, *given: Any, **named: Any) -> int | None:
        self._hear(0)
        return self.returncode

    def _wait(self, timeout: float | None) -> int:
        if not self._hear(timeout):
            assert timeout is not None
            raise subprocess.TimeoutExpired(self.args, timeout)
        return self.returncode

    def _hear(self, timeout: float | None) -> bool:
        """Whether it has ended, after waiting so many seconds for that."""
        global _cpu_seconds
        if self.returncode is not None:
            return True
        if not select.select([self.line], [], [], timeout)[0]:
            return False
        try:
            end = self._zygote.heard(self.line)
        except RuntimeError:  # with the zygote, which was killed
            end = {"status": signal.SIGKILL, "cpu_seconds": 0.0}
        self.line.close()
        self.returncode = os.waitstatus_to_exitcode(end["status"])
        _cpu_seconds += end["cpu_seconds"]
        return True


class _Transport(base_subprocess.BaseSubprocessTransport):
    """asyncio's own, but for how its process is made and how its end is heard."""

    def _start(self, args: Any, shell: Any, stdin: Any, stdout: Any, stderr: Any, bufsize: Any, **named: Any) -> None:
        program = ForkedProgram(args, stdin=stdin, stdout=stdout, stderr=stderr, bufsize=bufsize, **named)
        self._proc = program
        line = program.line.dup()  # `terminate` may hear of the end first, and closes `program.line` then
        self._loop.add_reader(line, self._ended, program, line)

    def _ended(self, program: ForkedProgram, line: socket.socket) -> None:
        self._loop.remove_reader(line)
        line.close()
        self._process_exited(program.wait())  # type: ignore[attr-defined]


def program(words: Sequence[str], *, env: Mapping[str, str], **named: Any) -> subprocess.Popen[Any]:
    """Start `python -m WORDS`: forked if it can be, else by `exec`; `named` are of `ForkedProgram`."""
    if can_fork(env):
        return ForkedProgram(words, env=env, **named)
    return execute(words, env=env, **named)


def execute(words: Sequence[str], **named: Any) -> subprocess.Popen[Any]:
    """Start `python -m WORDS` by `exec`: for tests of the start itself."""
    return subprocess.Popen([sys.executable, "-m", *words], **_for_exec(**named))


async def async_program(words: Sequence[str], *, env: Mapping[str, str], **named: Any) -> Process:
    """Start `python -m WORDS` as `program` does, for asyncio."""
    if can_fork(env):
        return await start(words, env=env, **named)
    return await asyncio.create_subprocess_exec(sys.executable, "-m", *words, **_for_exec(env=env, **named))


def _for_exec(terminal: bool = False, limits: Sequence[tuple[int, int, int]] = (), **named: Any) -> dict[str, Any]:
    """The arguments of `subprocess.Popen` for those of `ForkedProgram`."""

    def prepare() -> None:
        die_with_parent()
        for kind, soft, hard in limits:
            resource.setrlimit(kind, (soft, hard))
        if terminal:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
            signal.signal(signal.SIGINT, signal.default_int_handler)

    return {"cwd": REPOSITORY, **named, "preexec_fn": prepare}


async def start(words: Sequence[str], *, limit: int = STREAM_LIMIT_BYTES, **named: Any) -> Process:
    """Fork a program as `asyncio.create_subprocess_exec` would start one; `named` are of `ForkedProgram`."""
    loop = asyncio.get_running_loop()
    transport, protocol = await _connected(lambda: SubprocessStreamProtocol(limit=limit, loop=loop), words, **named)
    return Process(transport, protocol, loop)


async def _connected(
    factory: Callable[[], Any],
    words: Sequence[str],
    *,
    stdin: Any = None,
    stdout: Any = None,
    stderr: Any = None,
    **named: Any,
) -> tuple[_Transport, Any]:
    """As `loop.subprocess_exec`."""
    loop = asyncio.get_running_loop()
    protocol, waiter = factory(), loop.create_future()
    transport = _Transport(loop, protocol, words, False, stdin, stdout, stderr, 0, waiter=waiter, **named)  # type: ignore[call-arg]
    try:
        await waiter
    except BaseException:
        transport.close()
        await transport._wait()  # type: ignore[attr-defined]
        raise
    return transport, protocol


@contextlib.contextmanager
def forking() -> Iterator[None]:
    """Fork what a library starts meanwhile, in the running event loop, as `python -m MODULE`."""
    loop = asyncio.get_running_loop()
    by_exec = loop.subprocess_exec

    async def begin(factory: Any, *command: Any, env: Any, cwd: Any, start_new_session: bool, **named: Any) -> Any:
        streams = {name: named[name] for name in ("stdin", "stdout", "stderr")}
        if command[:2] == (sys.executable, "-m") and can_fork(env):
            return await _connected(
                factory, command[2:], env=env, cwd=cwd, start_new_session=start_new_session, **streams
            )
        return await by_exec(factory, *command, env=env, cwd=cwd, start_new_session=start_new_session, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "subprocess_exec", begin)
        yield


@contextlib.contextmanager
def children_forked() -> Iterator[None]:
    """Fork the servers and bots that the product starts from this process meanwhile.

    A bot's launcher is tests/forked_launcher.py then. These are not counted among the programs of a test: a forked bot
    takes a tenth of the work of a start.
    """
    by_exec = asyncio.create_subprocess_exec

    async def begin(*command: Any, **named: Any) -> Process:
        global _programs
        is_forkable = (
            command[:3] == (sys.executable, "-P", "-m") and "env" in named and named.keys() <= FORKABLE_OPTIONS
        )
        if not is_forkable or not can_fork(named["env"]):
            return await by_exec(*command, **named)
        folder = named.pop("cwd", None) or os.getcwd()
        if command == process._LAUNCHER_COMMAND:
            forked = await start(["tests.forked_launcher", str(folder)], **named)
        else:
            forked = await start(command[3:], cwd=folder, **named)
        _programs -= 1
        return forked

    def begin_server(words: Sequence[str], **named: Any) -> subprocess.Popen[Any]:
        global _programs
        forked = program(words, cwd=os.getcwd(), **named)
        _programs -= can_fork(named["env"])
        return forked

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asyncio, "create_subprocess_exec", begin)
        patch.setattr(harness, "start_module", begin_server)
        yield


def _umask() -> int:
    now = os.umask(0o077)
    os.umask(now)
    return now
