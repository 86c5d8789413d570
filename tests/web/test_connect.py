"""The page on which bots are connected: its code is taken from the page and run."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from arena.store.result_queries import iter_results
from arena.web.hosting_config import HostingConfig
from arena.web.site import arena_url
from commands import user_environ
from in_process import hosting, play
from node import NO_WEBSOCKET, Node, node_in, without_websocket
from players import player
from processes import RunningArena, run_command
from timeouts import WITHIN
from web_client import Visitor, code, open_pages

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return node_in(tmp_path / "js")


@contextmanager
def beside(arena: RunningArena, *, registration: bool = True) -> Iterator[Visitor]:
    port = arena.url.rpartition(":")[2]
    with open_pages(arena.data, socket=port, registration=registration) as visitor:
        yield visitor


async def played_against_random(arena: RunningArena, *command: str, folder: Path, **environ: str) -> str:
    """What a bot says that is run by a command, and plays two matches."""
    bot = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env=user_environ(XDG_CONFIG_HOME=str(folder), PYTHONUNBUFFERED="1", **environ),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        await play(arena, "random", 2)
    finally:
        bot.terminate()
        out, _ = await asyncio.wait_for(bot.communicate(), WITHIN)
    return out.decode()


async def test_the_python_on_the_page_plays_on_this_arena(tmp_path: Path) -> None:
    async with hosting(tmp_path / "data") as arena:
        with beside(arena) as visitor:
            page = visitor.get("/connect?bot=ann").text
        assert code(page, "address") == arena.url
        program = tmp_path / "my_bot.py"
        program.write_text(code(page, "python"))
        run, *words = code(page, "python-run").split()
        assert (run, words[0]) == ("python", "my_bot.py")
        said = await played_against_random(arena, sys.executable, *words, folder=tmp_path)
    assert len(re.findall(r"ann: (?:won|lost) \S+ against random, rating", said)) >= 1
    example = (EXAMPLES / "mine.py").read_text()
    assert code(page, "python") == example.replace('Mine("mine")', f'Mine("ann"), url="{arena.url}"')


async def test_the_commands_that_compare_versions_work_as_they_are_shown(tmp_path: Path) -> None:
    async with hosting(tmp_path / "data") as arena:
        async with asyncio.TaskGroup() as group:
            group.create_task(play(arena, "random", 1, "--name", "ann"))
            group.create_task(play(arena, "random", 1))
        with beside(arena) as visitor:
            pages = [visitor.get(address).text for address in ("/connect", "/bots/ann")]
    for name in ("my_bot.py", "my_bot_old.py"):
        (tmp_path / name).write_text(code(pages[0], "python"))
    run, *words = code(pages[1], "python-compare").split()
    assert (run, "--preset" in words) == ("python", True)
    assert set(code(pages[0], "python-compare").split()) < {run, *words}
    end = await run_command(sys.executable, *words, folder=tmp_path, cwd=tmp_path)
    last = end.output.decode().splitlines()[-1]
    assert last.startswith("from this start my_bot.py can't be told from my_bot_old.py: it scores")


async def test_the_javascript_on_the_page_plays_on_this_arena_and_keeps_its_name(tmp_path: Path, node: Node) -> None:
    async with hosting(tmp_path / "data") as arena:
        with beside(arena) as visitor:
            page = visitor.get("/connect").text
            (node.folder / "my_bot.mjs").write_text(code(page, "javascript"))
            run, *words = code(page, "javascript-run").split()
            assert (run, words) == ("node", ["my_bot.mjs"])
            for _ in range(2):
                said = await played_against_random(arena, node.program, *words, folder=node.folder)
                results = re.findall(r"mine: (won|lost) (\S+)\n", said)
                assert re.fullmatch(r"(mine: .*\n)+(closed: .*\n)?", said)
            winners = {
                result.match: seat.bot
                for result in list(visitor.store.iterate(iter_results))
                for seat in result.seats
                if seat.rank == 1
            }
            assert all((how == "won") == (winners[match] == "mine") for how, match in results)
    assert (node.folder / ".arena-token-mine").stat().st_mode & 0o777 == 0o600


async def test_the_javascript_on_the_page_comes_in_only_with_the_token_of_its_name(tmp_path: Path, node: Node) -> None:
    async with hosting(tmp_path / "data") as arena, player(arena.url, "mine"):
        with beside(arena) as visitor:
            (node.folder / "my_bot.mjs").write_text(code(visitor.get("/connect").text, "javascript"))
        end = await run_command(node.program, "my_bot.mjs", folder=node.folder, cwd=node.folder)
        assert end.errors.startswith(
            b"mine is taken here, not by this token; choose another name, or give its token\nclosed: 4001"
        )
        assert end.code == 1
        token = f"{'mine':*>16}"
        said = await played_against_random(arena, node.program, "my_bot.mjs", folder=node.folder, ARENA_TOKEN=token)
    assert re.match(r"mine: (won|lost) ", said)


def test_the_javascript_on_the_page_says_in_a_line_how_to_have_a_websocket(tmp_path: Path) -> None:
    with open_pages(tmp_path, socket="8765") as visitor:
        page = visitor.get("/connect?bot=ann").text
    (tmp_path / "my_bot.mjs").write_text(code(page, "javascript"))
    assert without_websocket(tmp_path / "my_bot.mjs") == (2, f"ann: {NO_WEBSOCKET}")
    assert not list(tmp_path.glob(".arena-token*"))


async def test_a_bot_is_told_which_matches_it_lost(tmp_path: Path) -> None:
    async with hosting(tmp_path / "data") as arena:
        async with asyncio.TaskGroup() as group:
            group.create_task(play(arena, "random", 3))
            group.create_task(play(arena, "perfect", 3))
        with beside(arena) as visitor:
            told = visitor.get("/connect?bot=RANDOM").text
            assert told.count('href="/matches/') == len(list(visitor.store.iterate(iter_results, bot="random")))
            assert "No bot has used this name yet" in visitor.get("/connect?bot=zoe").text


def test_a_stored_arena_says_that_nothing_connects_to_it(visitor: Visitor) -> None:
    told = visitor.get("/connect").text
    assert "These pages show stored data: no server is running, so bots cannot connect" in told
    assert 'id="python"' not in told


def test_who_asks_for_a_websocket_through_a_proxy_is_told_that_there_is_none(visitor: Visitor) -> None:
    answer = visitor.get("/", Sec_WebSocket_Key="dGhlIHNhbXBsZSBub25jZQ==")
    assert answer.status == 404
    assert "bots cannot connect here" in answer.text


async def test_who_has_only_the_address_finds_how_to_hand_a_program_in_where_the_arena_hosts(tmp_path: Path) -> None:
    config = HostingConfig(url="ws://127.0.0.1:1", token="t" * 40)
    with open_pages(tmp_path, socket="8765", hosting=config) as visitor:
        assert 'href="/connect#hosted"' in visitor.get("/").text
        page = visitor.get("/connect").text
        assert 'id="hosted"' in page
        assert code(page, "python-submit").split() == [*code(page, "python-run").split(), "--submit"]
        assert visitor.get("/docs/hosted-bots").status == 200
    with open_pages(tmp_path, socket="8765") as visitor:
        assert "hosted" not in visitor.get("/").text + visitor.get("/connect").text


async def test_where_registration_is_closed_no_name_is_registered(tmp_path: Path) -> None:
    async with hosting(tmp_path / "data") as arena:
        with beside(arena) as visitor:
            assert 'id="owning"' in visitor.get("/connect").text
        with beside(arena, registration=False) as visitor:
            told = visitor.get("/connect").text
    assert 'id="owning"' not in told
    assert "ask for a name and its token" in told


@pytest.mark.parametrize(
    ("socket", "host", "encrypted", "url"),
    [
        ("8765", "arena.example:8080", False, "ws://arena.example:8765"),
        ("8765", "[2001:db8::1]:8080", True, "wss://[2001:db8::1]:8765"),
        ("8765", "<b>", False, "ws://localhost:8765"),
        ("8765", "[::1].evil", False, "ws://localhost:8765"),
        ("wss://arena.example/ws", "other.example", False, "wss://arena.example/ws"),
    ],
)
def test_the_address_is_that_by_which_the_page_was_reached(socket: str, host: str, encrypted: bool, url: str) -> None:
    assert arena_url(socket, host, encrypted=encrypted) == url
