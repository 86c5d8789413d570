"""`arena game check` times the author's methods, ends in time, and says what a server does with slow ones."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from arena.commands import progress
from arena.commands.preset_check import CheckedPreset, check_preset
from arena.commands.rules_timing import RulesTimer, SlowCalls, SlowMethod, describe_slow_calls
from arena.host.game_watch import MAX_TROUBLES, GameLimits
from commands import call
from machine.console import Console
from protocol.games import load_game
from protocol.games.author_methods import name_call
from protocol.games.base import Game
from wrong_games import brought, write_game

pytestmark = pytest.mark.usefixtures("no_brought_games")

PLAY = "return Count(state.number + move, 1 - state.seat)"
WINNER = "return 1 - state.seat\n\n    def draw"
RING = "import signal; signal.raise_signal(signal.SIGALRM)"
"""Code that does in rules what an alarm does once their time is up."""
CLOCK = ("    name =", "    now = [0.0]\n    name =")


def wait(seconds: str) -> str:
    return f"self.now[0] += {seconds}"


def with_check(
    folder: Path, changes: list[tuple[str, str]], check: Callable[[RulesTimer, Game[Any, Any]], None]
) -> None:
    """Check a game whose clock only goes on when its rules say so."""
    with brought(write_game(folder, CLOCK, *changes)):
        game = load_game("counting")
        now = game.turn_game.now  # type: ignore[attr-defined]
        timer = RulesTimer(GameLimits(), lambda: None, clock=lambda: now[0])
        with timer.install():
            check(timer, game)


def check_games(timer: RulesTimer, game: Game[Any, Any]) -> CheckedPreset:
    return check_preset(game, 5, 0, timer, lambda what: None)


def test_slow_calls_are_counted_by_the_method_that_the_author_wrote(tmp_path: Path) -> None:
    def check(timer: RulesTimer, game: Game[Any, Any]) -> None:
        assert check_games(timer, game).unchecked == []
        slow = timer.slow_calls.worst
        assert slow is not None
        assert (slow.method, round(slow.slowest_s, 3)) == ("moves", 0.2)
        assert slow.calls > MAX_TROUBLES

    with_check(tmp_path, [("return [1, 2]", f"{wait('0.2')}\n        return [1, 2]")], check)


def test_a_call_that_is_quick_when_it_is_timed_again_is_not_slow(tmp_path: Path) -> None:
    def check(timer: RulesTimer, game: Game[Any, Any]) -> None:
        check_games(timer, game)
        assert timer.slow_calls.worst is None

    # The first of two calls takes 0.3 s, the second goes back in time.
    with_check(tmp_path, [(PLAY, f"self.now[0] = 0.3 - self.now[0]\n        {PLAY}")], check)


def test_what_there_was_no_time_for_is_listed(tmp_path: Path) -> None:
    def check(timer: RulesTimer, game: Game[Any, Any]) -> None:
        timer.deadline = 3.0
        checked = check_games(timer, game)
        assert 1 <= checked.games < 5
        assert checked.unchecked[0] == f"{5 - checked.games} of 5 games"
        assert checked.unchecked[1:] == ["hidden information", "evaluate", "grid", "cells", "memory"]

    with_check(
        tmp_path,
        [("return [1, 2]", f"{wait('0.01')}\n        return [1, 2]"), (PLAY, f"{wait('0.04')}\n        {PLAY}")],
        check,
    )


def test_a_method_that_pages_alone_call_does_not_close_a_game(tmp_path: Path) -> None:
    def check(timer: RulesTimer, game: Game[Any, Any]) -> None:
        check_games(timer, game)
        assert timer.slow_calls.worst is None

    with_check(tmp_path, [("return str(state.number)", f"{wait('0.2')}\n        return str(state.number)")], check)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            [(WINNER, f"{RING}\n        {WINNER}")],
            "counting.py, line 30: a call of winner takes more than 1 s: a server interrupts it, voids its match and "
            "closes the game",
        ),
        (
            [("return str(state.number)", RING)],
            "counting.py, line 33: a call of draw takes more than 1 s: pages, commands and bots that need it would "
            "stand still",
        ),
    ],
)
def test_a_call_that_does_not_return_ends_the_check_with_its_line(
    tmp_path: Path, changes: list[tuple[str, str]], said: str
) -> None:
    checked = call("arena", "game", "check", str(write_game(tmp_path, *changes)), "--games", "2")
    assert (checked.code, checked.err) == (1, f"arena: {said}\n")


def test_the_line_on_slow_calls_says_what_a_server_does() -> None:
    assert describe_slow_calls(SlowMethod("moves", 1, 0.06), GameLimits()) == (
        "moves took up to 60 ms (one call of more than 50 ms): a server logs such calls, and closes the game after 10 "
        "within a minute"
    )
    assert describe_slow_calls(SlowMethod("moves", 12, 0.2), GameLimits()).endswith(
        "which voids its matches; make the method faster, or start the server with --slow-game-call 400"
    )


def test_a_call_is_named_by_what_its_author_wrote(tmp_path: Path) -> None:
    with brought(write_game(tmp_path, (WINNER, "return 1 / 0\n\n    def draw"))):
        rules = type(load_game("counting"))
        names = {method: name_call(rules, method) for method in ("apply", "legal_moves_for_turn", "ranks", "view")}
        assert names == {
            "apply": "moves and play",
            "legal_moves_for_turn": "moves",
            "ranks": "winner",
            "view": "view",
        }
        assert name_call(type(load_game("nim")), "apply") == "apply"
        with pytest.raises(ZeroDivisionError) as raised:
            load_game("counting").ranks(load_game("counting").decode_state({"number": 7, "seat": 0, "ply": 1}))
        assert name_call(rules, "apply", raised.value) == "winner"


def test_progress_is_a_line_that_changes_on_a_terminal_and_some_lines_elsewhere(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "FIRST_MESSAGE_DELAY_S", 0.0)
    with progress.show_progress() as show:
        show(lambda: "one")
        show(lambda: "two")
    assert capsys.readouterr().err == "arena: one\n"
    screen = io.StringIO()
    monkeypatch.setattr(progress, "Console", lambda **given: Console(force_terminal=True, file=screen))
    with progress.show_progress() as show:
        show(lambda: "counting/classic: random game 1 of 50")
    assert "counting/classic: random game 1 of 50" in screen.getvalue()


def test_slow_calls_of_all_methods_count_and_the_method_with_the_most_is_named() -> None:
    slow_calls = SlowCalls(GameLimits(slow_call_s=0.05, call_timeout_s=1.0))
    for method, took_s in [("moves", 0.06)] * 6 + [("play", 0.2)] * 5 + [("turn", 0.04)]:
        slow_calls.note(method, took_s)
    assert slow_calls.total == 11
    assert slow_calls.worst == ("moves", 6, 0.06)
