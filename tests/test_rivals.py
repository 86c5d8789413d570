"""The rivals keep to the rules: whole campaigns in process and over a real server, on any map, without a strike."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Any

import pytest

from bots import play
from protocol.reasons import DRAW, ROUND_LIMIT, WIN
from referee.record import Strike
from tournaments import tournament

FOLDER = Path(__file__).with_name("rivals")
FILES = [str(FOLDER / f"{name}.py") for name in ("cluster", "hahn", "mars")]
SHORT = {"max_rounds": 8}
CONFIGS = [
    {"battle": "deterministic"},
    {"draft": "classic", "max_attacks": 1, "initial_units": 5},
    {"map": "south-america", "players": 3, "max_attacks": 20},
    pytest.param({"map": "world", "players": 6, "draft": "classic", "max_attacks": 5}, marks=pytest.mark.ci),
]
PLAYED_OUT = {WIN, ROUND_LIMIT, DRAW}


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_rivals_play_campaigns_of_any_kind_to_the_end_and_no_move_of_theirs_is_refused(config: dict[str, Any]) -> None:
    bots = list(itertools.islice(itertools.cycle(FILES), config.get("players", 2) + 1))
    for seed, seated in enumerate((bots[:-1], bots[1:])):
        played = play(seated, "risk-campaign", config={**SHORT, **config}, seed=seed, raises=True)
        assert played.result.reason in PLAYED_OUT
        assert not [line for line in played.record.lines if isinstance(line, Strike)]


@pytest.mark.ci
@pytest.mark.parametrize(("players", "matches"), [pytest.param(2, 6, marks=pytest.mark.ci), (3, 3)])
def test_rivals_play_as_processes_and_lose_nothing_but_by_play(tmp_path: Path, players: int, matches: int) -> None:
    rivals = [f"{Path(file).stem}={sys.executable} {file}" for file in FILES]
    config = ["--set", f"players={players}", "--set", "max_rounds=8"]
    content = tournament(tmp_path / "t", *rivals, "--game", "risk-campaign", *config, "--paired", "--rounds", "1")
    assert len(content["matches"]) == matches
    assert {match["reason"] for match in content["matches"]} <= PLAYED_OUT
    assert [row["forfeits"] for row in content["table"]] == [0, 0, 0]


def test_rivals_are_no_easy_prey() -> None:
    """Each wins from both seats of one start against random moves."""
    for file, seat in itertools.product(FILES, (0, 1)):
        seated = [file, "random"] if not seat else ["random", file]
        assert play(seated, "risk-campaign", seed=3).points[seat] == 1
