"""The supervisor of the nodes of a machine."""

from __future__ import annotations

import asyncio
import logging
import sys
from pathlib import Path

import pytest

from arena.commands.serve_nodes import NodeProcess, SupervisorTimeouts

HANGING = """
import os, socket, time
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"READY=1", os.environ["NOTIFY_SOCKET"])
time.sleep(1000)
"""


async def test_a_node_that_gives_no_sign_of_life_is_killed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    stop = asyncio.Event()

    def stop_at(record: logging.LogRecord) -> bool:
        if record.getMessage() == "node a has not answered for 0.01 s: it is killed":
            stop.set()
        return True

    caplog.handler.addFilter(stop_at)
    timeouts = SupervisorTimeouts(watchdog_timeout_s=0.01)
    assert await NodeProcess("a", (sys.executable, "-c", HANGING), tmp_path, timeouts).keep_running(stop) == 0
    assert stop.is_set()
