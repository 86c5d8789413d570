"""A server and a tournament try a game of a file by some random matches before bots meet it."""

from __future__ import annotations

from pathlib import Path

import pytest

from arena.commands.rehearsal import rehearse_game
from arena.commands.serve import check_references
from arena.commands.settings import ServerSettings
from arena.host.game_watch import GameLimits
from commands import call
from protocol.errors import UsageFault
from wrong_games import brought, write_game

pytestmark = pytest.mark.usefixtures("no_brought_games")

PLAY = "return Count(state.number + move, 1 - state.seat)"
VOID = (PLAY, "return Count(state.number + move, 5)")
RING = "import signal; signal.raise_signal(signal.SIGALRM)"
"""Code that does in rules what an alarm does once their time is up."""


@pytest.fixture(autouse=True)
def _unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the random matches all the time that they need on a busy machine."""
    monkeypatch.setattr("arena.commands.rehearsal.TIME_LIMIT_S", 600.0)
    monkeypatch.setattr("arena.commands.rehearsal.MATCH_TIMEOUT_S", 600.0)


def test_right_rules_and_built_in_ones_pass_in_silence(tmp_path: Path) -> None:
    with brought(write_game(tmp_path)):
        assert rehearse_game("counting") == ""
    assert rehearse_game("nim") == ""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (VOID, "counting.py, line 20: the seat to move is 5: "),
        (("return [1, 2]", "return []"), "counting.py, line 23: moves returns no move, although a seat is to move: "),
        ((PLAY, RING), "counting.py, line 27: play was interrupted, as it took longer than 1 s: "),
        ((PLAY, "return Count(state.number + 0.5, 0)"), "counting.py: the state does not fit the type of a state, so "),
    ],
)
def test_rules_that_void_each_match_are_refused(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    with brought(write_game(tmp_path, change)), pytest.raises(UsageFault) as refused:
        rehearse_game("counting")
    assert str(refused.value).startswith(said)
    assert str(refused.value).endswith(": each match would be void; `arena game check counting.py` tries more")


def test_rules_that_void_some_matches_are_named(tmp_path: Path) -> None:
    with brought(write_game(tmp_path, (PLAY, f"assert state.number < 4\n        {PLAY}"))):
        assert rehearse_game("counting") == (
            "counting.py, line 27: AssertionError: 2 of 3 random matches would be void; `arena game check counting.py` "
            "tries more"
        )


def test_rules_that_pages_can_not_draw_are_named(tmp_path: Path) -> None:
    with brought(write_game(tmp_path, ("return str(state.number)", "print(end='')"))):
        assert rehearse_game("counting") == (
            "counting.py, line 32: draw returns None: it returns a text: pages can't show the game; "
            "`arena game check counting.py` tries more"
        )


def test_rules_that_draw_random_numbers_of_their_own_are_refused(tmp_path: Path) -> None:
    change = (PLAY, "return Count(state.number + next(self.numbers), 1 - state.seat)")
    numbers = ("    name =", "    numbers = __import__('itertools').count(1)\n    name =")
    with (
        brought(write_game(tmp_path, change, numbers)),
        pytest.raises(UsageFault, match="no record of counting would verify: only chance events are random"),
    ):
        rehearse_game("counting")


def test_slow_rules_are_named(tmp_path: Path) -> None:
    with brought(write_game(tmp_path)):
        said = rehearse_game("counting", GameLimits(slow_call_s=0.0, call_timeout_s=1.0))
    assert said.startswith("counting.py: ")
    assert "calls of more than 0 ms): a server logs such calls" in said


def test_a_game_without_an_end_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("referee.rehearsal.MAX_REHEARSED_PLIES", 20)
    monkeypatch.setattr("arena.commands.rehearsal.MAX_REHEARSED_PLIES", 20)
    with brought(write_game(tmp_path, ("state.number >= 5", "False"))):
        assert rehearse_game("counting").startswith(
            "counting.py: no random match of counting ended within 600 s or 20 plies; "
        )


def test_a_tournament_and_a_server_refuse_a_game_whose_matches_would_all_be_void(tmp_path: Path) -> None:
    file, data = write_game(tmp_path, VOID), tmp_path / "data"
    with brought(file):
        with pytest.raises(UsageFault, match="each match would be void"):
            check_references(ServerSettings(data=str(data), games=str(file)))
        refused = call("arena", "tournament", "a=random", "b=random", "--game", str(file), "--data", str(data))
    assert refused.code == 2
    assert refused.err.startswith("arena: counting.py, line 20: the seat to move is 5")
    assert refused.err.count("\n") == 1
