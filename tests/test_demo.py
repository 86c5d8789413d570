"""scripts/demo, the first that a newcomer runs: what it says of the bots is what its tournament shows."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from commands import REPOSITORY
from tournaments import played

DEMO = (REPOSITORY / "scripts" / "demo").read_text()


@pytest.mark.nightly
def test_the_demo_says_of_dice_and_bots_what_its_tournament_shows(tmp_path: Path) -> None:
    (words,) = re.findall(r"^\.venv/bin/arena (tournament .* --game risk-duel .*) --data", DEMO, re.MULTILINE)
    data, file = str(tmp_path / "data"), tmp_path / "out.json"
    done = played("arena", *shlex.split(words), "--data", data, "--json", str(file))
    assert done.code == 0, done.err
    table = json.loads(file.read_text())["table"]
    assert [row["bot"] for row in table] == ["alphabeta", "greedy", "random"]
    assert [(row["rank"], row["best_rank"], row["worst_rank"]) for row in table] == [(n, n, n) for n in (1, 2, 3)]
    first, second, third = (row["adjusted"] for row in table)
    assert first["low"] > second["high"]
    assert second["low"] > third["high"]
    assert "bots rank by it: alphabeta is better than greedy, and greedy than random" in DEMO
