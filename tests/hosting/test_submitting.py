"""A program is handed in, by `arena-bot submit`, by itself and by the API, or is refused in one line."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

from arena.hosting.limits import SubmissionLimits
from arena.hosting.submission import read_submission
from arena.operator.client import connect_to_folder
from arena.operator.hosting import CheckVersion, JoinFleet, ReadVersion, SubmissionPart
from arena.web.submissions import _file_of
from bots.client.tokens import default_path, find_or_make_token, find_token
from hosted_runner import joined
from hosting_arena import LARGE, MINE, get, hosting_arena, submit
from in_process import call_beside, hosting
from players import player
from processes import run_command
from web_client import answer

REFUSALS = (
    (["mine.py"], "which game does it play? Name it with --game"),
    (["mine.py", "--game", "chess"], "bot.toml: games has 'chess': one of"),
    (["no.py", "--game", "nim"], "no.py can't be read"),
    (["empty.py", "--game", "nim"], "empty.py is empty: hand in a program"),
    (["mine.pl", "--game", "nim"], "'mine.pl' ends in '.pl'"),
    (["large.py", "--game", "nim"], "large.py has 13000000 bytes to hand in: 12582912 at most"),
    ([".", "--name", "mine", "--game", "nim"], "--game is for a single file"),
    ([".", "--name", "mine"], "there is no bot.toml"),
    ([], "name the file or the folder of the program"),
    (["mine.py", "--game", "nim", "--version", "1"], "add --status"),
)
"""Command lines of `arena-bot submit`, and why each is refused."""


@pytest.fixture
def programs() -> None:
    """Programs in the current folder, most of which can't be handed in."""
    Path("mine.py").write_text(MINE)
    Path("mine.pl").write_text("print")
    Path("empty.py").touch()
    Path("large.py").write_bytes(b"#" * 13_000_000)


@pytest.mark.usefixtures("programs")
async def test_what_can_not_be_handed_in_is_refused_in_one_line(tmp_path: Path) -> None:
    async with hosting_arena(tmp_path / "data") as arena:
        for words, why in REFUSALS:
            done = await submit(arena, *words)
            assert done.code != 0, words
            assert why in done.err
            assert done.err.count("\n") == 1


async def test_what_is_no_program_or_no_change_is_refused_in_one_line(tmp_path: Path, program: Path) -> None:
    async with hosting_arena(tmp_path / "data") as arena:
        await submit(arena, str(program), "--game", "nim")
        own = find_or_make_token(arena.url, "mine", default_path())
        bot = f"{await arena.page()}/api/v1/bots/mine"
        empty = await get(f"{bot}/submissions?file=mine.py&game=nim", own, "POST")
        assert "the body is empty: send the file itself" in empty.text
        program = program.rename(program.with_name(f"{'x' * 120}.ZIP"))  # noqa: ASYNC240
        long = await submit(arena, str(program), "--name", "mine")
        assert long.err == "arena-bot: the name of the file has 124 characters: 100 at most\n"
        form = {"Authorization": f"Bearer {own}", "Content-Type": "multipart/form-data; boundary=x"}
        refused = await asyncio.to_thread(answer, f"{bot}/submissions", "POST", **form)
        assert "the body is a form: send the file itself" in refused.text
        for query, why in (
            ("hosting", "there is no field in the query: one of paused, version, game"),
            ("hosting?pause=true", "there is no field 'pause' in the query"),
            ("hosting?paused=1", "paused is '1': one of true, false"),
            ("hosting?version=one", "version is 'one': a whole number"),
            ("submissions/1?published=yes", "published is 'yes': one of true, false"),
            ("matches?opponent=a+b", "opponent is 'a b': it is the name of a bot"),
        ):
            wrong = await get(f"{bot}/{query}", own, "POST")
            assert wrong.status == 400, query
            assert why in wrong.text
            assert (await get(f"{bot}/{query}", None, "POST")).status == 401
        for number in ("9" * 30, "9" * 5000, "one", "%D9%A1"):
            for what in ("", "/source", "/matches/nim"):
                told = await get(f"{bot}/submissions/{number}{what}", own)
                assert (told.status, "there is no version" in told.text) == (404, True), what


async def test_an_arena_without_hosting_takes_no_program_and_knows_no_runner(tmp_path: Path, program: Path) -> None:
    async with hosting(tmp_path / "data", "--web-port", "0") as arena:
        await arena.page()
        done = await submit(arena, str(program), "--game", "nim")
        assert done.code == 1
        async with connect_to_folder(arena.data) as connection:
            with pytest.raises(Exception, match="do is 'join_fleet': one of"):
                await connection.ask(JoinFleet(slots=1), dict)


async def test_a_python_bot_hands_itself_in_and_follows_its_check(tmp_path: Path, program: Path) -> None:
    words = (str(program), "--game", "nim", "--submit")
    async with hosting_arena(tmp_path / "data") as arena, joined(arena) as runner:
        submitting = asyncio.create_task(
            run_command(sys.executable, *words, "--url", arena.url, folder=tmp_path, cwd=tmp_path)
        )
        check = await runner.next(CheckVersion)
        await runner.report(check, passed=False, report="nim: failed after 3 plies")
        end = await submitting
    assert (end.code, end.errors) == (1, b"")
    assert end.output.decode().splitlines() == [
        "mine: version 1 was handed in; it is waiting",
        "mine: version 1 failed its check",
        "nim: failed after 3 plies",
    ]


async def test_the_token_in_a_program_is_not_handed_in_with_it(tmp_path: Path, program: Path) -> None:
    token = "t" * 30
    async with hosting_arena(tmp_path / "data") as arena, player(arena.url, "mine", token=token):
        program.write_text(MINE.replace('Mine("mine")', f'Mine("mine"), token="{token}"'))  # noqa: ASYNC240
        done = await submit(arena, str(program), "--game", "nim", "--token", token)
        assert done.code == 0, done.err
        async with joined(arena) as runner:
            check = await runner.next(CheckVersion)
            part = await runner.ask(ReadVersion(digest=check.digest), SubmissionPart)
    found = read_submission(part.data, ["nim"], SubmissionLimits())
    assert found.files["mine.py"].decode() == MINE.replace('Mine("mine")', 'Mine("mine"), token=""')


async def test_a_folder_is_handed_in_without_files_of_tokens_and_of_macos_and_not_if_another_file_has_the_token(
    tmp_path: Path,
) -> None:
    folder, token = tmp_path / "folder", "t" * 30
    folder.mkdir()
    (folder / "mine.py").write_text(MINE)
    (folder / "bot.toml").write_text('games = ["nim"]\nlanguage = "python"\n')
    for name in (".arena-token-mine", "._mine.py"):
        (folder / name).write_text(token)
    async with hosting_arena(tmp_path / "data") as arena, player(arena.url, "mine", token=token):
        words = (str(folder), "--name", "mine", "--token", token)
        done = await submit(arena, *words)
        assert done.code == 0, done.err
        (folder / "notes.txt").write_text(f"mine: {token}")
        done = await submit(arena, *words)
    assert done.err == (
        "arena-bot: 'notes.txt' has the bot's token, which is not for others: take it out, or leave out the file\n"
    )


async def test_a_name_that_another_owns_or_that_is_refused_leaves_no_token(tmp_path: Path, program: Path) -> None:
    async with hosting_arena(tmp_path / "data") as arena, player(arena.url, "mine"):
        done = await submit(arena, str(program), "--game", "nim")
        assert (done.code, done.err.count("\n")) == (1, 1)
        assert "the name mine is taken, and this computer has no token of it: choose another with --name" in done.err
        shown = await submit(arena, "--name", "mine", "--status")
        assert "this computer has no token of mine" in shown.err
        assert find_token(arena.url, "mine", default_path()) is None
    closed = ("--hosting", "--web-port", "0", "--registration", "closed")
    async with hosting(tmp_path / "closed", *closed) as arena:
        await arena.page()
        done = await submit(arena, str(program), "--game", "nim")
        assert done.code == 1
        assert find_token(arena.url, "mine", default_path()) is None


async def test_a_version_that_waits_says_how_many_checks_are_before_it(tmp_path: Path, program: Path) -> None:
    async with hosting_arena(tmp_path / "data") as arena, joined(arena, slots=1) as runner:
        for name in ("ann", "bob", "cid", "dan"):
            await submit(arena, str(program), "--game", "nim", "--name", name)
        for _ in range(2):
            await runner.next(CheckVersion)
        told = [
            (await submit(arena, "--name", name, "--status")).out.splitlines()[-1] for name in ("ann", "cid", "dan")
        ]
        assert told == [
            "ann: version 1 is being checked",
            "cid: version 1 waits for its check; 2 checks are before it",
            "dan: version 1 waits for its check; 3 checks are before it",
        ]
        status = await call_beside("arena", "status", "--data", str(arena.data))
        assert "0 hosted bots: 0 on the 1 slot of 1 runner" in status.out
        assert "2 versions wait for a check" in status.out
        assert "checks ann, checks bob" in status.out


LIMITS = (
    "--max-program-size",
    "1",
    "--max-program-files",
    "2",
    "--max-versions-per-day",
    "1",
    "--program-storage",
    "1",
)
"""Limits of an arena that takes little."""


async def test_the_operator_sets_the_limits_on_what_is_handed_in(
    tmp_path: Path, program: Path, large: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder := tmp_path / "folder").mkdir()
    for name in ("a.py", "b.py"):
        (folder / name).write_text(MINE)
    (folder / "bot.toml").write_text('language = "python"\nfile = "a.py"\ngames = ["nim"]\n')
    noise = tmp_path / "noise.sh"
    noise.write_bytes(LARGE[:900_000])
    async with hosting_arena(tmp_path / "data", *LIMITS) as arena:
        refused = [
            (("large.sh", "--game", "nim"), "large.sh has 2000001 bytes to hand in: 1048576 at most"),
            (("folder",), "the zip has 3 files: 2 at most"),
        ]
        monkeypatch.chdir(tmp_path)
        for words, why in refused:
            assert why in (await submit(arena, *words)).err
        assert (await submit(arena, str(program), "--game", "nim")).code == 0
        assert "mine had 1 new version within 24 hours" in (await submit(arena, str(program), "--game", "grundy")).err
        assert (await submit(arena, str(noise), "--game", "nim")).code == 0
        assert "more than the 1 MiB" in (await submit(arena, str(noise), "--game", "nim", "--name", "more")).err


@pytest.mark.parametrize(
    ("sent", "file"), [("mu\u0308de.py", "m\u00fcde.py"), ("Mine.ZIP", None), ("mine.c", "mine.c")]
)
def test_a_file_is_known_by_its_name_however_a_system_writes_it(sent: str, file: str | None) -> None:
    assert _file_of(Mock(query_params={"file": sent})) == file
