"""docs/examples/ahead.py, the first bot of the documents that plays Risk: what they print, and as good as they say."""

from __future__ import annotations

import re

import pytest

from bots import Bot, Turn, play_all
from commands import REPOSITORY

TEXT = (REPOSITORY / "docs" / "writing-a-bot.md").read_text()
FILE = REPOSITORY / "docs" / "examples" / "ahead.py"
RESULT = re.compile(r"It won (\d+) of 200 games against `legal\[0\]`, 100 from each seat")
"""The sentence of the document with the number of games that it won."""


class First(Bot):
    def choose(self, turn: Turn) -> object:  # type: ignore[override]
        return turn.legal[0]


def test_the_document_prints_the_file_and_how_often_it_won() -> None:
    assert f"```python\n{FILE.read_text()}```\n" in TEXT
    assert len(RESULT.findall(TEXT)) == 1


def test_it_wins_against_the_first_legal_move_from_either_seat() -> None:
    first = [played.points[0] for played in play_all([str(FILE), First("first")], "risk-duel", range(12))]
    second = [played.points[1] for played in play_all([First("first"), str(FILE)], "risk-duel", range(12))]
    assert sum(first) > 6
    assert sum(second) > 6


@pytest.mark.nightly
def test_it_wins_as_often_against_the_first_legal_move_as_the_document_says() -> None:
    matches = [
        *((0, played) for played in play_all([str(FILE), First("first")], "risk-duel", range(100))),
        *((1, played) for played in play_all([First("first"), str(FILE)], "risk-duel", range(100))),
    ]
    won = sum(played.points[seat] == 1 for seat, played in matches)
    assert (won, len(matches)) == (int(RESULT.findall(TEXT)[0]), 200)
