"""The JavaScript example, run by Node against the real server."""

from __future__ import annotations

import asyncio
import re
import shutil
import sys
from pathlib import Path

import pytest

from commands import run, user_environ
from conftest import free_port
from doctor_runs import examined, examined_whole, faults
from node import NO_WEBSOCKET, Node, node_in, without_websocket
from players import player
from processes import run_command
from timeouts import WITHIN
from volumes import IS_NIGHTLY

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """Node beside a copy of the example."""
    made = node_in(tmp_path / "js")
    shutil.copy(EXAMPLES / "bot.mjs", made.folder)
    return made


@pytest.mark.ci
def test_the_javascript_bot_plays_in_a_tournament(node: Node, tmp_path: Path) -> None:
    program, folder = node
    words = ["random", f"nodette={program} {folder / 'bot.mjs'}", "--game", "nim", "--seed", "1"]
    done = run("arena", "tournament", *words, "--data", str(tmp_path / "data"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("nim round-robin, 1 match (decided 1)")


async def test_the_javascript_bot_plays_rated_matches(node: Node, port: int, tmp_path: Path) -> None:
    environ = {"ARENA_URL": f"ws://127.0.0.1:{port}", "ARENA_GAME": "nim", "ARENA_MATCHES": "3"}
    javascript, python = await asyncio.gather(
        run_command(node.program, "bot.mjs", folder=tmp_path, cwd=node.folder, **environ),
        run_command(sys.executable, str(EXAMPLES / "mine.py"), folder=tmp_path, **environ),
    )
    assert (javascript.code, javascript.errors) == (0, b"")
    other = {"won": "lost", "lost": "won"}
    results = re.findall(r"nodette: (won|lost) (\S+)\n", javascript.output.decode())
    assert len(results) == 3
    told = python.output.decode()
    assert all(f"mine: {other[how]} {match} against nodette, rating " in told for how, match in results)


async def told(node: Node, **environ: str) -> tuple[int | None, str]:
    """What the bot says in the end on standard error, and its exit code."""
    end = await run_command(node.program, "bot.mjs", folder=node.folder, cwd=node.folder, **environ)
    return end.code, end.errors.decode()


async def begun(node: Node, **environ: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        node.program, "bot.mjs", cwd=node.folder, env=user_environ(**environ), stderr=asyncio.subprocess.PIPE
    )


@pytest.mark.parametrize(
    ("environ", "sentence"),
    [
        ({"ARENA_URL": "localhost"}, "ARENA_URL is 'localhost': write it like ws://127.0.0.1:8765"),
        pytest.param(
            {"ARENA_URL": "ws://"}, "ARENA_URL is 'ws://': write it like ws://127.0.0.1:8765", marks=pytest.mark.ci
        ),
        ({"ARENA_MATCHES": "many"}, "ARENA_MATCHES is 'many': a whole number, 1 or more"),
    ],
)
async def test_a_setting_that_is_wrong_is_said_before_anything_is_done(
    node: Node, environ: dict[str, str], sentence: str
) -> None:
    assert await told(node, **environ) == (2, f"nodette: {sentence}\n")
    assert not list(node.folder.glob(".arena-token-*"))


async def test_why_there_is_no_connection_is_said(node: Node) -> None:
    process = await begun(node, ARENA_URL=f"ws://127.0.0.1:{free_port()}")
    try:
        assert process.stderr is not None
        line = await asyncio.wait_for(process.stderr.readline(), WITHIN)
    finally:
        process.kill()
        await process.communicate()
    assert re.search(r" \(1006, .+\); trying again\n$", line.decode())


async def test_a_port_that_is_none_for_bots_is_left_with_what_it_says(node: Node) -> None:
    if not (node.folder / "node_modules").exists():
        pytest.skip("Node's own WebSocket does not tell what was answered in HTTP")

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 23\r\n\r\nbots connect elsewhere\n")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    url = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        assert await told(node, ARENA_URL=url) == (
            1,
            f"nodette: {url} answered HTTP 404: bots connect elsewhere\n",
        )


async def test_where_the_token_of_a_name_may_be_is_said(node: Node, port: int) -> None:
    url = f"ws://127.0.0.1:{port}"
    async with player(url, "nodette"):
        code, err = await told(node, ARENA_URL=url)
    assert code == 1
    assert "its token is in the file .arena-token-nodette of the folder where it first ran" in err


def test_the_javascript_bot_passes_the_course_of_faults_which_is_whole_at_night(node: Node, tmp_path: Path) -> None:
    words = (node.program, str(node.folder / "bot.mjs"))
    if IS_NIGHTLY:
        codes, cases = examined_whole(tmp_path, *words)
    else:
        code, cases = examined(tmp_path, *words, only=("match", "rejected", "cut-turn"))
        codes = [code]
    assert (faults(cases), set(codes)) == ({}, {0})


def test_a_node_without_a_websocket_is_told_in_a_line_how_to_have_one(tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "bot.mjs", tmp_path)
    assert without_websocket(tmp_path / "bot.mjs") == (2, f"nodette: {NO_WEBSOCKET}")
