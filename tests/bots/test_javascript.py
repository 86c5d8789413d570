"""The JavaScript example, run by Node against the real server."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from commands import run
from patience import WITHIN

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


@pytest.fixture
def node(tmp_path: Path) -> tuple[str, Path]:
    """Node and a copy of the example, with `ws` beside it. Without Node the test is skipped; in CI it fails."""
    program, npm = shutil.which("node"), shutil.which("npm")
    if program is None or npm is None:
        if os.environ.get("CI"):
            pytest.fail("node or npm is not installed")
        pytest.skip("node or npm is not installed")
    folder = tmp_path / "js"
    folder.mkdir()
    shutil.copy(EXAMPLES / "bot.mjs", folder)
    (folder / "package.json").write_text('{"private": true}')
    built_in = subprocess.run([program, "-e", "process.exit(globalThis.WebSocket ? 0 : 1)"], timeout=WITHIN)
    if built_in.returncode:
        install = [npm, "install", "--no-audit", "--no-fund", "--silent", "ws@8"]
        subprocess.run(install, cwd=folder, check=True, timeout=WITHIN)
    return program, folder


def test_the_javascript_bot_plays_in_a_tournament(node: tuple[str, Path], tmp_path: Path) -> None:
    program, folder = node
    words = ["random", f"nodette={program} {folder / 'bot.mjs'}", "--game", "nim", "--seed", "1"]
    done = run("arena", "tournament", *words, "--data", str(tmp_path / "data"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("nim round-robin, 1 match (win 1)")


async def test_the_javascript_bot_plays_rated_matches(node: tuple[str, Path], port: int, tmp_path: Path) -> None:
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
    assert len(out.decode().splitlines()) == 3
    assert told.decode().count("against nodette (win), rating ") == 3


@pytest.mark.ci
def test_the_javascript_bot_passes_the_course_of_faults(node: tuple[str, Path], tmp_path: Path) -> None:
    program, folder = node
    log = tmp_path / "bot.log"
    done = run("arena", "doctor", "--json", "--log", str(log), "--", program, str(folder / "bot.mjs"))
    assert (done.returncode, done.stderr) == (0, "")
    cases = json.loads(done.stdout)["cases"]
    assert [case for case in cases if case["verdict"] != "ok"] == []
