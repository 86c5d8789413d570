"""Open files: shared out beforehand, so that strangers who take all they can get hold up nobody's match."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import resource
import socket
from pathlib import Path
from typing import Any

import pytest

from arena.commands import fd_limits
from arena.commands.fd_limits import divide_files, files_needed, raise_fd_limit
from arena.host.journal import Journal, JournalFault
from commands import call
from in_process import play
from patience import patient_host
from processes import serving
from protocol.errors import ArenaFault
from timeouts import WITHIN


@pytest.mark.parametrize("limit", [128, 256, 1024, 4096, 20_000, 1_000_000])
def test_what_is_shared_out_is_there(limit: int) -> None:
    found = divide_files(limit, 1000)
    assert found.connections + found.waiting + found.journals + fd_limits.RESERVED_FILES == limit
    assert min(found.connections, found.waiting) >= 8
    assert found.journals >= found.connections


def test_with_files_enough_all_connections_play_in_all_their_slots() -> None:
    found = divide_files(files_needed(1000), 1000)
    assert (found.connections, found.waiting, found.journals) == (1000, 1024, 32_000)


def test_the_limit_is_raised_as_far_as_it_may_be(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    limits = []
    monkeypatch.setattr(resource, "getrlimit", lambda what: (256, 1024))
    monkeypatch.setattr(resource, "setrlimit", lambda what, pair: limits.append(pair))
    assert raise_fd_limit(1000) == divide_files(1024, 1000)
    assert limits == [(1024, 1024)]
    assert "only 1024 files may be open (ulimit -n): at most 420 connections instead of 1000" in caplog.text


def test_too_few_files_for_anything_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda what: (100, 100))
    monkeypatch.setattr(resource, "setrlimit", lambda what, pair: None)
    with pytest.raises(ArenaFault, match="only 100 files may be open: raise the limit"):
        raise_fd_limit(1000)


def test_of_journals_so_many_are_begun_and_those_of_a_restart_go_on(tmp_path: Path) -> None:
    journal = Journal(tmp_path, max_open=1)
    first = journal.create("m-1")
    for refused in (lambda: journal.create("m-2"), journal.probe):
        with pytest.raises(JournalFault, match="1 matches are under way: the limit of open files is reached"):
            refused()
    second = journal.reopen("m-2")
    first.close()
    first.close()
    with pytest.raises(JournalFault, match="1 matches are under way"):
        journal.probe()
    second.close()
    journal.probe()


async def test_strangers_who_open_all_they_can_hold_up_no_match(tmp_path: Path) -> None:
    async with serving(tmp_path, files=160) as served:
        port = int(served.url.rpartition(":")[2])
        strangers = []
        for _ in range(200):
            with contextlib.suppress(OSError):
                strangers.append(await asyncio.open_connection("127.0.0.1", port))
        await asyncio.gather(*(play(served, name, 3) for name in ("random", "perfect")))
        for _, writer in strangers:
            writer.close()
        assert not any("can't accept connections" in line for line in served.said)
    verified = call("arena", "replay", "verify", "--data", str(tmp_path))
    assert (verified.code, verified.err) == (0, "")


async def test_where_the_system_gives_no_more_it_is_said_once_and_accepting_goes_on(
    serve: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    loop = asyncio.get_running_loop()
    accept, failures = loop.sock_accept, iter(range(3))

    async def exhausted(listening: socket.socket) -> Any:
        accepted = await accept(listening)
        if next(failures, None) is None:
            return accepted
        accepted[0].close()
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(loop, "sock_accept", exhausted)
    served = await serve(timeouts=patient_host(accept_retry_delay_s=0.01))
    async with asyncio.timeout(WITHIN):
        while True:
            with contextlib.suppress(Exception):
                await served.enter("ann")
                break
    assert caplog.text.count("can't accept connections: Too many open files") == 1
