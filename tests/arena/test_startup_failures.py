"""What a server or a tournament that can't start leaves behind: no open store, no thread, no task, no process."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from arena.commands import disk_room, serve, tournament
from arena.commands.settings import ServerSettings
from arena.commands.tournament_options import TournamentOptions
from arena.host import rules_supervisor
from arena.host.host import MatchHost
from arena.host.journal import Journal
from arena.network.binding import PortFault, port_of
from arena.network.listener import Listener
from arena.runs.contestants import parse_contestants
from arena.runs.job import Aborted, MatchJob, MatchReport
from arena.runs.match_host import TournamentHost
from arena.runs.sandbox import BotEnvironment
from arena.runs.workers import referee_matches
from arena.server.arena import Arena
from arena.store.data_folder import DataFolderInUse, lock
from arena.store.database import StoreError
from arena.store.finish import StorableMatch
from plans import plan
from process_tree import children
from protocol.errors import ArenaFault
from protocol.messages import Clock
from referee.record import Secret, write_line
from referee_table import SEED, header
from timeouts import WITHIN, rest_of
from tournaments import threads


def settings(data: Path, **changes: Any) -> ServerSettings:
    return ServerSettings(**{"data": str(data), "port": 0, "web": False, "mqtt": "mqtt://127.0.0.1:9", **changes})


async def serve_in(data: Path) -> None:
    with serve.bind_ports(settings(data)) as ports:
        await serve.serve(settings(data), data, ports)


def unfinished(data: Path) -> None:
    """A match in the journal, for which the server asks its store when it starts."""
    journal = Journal(data / "journal").create("m-1")
    journal.write(write_line(Secret(seed=SEED.hex())) + write_line(header("nim", None)))
    journal.close()


def left(data: Path) -> list[str]:
    """What is still there in this process: the store's thread, and open files of the data folder."""
    found = [thread.name for thread in threading.enumerate() if thread.name.startswith("store")]
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):
            found.append(os.readlink(f"/proc/self/fd/{number}"))
    return [name for name in found if name.startswith(("store", str(data)))]


def tasks() -> set[Any]:
    return asyncio.all_tasks() - {asyncio.current_task()}


def test_a_server_whose_port_is_in_use_leaves_nothing_behind(tmp_path: Path, taken_port: int) -> None:
    with pytest.raises(PortFault, match=f"port {taken_port} on 127.0.0.1 is in use"):
        serve.run(settings(tmp_path / "data", port=taken_port))
    assert os.listdir(tmp_path) == []


def test_variables_that_nothing_knows_are_told_with_what_was_meant(
    tmp_path: Path, taken_port: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("ARENA_PROT", "ARENA_X", "ARENA_BOT", "ARENA_PLAIN", "ARENA_TLS_CERT", "ARENABLE"):
        monkeypatch.setenv(name, "1")
    with pytest.raises(PortFault):
        serve.run(settings(tmp_path / "data", port=taken_port))
    assert [record.getMessage() for record in caplog.records] == [
        "ARENA_PROT in the environment is ignored, because it is unknown: did you mean ARENA_PORT?",
        "ARENA_X in the environment is ignored, because it is unknown: `arena config` lists the settings",
    ]


async def test_a_server_that_fails_before_it_listens_closes_what_it_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(game: str) -> None:
        raise ArenaFault(f"{game} can't be loaded")

    monkeypatch.setattr(rules_supervisor, "load_game", fails)
    with pytest.raises(ArenaFault, match="nim can't be loaded"):
        await serve_in(tmp_path)
    assert left(tmp_path) == []
    assert tasks() == set()


async def test_what_can_not_be_closed_keeps_nothing_else_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unfinished(tmp_path)
    close = Arena.close

    async def fails(self: Arena) -> None:
        await close(self)
        raise ArenaFault("no end")

    async def listens_not(self: Listener, sockets: object) -> None:
        raise PortFault("no port")

    monkeypatch.setattr(Arena, "close", fails)
    monkeypatch.setattr(Listener, "listen_on", listens_not)
    with pytest.raises(ArenaFault, match="no end"):
        await serve_in(tmp_path)
    assert left(tmp_path) == []
    assert tasks() == set()


async def test_a_server_on_a_full_disk_says_so_to_whoever_comes_and_starts_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(disk_room, "CHECK_INTERVAL_S", 0.01)
    caplog.set_level(logging.INFO, "arena")
    asked = settings(tmp_path, mqtt=None)
    with serve.bind_ports(asked) as ports, monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        serving = asyncio.create_task(serve.serve(asked, tmp_path, ports))
        port = port_of(ports.arena)
        assert (await probed(port, "/healthz")).startswith("HTTP/1.1 200 OK\r\n")
        assert (await probed(port, "/readyz")).startswith("HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\n")
        assert os.listdir(tmp_path) == []
        patch.undo()
        while not (answer := await probed(port, "/readyz")).startswith("HTTP/1.1 200"):
            assert answer.endswith("\r\n\r\nthe arena waits for room on its disk\n")
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.wait_for(serving, WITHIN)
    assert f"retrying every second: {tmp_path}: No space left on device" in caplog.messages[0]
    assert caplog.messages[1].startswith("the start goes on after ")
    assert left(tmp_path) == []


async def test_a_server_that_waits_for_room_can_be_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = settings(tmp_path, mqtt=None)
    with serve.bind_ports(asked) as ports:
        monkeypatch.setattr(os, "write", full)
        serving = asyncio.create_task(serve.serve(asked, tmp_path, ports))
        assert "503" in await probed(port_of(ports.arena), "/readyz")
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.wait_for(serving, WITHIN)
    assert os.listdir(tmp_path) == []


def test_a_folder_is_held_also_where_there_is_no_room_to_say_by_whom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lock").write_text("123456")
    monkeypatch.setattr(os, "pwrite", full)
    with (
        lock(tmp_path),
        pytest.raises(DataFolderInUse, match=f"{tmp_path} is in use by process unknown: stop it"),
        lock(tmp_path),
    ):
        pass


def full(*words: object) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


async def probed(port: int, path: str) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    answer = (await rest_of(reader)).decode()
    writer.close()
    return answer


@pytest.fixture
def referees_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have threads of this process referee."""
    monkeypatch.setattr(tournament, "process_pool", threads)


def run_tournament(data: Path, *bots: str, in_process: bool = False) -> None:
    tournament.run(
        TournamentOptions(
            bots=bots or ("random", "perfect"),
            game="nim",
            sets=(),
            form="round-robin",
            rounds=1,
            paired=False,
            clock="10",
            seed="1",
            jobs=1,
            db=None,
            data=data,
            to_json=None,
            in_process=in_process,
        )
    )


@pytest.mark.parametrize(
    ("in_process", "says"),
    [(False, "the folder of logs .* can't be made"), (True, "the log .*/in-process.log can't be written")],
)
def test_a_tournament_without_a_folder_for_logs_closes_what_it_opened(
    tmp_path: Path, in_process: bool, says: str, request: pytest.FixtureRequest
) -> None:
    if not in_process:
        request.getfixturevalue("referees_here")
    (tmp_path / "tournaments").write_text("my diary\n")
    with pytest.raises(ArenaFault, match=f"^{says}: Not a directory$"):
        run_tournament(tmp_path, in_process=in_process)
    assert left(tmp_path) == []


@pytest.mark.usefixtures("referees_here")
def test_a_tournament_whose_second_bot_can_not_be_started_ends_the_first(tmp_path: Path) -> None:
    script = tmp_path / "mine"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    before = children(os.getpid())
    with pytest.raises(ArenaFault, match="mine can't be started"):
        run_tournament(tmp_path / "data", "random", f"mine={script}")
    assert left(tmp_path / "data") == []
    assert children(os.getpid()) == before


def test_a_tournament_that_can_not_store_a_result_says_so_and_closes_what_it_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(connection: Connection, batch: Sequence[StorableMatch]) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr("arena.runs.result_writer.finish_matches", full)
    with pytest.raises(StoreError, match="the disk is full"):
        run_tournament(tmp_path, in_process=True)
    assert left(tmp_path) == []
    assert multiprocessing.active_children() == []


def table_terms(logs: Path) -> MatchJob:
    bots = tuple(parse_contestants(["random", "perfect"], {}))
    played = plan(contestants=bots, rounds=1, clock=Clock(bank_ms=10_000, increment_ms=0))
    return MatchJob(key="k", plan=played, environment=BotEnvironment(variables=dict(os.environ)), logs=logs)


async def test_a_worker_that_can_not_listen_closes_what_it_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(self: Listener, host: str, port: int) -> int:
        raise PortFault("no port")

    monkeypatch.setattr(Listener, "listen", fails)
    job = table_terms(tmp_path / "logs")
    (failed,) = await asyncio.to_thread(referee_matches, job, job.plan.schedule(())[:1])
    assert isinstance(failed, Aborted)
    assert str(failed.fault) == "no port"
    assert left(tmp_path) == []
    assert list((tmp_path / "logs").iterdir()) == []


async def test_a_table_whose_arena_can_not_be_closed_ends_its_bots_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    close = MatchHost.disconnect

    async def fails(self: MatchHost, code: int) -> None:
        await close(self, code)
        raise ArenaFault("no end")

    monkeypatch.setattr(MatchHost, "disconnect", fails)
    before = children(os.getpid())
    job = table_terms(tmp_path)
    table = TournamentHost(job, tmp_path)
    await table.open()
    assert isinstance(await table.play(job.plan.schedule(())[0]), MatchReport)
    assert children(os.getpid()) != before
    assert [str(fault) for fault in await table.close()] == ["no end"]
    assert children(os.getpid()) == before
    assert left(tmp_path) == []


async def test_a_table_that_is_closed_plays_nothing_and_starts_no_bots(tmp_path: Path) -> None:
    before = children(os.getpid())
    job = table_terms(tmp_path)
    table = TournamentHost(job, tmp_path)
    await table.open()
    await table.close()
    halted = await table.play(job.plan.schedule(())[0])
    assert isinstance(halted, Aborted)
    assert str(halted.fault) == "the table is closed"
    assert children(os.getpid()) == before


async def test_a_table_where_its_folder_can_not_be_made_says_so(tmp_path: Path) -> None:
    (tmp_path / "journal").write_text("my diary\n")
    with pytest.raises(ArenaFault, match=r"^the folder .*/journal can't be made: File exists$"):
        TournamentHost(table_terms(tmp_path), tmp_path)
