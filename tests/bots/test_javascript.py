"""The JavaScript example, run by Node against the real server."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from commands import run
from examined import QUICK, examined, faults
from node import Node, node_in
from patience import WITHIN

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """Node beside a copy of the example."""
    made = node_in(tmp_path / "js")
    shutil.copy(EXAMPLES / "bot.mjs", made.folder)
    return made


def test_the_javascript_bot_plays_in_a_tournament(node: Node, tmp_path: Path) -> None:
    program, folder = node
    words = ["random", f"nodette={program} {folder / 'bot.mjs'}", "--game", "nim", "--seed", "1"]
    done = run("arena", "tournament", *words, "--data", str(tmp_path / "data"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("nim round-robin, 1 match (win 1)")


async def test_the_javascript_bot_plays_rated_matches(node: Node, port: int, tmp_path: Path) -> None:
    program, folder = node
    environ = {
        **{key: value for key, value in os.environ.items() if not key.startswith("ARENA_")},
        "ARENA_URL": f"ws://127.0.0.1:{port}",
        "ARENA_GAME": "nim",
        "ARENA_MATCHES": "3",
        "XDG_CONFIG_HOME": str(tmp_path),
    }
    javascript = await asyncio.create_subprocess_exec(
        program, "bot.mjs", cwd=folder, env=environ, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    python = await asyncio.create_subprocess_exec(
        sys.executable, str(EXAMPLES / "mine.py"), env=environ, stdout=asyncio.subprocess.PIPE
    )
    try:
        out, err = await asyncio.wait_for(javascript.communicate(), WITHIN)
        told, _ = await asyncio.wait_for(python.communicate(), WITHIN)
    finally:
        for process in (javascript, python):
            if process.returncode is None:
                process.kill()
                await process.wait()
    assert (javascript.returncode, err.decode()) == (0, "")
    other = {"won": "lost", "lost": "won"}
    results = re.findall(r"nodette: (won|lost) (\S+) \(win\)\n", out.decode())
    assert len(results) == 3
    assert all(f"mine: {other[how]} {match} against nodette (win), rating " in told.decode() for how, match in results)


@pytest.mark.parametrize("only", [QUICK, pytest.param((), marks=pytest.mark.ci)], ids=["quick", "whole"])
def test_the_javascript_bot_passes_the_course_of_faults(node: Node, tmp_path: Path, only: tuple[str, ...]) -> None:
    code, cases = examined(tmp_path, node.program, str(node.folder / "bot.mjs"), only=only)
    assert (faults(cases), code) == ({}, 0)
