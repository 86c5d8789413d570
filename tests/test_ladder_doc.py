"""docs/ladder.md and docs/tournaments.md: the tables of payoffs are those that the command gives."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from commands import REPOSITORY, call
from tournaments import played

LADDER = (REPOSITORY / "docs" / "ladder.md").read_text()
TOURNAMENTS = (REPOSITORY / "docs" / "tournaments.md").read_text()


@pytest.mark.nightly
def test_who_always_defects_wins_every_match_and_is_paid_least(tmp_path: Path) -> None:
    found = re.search(r"```\narena (tournament .*)\narena leaderboard\n```\n\n```\n((?:.+\n)+)```", LADDER)
    assert found is not None
    done = played("arena", *shlex.split(found[1]), "--data", str(tmp_path))
    assert done.code == 0
    assert call("arena", "leaderboard", "--data", str(tmp_path)).out == found[2]
    shown = re.search(r"```\n(#  range +bot +a round .*\n(?:.*\n)+?)```", TOURNAMENTS)
    assert shown is not None
    assert [line.rstrip() for line in done.out.splitlines()[2:]] == shown[1].splitlines()
    match = call("arena", "matches", "--bot", "always-defect", "--limit", "1", "--csv", "--data", str(tmp_path)).out
    told = call("arena", "replay", "show", match.splitlines()[1].split(",")[1], "--data", str(tmp_path)).out
    assert re.search(r"1\. always-defect  1\.020 a round  .*\n  2\. [a-z-]+  0\.995 a round  ", told)
