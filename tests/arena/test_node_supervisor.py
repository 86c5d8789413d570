"""The supervisor of the nodes of a machine."""

from __future__ import annotations

import asyncio
import signal
import sys
import tempfile
from pathlib import Path

import pytest

from arena.commands import serve_nodes
from arena.commands.serve_nodes import NodeProcess, SupervisorTimeouts
from arena.commands.settings import ServerSettings
from log_events import set_when_logged
from protocol.errors import ArenaFault

HANGING = """
import os, socket, time
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"READY=1", os.environ["NOTIFY_SOCKET"])
time.sleep(1000)
"""
FAILING_LATER = """
import os, pathlib, socket, sys, time
served = pathlib.Path(sys.argv[1])
if served.exists():
    sys.exit(1)
served.touch()
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"READY=1", os.environ["NOTIFY_SOCKET"])
time.sleep(1000)
"""
"""A node that serves once, and can't start again."""


def test_a_folder_for_temporary_files_that_can_hold_no_sockets_is_told_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("configure_logging", "reserve_port"):
        monkeypatch.setattr(serve_nodes, name, lambda *_: ())
    settings = ServerSettings(data=str(tmp_path / "data"), nodes=2)
    (tmp_path / "long").joinpath("a" * 100).mkdir(parents=True)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "long" / ("a" * 100)))
    with pytest.raises(ArenaFault, match=r"^the path .*/a{100}/arena-\w+ is too long .* set TMPDIR to a shorter one$"):
        serve_nodes.run_nodes(settings)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with pytest.raises(ArenaFault, match=r"^a folder for the nodes' sockets can't be made: No such file"):
        serve_nodes.run_nodes(settings)
    assert list((tmp_path / "long" / ("a" * 100)).iterdir()) == []


async def test_a_node_that_gives_no_sign_of_life_is_killed(
    socket_folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stop = set_when_logged(caplog, "node a has not answered for 0.01 s: it is killed")
    timeouts = SupervisorTimeouts(watchdog_timeout_s=0.01)
    assert await NodeProcess("a", (sys.executable, "-c", HANGING), socket_folder, timeouts).keep_running(stop) == 0
    assert stop.is_set()


async def test_a_node_that_has_served_is_started_again_where_it_can_not_begin(
    socket_folder: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As its database is away: nobody stops the other nodes, nor this one."""
    monkeypatch.setattr(serve_nodes, "RESTART_DELAY_S", 0.01)
    stop = set_when_logged(caplog, "node a ended with exit code 1; it is restarted")
    command = (sys.executable, "-I", "-S", "-c", FAILING_LATER, str(socket_folder / "has served"))
    node = NodeProcess("a", command, socket_folder, SupervisorTimeouts())
    running = asyncio.create_task(node.keep_running(stop))
    await node.is_ready.wait()
    node.send(signal.SIGKILL)
    assert await running == 0
