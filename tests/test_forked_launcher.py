"""A bot that is forked by tests/forked_launcher.py finds what one finds that the product starts by `exec`."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

import zygote
from arena.processes.launch_spec import LaunchSpec
from arena.processes.process import BotProcess, Crash
from timeouts import WITHIN

REPORT = """
import json, os, signal, sys
from pathlib import Path

status = Path("/proc/self/status").read_text().split("\\n")
print(json.dumps({
    "argv": sys.argv, "orig_argv": sys.orig_argv, "first path": sys.path[0], "name": __name__, "file": __file__,
    "spec": __spec__ and __spec__.name, "environ": dict(os.environ), "token": sys.stdin.readline(),
    "signals": [line for line in status if line.startswith(("SigBlk", "SigIgn", "SigCgt"))],
    "open": [number for number in range(3, 64) if os.path.exists(f"/proc/self/fd/{number}")],
    "folder": os.getcwd(), "program": Path("/proc/self/cmdline").read_text(),
    "leads": os.getpid() == os.getpgid(0) == os.getsid(0), "priority": os.getpriority(os.PRIO_PROCESS, 0),
}), flush=True)
sys.exit(3)
"""


async def told(command: tuple[str, ...], folder: Path) -> dict[str, Any]:
    """What a bot says of itself, and its end."""
    crashed = asyncio.get_running_loop().create_future()
    environ = zygote.environment(WORD="hello")
    order = LaunchSpec(command=command, environment=environ, token="t" * 64, nice=1)
    log = folder / "bot.log"
    bot = BotProcess("ann", order, log, lambda _, crash: crashed.set_result(crash))
    await bot.start()
    crash: Crash = await asyncio.wait_for(crashed, WITHIN)
    said = {**json.loads(log.read_text()), "how": crash.how, "code": crash.code}
    log.unlink()
    return said


@pytest.mark.parametrize("how", [("{}/mine.py",), ("-P", "{}/mine.py")], ids=["script", "safe"])
async def test_a_forked_bot_finds_what_one_started_by_exec_finds(tmp_path: Path, how: tuple[str, ...]) -> None:
    (tmp_path / "mine.py").write_text(REPORT)
    command = (sys.executable, *(word.format(tmp_path) for word in how), "a word")
    by_exec = await told(command, tmp_path)
    with zygote.children_forked():
        forked = await told(command, tmp_path)
    assert ("mine.py" in by_exec.pop("program"), "zygote" in forked.pop("program")) == (True, True)
    for said in (by_exec, forked):
        with contextlib.suppress(KeyError):
            del said["environ"]["LC_CTYPE"]
        if "-P" in command:
            del said["first path"], said["orig_argv"]
    assert forked == by_exec
    lower = os.getpriority(os.PRIO_PROCESS, 0) + 1
    assert (forked["token"], forked["code"], forked["priority"]) == ("t" * 64 + "\n", 3, lower)
