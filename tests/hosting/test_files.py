"""Programs, sources, kept files and records of checks are handed over whole, to those who may have them."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

from arena.commands.hosted_entrants import HostedOptions, HostedSource
from arena.hosting.kept_files import pack_kept_files
from arena.hosting.limits import SubmissionLimits
from arena.hosting.submission import read_submission
from arena.operator.bot_files import ReadState, StatePart, StoreState
from arena.operator.hosting import CheckVersion, ReadVersion, RunBot, SubmissionPart
from arena.runner.hand_in import upload_file
from arena.runs.remote import LocalServer
from arena.store.bot_states import READ_CHUNK_BYTES
from arena.store.entrants import tournaments_of_bot
from arena.store.store import Reader, Store
from bots.client.tokens import default_path, find_or_make_token
from commands import Done
from hosted_runner import RECORD, joined
from hosting_arena import LARGE, MINE, get, hosted, hosting_arena, submit
from in_process import call_beside

PART = SubmissionPart
"""The type of the answer to `ReadVersion`."""


async def test_a_large_program_is_handed_over_in_parts(tmp_path: Path, large: Path) -> None:
    async with hosting_arena(tmp_path / "data") as arena:
        done = await submit(arena, str(large), "--game", "nim")
        assert (done.code, done.err) == (0, "")
        async with joined(arena) as runner:
            check = await runner.next(CheckVersion)
            parts = [b""]
            while part := (await runner.ask(ReadVersion(digest=check.digest, offset=sum(map(len, parts))), PART)).data:
                parts.append(part)
        assert (await hosted(arena, "--source", "1", "--to", str(tmp_path / "copy"), name="large")).code == 0
    found = read_submission(b"".join(parts), ["nim"], SubmissionLimits())
    assert (tmp_path / "copy").read_bytes() == LARGE
    assert len(parts) > 3
    assert found.files[large.name] == LARGE
    assert found.digest == check.digest


async def test_the_owner_fetches_the_files_that_a_version_keeps(tmp_path: Path) -> None:
    folder, out = tmp_path / "keeping", tmp_path / "out"
    folder.mkdir()
    (folder / "bot.toml").write_text('games = ["nim"]\nlanguage = "python"\nkeep = ["opinions.json"]\n')
    (folder / "mine.py").write_text(MINE)
    large = b"{}" * 300_000
    async with hosting_arena(tmp_path / "data") as arena:
        await submit(arena, str(folder), "--name", "mine")

        async def kept(*words: str) -> Done:
            return await call_beside("arena-bot", "kept", "mine", "--server", arena.url, *words)

        assert "no version of mine has passed" in (await kept()).err
        assert "mine: version 1 keeps no files" in (await kept("--version", "1")).err
        async with joined(arena) as runner:
            check = await runner.next(CheckVersion)
            await runner.report(check, passed=True, report="")
            state = pack_kept_files({"opinions.json": large, "secret": b""})
            upload = await upload_file(runner.ask, state)
            await runner.ask(StoreState(bot="mine", number=1, digest=check.digest, upload=upload))
            read = await runner.ask(ReadState(bot="mine", number=1, offset=500), StatePart)
            assert read.data == state[500 : 500 + READ_CHUNK_BYTES]
        done = await kept("--to", str(out))
        assert done.out == "opinions.json  600000 bytes\n", done.err
        assert (out / "opinions.json").read_bytes() == large
        (out / "opinions.json").write_text("mine")
        assert "opinions.json already exists and is not overwritten" in (await kept("--to", str(out))).err
        assert (out / "opinions.json").read_text() == "mine"
        url = f"{await arena.page()}/api/v1/bots/mine/kept"
        assert (await get(url, None)).status == 401
        own = find_or_make_token(arena.url, "mine", default_path())
        assert (await get(f"{url}?version=7", own)).status == 404
        assert (await get(f"{url}?version=x", own)).status == 400


async def test_a_source_is_its_owners_until_it_is_published(tmp_path: Path, program: Path) -> None:
    async with hosting_arena(tmp_path / "data") as arena:
        await submit(arena, str(program), "--game", "nim")
        url = f"{await arena.page()}/api/v1/bots/mine/submissions/1/source"
        assert (await get(url, None)).status == 401
        copy = tmp_path / "copy.py"
        assert (await hosted(arena, "--source", "1", "--to", str(copy))).code == 0
        assert copy.read_text() == MINE
        assert (
            "copy.py can't be made, name another file with --to: File exists"
            in (await hosted(arena, "--source", "1", "--to", str(copy))).err
        )
        page = f"{await arena.page()}/bots/mine"
        hidden = (await get(page, None)).text
        assert "no version has passed its check yet" in hidden
        assert "class Mine" not in hidden
        assert (await hosted(arena, "--publish", "1")).out == "mine: the source of version 1 is public\n"
        public = await get(url, None)
        assert (public.status, public.body.decode()) == (200, MINE)
        assert "mine.py" in public.headers["content-disposition"]
        assert "class Mine" in (await get(page, None)).text
        await hosted(arena, "--unpublish", "1")
        assert (await get(url, None)).status == 401
        again = await submit(arena, str(copy), "--game", "nim")
        assert "version 1 was handed in" in again.out, "the same content under another name"


async def test_the_match_of_a_check_is_saved_as_a_page_by_its_owner_alone(tmp_path: Path, program: Path) -> None:
    async with hosting_arena(tmp_path / "data") as arena, joined(arena) as runner:
        await submit(arena, str(program), "--game", "nim")
        await runner.report(await runner.next(CheckVersion), passed=False, report="", records={"nim": RECORD})
        done = await hosted(arena, "--replay", "1", "--to", str(tmp_path / "match.html"))
        assert (done.code, done.err) == (0, "")
        assert (tmp_path / "match.html").read_text().startswith("<!doctype html>")
        url = f"{await arena.page()}/api/v1/bots/mine/submissions/1/matches/nim"
        assert (await get(url, None)).status == 401
        assert (
            "version 1 of mine has no match of 'duel': one of nim"
            in (await hosted(arena, "--replay", "1", "--game", "duel")).err
        )


async def test_a_deleted_bot_leaves_no_program_and_a_backup_has_what_it_had(tmp_path: Path, program: Path) -> None:
    backup, data = tmp_path / "backup.db", tmp_path / "data"
    async with hosting_arena(data) as arena:
        await submit(arena, str(program), "--game", "nim")
        done = await call_beside("arena", "db", "backup", str(backup), "--data", str(data))
        assert done.code == 0, done.err
        done = await call_beside("arena", "bot", "delete", "mine", "--data", str(data))
        assert "1 version of its program deleted; backups keep them, and runners for up to 7 days" in done.out
    assert count_rows(data / "arena.db") == 0
    (restored := tmp_path / "restored").mkdir()
    backup.rename(restored / "arena.db")
    async with hosting_arena(restored) as arena, joined(arena) as runner:
        check = await runner.next(CheckVersion)
        part = await runner.ask(ReadVersion(digest=check.digest), SubmissionPart)
    found = read_submission(part.data, ["nim"], SubmissionLimits())
    assert found.files["mine.py"] == MINE.encode()


def count_rows(database: Path) -> int:
    with closing(sqlite3.connect(database)) as connection:
        return int(connection.execute("SELECT count(*) FROM bot_versions").fetchone()[0])


async def test_a_tournament_elsewhere_takes_and_keeps_the_programs_of_a_running_arena(
    tmp_path: Path, program: Path
) -> None:
    async with hosting_arena(tmp_path / "data") as arena:
        await submit(arena, str(program), "--game", "nim")
        async with joined(arena) as runner:
            await runner.report(await runner.next(CheckVersion), passed=True, report="")
            await runner.next(RunBot)
        source = HostedSource(LocalServer(arena.data), tmp_path / "final", None)
        with closing(Store.open(tmp_path / "final.db")) as results:
            found = await asyncio.to_thread(source.find, HostedOptions(bots=["MINE"]), "nim")
            (entrant,) = found.entrants
            await asyncio.to_thread(source.freeze, results, "t1", found.entrants)
            content = await source.read(results, entrant.digest)
        assert (entrant.bot, entrant.number, entrant.late) == ("mine", 1, False)
        assert read_submission(content, ["nim"], SubmissionLimits()).files["mine.py"] == MINE.encode()
        with closing(Reader.open(arena.data / "arena.db")) as reader:
            assert reader.read(tournaments_of_bot, "mine") == ["t1"]
        deleted = await call_beside("arena", "bot", "delete", "mine", "--data", str(arena.data))
        assert "its programs are gone, so these tournaments can't be repeated: t1\n" in deleted.out
