"""`arena serve --nodes N`: servers of one machine behind one port."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
from pathlib import Path

import pytest

from arena.network.binding import bind_sockets, port_of, reserve_port
from commands import call
from in_process import play
from postgres import new_database
from process_tree import children
from processes import serving


def words_of(process: int) -> list[str]:
    return Path(f"/proc/{process}/cmdline").read_text().split("\0")


async def test_bots_play_at_the_port_that_nodes_share_and_one_that_was_killed_comes_back(tmp_path: Path) -> None:
    async with serving(tmp_path, "--nodes", "2", "--db", new_database()) as served:
        served.url = f"ws://{(await served.says('2 nodes on ')).split()[-1]}"
        for name in ("main", "main-2"):
            await served.says(f"node {name} at")
        await asyncio.gather(play(served, "random", 2), play(served, "greedy", 2))
        (second,) = [child for child in children(served.process.pid) if "--node=main-2" in words_of(child)]
        os.kill(second, signal.SIGKILL)
        await served.says("node main-2 was killed by signal 9; it is restarted in 0.5 s")
        await served.says(f"(data in {tmp_path / 'main-2'})", 2)
        await asyncio.gather(play(served, "random", 2), play(served, "greedy", 2))
    assert served.process.returncode == 0
    assert sum(line.endswith(": stopped\n") for line in served.said) == 3, "both nodes, and who started them, say so"


@pytest.mark.nightly
async def test_nodes_start_anew_one_after_the_other_and_bots_play_on(tmp_path: Path) -> None:
    async with serving(tmp_path, "--nodes", "2", "--db", new_database()) as served:
        served.url = f"ws://{(await served.says('2 nodes on ')).split()[-1]}"
        for name in ("main", "main-2"):
            await served.says(f"node {name} at")
        served.process.send_signal(signal.SIGUSR2)
        await served.says("all nodes have restarted")
        await asyncio.gather(play(served, "random", 2), play(served, "greedy", 2))
    assert served.process.returncode == 0


def test_a_port_that_nodes_can_not_share_is_one_line(tmp_path: Path) -> None:
    on_postgres = ("arena", "serve", "--nodes", "3", "--data", str(tmp_path), "--db", "postgresql://host/arena")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = call(*on_postgres, "--port", str(port))
    text = f"arena: port {port} on 127.0.0.1 is in use: choose another one with --port, or 0 for a free one\n"
    assert (refused.code, refused.err) == (1, text)


def test_where_a_node_cannot_begin_all_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "node"))
    (tmp_path / "node").write_text('#!/bin/sh\ncase "$*" in *--node=main-2*) exit 1;; esac\nexec sleep 600\n')
    (tmp_path / "node").chmod(0o755)
    on_postgres = ("--port", "0", "--db", "postgresql://host/arena")
    assert call("arena", "serve", "--nodes", "2", "--data", str(tmp_path), *on_postgres).code == 1


def test_a_port_is_shared_though_its_last_connections_have_just_ended() -> None:
    (listening,) = bind_sockets("127.0.0.1", 0)
    port = port_of([listening])
    listening.setblocking(True)
    with listening, socket.create_connection(("127.0.0.1", port)) as client:
        server, _ = listening.accept()
        server.close()  # first, so that this end of the connection is remembered for a while
        assert client.recv(1) == b""
    with contextlib.ExitStack() as stack:
        for one in (*reserve_port("127.0.0.1", port), *bind_sockets("127.0.0.1", port, shared=True)):
            stack.enter_context(one)
