"""Clients of hosted bots are forked from one process, and are no different from those that a command starts."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from arena.processes import forked_launcher
from arena.processes.launch_spec import LaunchSpec, allowed_environment
from arena.processes.process import BotProcess, Crash, StartKeeper, start_keeper
from arena.runner import forked_clients
from commands import ends
from machine import fork_server
from machine.fork_requests import kill_by_pidfd
from machine.forked_processes import ForkServer
from timeouts import WITHIN

REPORTER = """
import json, os, signal, sys, time
from pathlib import Path
from bots.commands.piped_program import PipedProgram

def main():
    if sys.argv[1] == "wait":
        Path(sys.argv[2]).write_text(str(os.getpid()))
        signal.sigwait({signal.SIGTERM})
    words = ["sh", "-c", "read line; echo $0 $line $MINE $(nice); exit 4", "a word"]
    program = PipedProgram(words, {**os.environ, "MINE": "hers"}, logged=True)
    program.write_line(b"hello\\n")
    answer = program.read_line(time.monotonic() + 60).decode()
    program.kill(60.0)
    status = Path("/proc/self/status").read_text().split("\\n")
    print(json.dumps({
        "arguments": sys.argv[1:], "environ": dict(os.environ), "token": sys.stdin.readline(),
        "signals": [line for line in status if line.startswith(("SigBlk", "SigIgn", "SigCgt"))],
        "open": [number for number in range(3, 64) if os.path.exists(f"/proc/self/fd/{number}")],
        "program": [answer, program.exit_code],
        "leads": os.getpid() == os.getpgid(0) == os.getsid(0),
        "forked": ["machine.fork_server" in sys.orig_argv, type(program._process).__name__],
    }))
    sys.exit(3)

if __name__ == "__main__":
    main()
"""
"""A program that reports what it finds, or writes its process id to a pipe and waits for SIGTERM before."""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "reporter.py").write_text(REPORTER)
    return {**allowed_environment(os.environ), "PYTHONPATH": f"{os.environ.get('PYTHONPATH', '')}:{tmp_path}"}


async def run(start_keeper: StartKeeper, log: Path, environment: dict[str, str], *arguments: str) -> Client:
    command = (*forked_launcher.MODULE_COMMAND, "reporter", *arguments)
    spec = LaunchSpec(
        command=command, environment=environment, token="t" * 64, nice=3, largest_log=2**20, holds_sigterm=True
    )
    ended: asyncio.Future[Crash] = asyncio.get_running_loop().create_future()
    process = BotProcess("ann", spec, log, lambda _, crash: ended.set_result(crash), start_keeper=start_keeper)
    await process.start()
    return Client(process, ended)


class Client(NamedTuple):
    process: BotProcess
    ended: asyncio.Future[Crash]

    async def end(self) -> int:
        """Wait until the client has ended, and return its exit code."""
        return (await asyncio.wait_for(self.ended, WITHIN)).code

    def report(self) -> dict[str, Any]:
        said: dict[str, Any] = json.loads(self.process.log.read_text().splitlines()[-1])
        return said


@asynccontextmanager
async def forking(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[StartKeeper, Any]]:
    """A function that starts clients, and the server that forks them, which has this environment."""
    servers = []

    def make(*given: Any) -> ForkServer:
        servers.append(ForkServer(*given))
        return servers[-1]

    monkeypatch.setattr(forked_clients, "CLIENT_MODULES", ("arena.processes.forked_launcher", "reporter"))
    monkeypatch.setattr(forked_clients, "allowed_environment", lambda _: environment)
    monkeypatch.setattr(forked_clients, "ForkServer", make)
    async with forked_clients.forked_clients() as start:
        yield start, servers[0]


async def test_a_forked_client_finds_what_one_started_by_a_command_finds(
    tmp_path: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    async with forking(environment | {"MINE": "no", "OTHER": "no"}, monkeypatch) as (fork, _):
        for start in (fork, start_keeper):
            client = await run(start, tmp_path / "log", environment | {"MINE": "yes"}, "a word", "another")
            assert await client.end() == 3
            found.append(client.report())
    assert [said.pop("forked") for said in found] == [[True, "ForkedProgram"], [False, "Popen"]]
    for said in found:
        said["environ"].pop("LC_CTYPE", None)
    assert len(found[0].pop("open")) == len(found[1].pop("open")) + 1  # the socket to the server
    assert found[0] == found[1]
    assert found[0]["program"] == [f"a word hello hers {os.nice(0) + 3}", 4]
    assert (found[0]["token"], found[0]["environ"]["MINE"]) == ("t" * 64 + "\n", "yes")


async def test_a_forked_client_hears_sigterm_and_dies_with_its_server_which_is_started_again(
    tmp_path: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    async with forking(environment, monkeypatch) as (fork, server):
        client = await run(fork, tmp_path / "log", environment, "wait", str(pipe))
        await asyncio.to_thread(pipe.read_text)
        os.kill(server.process_id, signal.SIGTERM)  # a service manager sends it to all
        client.process.terminate()
        assert await client.end() == 3

        client = await run(fork, tmp_path / "log", environment, "wait", str(pipe))
        process = int(await asyncio.to_thread(pipe.read_text))
        os.kill(server.process_id, signal.SIGKILL)
        assert ends(server.process_id)  # this blocks the event loop, which has noticed nothing yet
        again = await run(fork, tmp_path / "log of another", environment, "a word")
        assert await client.end() == -signal.SIGKILL
        assert await asyncio.to_thread(ends, process)
        assert await again.end() == 3
        assert again.report()["forked"][0]


@pytest.mark.parametrize("is_reset", [False, True])
def test_a_process_whose_owner_has_gone_before_it_said_what_to_run_ends_without_a_traceback(is_reset: bool) -> None:
    owner, line = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with line:
        if is_reset:
            line.send(b"unread")
        owner.close()
        with pytest.raises(SystemExit):
            fork_server._receive_request(line)


def test_a_process_that_was_killed_can_be_killed_again() -> None:
    process = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    with process:
        pidfd = os.pidfd_open(process.pid)
        kill_by_pidfd(pidfd)
        assert process.wait() == -signal.SIGKILL
        kill_by_pidfd(pidfd)
        os.close(pidfd)
