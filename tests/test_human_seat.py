"""A person at a terminal, as a process of its own, against a bot that takes any match."""

from __future__ import annotations

import asyncio
import os
import re
from asyncio.subprocess import PIPE, STDOUT
from pathlib import Path

import pytest

import zygote
from in_process import hosting, playing
from timeouts import WITHIN


async def test_a_match_is_played_by_typing_and_what_is_no_move_costs_nothing(tmp_path: Path) -> None:
    async with hosting(tmp_path) as served, playing(served, "random", "--open"):
        words = ("run", "human", "--name", "me", "--game", "nim", "--unrated", "--opponent", "random")
        process = await zygote.async_program(
            ["bots", *words, "--url", served.url],
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
    assert re.search(
        r"^me: (won \S+ against random \(win\)|lost \S+ against random \(played out\)), unrated$", said, re.MULTILINE
    )


@pytest.mark.parametrize(
    ("game", "config", "typed", "says"),
    [
        ("dilemma", "rounds=2", "cooperate\ndef\n", r"^you chose defect; told once all have chosen$"),
        ("kuhn", "hands=1", "raise\ncheck\nfold\nbet\ncall\nfold\n" * 2, r"^cards: (\? [JQK]|[JQK] \?)$"),
    ],
)
async def test_a_person_plays_rounds_and_hands_and_sees_what_its_seat_may(
    tmp_path: Path, game: str, config: str, typed: str, says: str
) -> None:
    async with hosting(tmp_path) as served, playing(served, "random", "--open"):
        words = ("run", "human", "--name", "me", "--game", game, "--config", config, "--opponent", "random")
        process = await zygote.async_program(
            ["bots", *words, "--unrated", "--url", served.url],
            env={**os.environ, "XDG_CONFIG_HOME": str(tmp_path / "config")},
            stdin=PIPE,
            stdout=PIPE,
            stderr=STDOUT,
        )
        said = (await asyncio.wait_for(process.communicate(typed.encode()), WITHIN))[0].decode()
    assert process.returncode == 0, said
    assert re.search(says, said, re.MULTILINE), said
    assert not re.search(r"^cards: [JQK] [JQK]$", said.partition("me: ")[0], re.MULTILINE)
    end = r"(won \S+ against random \(win|lost \S+ against random \(played out|drew \S+ against random \(draw)\)"
    told = rf"^me: {end}, -?\d\.\d{{3}} to -?\d\.\d{{3}} a (round|hand), unrated$"
    assert re.search(told, said, re.MULTILINE), said
