"""The programs of a tournament's hosted bots are built for its time, with their seeds, users and bounded logs."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from unittest.mock import AsyncMock, Mock

import pytest
from msgspec.structs import replace

from arena.hosting.submission import SubmissionLimits, read_source_file
from arena.runner.box import MAX_PROCESSES, Boxes
from arena.runner.entrants import build_contestant, built_plan, hosted_arguments, hosted_contestant
from arena.runner.unpack import BuildFailed
from arena.runs.contestants import Contestant
from arena.runs.plan import Plan
from arena.store.entrants import HostedEntrant
from protocol.errors import ArenaFault
from protocol.games import load_game
from protocol.messages import Clock

SOURCE = read_source_file("mine.sh", b"echo", ["nim"], ["nim"], SubmissionLimits())
ANN = HostedEntrant(bot="Ann", number=3, digest=SOURCE.digest, since="2026-11-29T12:00:00.000Z")
BOB = HostedEntrant(bot="bob", number=1, digest=SOURCE.digest, since="2026-11-29T13:00:00.000Z", late=True)
PLAN = Plan(
    id="t1",
    seed="7",
    contestants=(Contestant("random", ("random",)), hosted_contestant(ANN), hosted_contestant(BOB)),
    rules=load_game("nim"),
    format="round-robin",
    rounds=1,
    paired=False,
    clock=Clock(bank_ms=1000, increment_ms=0),
)


async def read(digest: str) -> bytes:
    return SOURCE.pack()


@pytest.fixture(autouse=True)
def _users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "arena.runner.entrants.reserved_users", lambda count: nullcontext(tuple(range(500, 500 + count)))
    )
    monkeypatch.setattr("os.geteuid", lambda: 0)


def test_each_program_has_its_seed_version_user_and_a_bounded_log_and_is_removed_at_the_end(tmp_path: Path) -> None:
    folder = tmp_path / "programs"
    with built_plan(PLAN, [ANN, BOB], folder, read, 256, 4) as plan:
        other, *hosted = plan.contestants
        assert other == PLAN.contestants[0]
        for place, (entrant, one) in enumerate(zip([ANN, BOB], hosted, strict=True)):
            words = list(one.command)
            assert words[words.index("--version") + 1] == f"v{entrant.number}"
            assert words[words.index("ARENA_SEED") + 1] == PLAN.bot_seed(entrant.bot)
            assert str(500 + place) in " ".join(words)
            assert one.max_log_bytes is not None
        assert (folder / SOURCE.digest / "program" / "mine.sh").read_bytes() == b"echo"
    assert not folder.exists()


def test_processes_of_all_copies_of_a_bot_count_together(tmp_path: Path) -> None:
    single, double = (Boxes(memory_mib=256, users=(500,), copies=copies) for copies in (1, 2))
    commands = [" ".join(boxes.program_command(tmp_path, ["sh"], 0)) for boxes in (single, double)]
    words = [command.replace(str(tmp_path), "FOLDER") for command in commands]  # its path may have that number in it
    assert words[1] == words[0].replace(str(MAX_PROCESSES), str(2 * MAX_PROCESSES)) != words[0]


def test_a_program_that_is_gone_is_told_with_its_bot(tmp_path: Path) -> None:
    async def read_nothing(digest: str) -> bytes:
        return b""

    gone = pytest.raises(ArenaFault, match="Ann, version 3: its program is gone, as the bot was deleted")
    with gone, built_plan(PLAN, [ANN], tmp_path / "programs", read_nothing, 256, 1):
        pass
    assert not (tmp_path / "programs").exists()


def test_a_bot_whose_program_is_damaged_has_a_fault_and_the_others_have_commands(tmp_path: Path) -> None:
    async def read_damaged(digest: str) -> bytes:
        return SOURCE.pack() if digest == SOURCE.digest else SOURCE.pack()[:-30]

    damaged = replace(ANN, digest="0" * 64)
    with built_plan(PLAN, [damaged, BOB], tmp_path / "programs", read_damaged, 256, 1) as plan:
        _, ann, bob = plan.contestants
    assert (ann.command, bool(bob.command), bob.fault) == ((), True, "")
    assert ann.fault.startswith(
        "version 3 can't be built here: it is no longer what its author handed in: hand it in again: "
    )


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("cc -o bot a.c ended with exit code 1:\na.c:1:\na.c:3: error: no x\n1 error", "1: a.c:3: error: no x"),
        ("javac A.java ended with exit code 127:\nsh: javac: not found", "127: sh: javac: not found"),
        ("make took more than 120 s: build less", "make took more than 120 s: build less"),
    ],
)
async def test_a_build_that_fails_is_told_in_one_line(fault: str, told: str) -> None:
    versions = Mock(get=AsyncMock(side_effect=BuildFailed(fault)))
    ann = await build_contestant(PLAN, "Ann", 3, "", versions, Boxes(memory_mib=64), 0)
    assert ann.fault.startswith("version 3 can't be built here: ")
    assert ann.fault.endswith(told)
    assert "\n" not in ann.fault


def test_the_versions_identify_the_tournament() -> None:
    assert hosted_arguments([ANN, BOB]) == {
        "hosted": {
            "Ann": {"version": 3, "digest": SOURCE.digest},
            "bob": {"version": 1, "digest": SOURCE.digest, "late": True},
        },
        "rated": False,
    }
