"""Programs of strangers, from `arena-bot submit` to rated matches in boxes: the real arena, runner and bubblewrap."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from arena.runner.box import Boxes
from arena.runner.check import _judge
from arena.runs.job import MatchReport
from arena.store.incident import Incident
from bots.client.tokens import default_path, find_or_make_token
from commands import run
from processes import serving
from web_client import answer

GOOD = "from bots import Bot, run\n\n\nclass Mine(Bot):\n    def choose(self, turn):\n        return turn.legal[0]\n"
BROKEN = "int main(void) { return undeclared; }\n"
SPYING = r"""
import os, socket, sys

def tried(what):
    try:
        return f"got {what()!r}"
    except OSError as exc:
        return exc.strerror

for what in (
    lambda: open(sys.argv[1]).read(),
    lambda: open("/etc/shadow").read(),
    lambda: open("/bot/mine", "w"),
    lambda: os.kill(os.getppid(), 9) if os.getppid() > 2 else open("/proc/3/environ").read(),
    lambda: socket.create_connection(("127.0.0.1", int(sys.argv[2]))),
):
    print(tried(what))
print(sorted(os.listdir("/bot")), os.getuid() != 0)
"""


def works() -> bool:
    """Whether bubblewrap can make a box on this machine."""
    users = () if os.geteuid() == 0 else ("--unshare-user",)
    command = ["bwrap", *users, "--unshare-pid", "--unshare-net", "--ro-bind", "/", "/", "true"]
    return shutil.which("bwrap") is not None and subprocess.run(command).returncode == 0


boxed = pytest.mark.skipif(not works(), reason="there is no bubblewrap here, or it is not permitted")


@boxed
async def test_a_program_is_handed_in_checked_and_rated(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(GOOD)
    (tmp_path / "broken.c").write_text(BROKEN)

    async def submit(file: str) -> subprocess.CompletedProcess[str]:
        words = ("submit", str(tmp_path / file), "--server", arena.url, "--game", "nim", "--wait")
        return await asyncio.to_thread(run, "arena-bot", *words)

    options = ("--runners", "1", "--web-port", "0", "--builtin-bots", "random")
    async with serving(tmp_path / "data", *options) as arena:
        await arena.says("runner 1 is there")
        good, broken = [await submit(file) for file in ("mine.py", "broken.c")]
        assert good.returncode == 0, good.stdout + good.stderr
        assert "nim: ok" in good.stdout
        assert broken.returncode == 1
        assert "undeclared" in broken.stdout
        ended = await arena.says(" ended: nim", count=2)
        assert "mine" in ended
        assert "random" in ended
        token = find_or_make_token(arena.url, "mine", default_path())
        url, headers = f"{await arena.page()}/api/v1/bots/mine/submissions/1", {"Authorization": f"Bearer {token}"}
        version = json.loads((await asyncio.to_thread(answer, url, **headers)).body)
        assert version["matches"] == ["nim"]
        replay = await asyncio.to_thread(answer, f"{url}/matches/nim", **headers)
        assert (replay.status, replay.text[:15]) == (200, "<!doctype html>")
        page = (await asyncio.to_thread(answer, f"{await arena.page()}/bots/mine")).text
        assert "Hosted by the arena, version 1 ·" in page
        assert "Version v1 ·" not in page, "once is enough"
    board = run("arena", "leaderboard", "--data", str(tmp_path / "data")).stdout
    assert "mine" in board
    assert "broken" not in board


def _played(reason: str, plies: int, ranks: tuple[int, int] = (1, 2), **more: Any) -> MatchReport:
    """The report of a match that `mine` ended for this reason. The ranks are those of `random` and `mine`."""
    bots = (("random", "win"), ("mine", reason))
    seats = [SimpleNamespace(bot=bot, reason=why, rank=rank) for (bot, why), rank in zip(bots, ranks, strict=True)]
    closed = SimpleNamespace(result=SimpleNamespace(seats=seats, plies=plies))
    return MatchReport(closed, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("reason", "ranks", "what"),
    [("win", (2, 1), "won"), ("win", (1, 2), "lost"), ("resigned", (1, 2), "lost"), ("draw", (1, 1), "drew")],
)
def test_a_program_that_keeps_the_rules_passes_its_check(reason: str, ranks: tuple[int, int], what: str) -> None:
    played = _played(reason, 8, ranks)
    assert _judge("mine", "nim", played, "noise") == (True, f"nim: ok, {what} against random in 8 plies")


@pytest.mark.parametrize(
    ("reason", "why"),
    [
        ("timeout", "its clock of 60+0.5 ran out: answer within the `clock` of a turn, and flush each line"),
        ("illegal", "it made moves that the rules do not allow, too often: answer with a move of `legal`"),
        ("disconnected", "it was gone for too long"),
        ("no_show", "it did not start within 120 s"),
    ],
)
def test_a_program_that_forfeits_fails_its_check_with_advice(reason: str, why: str) -> None:
    assert _judge("mine", "nim", _played(reason, 3), "") == (False, f"nim: failed after 3 plies: {why}")


def test_the_report_has_the_reason_of_a_crash_and_the_end_of_the_output_without_control_characters() -> None:
    incidents = (
        ("mine", Incident(at="", code="failed", text="it stopped")),
        ("random", Incident(at="", code="", text="other")),
    )
    report = _played("failed", 3, failures={1: "at ply 3 its program ended"}, incidents=incidents)
    assert _judge("mine", "nim", report, "Zero\x1b[2J\nlast").report.splitlines() == [
        "nim: failed after 3 plies: its program failed",
        "  at ply 3 its program ended",
        "  it stopped",
        "  the last lines of its output:",
        "  | Zero\\x1b[2J",
        "  | last",
    ]


@boxed
def test_a_program_in_a_box_sees_its_own_files_alone(tmp_path: Path) -> None:
    program, secret = tmp_path / "program", tmp_path / "secret"
    program.mkdir()
    secret.write_text("token")
    (program / "mine").write_text(SPYING)
    for path in (program, program / "mine"):
        path.chmod(0o755)
    boxes = Boxes(memory_mib=512, users=(61_200,) if os.geteuid() == 0 else ())
    words = ("python3", "mine", str(secret), "22")
    done = subprocess.run(boxes.program_command(program, words, 0), capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        "No such file or directory",
        "No such file or directory",
        "Read-only file system",
        "No such file or directory",
        "Connection refused",
        "['mine'] True",
    ], done.stderr
