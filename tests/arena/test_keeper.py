"""What a bot's process is given, and that nothing of it outlives the tournament's."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from arena.processes.launch_spec import LaunchSpec, allowed_environment
from arena.processes.process import BotCrashed, BotProcess
from commands import REPOSITORY, ends
from process_tree import children, descendants
from protocol.errors import UsageFault
from timeouts import WITHIN


async def told(tmp_path: Path, program: str, nice: int = 0) -> Any:
    """What a program prints as JSON that a tournament runs as a bot."""
    order = LaunchSpec(
        command=(sys.executable, "-c", program), environment={"ARENA_BOT": "mine"}, token="t" * 64, nice=nice
    )
    ended = asyncio.Event()
    bot = BotProcess("mine", order, tmp_path / "log", lambda bot, crash: ended.set())
    await bot.start()
    await asyncio.wait_for(ended.wait(), WITHIN)
    return json.loads((tmp_path / "log").read_text())


GIVEN = """
import errno, json, os, sys
token = sys.stdin.read()
try:
    os.open(f"/proc/{os.getpid()}/fd/0", os.O_RDONLY)
except OSError as exc:
    print(json.dumps([token, errno.errorcode[exc.errno], dict(os.environ)]))
"""


async def test_a_bot_is_given_its_token_on_a_standard_input_that_nobody_else_can_open_and_its_environment_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PASSWORD", "secret")
    token, refused, environ = await told(tmp_path, GIVEN)
    assert (token, refused) == ("t" * 64 + "\n", "ENXIO")
    assert set(environ) - {"LC_CTYPE"} == {"ARENA_BOT"}


@pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="this Linux weighs no sessions")
async def test_a_program_that_gives_way_does_so_with_its_session(tmp_path: Path) -> None:
    program = "import json, os; print(json.dumps([os.nice(0), open('/proc/self/autogroup').read().split()[-1]]))"
    assert await told(tmp_path, program, nice=3) == [os.nice(0) + 3, "3"]


def test_what_programs_need_passes_and_secrets_do_not() -> None:
    environ = {
        "PATH": "/bin",
        "LC_ALL": "C",
        "PYTHONPATH": "/lib",
        "ARENA_MQTT": "mqtt://me:secret@host",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "SSH_AUTH_SOCK": "/tmp/agent",
        "MODEL": "small",
    }
    assert set(allowed_environment(environ)) == {"PATH", "LC_ALL", "PYTHONPATH"}
    assert set(allowed_environment(environ, ["MODEL"])) == {"PATH", "LC_ALL", "PYTHONPATH", "MODEL"}


def test_a_variable_that_is_to_pass_must_be_set() -> None:
    with pytest.raises(UsageFault, match="--pass-env MODEL: there is no such variable in the environment"):
        allowed_environment({}, ["MODEL"])


PATIENT = """
import signal
signal.sigwait({signal.SIGTERM})
print("it is told")
"""


async def test_a_program_that_holds_sigterm_hears_it_however_early_it_is_sent(tmp_path: Path) -> None:
    command, environment = (sys.executable, "-c", PATIENT), allowed_environment(os.environ)
    order = LaunchSpec(command=command, environment=environment, token="t" * 64, holds_sigterm=True)
    ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    bot = BotProcess("mine", order, tmp_path / "log", lambda bot, crash: ended.set_result(crash.code))
    await bot.start()
    bot.terminate()
    assert await asyncio.wait_for(ended, WITHIN) == 0
    assert (tmp_path / "log").read_text() == "it is told\n"


DEAF = """
import os, signal, sys
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
for depth in range(2):  # in a session of its own, and its parent gone
    parent = os.getpid()
    if os.fork():
        if depth:
            os._exit(0)
        break
    os.setsid()
while os.getppid() == parent and os.getpid() != parent:  # a walk over processes could miss one that moves
    pass
with open(sys.argv[1], "w") as told:
    print(os.getpid(), file=told)
while True:
    signal.pause()
"""
HOLDER = """
import asyncio, os, pathlib, sys
from arena.processes.launch_spec import LaunchSpec
from arena.processes.process import BotProcess

async def hold():
    order = LaunchSpec(command=(sys.executable, "-c", *sys.argv[1:3]), environment={}, token="t" * 64)
    bot = BotProcess("mine", order, pathlib.Path(sys.argv[3]), print)
    await bot.start()
    print("held", flush=True)
    await asyncio.Event().wait()

asyncio.run(hold())
"""


def test_a_bot_that_ignores_every_signal_and_hides_is_gone_with_a_tournament_that_was_killed(tmp_path: Path) -> None:
    fifo = tmp_path / "deaf"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDWR)  # so that nobody waits for the other side
    command = [sys.executable, "-c", HOLDER, DEAF, str(fifo), str(tmp_path / "log")]
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with open(reader, "rb", buffering=0) as lines:
            deaf = [int(lines.readline()) for _ in range(2)]
        family = descendants(holder.pid)
        holder.kill()
    assert set(deaf) < set(family)
    assert all(ends(pid) for pid in family)


async def begun(log: Path) -> tuple[BotProcess, int, int, asyncio.Future[str]]:
    """A bot that does nothing, with the processes of its keeper and its program, and what will be said of its end."""
    order = LaunchSpec(command=(sys.executable, "-c", "import signal; signal.pause()"), environment={}, token="t" * 64)
    crashed: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    bot = BotProcess("mine", order, log, lambda bot, crash: crashed.set_result(str(crash)))
    before = set(children(os.getpid()))
    await bot.start()
    (keeper,) = set(children(os.getpid())) - before
    (program,) = children(keeper)
    return bot, keeper, program, crashed


async def test_a_bot_is_gone_with_its_keeper_which_is_told_although_its_log_was_deleted(tmp_path: Path) -> None:
    _, keeper, program, crashed = await begun(tmp_path / "log")
    (tmp_path / "log").unlink()
    os.kill(keeper, signal.SIGKILL)
    said = await asyncio.wait_for(crashed, WITHIN)
    assert said == f"mine was killed by signal 9; last output, in {tmp_path}/log:\n  (nothing)"
    assert ends(program)


async def test_a_bot_for_which_no_descriptor_is_left_is_one_that_cannot_be_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bot = BotProcess("mine", LaunchSpec(command=("true",), environment={}, token=""), tmp_path / "log", lambda *_: None)
    monkeypatch.setattr(socket, "socketpair", Mock(side_effect=OSError(errno.EMFILE, "Too many open files")))
    with pytest.raises(BotCrashed, match="mine can't be started: Too many open files"):
        await bot.start()


@pytest.mark.ci
async def test_a_keeper_that_somebody_stopped_does_not_hold_up_the_end(tmp_path: Path) -> None:
    bot, keeper, program, _ = await begun(tmp_path / "log")
    os.kill(keeper, signal.SIGSTOP)
    await asyncio.wait_for(bot.stop(0), WITHIN)
    assert ends(keeper, within=0)
    assert ends(program)
