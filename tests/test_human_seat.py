"""A person at a terminal, as a process of its own, against a bot of the house."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from asyncio.subprocess import PIPE, STDOUT
from pathlib import Path

from processes import REPOSITORY, serving
from timeouts import WITHIN


async def test_a_match_is_played_by_typing_and_what_is_no_move_costs_nothing(tmp_path: Path) -> None:
    async with serving(tmp_path, "--house", "random") as served:
        words = ("run", "human", "--name", "me", "--game", "nim", "--unrated", "--opponent", "random")
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "bots", *words, "--url", served.url),
            cwd=REPOSITORY,
            env={**os.environ, "XDG_CONFIG_HOME": str(tmp_path / "config")},
            stdin=PIPE,
            stdout=PIPE,
            stderr=STDOUT,
        )
        typed = b"what\n9 from heap 9\n" + b"1\n" * 30
        said = (await asyncio.wait_for(process.communicate(typed), WITHIN))[0].decode()
    assert process.returncode == 0, said
    assert "'what' is no move here: it is written like 2 from heap 1" in said
    assert "there is no heap 9" in said
    assert "rejected" not in said
    assert re.search(r"^random: \d from heap \d$", said, re.MULTILINE)
    assert re.search(r"^me: (won|lost) \S+ against random \(win\), unrated$", said, re.MULTILINE)
