"""The learnt policy of docs/examples/learnt: it connects as a bot, plays better than chance, and knows its config."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bots import play_all
from measuring.pair_scores import SideScore
from measuring.scores import estimate_scores
from protocol.errors import UsageFault
from tournaments import tournament

BOT = Path(__file__).parents[2] / "docs" / "examples" / "learnt" / "bot.py"


def test_it_plays_matches_in_an_arena(tmp_path: Path) -> None:
    words = [f"learnt={sys.executable} {BOT}", "random", "--game", "risk-duel", "--paired"]
    matches = tournament(tmp_path / "data", *words, "--seed", "7")["matches"]
    assert [match["reason"] for match in matches] == ["win"] * 2
    assert not any(seat["reason"] != "win" for match in matches for seat in match["seats"])


def test_it_is_better_than_a_bot_that_plays_at_random() -> None:
    matches = []
    for seat, bots in enumerate(([str(BOT), "random"], ["random", str(BOT)])):
        for start, match in enumerate(play_all(bots, "risk-duel", range(50))):
            luck = match.luck("features-1").total[seat]
            matches.append(SideScore(points=match.points[seat], luck=luck, start=start, seat=seat))
    adjusted = estimate_scores(matches).adjusted
    assert adjusted is not None
    assert adjusted.low > 0.65


def test_under_another_config_than_it_learnt_it_says_so() -> None:
    with pytest.raises(UsageFault, match=r"learnt under another config: sizes \(18, 18\), not \(\d+, \d+\)"):
        play_all([str(BOT), "random"], "risk-duel", [1], config={"map": "africa"})


def test_what_cannot_be_learnt_or_kept_is_refused_before_it_begins(tmp_path: Path) -> None:
    train, kept = BOT.with_name("train.py"), tmp_path / "policy.npz"
    kept.write_bytes(b"learnt before")
    for words, said in (
        (["--minutes", "nan", "--to", kept], "argument --minutes: nan is not a number above 0"),
        (["--minutes", "-1", "--to", kept], "argument --minutes: -1 is not a number above 0"),
        (["--luck", "skill", "--to", kept], "risk-duel in batches has no value 'skill': it has"),
        (["--to", tmp_path / "no" / "p.npz"], "p.npz cannot be written: give a file in a folder that there is"),
    ):
        done = subprocess.run([sys.executable, train, *words], capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert said in done.stderr
        assert "Traceback" not in done.stderr
    assert kept.read_bytes() == b"learnt before"


def test_what_is_learnt_anew_can_be_played(tmp_path: Path) -> None:
    policy = tmp_path / "policy"
    train = [sys.executable, str(BOT.with_name("train.py")), "--minutes", "0.001", "--to", str(policy)]
    done = subprocess.run(train, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(f"moves learnt from: {policy}\n")
    assert next(play_all([f"{BOT}:Learnt:policy={policy}", "random"], "risk-duel", [1])).result.reason == "win"
