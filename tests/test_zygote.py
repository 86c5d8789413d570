"""Programs that the zygote forks: they behave as those that are started by `exec`, and end with their caller."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import run_environ
import zygote
from commands import ends
from timeouts import WITHIN

REPORT = """
import asyncio, atexit, faulthandler, gc, json, multiprocessing.process, os, resource, signal, sys, threading
from subprocess import check_output
from pathlib import Path

def stream(it):
    raw = getattr(it.buffer, "raw", it.buffer)
    return [it.name, it.mode, it.encoding, it.errors, it.line_buffering, it.write_through, it.newlines, it.buffer.name,
            type(it.buffer).__name__, raw.mode, raw.closefd, it.fileno(), it.isatty(),
            it is getattr(sys, f"__{it.name[1:-1]}__")]

status = Path("/proc/self/status").read_text().split("\\n")
print(json.dumps({
    "argv": sys.argv, "orig_argv": sys.orig_argv, "flags": repr(sys.flags), "first path": sys.path[0],
    "other path": sorted(sys.path[1:]), "main": sorted(globals()), "name": __name__, "package": __package__,
    "spec": __spec__.name, "file": __file__,
    "cwd": os.getcwd(), "origin": multiprocessing.process.ORIGINAL_DIR, "environ": dict(os.environ),
    "environment of C": sorted(check_output("env", text=True).split("\\n")) if "WORD" in os.environ else None,
    "umask": [line for line in status if line.startswith("Umask")],
    "signals": [line for line in status if line.startswith(("SigBlk", "SigIgn", "SigCgt"))],
    "handlers": [str(signal.getsignal(number)) for number in sorted(signal.valid_signals())],
    "open": [number for number in range(3, 64) if os.path.exists(f"/proc/self/fd/{number}")],
    "limits": [resource.getrlimit(kind) for kind in range(16)],
    "threads": [threading.active_count(), len(os.listdir("/proc/self/task"))],
    "main thread": threading.current_thread() is threading.main_thread(),
    "leads": os.getpid() in (os.getpgid(0), os.getsid(0)), "priority": os.getpriority(os.PRIO_PROCESS, 0),
    "collects": [gc.isenabled(), gc.get_threshold()], "faulthandler": faulthandler.is_enabled(),
    "streams": [stream(sys.stdin), stream(sys.stdout), stream(sys.stderr)],
    "loop": type(asyncio.new_event_loop()).__name__,
}))
"""
"""What a process can tell of how it was started."""

ENVIRON = {name: value for name, value in os.environ.items() if not name.startswith("ARENA_")}


@pytest.fixture
def module(tmp_path: Path, request: pytest.FixtureRequest) -> Callable[[str], dict[str, Any]]:
    """Write the module `probe`; what `zygote.ForkedProgram` and `zygote.execute` need to run it."""

    def write(text: str) -> dict[str, Any]:
        (tmp_path / "probe.py").write_text(text)
        return {"words": ["probe"], "env": ENVIRON, "cwd": tmp_path}

    return write


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[dict[str, str]], None]]:
    """Begin a zygote that imports nothing, in this environment, beside the one of all tests."""
    monkeypatch.setattr(zygote, "_zygote", None)

    def begin(environ: dict[str, str]) -> None:
        monkeypatch.setattr(zygote, "_environ", environ)
        zygote.begin(imports=False)

    yield begin
    assert zygote._zygote is not None
    zygote._zygote.control.close()
    assert zygote._zygote.process.wait(WITHIN) == 0


def forked(text: str, module: Any, **named: Any) -> tuple[int, str, str]:
    """Fork a program of this text: its exit code, output and error output."""
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = zygote.ForkedProgram(**{**module(text), **pipes, **named})
    out, err = process.communicate(timeout=WITHIN)
    return process.returncode, out, err


def as_json(start: Any, module: Any, **named: Any) -> Any:
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    request = {**module(REPORT), **pipes, **named, "words": ["probe", "two words", "--option"]}
    process = start(**request)
    out, err = process.communicate(timeout=WITHIN)
    assert (process.returncode, err or "") == (0, "")
    return json.loads(out)


@pytest.mark.parametrize(
    "named",
    [
        {},
        {
            "env": {
                **{name: ENVIRON[name] for name in ENVIRON if name != "PATH"},
                "WORD": "Grüße",
                "ARENA_URL": "ws://a",
            }
        },
        {"limits": [(resource.RLIMIT_NOFILE, 50, 60), (resource.RLIMIT_FSIZE, 2**20, 2**20)]},
        {"stdin": subprocess.PIPE, "stderr": subprocess.STDOUT},
        {"start_new_session": True},
    ],
    ids=["plain", "environment", "limits", "streams", "session"],
)
def test_a_forked_program_finds_what_one_started_by_exec_finds(module: Any, named: dict[str, Any]) -> None:
    assert as_json(zygote.ForkedProgram, module, **named) == as_json(zygote.execute, module, **named)


def test_a_forked_program_has_the_umask_of_its_caller_and_ignores_the_signals_that_it_ignores(module: Any) -> None:
    before, umask = {number: signal.getsignal(number) for number in (signal.SIGHUP, signal.SIGUSR1)}, os.umask(0o027)
    try:
        for ignored, heeded in ((signal.SIGHUP, signal.SIGUSR1), (signal.SIGUSR1, signal.SIGHUP)):
            signal.signal(ignored, signal.SIG_IGN)
            signal.signal(heeded, signal.SIG_DFL)
            ours, theirs = as_json(zygote.ForkedProgram, module), as_json(zygote.execute, module)
            assert (ours["handlers"], ours["umask"]) == (theirs["handlers"], theirs["umask"])
    finally:
        os.umask(umask)
        for number, handler in before.items():
            signal.signal(number, handler)


def test_a_forked_program_buffers_its_streams_as_one_started_by_exec(module: Any, bare: Any) -> None:
    environ = {**ENVIRON, "PYTHONUNBUFFERED": "1"}
    bare(environ)
    assert zygote.can_fork(environ)
    told = as_json(zygote.ForkedProgram, module, env=environ)
    assert told["streams"] == as_json(zygote.execute, module, env=environ)["streams"]
    assert told["streams"][1][5] is True


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("raise SystemExit(7)", 7),
        ("import sys; sys.exit('why')", 1),
        ("1 / 0", 1),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
        ("raise KeyboardInterrupt", -signal.SIGINT),
    ],
)
def test_a_forked_program_ends_as_one_started_by_exec(module: Any, text: str, code: int) -> None:
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    executed = zygote.execute(**module(text), **pipes)
    out, err = executed.communicate(timeout=WITHIN)
    assert executed.returncode == code
    found, told, complaint = forked(text, module)
    assert (found, told) == (code, out)
    assert complaint.splitlines()[-1:] == err.splitlines()[-1:]


def test_a_forked_program_waits_for_threads_and_calls_exit_handlers_and_flushes(module: Any, tmp_path: Path) -> None:
    text = """
import atexit, sys, threading, weakref
class Thing: pass
thing = Thing()
weakref.finalize(thing, print, "finalized")
file = open("written", "w")
file.write("never closed")
atexit.register(print, "exit handler")
threading.Timer(0, lambda: (threading.main_thread().join(), print("thread"))).start()
print("main", end=" ")
"""
    assert forked(text, module) == (0, "main thread\nexit handler\nfinalized\n", "")
    assert (tmp_path / "written").read_text() == "never closed"


def test_waiting_for_a_forked_program_ends_at_its_time_limit(module: Any) -> None:
    process = zygote.ForkedProgram(**module("import signal; signal.pause()"))
    assert process.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.0)
    process.kill()
    assert process.wait(WITHIN) == -signal.SIGKILL
    assert process.poll() == -signal.SIGKILL
    process.terminate()  # it has ended, which is no fault


async def test_asyncio_hears_of_the_end_of_a_program_that_had_ended_when_it_was_told_to(module: Any) -> None:
    process = await zygote.start(**module("import signal; signal.pause()"))
    process.kill()
    line = process._transport._proc.line  # type: ignore[attr-defined]
    assert select.select([line], [], [], WITHIN)[0]  # the loop hears nothing meanwhile
    process.terminate()
    async with asyncio.timeout(WITHIN):
        assert await process.wait() == -signal.SIGKILL


def test_variables_that_a_library_has_set_do_not_keep_the_next_file_from_forking(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setenv("LC_ALL", "nowhere")
    run_environ.restore_before(Path("test_next.py"))
    assert zygote.can_fork(os.environ)


def test_the_processor_time_of_forked_programs_is_counted_with_what_they_waited_for(module: Any) -> None:
    busy = "import time\nwhile time.process_time() < 0.2: pass"
    text = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {busy!r}])"
    zygote.begin()
    before, programs = zygote.cpu_seconds(), zygote.programs_forked()
    assert forked(text, module)[0] == 0
    assert zygote.cpu_seconds() - before >= 0.2
    assert zygote.programs_forked() - programs == 1


def test_an_environment_that_matters_at_the_start_is_not_forked_into(module: Any) -> None:
    assert zygote.can_fork(ENVIRON)
    assert zygote.can_fork({**ENVIRON, "ARENA_URL": "ws://there"})
    for name in ("PYTHONUNBUFFERED", "LC_ALL", "TYPER_USE_RICH", "HOME"):
        assert not zygote.can_fork({**ENVIRON, name: "other"})
    process = zygote.program(**{**module(""), "env": {**ENVIRON, "LC_ALL": "other"}})
    assert process.wait(WITHIN) == 0
    assert not isinstance(process, zygote.ForkedProgram)


CALLER = """
import os, sys, zygote
zygote.begin(imports=False)
program = zygote.ForkedProgram(["probe"], env=dict(os.environ), cwd=sys.argv[1])
print(program.pid, zygote._running().process.pid, flush=True)
sys.stdin.read()
"""
LASTING = """
import signal
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
while True:
    signal.pause()
"""


def calling(folder: Path, module: Any) -> tuple[subprocess.Popen[str], int, int]:
    """A process that has a zygote and a program of its own, which only SIGKILL ends; with the ids of both."""
    module(LASTING)
    caller = subprocess.Popen(
        [sys.executable, "-c", CALLER, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**ENVIRON, "PYTHONPATH": os.pathsep.join([str(zygote.TESTS), str(zygote.REPOSITORY)])},
    )
    assert caller.stdout is not None
    program, its_zygote = map(int, caller.stdout.readline().split())
    return caller, program, its_zygote


@pytest.mark.parametrize("number", [None, signal.SIGKILL])
def test_the_zygote_and_its_programs_end_with_their_caller(module: Any, tmp_path: Path, number: int | None) -> None:
    caller, program, its_zygote = calling(tmp_path, module)
    with caller:
        if number is not None:
            caller.send_signal(number)
        assert caller.stdin is not None
        caller.stdin.close()
        assert ends(program)
        assert ends(its_zygote)


def test_the_programs_of_a_killed_zygote_end_and_the_next_program_gets_another(
    module: Any, bare: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare(ENVIRON)
    monkeypatch.setattr(zygote, "begin", partial(zygote.begin, imports=False))
    process = zygote.ForkedProgram(**module("import signal; signal.pause()"))
    first = zygote._running()
    first.process.kill()
    assert process.wait(WITHIN) == -signal.SIGKILL
    assert ends(process.pid)
    first.process.wait(WITHIN)
    assert forked("print('again')", module) == (0, "again\n", "")
    assert zygote._running() is not first


def test_a_program_of_a_caller_that_forgets_it_is_killed(module: Any) -> None:
    process = zygote.ForkedProgram(**module("import signal; signal.pause()"))
    process.line.close()
    assert ends(process.pid)
    process.returncode = -signal.SIGKILL
