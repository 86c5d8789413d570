"""What a bot does before it connects: with which game, alone, and what becomes of its faults."""

from __future__ import annotations

import contextlib
import fcntl
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from bots.client import warm_up as warm_ups
from bots.client.conversation import Conversation
from bots.client.run import run
from bots.client.settings import Settings
from bots.client.warm_up import lock_path, warm_up
from bots.client.worker_threads import Choose
from bots.reference.random_bot import RandomBot
from heard import Heard
from protocol.errors import UsageFault
from protocol.games import load_game
from protocol.games.base import Game
from timeouts import WITHIN


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of this user that is not there yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


class Warm(RandomBot):
    """Notes whether another process could have begun the same warm-up meanwhile."""

    def __init__(self) -> None:
        super().__init__("warm")
        self.games_seen: list[Game[Any, Any] | None] = []
        self.alone = False

    def warm_up(self, game: Game[Any, Any] | None) -> None:
        self.games_seen.append(game)
        with contextlib.suppress(OSError):
            self.alone = not free(lock_path(Warm.warm_up, game))


class Other(Warm):
    """Warms up by other code."""

    def warm_up(self, game: Game[Any, Any] | None) -> None:
        super().warm_up(game)


def free(lock: Path) -> bool:
    with lock.open("a") as other:
        try:
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


@contextlib.contextmanager
def first_of(work: Callable[..., object], game: Game[Any, Any] | None = None) -> Iterator[None]:
    lock = lock_path(work, game)
    lock.parent.mkdir(parents=True)
    with lock.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def test_the_first_of_bots_that_start_together_warms_up_alone() -> None:
    bot = Warm()
    warm_up(bot, None)
    assert bot.alone
    warm_up(bot, None)
    assert len(bot.games_seen) == 2


def test_those_that_wait_for_the_first_warm_up_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Together(RandomBot):
        def warm_up(self, game: Game[Any, Any] | None) -> None:
            assert done.is_set()
            both.wait(WITHIN)

    def look_again_later(seconds: float) -> None:
        waiting.add(threading.get_ident())
        if len(waiting) == 2:
            wait.set()
        sleep(seconds)

    waiting: set[int] = set()
    wait, done, both = threading.Event(), threading.Event(), threading.Barrier(2)
    sleep = time.sleep
    monkeypatch.setattr(time, "sleep", look_again_later)
    with ThreadPoolExecutor(2) as pool:
        with first_of(Together.warm_up):
            others = [pool.submit(warm_up, Together("other"), None) for _ in range(2)]
            assert wait.wait(WITHIN)
            done.set()
        for other in others:
            other.result()


def test_nobody_waits_for_who_warms_up_by_other_code_or_for_another_game() -> None:
    nim = load_game("nim")
    with first_of(Warm.warm_up, nim):
        for bot, game in ((Warm(), load_game("grundy")), (Warm(), None), (Other(), nim)):
            warm_up(bot, game)
            assert bot.games_seen == [game]


def test_a_cache_folder_that_cannot_be_written_costs_only_the_lock(cache: Path) -> None:
    cache.touch()
    bot = Warm()
    warm_up(bot, None)
    assert bot.games_seen == [None]
    assert not bot.alone


def test_a_bot_whose_warm_up_never_ends_does_not_keep_the_others_for_ever(monkeypatch: Any) -> None:
    monkeypatch.setattr(warm_ups, "LOCK_TIMEOUT_S", 0.0)
    bot = Warm()
    with first_of(Warm.warm_up):
        warm_up(bot, None)
    assert bot.games_seen == [None]


def test_a_bot_without_a_warm_up_leaves_no_lock(cache: Path) -> None:
    warm_up(RandomBot("plain"), None)
    assert not cache.exists()


@pytest.mark.parametrize(("game", "what"), [(load_game("nim"), " for nim"), (None, "")])
def test_a_long_warm_up_is_told_while_it_lasts(game: Game[Any, Any] | None, what: str, monkeypatch: Any) -> None:
    class Slow(RandomBot):
        def warm_up(self, game: Game[Any, Any] | None) -> None:
            assert heard.line.wait(WITHIN)

    heard = Heard()
    monkeypatch.setattr("sys.stderr", heard)
    monkeypatch.setattr(warm_ups, "SLOW_NOTICE_DELAY_S", 0.0)
    warm_up(Slow("slow"), game)
    assert (
        heard.getvalue()
        == f"slow: warming up{what}; the first time code may be compiled, which takes up to half a minute…\n"
    )


def test_a_quick_warm_up_says_nothing_and_leaves_no_thread(monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setattr(warm_ups, "SLOW_NOTICE_DELAY_S", 60.0)
    before = set(threading.enumerate())
    warm_up(Warm(), None)
    assert not [one for one in threading.enumerate() if isinstance(one, threading.Timer) and one not in before]
    assert capsys.readouterr().err == ""


def test_the_game_of_the_warm_up_is_the_one_that_is_played(script: Any) -> None:
    game = load_game("nim")
    conversation = Conversation(RandomBot("mine"), Settings(game="nim"), "t" * 20, game)
    conversation.receive(script.welcome(), 0.0)
    conversation.receive(script.start(), 0.0)
    (choose,) = conversation.receive(script.turn(), 0.0)
    assert isinstance(choose, Choose)
    assert choose.turn.rules is game


@pytest.mark.parametrize(("environ", "heaps"), [({}, None), ({"ARENA_GAME": "nim"}, [3, 5, 7])])
def test_a_fault_in_the_warm_up_ends_the_program_with_its_line(
    environ: dict[str, str], heaps: Any, monkeypatch: Any, capsys: Any
) -> None:
    class Faulty(RandomBot):
        def warm_up(self, game: Game[Any, Any] | None) -> None:
            raise UsageFault(f"heaps {game and game.config['heaps']} will not do")

    for variable, value in environ.items():
        monkeypatch.setenv(variable, value)
    with pytest.raises(SystemExit) as stop:
        run(Faulty("mine"), ["--token", "t" * 20])
    assert stop.value.code == 2
    assert capsys.readouterr().err == f"mine: heaps {heaps} will not do\n"
