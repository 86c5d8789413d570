"""The learnt policy of docs/examples/learnt: it connects as a bot, plays better than chance, and knows its config."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from bots import play_all
from measuring.adjusted_scores import estimate_scores
from measuring.pair_scores import SideScore
from protocol.errors import UsageFault
from tournaments import tournament

BOT = Path(__file__).parents[2] / "docs" / "examples" / "learnt" / "bot.py"


@pytest.mark.ci
def test_it_plays_matches_in_an_arena(tmp_path: Path) -> None:
    words = [f"learnt={sys.executable} {BOT}", "random", "--game", "risk-duel", "--paired"]
    matches = tournament(tmp_path / "data", *words, "--seed", "7")["matches"]
    assert [match["reason"] for match in matches] == ["win"] * 2
    assert not any(seat["reason"] != "win" for match in matches for seat in match["seats"])


def test_it_is_better_than_a_bot_that_plays_at_random() -> None:
    matches = []
    for seat, bots in enumerate(([str(BOT), "random"], ["random", str(BOT)])):
        for start, match in enumerate(play_all(bots, "risk-duel", range(36))):
            luck = match.luck("features-1").total[seat]
            matches.append(SideScore(points=match.points[seat], luck=luck, start=start, seat=seat))
    adjusted = estimate_scores(matches).adjusted
    assert adjusted is not None
    assert adjusted.low > 0.65


def test_under_another_config_than_it_learnt_it_says_so() -> None:
    with pytest.raises(UsageFault, match=r"learnt under another config: sizes \(18, 18\), not \(\d+, \d+\)"):
        play_all([str(BOT), "random"], "risk-duel", [1], config={"map": "africa"})


def test_what_cannot_be_learnt_or_kept_is_refused_before_it_begins(
    train: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "policy.npz"
    kept.write_bytes(b"learnt before")
    for words, said in (
        (["--minutes", "nan", "--to", kept], "argument --minutes: nan is not a number above 0"),
        (["--minutes", "-1", "--to", kept], "argument --minutes: -1 is not a number above 0"),
        (["--luck", "skill", "--to", kept], "risk-duel in batches has no value function 'skill': it has"),
        (["--to", tmp_path / "no" / "p.npz"], "p.npz cannot be written: give a file in a folder that there is"),
    ):
        with pytest.raises(SystemExit) as refused:
            learn(train, *words)
        assert refused.value.code == 2
        assert said in capsys.readouterr().err
    assert kept.read_bytes() == b"learnt before"


def test_what_is_learnt_of_a_few_games_can_be_played(
    train: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Processor time is told by a clock of its own: after one round a minute is over."""
    monkeypatch.setattr(train, "GAMES", 4)
    monkeypatch.setattr(train, "time", SimpleNamespace(process_time=iter((0.0, 0.0, 60.0)).__next__))
    learn(train, "--minutes", "1", "--to", tmp_path / "policy")
    assert capsys.readouterr().out == f"{4 * train.STEPS} moves learnt from: {tmp_path / 'policy'}\n"
    check_policy(tmp_path / "policy")


@pytest.mark.nightly
def test_what_is_learnt_anew_can_be_played(tmp_path: Path) -> None:
    policy = tmp_path / "policy"
    train = [sys.executable, str(BOT.with_name("train.py")), "--minutes", "0.001", "--to", str(policy)]
    done = subprocess.run(train, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(f"moves learnt from: {policy}\n")
    check_policy(policy)


@pytest.fixture
def train(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The program that learns, with the module `bot` beside it as in a process of its own."""
    monkeypatch.syspath_prepend(BOT.parent)
    monkeypatch.delitem(sys.modules, "bot", raising=False)
    spec = importlib.util.spec_from_file_location("train", BOT.with_name("train.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.delitem(sys.modules, "bot")
    return module


def learn(train: ModuleType, *words: object) -> None:
    """Run the program with these words."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["train.py", *map(str, words)])
        train.main()


def check_policy(policy: Path) -> None:
    assert next(play_all([f"{BOT}:Learnt:policy={policy}", "random"], "risk-duel", [1])).result.reason == "win"
