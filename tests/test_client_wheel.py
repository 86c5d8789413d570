"""Somebody with only an arena's address: its page, pip, and a program of five lines are a bot, on Windows, too."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from processes import Served, serving
from timeouts import WITHIN
from web_client import answer, code

pytestmark = pytest.mark.ci
WITHOUT_UNIX = Path(__file__).parent / "without_unix.py"
LISTED = """
import json, sys
from importlib.metadata import distributions
from pathlib import Path
found = {one.name: one for one in distributions() if one.name not in ("pip", "setuptools")}
files = [file.locate() for one in found.values() for file in one.files]
print(json.dumps([sorted(found), sum(Path(file).stat().st_size for file in files if Path(file).exists())]))
"""
EVERYTHING = """
import pkgutil, importlib, bots, machine, protocol
for package in (bots, machine, protocol):
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)
"""


class Laptop(NamedTuple):
    """A folder with an environment of its own, and the Python in it."""

    folder: Path
    python: Path

    async def run(self, *words: str) -> tuple[int, str]:
        """Run Python there: the exit code, and all that was said."""
        plain = {key: value for key, value in os.environ.items() if not key.startswith(("ARENA_", "PYTHON"))}
        process = await asyncio.create_subprocess_exec(
            self.python,
            *words,
            cwd=self.folder,
            env={**plain, "HOME": str(self.folder), "XDG_CONFIG_HOME": str(self.folder), "PIP_NO_CACHE_DIR": "1"},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            said, _ = await asyncio.wait_for(process.communicate(), WITHIN)
        finally:
            if process.returncode is None:
                process.kill()
        assert process.returncode is not None
        return process.returncode, said.decode()


async def connected(arena: Served, folder: Path) -> tuple[Laptop, list[str]]:
    """A laptop, in an empty folder, on which was done what the arena's page says; the words that run the bot, after
    `python`.
    """
    page = (await asyncio.to_thread(answer, f"{await arena.page()}/connect?bot=ann")).text
    laptop = Laptop(folder, folder / "env" / "bin" / "python")
    ours = Laptop(folder, Path(sys.executable))
    code_, said = await ours.run("-m", "venv", "--without-pip", "env")
    assert code_ == 0, said
    install, run = code(page, "pip").split(), code(page, "python-run").split()
    assert install[:3] == ["python", "-m", "pip"]
    assert run[0] == "python"
    code_, said = await ours.run("-m", "pip", "--python", "env", *install[3:])  # to unpack a pip there takes longest
    assert code_ == 0, said
    (folder / run[1]).write_text(code(page, "python"))
    return laptop, run[1:]


async def test_who_has_only_the_address_of_an_arena_has_a_bot_that_plays(tmp_path: Path) -> None:
    (laptop_folder := tmp_path / "laptop").mkdir()
    house = ("--web-port", "0", "--builtin-bots", "random")
    async with serving(tmp_path / "data", *house) as arena:
        laptop, bot = await connected(arena, laptop_folder)
        packages, size = json.loads((await laptop.run("-c", LISTED))[1])
        assert packages == ["bot-arena-client", "msgpack", "msgspec", "websockets"]
        assert size < 10e6
        played = re.compile(r"ann: connected to \S+\nann: (won|lost) \S+ against random, rating .*\n")
        code_, said = await laptop.run(*bot, "--matches", "1")
        assert (code_, bool(played.fullmatch(said))) == (0, True), said

        (site,) = laptop.folder.glob("env/lib/python3*/site-packages")
        shutil.copy(WITHOUT_UNIX, site / "sitecustomize.py")
        assert "No module named 'fcntl'" in (await laptop.run("-c", "import fcntl"))[1]
        assert await laptop.run("-c", EVERYTHING) == (0, "")
        code_, said = await laptop.run(*bot, "--matches", "1")
        assert (code_, bool(played.fullmatch(said))) == (0, True), said

        shutil.copy(laptop.folder / bot[0], laptop.folder / "my_bot_old.py")
        code_, said = await laptop.run(*bot, "--against", "my_bot_old.py")
        assert code_ == 0, said
        assert "from this start my_bot.py can't be told from my_bot_old.py: it scores 0.500" in said

        refused = "this arena runs no programs of others: ask its operator, or connect the bot yourself"
        assert await laptop.run(*bot, "--submit") == (1, f"ann: {refused}\n")

        (laptop.folder / "local.py").write_text("from bots import play\n")
        assert await laptop.run("local.py") == (
            2,
            "local.py, line 1: play is in bot-arena, not in bot-arena-client, which is for play at an arena alone\n",
        )
