"""A program is handed in, checked and run: by the arena, its page, `arena-bot submit` and a runner of the test."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from random import Random
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosedError

from arena.commands.hosted_entrants import HostedOptions, HostedSource
from arena.hosting.submission import SubmissionLimits, read_submission
from arena.operator.client import OperatorConnection, connect_to_folder
from arena.operator.hosting import (
    CheckVersion,
    EndBot,
    Joined,
    JoinFleet,
    ReadVersion,
    ReportBotEnded,
    ReportCheck,
    RunBot,
    RunnerEvent,
    SubmissionPart,
)
from arena.runs.remote import LocalServer
from arena.store.entrants import tournaments_of_bot
from arena.store.store import Reader, Store
from bots.client.tokens import default_path, find_or_make_token
from commands import Done
from in_process import call_beside, hosting
from players import player
from processes import RunningArena
from timeouts import WITHIN
from web_client import Answer, answer

MINE = "from bots import Bot, run\n\n\nclass Mine(Bot):\n    def choose(self, turn):\n        return turn.legal[0]\n"


LARGE = b"#" + Random(1).randbytes(2_000_000)
"""Two megabytes that can't be packed any tighter."""
PART = SubmissionPart
"""The type of the answer to `ReadVersion`."""


class Runner:
    """A runner that does what a test has it do."""

    def __init__(self, connection: OperatorConnection) -> None:
        self._connection = connection
        self._events: asyncio.Queue[Any] = asyncio.Queue()
        self.number = 0

    async def next(self, kind: type[Any]) -> Any:
        """The next event, which must be of this kind."""
        async with asyncio.timeout(WITHIN):
            event = await self._events.get()
        assert isinstance(event, kind), event
        return event

    async def ask(self, request: Any, answer: type[Any] = object) -> Any:
        return await self._connection.ask(request, answer)

    async def report(self, check: CheckVersion, *, passed: bool, report: str) -> None:
        told = ReportCheck(runner=self.number, version=check.version, passed=passed, report=report)
        await self.ask(told)

    async def follow(self, slots: int) -> None:
        await self._connection.ask(JoinFleet(slots=slots), dict, RunnerEvent, self._events.put_nowait)  # type: ignore[arg-type]


@asynccontextmanager
async def joined(arena: RunningArena, slots: int = 4) -> AsyncIterator[Runner]:
    async with connect_to_folder(arena.data) as connection:
        runner = Runner(connection)
        following = asyncio.create_task(runner.follow(slots))
        try:
            runner.number = (await runner.next(Joined)).runner
            yield runner
        finally:
            following.cancel()


@pytest.fixture
def program(tmp_path: Path) -> Path:
    file = tmp_path / "mine.py"
    file.write_text(MINE)
    return file


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A program that consists of `LARGE`."""
    file = tmp_path / "large.sh"
    file.write_bytes(LARGE)
    return file


@asynccontextmanager
async def hosting_arena(data: Path) -> AsyncIterator[RunningArena]:
    async with hosting(data, "--hosting", "--web-port", "0") as arena:
        await arena.page()
        yield arena


async def submit(arena: RunningArena, *words: str) -> Done:
    return await call_beside("arena-bot", "submit", "--server", arena.url, *words)


async def get(url: str, token: str | None, method: str = "GET") -> Answer:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return await asyncio.to_thread(answer, url, method, **headers)


async def test_a_program_is_checked_then_run_by_a_ticket_and_replaced_by_the_next_that_passes(
    tmp_path: Path, program: Path
) -> None:
    async with hosting_arena(tmp_path / "data") as arena:
        done = await submit(arena, str(program), "--game", "nim")
        assert (done.code, done.err) == (0, "")
        assert done.out == "mine: version 1 was handed in; it is waiting\n"
        async with joined(arena) as runner:
            check = await runner.next(CheckVersion)
            assert (check.bot, check.number) == ("mine", 1)
            part = await runner.ask(ReadVersion(digest=check.digest), SubmissionPart)
            assert MINE.encode()[:20] not in part.data, "it is packed"
            assert not (await runner.ask(ReadVersion(digest=check.digest, offset=len(part.data)), SubmissionPart)).data
            following = asyncio.create_task(submit(arena, str(program), "--game", "nim", "--wait"))
            await runner.report(check, passed=True, report="nim: ok")
            run = await runner.next(RunBot)
            assert (run.bot, run.number, run.digest) == ("mine", 1, check.digest)
            assert (await following).out.splitlines()[1:] == ["mine: version 1 passed its check", "nim: ok"]

            async with player(arena.url, "mine", token=run.ticket):
                await submit(arena, str(program), "--game", "nim", "--game", "tictactoe")
                second = await runner.next(CheckVersion)
                await runner.report(second, passed=False, report="nim: failed\nat ply 3")
                failed = await submit(arena, "--name", "mine", "--status")
                assert re.sub(r"  20\S+", "", failed.out).splitlines() == [
                    "version 1  passed, plays now",
                    "version 2  failed",
                    "mine: version 2 failed its check",
                    "nim: failed",
                    "at ply 3",
                ]
                again = await submit(arena, str(program), "--game", "nim", "--game", "tictactoe")
                assert "version 2 was handed in; it is waiting" in again.out
                await runner.report(await runner.next(CheckVersion), passed=True, report="nim: ok")
                assert (await runner.next(EndBot)).bot == "mine"
                replaced = await runner.next(RunBot)
                assert replaced.number == 2
                assert replaced.ticket != run.ticket
            page = await asyncio.to_thread(answer, f"{await arena.page()}/bots/mine")
            assert "Hosted by the arena, version 2" in page.text


async def test_a_large_program_is_handed_over_in_parts(tmp_path: Path, large: Path) -> None:
    async with hosting_arena(tmp_path / "data") as arena:
        done = await submit(arena, str(large), "--game", "nim")
        assert (done.code, done.err) == (0, "")
        async with joined(arena) as runner:
            check = await runner.next(CheckVersion)
            parts = [b""]
            while part := (await runner.ask(ReadVersion(digest=check.digest, offset=sum(map(len, parts))), PART)).data:
                parts.append(part)
    found = read_submission(b"".join(parts), ["nim"], SubmissionLimits())
    assert len(parts) > 3
    assert found.files[large.name] == LARGE
    assert found.digest == check.digest


async def test_a_bot_moves_to_another_runner_with_a_new_ticket_and_the_old_one_opens_nothing(
    tmp_path: Path, program: Path
) -> None:
    async with hosting_arena(tmp_path / "data") as arena:
        await submit(arena, str(program), "--game", "nim")
        async with joined(arena, slots=1) as first:
            await first.report(await first.next(CheckVersion), passed=True, report="")
            old = await first.next(RunBot)
            async with joined(arena, slots=1) as second:
                async with player(arena.url, "mine", token=old.ticket):
                    await first._connection.aclose()
                    new = await second.next(RunBot)
                with pytest.raises(ConnectionClosedError, match="auth_failed"):
                    async with player(arena.url, "mine", token=old.ticket):
                        pass
                async with player(arena.url, "mine", token=new.ticket):
                    pass
                await second.ask(ReportBotEnded(runner=second.number, bot="mine", why="it crashed"))
                assert (await second.next(EndBot)).bot == "mine"
                assert (await second.next(RunBot)).number == 1, "after a while"
        assert await arena.says("the hosted bot mine ended on runner 2: it crashed")


async def test_only_the_owner_and_the_operator_read_reports_and_hand_programs_in(tmp_path: Path, program: Path) -> None:
    async with hosting_arena(tmp_path / "data") as arena:
        await submit(arena, str(program), "--game", "nim")
        url = f"{await arena.page()}/api/v1/bots/mine/submissions"
        own = find_or_make_token(arena.url, "mine", default_path())
        operator = json.loads((arena.data / "operator.json").read_text())["token"]
        for token in (own, operator):
            (version,) = json.loads((await get(url, token)).body)["versions"]
            assert (version["number"], version["state"], version["games"]) == (1, "waiting", ["nim"])
            assert (await get(f"{url}/1", token)).status == 200
        assert (await get(f"{url}/2", own)).status == 404
        assert (await get(url, None)).status == 401
        refused = await get(url, "x" * 40)
        assert refused.status == 401
        assert refused.headers["www-authenticate"] == "Bearer"
        assert "that is not the token of mine" in refused.text
        assert (await get(url, "x" * 40, "POST")).status == 401
        for _ in range(20):
            await get(url, "x" * 40)
        assert (await get(url, "x" * 40)).status == 429
        assert (await get(url, own)).status == 200, "the right one always works"


REFUSALS = (
    (["mine.py"], "which game does it play? Name it with --game"),
    (["mine.py", "--game", "chess"], "bot.toml: games has 'chess': one of"),
    (["no.py", "--game", "nim"], "no.py can't be read"),
    (["mine.pl", "--game", "nim"], "'mine.pl' ends in '.pl'"),
    (["large.py", "--game", "nim"], "large.py has 13000000 bytes to hand in: 12582912 at most"),
    ([".", "--name", "mine", "--game", "nim"], "--game is for a single file"),
    ([".", "--name", "mine"], "there is no bot.toml"),
    ([], "name the file or the folder of the program"),
)
"""Command lines of `arena-bot submit`, and why each is refused."""


@pytest.fixture
def programs() -> None:
    """Programs in the current folder, most of which can't be handed in."""
    Path("mine.py").write_text(MINE)
    Path("mine.pl").touch()
    Path("large.py").write_bytes(b"#" * 13_000_000)


@pytest.mark.usefixtures("programs")
async def test_what_can_not_be_handed_in_is_refused_in_one_line(tmp_path: Path) -> None:
    async with hosting_arena(tmp_path / "data") as arena:
        for words, why in REFUSALS:
            done = await submit(arena, *words)
            assert done.code != 0, words
            assert why in done.err
            assert done.err.count("\n") == 1


async def test_an_arena_without_hosting_takes_no_program_and_knows_no_runner(tmp_path: Path, program: Path) -> None:
    async with hosting(tmp_path / "data", "--web-port", "0") as arena:
        await arena.page()
        done = await submit(arena, str(program), "--game", "nim")
        assert done.code == 1
        async with connect_to_folder(arena.data) as connection:
            with pytest.raises(Exception, match="do is 'join_fleet': one of"):
                await connection.ask(JoinFleet(slots=1), dict)


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
