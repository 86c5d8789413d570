"""Programs of strangers, from `arena-bot submit` to rated matches in boxes: the real arena, runner and bubblewrap."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from arena.hosting.kept_files import pack_kept_files, read_kept_files
from arena.runner.box import NICENESS, Boxes, KeptFiles
from arena.runner.check import _judge, _last_lines
from arena.runner.hosted_bot import CLIENT_NICENESS
from arena.runner.unboxed import Unboxed
from arena.runs.job import MatchReport
from arena.store.incident import Incident
from bots.client.tokens import default_path, find_or_make_token
from boxes import box_users, boxed
from commands import run
from processes import serving
from protocol.errors import ArenaFault
from protocol.match_logs import STATE_MARK, ProgramFault
from timeouts import found_in
from web_client import answer

GOOD = """import os
from bots import Bot, run


class Mine(Bot):
    def choose(self, turn):
        print("thinks")
        return turn.legal[0]

    def ended(self, end):
        with open(os.environ["KEEP"] + "/matches", "a") as file:
            print(end.match, file=file)
"""
BROKEN = """games = ["nim"]
command = ["./bot"]
build = ["sh", "-c", "echo undeclared; exit 1"]
"""
"""A manifest of what fails to build on any machine: compilers are not on all."""
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


@pytest.fixture(autouse=True)
def saved_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Save tokens for this test alone: an arena of another one may have had the same port."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@boxed
async def test_a_program_is_handed_in_checked_and_rated(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "mine.py").write_text(GOOD)
    (tmp_path / "mine" / "bot.toml").write_text('language = "python"\ngames = ["nim"]\nkeep = ["matches"]\n')
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "bot.toml").write_text(BROKEN)

    async def ask(command: str, *words: str) -> subprocess.CompletedProcess[str]:
        return await asyncio.to_thread(run, "arena-bot", command, *words, "--server", arena.url)

    options = ("--runners", "1", "--web-port", "0", "--builtin-bots", "random")
    async with serving(tmp_path / "data", *options) as arena:
        await arena.says("runner 1 is there")
        good = await ask("submit", str(tmp_path / "mine"), "--wait")
        broken = await ask("submit", str(tmp_path / "broken"), "--wait")
        assert good.returncode == 0, good.stdout + good.stderr
        assert "nim: ok" in good.stdout
        assert broken.returncode == 1
        assert "undeclared\n" in broken.stdout
        ended = await arena.says(" ended: nim", count=2)
        assert "mine" in ended
        assert "random" in ended
        token = find_or_make_token(arena.url, "mine", default_path())

        async def read(field: str, what: str) -> Any:
            url = f"{await arena.page()}/api/v1/bots/mine/{what}"

            def look() -> Any:
                return json.loads(answer(url, "GET", authorization=f"Bearer {token}").body)[field] or None

            return await asyncio.to_thread(found_in, tmp_path / "data", look)  # it changes with the database

        kept = await read("files", "kept")
        assert re.fullmatch(r"([a-z0-9-]+\n)+", base64.b64decode(kept["matches"]).decode())
        logs = await read("logs", "logs?search=THINKS")
        assert logs[-1]["lines"][0] == "thinks"
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
    closed = SimpleNamespace(result=SimpleNamespace(match="check-00000", seats=seats, plies=plies))
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
    assert _judge("mine", "nim", _played(reason, 1), "") == (False, f"nim: failed after 1 ply: {why}")


def test_a_program_does_not_fail_its_check_by_rules_that_fail() -> None:
    assert _judge("mine", "nim", _played("void", 0), "") == (
        True,
        "nim: not checked, as the match is void: the rules of nim or the arena failed",
    )


def test_a_check_whose_opponent_did_not_play_is_no_failure_of_the_program() -> None:
    report = _played("win", 0, (2, 1))
    report.result.seats[0].reason = "no_show"  # type: ignore[misc]
    with pytest.raises(ArenaFault, match="random could not play nim here"):
        _judge("mine", "nim", report, "")
    assert not _judge("mine", "nim", _played("resigned", 0), "").passed


@pytest.mark.parametrize(
    ("reason", "load", "is_told"),
    [("timeout", 2.0, True), ("no_show", 11.3, True), ("timeout", 1.9, False), ("illegal", 9.0, False)],
)
def test_a_program_that_is_late_on_a_busy_machine_is_told_of_the_load(reason: str, load: float, is_told: bool) -> None:
    report = _judge("mine", "nim", _played(reason, 3), "", load=load).report
    told = f"  the runner's machine was busy, with a load of {load:.1f}: hand it in again for another check"
    assert report.splitlines()[1:] == ([told] if is_told else [])


def test_the_report_has_the_reason_of_a_crash_and_the_end_of_the_output_without_control_characters() -> None:
    incidents = (
        ("mine", Incident(at="", code="failed", text="see the output of the program")),
        ("mine", Incident(at="", code="slow", text="it stopped")),
        ("random", Incident(at="", code="", text="other")),
    )
    report = _played("failed", 3, failures={1: "at ply 3 of check-00000 its program ended"}, incidents=incidents)
    assert _judge("mine", "nim", report, "Zero\x1b[2J\nlast").report.splitlines() == [
        "nim: failed: at ply 3 its program ended",
        "  it stopped",
        "  the last lines of its output:",
        "  | Zero\\x1b[2J",
        "  | last",
    ]


def test_what_the_client_says_of_itself_is_left_out_of_the_output_of_a_program(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("mine: connected to x\nheaps\nmine: had no move yet at ply 1 of m when it left\n")
    assert _last_lines(tmp_path / "log", "mine") == "heaps"


def test_a_program_that_failed_and_went_on_passes_with_a_report_that_says_so() -> None:
    fault = ProgramFault(ply=4, what="ended with exit code 1; it is restarted", last_lines="Traceback\nKeyError: 3")
    assert _judge("mine", "nim", _played("win", 8, (2, 1)), "", (fault,)) == (
        True,
        "nim: ok, won against random in 8 plies\n"
        "  but at ply 4 its program ended with exit code 1; it is restarted\n"
        "  | Traceback\n"
        "  | KeyError: 3",
    )
    report = _judge("mine", "nim", _played("win", 8, (2, 1)), "", [fault] * 5).report
    assert report.count("but at ply 4") == 3
    assert report.endswith("\n  and 2 more times")


COUNTING = r"""
n=$(cat "$KEEP/count"); echo "had $n"; echo $((n + 1)) > "$KEEP/count"
ln -s /etc/passwd "$KEEP/link"; echo no > "$KEEP/other"
exit $1
"""


@pytest.mark.parametrize("kind", [pytest.param(Boxes, marks=boxed), Unboxed], ids=["in a box", "without one"])
def test_a_program_finds_the_files_that_it_keeps_and_leaves_them_behind_its_output(
    tmp_path: Path, kind: type[Boxes]
) -> None:
    program, tar = tmp_path / "program", tmp_path / "state.tar"
    program.mkdir()
    (program / "mine").write_text(COUNTING)
    tar.write_bytes(pack_kept_files({"count": b"1\n"}))
    for path in (program, program / "mine", tar):
        path.chmod(0o755)
    boxes = kind(memory_mib=512, users=box_users())
    kept = KeptFiles(names=("count", "link", "never"), tar=tar)
    for code in (0, 3):
        words = boxes.program_command(program, ("sh", "mine", str(code)), 0, kept)
        done = subprocess.run(words, capture_output=True)
        said, mark, left = done.stdout.partition(STATE_MARK)
        assert (said, bool(mark), done.returncode, done.stderr) == (b"had 1\n", code == 0, code, b"")
        found = {"count": b"2\n"} if code == 0 else {}
        assert read_kept_files(left, ["count", "link", "other", "never"]) == found
    assert sorted(os.listdir(tmp_path)) == ["program", "state.tar"]


@boxed
def test_a_program_in_a_box_has_a_lower_priority_than_what_starts_the_box_and_a_build_has_that_of_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ARENA_MAX_NICENESS", raising=False)
    boxes = Boxes(memory_mib=512, users=box_users())
    done = subprocess.run(["nice", "-n", "3", *boxes.program_command(tmp_path, ("nice",), 0)], capture_output=True)
    assert int(done.stdout) == min(19, os.nice(0) + 3 + NICENESS), done.stderr
    tmp_path.chmod(0o755)  # its user copies it
    built = subprocess.run(boxes.build_command(tmp_path, ("nice",), 0), capture_output=True)
    assert int(built.stderr) == min(19, os.nice(0) + CLIENT_NICENESS + NICENESS)


@boxed
def test_a_program_in_a_box_sees_its_own_files_alone(tmp_path: Path) -> None:
    program, secret = tmp_path / "program", tmp_path / "secret"
    program.mkdir()
    secret.write_text("token")
    (program / "mine").write_text(SPYING)
    for path in (program, program / "mine"):
        path.chmod(0o755)
    boxes = Boxes(memory_mib=512, users=box_users())
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
