"""A person at a terminal, as a process of its own, against a bot that takes any match."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from in_process import hosting, playing
from processes import run


async def test_a_match_is_played_by_typing_and_what_is_no_move_costs_nothing(tmp_path: Path) -> None:
    async with hosting(tmp_path) as served, playing(served, "random", "--open"):
        words = ("run", "human", "--name", "me", "--game", "nim", "--unrated", "--opponent", "random")
        typed = "what\n9 from heap 9\n" + "1\n" * 30
        code, *both = await run("arena-bot", *words, "--url", served.url, folder=tmp_path, typed=typed)
    said = "\n".join(both)
    assert code == 0, said
    assert "'what' is not a move here: write it like 2 from heap 1" in said
    assert "there is no heap 9" in said
    assert "rejected" not in said
    assert re.search(r"^random: \d from heap \d$", said, re.MULTILINE)
    assert re.search(r"^me: (won|lost) \S+ against random, unrated$", said, re.MULTILINE)


@pytest.mark.parametrize(
    ("game", "config", "typed", "says"),
    [
        ("dilemma", "rounds=2", "cooperate\ndef\n", r"^you chose defect; it is shown when all have chosen$"),
        ("kuhn", "hands=1", "raise\ncheck\nfold\nbet\ncall\nfold\n" * 2, r"^cards: (\? [JQK]|[JQK] \?)$"),
    ],
)
async def test_a_person_plays_rounds_and_hands_and_sees_what_its_seat_may(
    tmp_path: Path, game: str, config: str, typed: str, says: str
) -> None:
    async with hosting(tmp_path) as served, playing(served, "random", "--open"):
        words = ("run", "human", "--name", "me", "--game", game, "--config", config, "--opponent", "random")
        words = (*words, "--unrated", "--url", served.url)
        code, *both = await run("arena-bot", *words, folder=tmp_path, typed=typed)
    said = "\n".join(both)
    assert code == 0, said
    assert re.search(says, said, re.MULTILINE), said
    assert not re.search(r"^cards: [JQK] [JQK]$", said.partition("me: ")[0], re.MULTILINE)
    told = r"^me: (won|lost|drew) \S+ against random, -?\d\.\d{3} to -?\d\.\d{3} a (round|hand), unrated$"
    assert re.search(told, said, re.MULTILINE), said
