"""A server that starts anew as the same process, and sockets that it is handed over: who connects meanwhile is served,
matches under way go on, and no bot's program ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import functools
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect

import arena.__main__
from arena import cli
from arena.commands.restart import CHECK_TIMEOUT_S, Restart
from arena.network.binding import InheritedSockets, bind_sockets, port_of
from arena.processes.server_process import LoggedProcess, ServerProcess
from commands import call
from conftest import free_port
from in_process import playing
from machine import held_signals
from players import player
from processes import REPOSITORY, Served, serving
from timeouts import WITHIN
from virtual_time import advance

SLOWLY = ("--game", "nim", "--min-move-time", "0.1")
"""The options of a bot that is always in a match."""
SIGNALLED = """
import os, signal, sys
from pathlib import Path

def signal_once(moment, *signals):
    if "serve" in sys.argv and not Path(moment).exists():
        Path(moment).touch()
        for one in signals:
            os.kill(os.getpid(), one)

if "LISTEN_FDS" in os.environ:
    signal_once("starts anew", signal.SIGHUP)

import arena.__main__
import arena.cli

def run_signalled(run=arena.cli.main):
    signal_once("starts", signal.SIGHUP, signal.SIGUSR2)
    run()

arena.cli.main = run_signalled
arena.__main__.main()
"""
"""A server that signals itself twice: while it loads its commands, and as soon as it has started anew."""
FREE = 500
"""The first of a row of descriptors that nobody has."""
HANDED = """
import fcntl, os, sys
taken = [int(one) for one in sys.argv[1].split(",")]
copies = [fcntl.fcntl(one, fcntl.F_DUPFD, 3 + len(taken)) for one in taken]  # none of them is one of the targets
for at, copy in enumerate(copies):
    os.dup2(copy, 3 + at, inheritable=True)
    os.close(copy)
os.environ |= {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": str(len(taken))}
os.execv(sys.executable, [sys.executable, "-m", "arena", *sys.argv[2:]])
"""
"""What a service manager does: the sockets become descriptors from 3 on, and a server is run."""


async def restarted(arena: Served, times: int) -> None:
    """Have it start anew, and return when it listens again; `times` is how often it has until then."""
    arena.process.send_signal(signal.SIGUSR2)
    await arena.says("listening on", times + 1)


async def test_everybody_who_connects_while_it_starts_anew_is_let_in_and_matches_go_on(
    tmp_path: Path, socket_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And systemd is told of what happens."""
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as systemd:
        systemd.settimeout(WITHIN)
        systemd.bind(str(socket_folder / "notify"))
        monkeypatch.setenv("NOTIFY_SOCKET", str(socket_folder / "notify"))
        async with serving(tmp_path / "data", "--web-port", "0") as arena:
            assert await told(systemd) == "READY=1"
            await assert_everybody_is_let_in(arena)
            assert re.fullmatch(r"RELOADING=1\nMONOTONIC_USEC=\d+", await told(systemd))
            assert await told(systemd) == "READY=1"
            arena.process.send_signal(signal.SIGHUP)
            assert re.fullmatch(r"RELOADING=1\nMONOTONIC_USEC=\d+", await told(systemd))
            assert await told(systemd) == "READY=1"
        assert await told(systemd) == "STOPPING=1"


@pytest.mark.parametrize(
    ("words", "holds"), [(["serve", "--port", "0"], True), (["tournament", "serve", "random"], False), ([], False)]
)
def test_only_a_server_holds_signals_back(words: list[str], holds: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[bool] = []
    monkeypatch.setattr(held_signals, "block_signals", lambda: held.append(True))
    monkeypatch.setattr(cli, "main", lambda: None)
    monkeypatch.setattr(sys, "argv", ["arena", *words])
    arena.__main__.main()
    assert bool(held) is holds


def test_signals_that_come_while_a_server_starts_or_starts_anew_wait_for_its_handlers(tmp_path: Path) -> None:
    program = tmp_path / "server.py"
    program.write_text(SIGNALLED)
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}

    def start(words: Sequence[str], **streams: Any) -> subprocess.Popen[bytes]:
        command = [sys.executable, str(program), *words[1:]]
        return subprocess.Popen(command, cwd=tmp_path, env=environment, **streams)

    server = ServerProcess("serve", "--no-web", "--data", str(tmp_path / "data"), start_program=start)
    server.start()
    try:
        server.wait_for_line("the server restarts", WITHIN)
        server.wait_for_line("SIGHUP: there is no certificate", WITHIN, 2)
    finally:
        server.stop(signal.SIGKILL)


async def told(systemd: socket.socket) -> str:
    """The next thing that systemd is told, beside how the server is."""
    while (said := (await asyncio.to_thread(systemd.recv, 1000)).decode()).startswith("STATUS="):
        pass
    return said


async def assert_everybody_is_let_in(arena: Served) -> None:
    """Have it start anew: visitors come meanwhile, two bots play on, and a match of two others goes on."""
    page = await arena.page()
    async with (
        playing(arena, "random", "--name", "ann", *SLOWLY),
        playing(arena, "random", "--name", "bob", *SLOWLY),
        player(arena.url, "cid") as cid,
        player(arena.url, "dan") as dan,
    ):
        await arena.says(" ended: nim", 1)
        for one, opponent in ((cid, "dan"), (dan, "cid")):
            await one.seek(opponent=opponent, rated=False)
        start, _ = await cid.begin(), await dan.begin()
        pid, done = arena.process.pid, asyncio.Event()

        async def come_and_go() -> int:
            count = 0
            while not done.is_set() or count < 3:
                async with connect(arena.url, compression=None, open_timeout=WITHIN):
                    count += 1
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(0.1):
                        await done.wait()
            return count

        async with asyncio.TaskGroup() as group:
            visitors = [group.create_task(come_and_go())]
            await restarted(arena, 1)
            await arena.says("ann (bot-arena/python) connected", 2)
            await arena.says("bob (bot-arena/python) connected", 2)
            done.set()
        assert all(visitor.result() >= 3 for visitor in visitors)
        before = sum(" ended: nim" in line for line in arena.said)
        await arena.says(" ended: nim", before + 2)
        assert arena.process.pid == pid
        assert not any("void" in line for line in arena.said)
        assert any(re.search(r"match(es)? goe?s? on after a restart", line) for line in arena.said)
        async with player(arena.url, "cid") as cid:
            assert cid.heard[0]["resumed"] == [start["match"]]
        with await asyncio.to_thread(urllib.request.urlopen, f"{page}/healthz", timeout=WITHIN) as answer:
            assert answer.status == 200


async def test_it_listens_on_sockets_that_are_held_for_it_and_who_connects_before_or_after_it_runs_is_let_in(
    tmp_path: Path,
) -> None:
    (arena,), (page,), (other,) = (bind_sockets("127.0.0.1", 0) for _ in range(3))
    with arena, page, other:
        url = f"ws://127.0.0.1:{port_of([arena])}"
        waiting = asyncio.create_task(connect(url, compression=None, open_timeout=WITHIN).__aenter__())
        asked = asyncio.create_task(asyncio.to_thread(status_of, f"http://127.0.0.1:{port_of([page])}/healthz"))
        ports = ("--port", str(port_of([arena])), "--web-port", str(port_of([page])))
        descriptors = [one.fileno() for one in (arena, page, other)]
        command = (sys.executable, "-c", HANDED, ",".join(map(str, descriptors)), "serve", *ports)
        start = functools.partial(
            subprocess.Popen, (*command, "--data", str(tmp_path)), cwd=REPOSITORY, pass_fds=descriptors
        )
        server = LoggedProcess(start)
        server.start()
        try:
            async with asyncio.timeout(WITHIN):
                connection = await waiting
                assert await asked == 200
        finally:
            await asyncio.to_thread(server.stop)
        await connection.close()
        left = f"closed the inherited socket unknown on port {port_of([other])}, which no setting names"
        assert left in "".join(server.log)
        for one in (arena, page):  # they listen still, for the next run
            socket.create_connection(("127.0.0.1", port_of([one])), WITHIN).close()


def status_of(url: str) -> int:
    with urllib.request.urlopen(url, timeout=WITHIN) as answer:
        return int(answer.status)


def test_sockets_are_taken_by_their_names_or_else_by_their_ports(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    listening = [bind_sockets("127.0.0.1", 0)[0] for _ in range(3)]
    ports = [port_of([one]) for one in listening]
    first = fcntl.fcntl(listening[0], fcntl.F_DUPFD, FREE)
    for at, one in enumerate(listening):
        os.dup2(one.fileno(), first + at)
        one.close()
    monkeypatch.setattr("machine.service_manager.FIRST_DESCRIPTOR", first)
    environment = {"LISTEN_FDS": "3", "LISTEN_PID": str(os.getpid()), "LISTEN_FDNAMES": "page:arena:other", "HOME": "/"}
    handed = InheritedSockets(environment)
    assert environment == {"HOME": "/"}
    assert handed.take("arena", 1)[0].getsockname()[1] == ports[1]
    assert caplog.messages == [
        f"not listening on port 1: arena was inherited on port {ports[1]}; "
        "to change the port, stop and start the server"
    ]
    assert handed.take("arena", ports[0]) == []
    assert handed.take("page", ports[2])[0].getsockname()[1] == ports[0]
    assert handed.take("page", ports[2])[0].getsockname()[1] == ports[2]
    handed.close()


@pytest.mark.parametrize("pid", ["1", ""])
def test_what_was_meant_for_another_process_is_left_alone(pid: str) -> None:
    environment = {"LISTEN_FDS": "1", "LISTEN_PID": pid}
    assert InheritedSockets(environment).take("arena", 8765) == []
    assert environment == {}


def test_what_is_no_listening_socket_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with open(os.devnull) as nothing:
        first = fcntl.fcntl(nothing.fileno(), fcntl.F_DUPFD, FREE)
    monkeypatch.setattr("machine.service_manager.FIRST_DESCRIPTOR", first)
    words = ("serve", "--port", "0", "--no-web", "--data", str(tmp_path / "data"))
    done = call("arena", *words, LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        f"arena: the inherited sockets (LISTEN_FDS) can't be used: descriptor {first} can't be used: "
        "Socket operation on non-socket\n"
    )


async def test_only_arena_serve_can_start_anew(caplog: pytest.LogCaptureFixture) -> None:
    restart = Restart({}, [sys.executable, "-m", "pytest"])
    stop = asyncio.Event()
    await restart.prepare([], [], stop)
    await restart.prepare([], [], stop)
    said = "the server keeps running, because it could not restart: it was not started by `arena serve`"
    assert caplog.messages == [said, said], "one that was refused may be asked for again"
    assert not restart.is_wanted
    assert not stop.is_set()


async def test_what_would_not_start_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    code = "import sys; sys.exit(f'arena: {sys.argv[1:]} are wrong')"
    stop = asyncio.Event()
    await Restart({}, [sys.executable, "-I", "-S", "-c", code, "serve", "--port"]).prepare([], [], stop)
    said = "the server keeps running, because it could not restart: ['config', '--can-start', '--port'] are wrong"
    assert (caplog.messages, stop.is_set()) == ([said], False)


@pytest.mark.virtual_time
async def test_a_look_whether_it_would_start_may_take_longer_on_a_slow_machine(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hang(*words: str, env: Mapping[str, str]) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr("arena.commands.restart.run_program", hang)
    monkeypatch.setenv("ARENA_TIMEOUT_FACTOR", "2")
    looking = asyncio.create_task(Restart({}, ["python", "serve"]).prepare([], [], asyncio.Event()))
    await advance(CHECK_TIMEOUT_S + 1)
    assert not looking.done()
    await advance(CHECK_TIMEOUT_S)
    await looking
    assert "`arena config` has not ended within 60 s" in caplog.text


async def test_a_look_whether_it_would_start_ends_with_who_looks(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pid")
    code = f"import os, time; open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    looking = asyncio.create_task(Restart({}, [sys.executable, "-c", code, "serve"]).prepare([], [], asyncio.Event()))
    pid = int(await asyncio.to_thread((tmp_path / "pid").read_text))
    looking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await looking
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_who_is_told_to_stop_starts_nothing_anew(tmp_path: Path) -> None:
    async with serving(tmp_path / "data") as arena:
        arena.process.send_signal(signal.SIGUSR2)
        arena.process.terminate()
        assert await asyncio.to_thread(arena.process.wait, WITHIN) == 0
    assert not any("anew" in line for line in arena.said)


async def test_a_stop_takes_a_restart_back_and_gives_the_ports_free() -> None:
    port, stop = free_port(), asyncio.Event()
    (listening,) = bind_sockets("127.0.0.1", port)
    restart = Restart(os.environ, [sys.executable, "-I", "-S", "-c", "", "serve"])
    with listening:
        await restart.prepare([listening], [], stop)
        assert restart.is_wanted
        assert stop.is_set()
    restart.cancel()
    assert not restart.is_wanted
    for one in bind_sockets("127.0.0.1", port):
        one.close()
