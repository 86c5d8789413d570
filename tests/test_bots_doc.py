"""docs/bots.md: its commands play the matches that its tables show."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from commands import REPOSITORY, call
from tournaments import played

MATCH = re.compile(r"```\narena (tournament .*)\narena (replay show .*)\n```\n\n((?:\|.*\n)+)")
MATCHES = MATCH.findall((REPOSITORY / "docs" / "bots.md").read_text())


@pytest.mark.parametrize(
    ("tournament", "show", "table"),
    [
        pytest.param(*match, id=match[0].split(" --")[0], marks=[pytest.mark.ci] if number else [])
        for number, match in enumerate(sorted(MATCHES, key=lambda match: "random" not in match[0]))
    ],
)
def test_the_commands_play_the_match_that_the_table_shows(
    tournament: str, show: str, table: str, tmp_path: Path
) -> None:
    assert played("arena", *shlex.split(tournament), "--data", str(tmp_path)).code == 0
    shown = call("arena", *shlex.split(show), "--data", str(tmp_path)).out
    listed = re.findall(r"^ *(\d+)  (\S+) +(\S.*?)(?:  .*)?$", shown.split("\n\n")[0], re.MULTILINE)
    told = [tuple(cell.strip() for cell in row.split("|")[1:4]) for row in table.splitlines()[2:]]
    assert told == listed


def test_every_bot_that_plays_campaigns_has_a_match() -> None:
    named = set(re.findall(r"[a-z]+", " ".join(match[0].split(" --")[0] for match in MATCHES)))
    assert {"random", "greedy", "minimax", "alphabeta", "ga", "raider", "uct"} <= named
