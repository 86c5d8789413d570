"""What a bot does before it connects: with which game, alone, and what becomes of its faults."""

from __future__ import annotations

import fcntl
import io
import threading
from pathlib import Path
from typing import Any

import pytest

from bots.client import warm_up as warm_ups
from bots.client.conversation import Conversation
from bots.client.run import run
from bots.client.settings import Settings
from bots.client.thinking import Choose
from bots.client.warm_up import warm_up
from bots.reference.random_bot import RandomBot
from patience import WITHIN
from protocol.errors import UsageFault
from protocol.games import load
from protocol.games.base import Game


class Warm(RandomBot):
    """Notes whether another process could have begun its warm-up meanwhile."""

    def __init__(self, lock: Path) -> None:
        super().__init__("warm")
        self.lock = lock
        self.games_seen: list[Game[Any, Any] | None] = []
        self.alone = False

    def warm_up(self, game: Game[Any, Any] | None) -> None:
        self.games_seen.append(game)
        try:
            with self.lock.open("a") as other:
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.alone = True
        except OSError:
            pass


def test_bots_that_start_together_warm_up_one_after_the_other(tmp_path: Path) -> None:
    bot = Warm(tmp_path / "cache" / "warm-up.lock")
    warm_up(bot, None, bot.lock)
    assert bot.alone
    warm_up(bot, None, bot.lock)
    assert len(bot.games_seen) == 2


def test_a_cache_folder_that_cannot_be_written_costs_only_the_lock(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    bot = Warm(tmp_path / "file" / "warm-up.lock")
    warm_up(bot, None, bot.lock)
    assert bot.games_seen == [None]
    assert not bot.alone


def test_a_bot_whose_warm_up_never_ends_does_not_keep_the_others_for_ever(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(warm_ups, "PATIENCE", 0.0)
    bot = Warm(tmp_path / "warm-up.lock")
    with bot.lock.open("a") as endless:
        fcntl.flock(endless, fcntl.LOCK_EX)
        warm_up(bot, None, bot.lock)
    assert bot.games_seen == [None]


def test_a_bot_without_a_warm_up_leaves_no_lock(tmp_path: Path) -> None:
    warm_up(RandomBot("plain"), None, tmp_path / "cache" / "warm-up.lock")
    assert not (tmp_path / "cache").exists()


class Heard(io.StringIO):
    """Text that can be waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.line = threading.Event()

    def write(self, text: str) -> int:
        written = super().write(text)
        if "\n" in text:
            self.line.set()
        return written


@pytest.mark.parametrize(("game", "what"), [(load("nim"), " for nim"), (None, "")])
def test_a_long_warm_up_is_told_while_it_lasts(
    game: Game[Any, Any] | None, what: str, tmp_path: Path, monkeypatch: Any
) -> None:
    class Slow(RandomBot):
        def warm_up(self, game: Game[Any, Any] | None) -> None:
            assert heard.line.wait(WITHIN)

    heard = Heard()
    monkeypatch.setattr("sys.stderr", heard)
    monkeypatch.setattr(warm_ups, "SLOW", 0.0)
    warm_up(Slow("slow"), game, tmp_path / "warm-up.lock")
    assert heard.getvalue() == f"slow: warming up{what}, which takes longest the first time…\n"


def test_a_quick_warm_up_says_nothing_and_leaves_no_thread(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setattr(warm_ups, "SLOW", 60.0)
    threads = threading.active_count()
    bot = Warm(tmp_path / "warm-up.lock")
    warm_up(bot, None, bot.lock)
    assert threading.active_count() == threads
    assert capsys.readouterr().err == ""


def test_the_game_of_the_warm_up_is_the_one_that_is_played(script: Any) -> None:
    game = load("nim")
    conversation = Conversation(RandomBot("mine"), Settings(game="nim"), "t" * 20, game)
    conversation.receive(script.welcome(), 0.0)
    conversation.receive(script.start(), 0.0)
    (choose,) = conversation.receive(script.turn(), 0.0)
    assert isinstance(choose, Choose)
    assert choose.turn.rules is game


@pytest.mark.parametrize(("environ", "heaps"), [({}, None), ({"ARENA_GAME": "nim"}, [3, 5, 7])])
def test_a_fault_in_the_warm_up_ends_the_program_with_its_line(
    environ: dict[str, str], heaps: Any, tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    class Faulty(RandomBot):
        def warm_up(self, game: Game[Any, Any] | None) -> None:
            raise UsageFault(f"heaps {game and game.config['heaps']} will not do")

    for variable, value in {"XDG_CACHE_HOME": str(tmp_path), **environ}.items():
        monkeypatch.setenv(variable, value)
    with pytest.raises(SystemExit) as stop:
        run(Faulty("mine"), ["--token", "t" * 20])
    assert stop.value.code == 2
    assert capsys.readouterr().err == f"mine: heaps {heaps} will not do\n"
