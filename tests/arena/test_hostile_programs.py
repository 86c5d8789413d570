"""Programs that attack the arena, in a real box: what they get, what ends them, and that they stop when not asked."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from arena.runner.box import Boxes
from arena.runner.box_watch import MAX_ERROR_BYTES
from arena.runner.system_calls import CALL_NUMBERS
from boxes import box_users, boxed
from commands import REPOSITORY, ends
from hostile_programs import ATTACKS, PROGRAM
from process_tree import descendants
from timeouts import WITHIN

pytestmark = boxed
TURN = b'{"type":"turn","legal":[{}]}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a program, which every user may read."""
    folder = tmp_path / "program"
    folder.mkdir()
    return folder


def in_box(folder: Path, program: str, memory_mib: int = 512) -> tuple[str, ...]:
    (folder / "attacks.py").write_text(program)
    for path in (folder, *folder.iterdir()):
        path.chmod(0o755)
    boxes = Boxes(memory_mib=memory_mib, users=box_users())
    return boxes.program_command(folder, ("python3", "-S", "attacks.py"), 0)


def run_in_box(folder: Path, program: str, **options: int) -> subprocess.CompletedProcess[bytes]:
    command = in_box(folder, program, **options)
    environ = {**os.environ, "ARENA_SECRET": "Open-Sesame"}
    return subprocess.run(command, input=TURN, capture_output=True, timeout=WITHIN, env=environ)


def test_no_attack_gets_out_of_the_box_or_beyond_its_limits(folder: Path, tmp_path: Path) -> None:
    secret, other = tmp_path / "token", tmp_path / "other.py"
    secret.write_text("a token")
    other.write_text("a program")
    numbers = CALL_NUMBERS[os.uname().machine]
    (folder / "call_numbers.py").write_text(f"NUMBERS = {numbers}")
    (folder / "attacks.json").write_text(json.dumps({name: code for name, (code, _) in ATTACKS.items()}))
    here: dict[str, Any] = {"secret": str(secret), "other": str(other), "folder": str(tmp_path), "process": os.getpid()}
    here |= {"code": str(REPOSITORY / "arena" / "__init__.py"), "abstract": str(uuid.uuid4())}
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as abstract:
        abstract.bind("\0" + here["abstract"])
        abstract.listen()
        here["port"] = server.getsockname()[1]
        (folder / "here.json").write_text(json.dumps(here))
        done = run_in_box(folder, PROGRAM)
    assert done.returncode == 0, done.stderr.decode()
    got = json.loads(done.stdout)
    wrong = {name: got[name] for name, (_, says) in ATTACKS.items() if not got[name].startswith(says)}
    assert not wrong
    assert len(ATTACKS) > 70


GREEDY = """
import os, time
for number in range(8):
    if os.fork() == 0:
        kept = bytearray(os.urandom(1)) * (24 << 20)
        time.sleep(600)
time.sleep(600)
"""
LITTERING = """
for number in range(30_000):
    open(f"/tmp/{number}", "w").close()
import time; time.sleep(600)
"""
CONNECTED = """
import os, socket, time
for _ in range(2):
    if os.fork() == 0:
        kept = [socket.socketpair() for _ in range(200)]
        time.sleep(600)
time.sleep(600)
"""


@pytest.mark.parametrize(
    ("program", "why"),
    [
        (GREEDY, "MiB in its processes and 0 MiB in files in /tmp and /dev/shm: keep both together below 96 MiB"),
        (LITTERING, "files in /tmp and /dev/shm: keep at most 20000"),
        (CONNECTED, "sockets: keep at most 512"),
    ],
    ids=["memory", "files", "sockets"],
)
def test_a_program_that_takes_too_much_is_ended_with_a_line_that_says_so(folder: Path, program: str, why: str) -> None:
    done = run_in_box(folder, program, memory_mib=96)
    assert done.returncode == 1
    last = done.stderr.decode().splitlines()[-1]
    assert last.startswith("the arena ended this program: it had ")
    assert last.endswith(why)


FORKED = """
import os, time
kept = bytearray(b"x") * (40 << 20)
for _ in range(3):
    if os.fork() == 0:
        time.sleep(0.4)
        os._exit(0)
for _ in range(3):
    os.wait()
"""


def test_memory_that_processes_share_after_a_fork_counts_once(folder: Path) -> None:
    done = run_in_box(folder, FORKED, memory_mib=96)
    assert done.returncode == 0, done.stderr.decode()


BUSY = """
import os, sys
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while True:
                pass
        os._exit(0)
for line in sys.stdin:
    print("{}", flush=True)
"""
"""A program that leaves three processes computing, in sessions of their own, and answers each turn at once."""


@contextmanager
def playing(command: tuple[str, ...]) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def states(bwrap: int) -> list[str]:
    """The states of the processes of a program: those of its box but the first."""
    found = []
    for process in descendants(bwrap)[1:]:
        try:
            found.append(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0])
        except OSError:
            found.append("gone")
    return found


def test_when_an_answer_is_told_no_process_of_a_program_runs_any_more(folder: Path) -> None:
    with playing(in_box(folder, BUSY)) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(2):
            process.stdin.write(TURN)
            process.stdin.flush()
            assert process.stdout.readline() == b"{}\n"
            assert {*(found := states(process.pid))} <= {"T", "Z"}
            assert found.count("T") >= 4


@pytest.mark.parametrize("killed", [False, True], ids=["the program ends", "the box is killed"])
def test_nothing_of_a_program_outlives_its_box(folder: Path, killed: bool) -> None:
    with playing(in_box(folder, BUSY)) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(TURN)
        process.stdin.flush()
        assert process.stdout.readline() == b"{}\n"
        family = descendants(process.pid)
        if killed:
            process.kill()
        else:
            process.stdin.close()
            assert process.wait(WITHIN) == 0
        assert len(family) >= 5
        assert all(ends(pid) for pid in family)


FLOODING = """
import sys
for _ in range(300):
    sys.stderr.write("x" * 9999 + "\\n")
sys.stderr.write("the end")
sys.exit(3)
"""


def test_of_a_flood_of_errors_the_beginning_and_the_end_are_passed_on(folder: Path) -> None:
    done = run_in_box(folder, FLOODING)
    assert done.returncode == 3
    assert done.stderr.endswith(b"x\nthe end")
    assert b"\nthe arena keeps 1048576 bytes of this output, and its end\n" in done.stderr
    assert len(done.stderr) < MAX_ERROR_BYTES + 5000
