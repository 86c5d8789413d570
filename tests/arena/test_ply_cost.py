"""What a ply costs the server's process, where that can be counted: a settled match of Nim, one move at a time.

What disturbs a ply only adds to it: of many stretches of plies the one that cost least counts. What comes more seldom
than once in a stretch is not seen. Before small frames passed the library's parser by, there were 120 calls of Python,
94 of C, and 7.4 blocks kept.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgpack
import pytest
from websockets.sync.client import ClientConnection, connect

from counting_server import COLLECTED, COUNTED, MARK
from timeouts import WITHIN

REPOSITORY = Path(__file__).parents[2]
PROGRAM = REPOSITORY / "tests" / "counting_server.py"
CONFIG = {"heaps": [500, 500], "take": [1, 2, 3]}
"""1,000 plies, six legal moves at each of those that are counted."""
PLIES = COUNTED.stop + 20
STRETCH = 10

CALLS, C_CALLS, BLOCKS = 56, 49, 4
"""At most, a ply: calls of Python functions, of functions in C, and blocks of memory that stay. Those are an event, the
number of its ply, and its move, which takes two. From Python 3.12 on a call is saved. Who saves more lowers these."""
KERNEL = {"read of a socket": 1, "write to the journal": 1, "write to a socket": 1}
WAITS = {"uvloop": 1, "asyncio": 2}
"""At most, a ply: system calls. Whatever else is asked of the kernel is one too many."""

ADVICE = (
    "Look at what was added between Connection.data_received and transport.write; if it is worth its price, raise the "
    "number in tests/arena/test_ply_cost.py and say so in CHANGELOG.md."
)

# strace's: number of the thread, name of the call, and of its first argument, where that is an open file, what it is.
_CALL = re.compile(r"\d+ +(\w+)\((?:\d+<(?:[^>]*/)?([^:>/]*))?")
_KINDS = (
    (re.compile(r"(read|readv|recvfrom|recvmsg) (socket|TCP)"), "read of a socket"),
    (re.compile(r"(write|writev|sendto|sendmsg) (socket|TCP)"), "write to a socket"),
    (re.compile(r"(write|writev|pwrite64) .*\.jsonl"), "write to the journal"),
    (re.compile(r"epoll_p?wait2? "), "wait for events"),
)


@dataclass
class Counted:
    """What a server counted, or strace of it, for each ply that was played."""

    loop: str
    calls: list[int]
    """From the beginning until each ply began, as all of these."""
    c_calls: list[int]
    blocks: list[int]
    called: dict[str, dict[str, int]]
    """What was called in one ply, by what is counted, and how often."""
    untold: str
    """Why it is not known what was asked of the kernel; empty where it is."""
    asked: list[Counter[str]]
    """Of the kernel, in each ply."""


@pytest.fixture(scope="module", params=["uvloop", pytest.param("asyncio", marks=pytest.mark.ci)])
def counted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Counted:
    loop = request.param
    if loop == "uvloop":
        pytest.importorskip("uvloop")
    untold = no_strace()
    log = None if untold else tmp_path_factory.mktemp("strace") / "log"
    with serving(loop, log) as (server, port):
        play(port)
        out, _ = server.communicate("\n", timeout=WITHIN)
    return Counted(loop, **json.loads(out), untold=untold, asked=[] if log is None else asked_in(log))


def no_strace() -> str:
    """Why no system calls can be told; empty where they can."""
    if shutil.which("strace") is None:
        return "strace is not installed; on Debian: apt-get install strace"
    tried = subprocess.run(["strace", "-f", "-y", "-o", os.devnull, "true"], capture_output=True, text=True)
    return f"strace can't trace here: {tried.stderr.strip()}" if tried.returncode else ""


@contextmanager
def serving(loop: str, log: Path | None) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """The server and its port, under strace where there is to be a log."""
    trace = [] if log is None else ["strace", "-f", "-y", "-s", "0", "-o", str(log)]
    command = [*trace, sys.executable, str(PROGRAM), loop]
    # asyncio reads into 256 KiB: whether the C library asks the kernel for it each time depends on what was free
    kept = {f"MALLOC_{name}_THRESHOLD_": str(2**24) for name in ("MMAP", "TRIM")}
    environment = os.environ | kept | {"PYTHONPATH": str(REPOSITORY)}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment, process_group=0) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            yield server, int(server.stdout.readline())
        finally:
            server.stdin.close()  # it ends by itself then, however the test went
            try:
                server.wait(WITHIN)
            finally:
                if server.returncode is None:
                    os.killpg(server.pid, signal.SIGKILL)


def play(port: int) -> None:
    """Play so many plies of a match: the next move is sent when the turn after the one before has been read."""
    with ExitStack() as stack:
        bots = [enter(stack, port, name) for name in ("ann", "bob")]
        starts = [expect(bot, "start") for bot in bots]
        for bot, start in zip(bots, starts, strict=True):
            send(bot, type="ready", match=start["match"])
        seats = {start["seat"]: bot for bot, start in zip(bots, starts, strict=True)}
        for ply in range(PLIES):
            turn = expect(seats[ply % 2], "turn")
            assert turn["ply"] == ply
            send(seats[ply % 2], type="move", match=turn["match"], ply=ply, move=turn["legal"][0])
        expect(seats[PLIES % 2], "turn")


def enter(stack: ExitStack, port: int, name: str) -> ClientConnection:
    wire = stack.enter_context(connect(f"ws://127.0.0.1:{port}", compression=None, ping_interval=None))
    send(wire, type="hello", bot=name, token=f"{name:*>16}")
    send(wire, type="seek", id="s1", game="nim", config=CONFIG)
    return wire


def send(wire: ClientConnection, **message: Any) -> None:
    wire.send(msgpack.packb(message))


def expect(wire: ClientConnection, kind: str) -> dict[str, Any]:
    while True:
        message: dict[str, Any] = msgpack.unpackb(wire.recv(timeout=WITHIN))
        if message["type"] == kind:
            return message


def asked_in(log: Path) -> list[Counter[str]]:
    """What was asked of the kernel in each ply, by strace's log."""
    plies: list[Counter[str]] = []
    for line in log.read_text().splitlines():
        call = _CALL.match(line)
        if call is None:
            continue
        if call[1] == MARK:
            plies.append(Counter())
        elif plies:
            named = f"{call[1]} {call[2] or ''}"
            plies[-1][next((kind for pattern, kind in _KINDS if pattern.match(named)), named.strip())] += 1
    return plies


def least(totals: list[int], plies: range) -> float:
    """What a ply cost between two of these, where it cost least."""
    assert PLIES <= len(totals) < PLIES + STRETCH, "a move is read otherwise than by one call of data_received"
    return min(totals[after] - totals[ply] for ply, after in pairwise(plies)) / plies.step


def grown(loop: str, limits: Mapping[str, float], costs: Mapping[str, float]) -> str:
    """What grew, and what to do; empty if nothing did. What has no limit may not be."""
    more = {what: (limits.get(what, 0), now) for what, now in costs.items() if now > limits.get(what, 0)}
    told = ", ".join(f"{what} a ply grew from {limit} to {now:g}" for what, (limit, now) in more.items())
    return told and f"{told}, under {loop}. {ADVICE}"


def listed(called: Mapping[str, int]) -> str:
    return "\nCalled in one ply:\n" + "\n".join(f"{times:4} {name}" for name, times in called.items())


def test_a_ply_calls_no_more_python_functions_than_it_did(counted: Counted) -> None:
    more = grown(counted.loop, {"calls": CALLS}, {"calls": least(counted.calls, COUNTED[::STRETCH])})
    assert not more, more + listed(counted.called["calls"])


def test_a_ply_calls_no_more_functions_in_c_than_it_did(counted: Counted) -> None:
    more = grown(counted.loop, {"calls in C": C_CALLS}, {"calls in C": least(counted.c_calls, COUNTED[::STRETCH])})
    assert not more, more + listed(counted.called["c_calls"])


def test_a_ply_leaves_no_more_in_memory_than_it_did(counted: Counted) -> None:
    more = grown(counted.loop, {"blocks that stay": BLOCKS}, {"blocks that stay": least(counted.blocks, COLLECTED)})
    assert not more, more


def test_a_ply_asks_no_more_of_the_kernel_than_a_read_two_writes_and_to_wait(counted: Counted) -> None:
    if counted.untold:
        pytest.skip(counted.untold)
    assert len(counted.asked) == len(counted.calls)
    stretches = [sum(counted.asked[ply : ply + STRETCH], Counter[str]()) for ply in COUNTED[::STRETCH]]
    costs = {what: min(stretch[what] for stretch in stretches) / STRETCH for what in stretches[0]}
    more = grown(counted.loop, {**KERNEL, "wait for events": WAITS[counted.loop]}, costs)
    assert not more, more
