"""The words and tokens of the house's bots."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from arena import builtin_bots
from arena.builtin_bots import (
    CHECK_INTERVAL_S,
    HANG_TIMEOUT_S,
    BuiltinBot,
    BuiltinBotSupervisor,
    builtin_bot_tokens,
    make_demo_bots,
    parse_builtin_bots,
)
from arena.processes.bot_commands import check_settings
from arena.processes.launch_spec import allowed_environment
from arena.store.registry import find_registered_bot, register_bot, revoke_bots
from arena.store.store import Store
from arena.store.tokens import hash_token
from bot_checks import check_settings_here
from commands import call, ends
from log_events import set_when_logged
from protocol.errors import ArenaFault, UsageFault
from protocol.games import game_names, game_spec
from timeouts import WITHIN, found_in
from virtual_time import advance


def sets(*settings: str) -> list[str]:
    return [word for setting in settings for word in ("--set", setting)]


def test_bots_are_named_by_commas_and_their_settings_too() -> None:
    bots = parse_builtin_bots("random, deep=alphabeta:nodes=20000,draft=greedy,weights=1,2.5,greedy,weak=ga:depth=1")
    run = (sys.executable, "-P", "-m", "bots", "run")
    assert [(bot.name, bot.command) for bot in bots] == [
        ("random", (*run, "random", "--name", "random")),
        (
            "deep",
            (*run, "alphabeta", "--name", "deep", *sets("nodes=20000", "draft=greedy", "weights=1,2.5")),
        ),
        ("greedy", (*run, "greedy", "--name", "greedy")),
        ("weak", (*run, "ga", "--name", "weak", *sets("depth=1"))),
    ]


def test_levels_are_all_eight_of_them() -> None:
    bots = parse_builtin_bots("levels,random")
    assert [bot.name for bot in bots] == [*(f"level-{level}" for level in range(1, 9)), "random"]
    assert bots[2].command[-2:] == ("--set", "level=3")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            "random,RANDOM=random",
            "two bots are called 'random': give one another name, like random-2=BOT",
        ),
        ("deepblue", "there is no built-in bot 'deepblue': one of alphabeta, always-cooperate,"),
        ("human", "there is no built-in bot 'human': one of alphabeta,"),
        ("a b=random", "'a b' is no bot name"),
        ("ga:depth", "ga: 'depth' is not a setting: write KEY=VALUE, as in ga=ga:KEY=VALUE"),
        (
            "random,ga:node=3,greedy:depth=2",
            "the built-in bot ga: ga has no setting 'node': it has depth, eval,",
        ),
    ],
)
def test_what_is_no_house_is_said_in_a_line_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, says: str
) -> None:
    check_settings_here(monkeypatch)
    done = call("arena", "serve", "--no-web", "--port", "0", "--data", str(tmp_path / "data"), "--builtin-bots", words)
    assert (done.code, done.err.count("\n"), done.err[: len(says) + 7]) == (2, 1, f"arena: {says}")
    assert not (tmp_path / "data").exists()


def test_the_bots_of_a_demo_have_the_settings_that_they_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    check_settings_here(monkeypatch)
    check_settings({bot.name: bot.command for bot in make_demo_bots()})


def test_a_demo_seeks_in_every_game_that_has_a_bot_for_it_with_names_of_their_own() -> None:
    bots = make_demo_bots()
    assert len({bot.name for bot in bots}) == len(bots)
    seeking = {bot.command[bot.command.index("--game") + 1]: bot.name for bot in bots if "--game" in bot.command}
    assert list(seeking) == [game for game in game_names() if game_spec(game).demo_bot]
    assert (seeking["nim"], seeking["risk-duel"], seeking["leduc"]) == ("minimax", "level-1", "caller")


def test_tokens_are_made_once_and_kept_for_the_owner_alone(tmp_path: Path) -> None:
    store, file = Store.open(tmp_path / "arena.db"), tmp_path / "house" / "tokens.json"
    made = builtin_bot_tokens(store, file, ["random", "Greedy"])
    assert builtin_bot_tokens(store, file, ["greedy", "random"]) == {"greedy": made["Greedy"], "random": made["random"]}
    bot = store.read(find_registered_bot, "greedy")
    assert bot is not None
    assert (bot.token_hash, bot.approved) == (hash_token(made["Greedy"]), True)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_name_that_is_somebody_elses_is_not_taken(tmp_path: Path) -> None:
    store, file = Store.open(tmp_path / "arena.db"), tmp_path / "house" / "tokens.json"
    store.write(register_bot, "random", hash_token("hers" * 10))
    says = "another bot is registered as random: give the built-in bot another name, like --builtin-bots my-random="
    with pytest.raises(UsageFault, match=says):
        builtin_bot_tokens(store, file, ["greedy", "random"])
    assert (store.read(find_registered_bot, "greedy"), file.exists()) == (None, False)


class BehindAnother(Store):
    """A store to which another node has written just before whatever is written to it."""

    def write(self, change: Any, /, *args: Any, **kwargs: Any) -> Any:
        with closing(Store.open(self.database, checkpoint=False)) as other:
            other.write(change, *args, **kwargs)
        return super().write(change, *args, **kwargs)


def test_the_house_of_a_node_finds_its_bots_that_another_node_registers_at_the_same_moment(tmp_path: Path) -> None:
    with closing(BehindAnother.open(tmp_path / "arena.db")) as store:
        made = builtin_bot_tokens(store, tmp_path / "tokens.json", ["random", "greedy"], "secret")
        bot = store.read(find_registered_bot, "random")
    assert bot is not None
    assert bot.token_hash == hash_token(made["random"])


def test_a_bot_of_the_house_that_was_revoked_is_said(tmp_path: Path) -> None:
    store, file = Store.open(tmp_path / "arena.db"), tmp_path / "house" / "tokens.json"
    builtin_bot_tokens(store, file, ["random"])
    store.write(revoke_bots, ["random"])
    with pytest.raises(UsageFault, match="the built-in bot random was revoked: leave it out, or give it another name"):
        builtin_bot_tokens(store, file, ["random"])


def test_tokens_that_are_damaged_are_said(tmp_path: Path) -> None:
    store, file = Store.open(tmp_path / "arena.db"), tmp_path / "tokens.json"
    file.write_text("[1")
    with pytest.raises(ArenaFault, match=r"tokens.json has no readable tokens: move it away"):
        builtin_bot_tokens(store, file, ["random"])


def test_more_bots_than_an_address_may_have_connections_are_refused(tmp_path: Path) -> None:
    words = ("--builtin-bots", "random,greedy", "--max-per-address", "1", "--data", str(tmp_path / "data"))
    done = call("arena", "serve", "--no-web", "--port", "0", *words)
    assert (done.code, done.err) == (
        2,
        "arena: max_per_address is 1, fewer than the 2 built-in bots: raise it, or run fewer of them\n",
    )


async def test_a_bot_that_lost_its_connection_for_long_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("CHECK_INTERVAL_S", "HANG_TIMEOUT_S", "FIRST_RESTART_DELAY_S"):
        monkeypatch.setattr(builtin_bots, name, 0.01)
    program = "import os, time; print(os.getpid(), flush=True); time.sleep(1000)"
    bot = BuiltinBot(name="mine", command=(sys.executable, "-c", program))
    house = BuiltinBotSupervisor([bot], {"mine": "t" * 20}, tmp_path, allowed_environment(os.environ))
    log = tmp_path / "mine.log"
    log.touch()
    once = iter([True])

    def is_connected(name: str) -> bool:
        """Tell of a connection once: to the first process, when it runs. Then it is lost for ever."""
        return log.read_text().endswith("\n") and next(once, False)

    house.start("ws://127.0.0.1:9", is_connected)
    try:
        first, second = await asyncio.to_thread(
            found_in, tmp_path, lambda: pids if len(pids := log.read_text().split()) == 2 else None
        )
    finally:
        await house.stop()
    assert first != second
    assert ends(int(first))
    assert caplog.messages[0].startswith("the built-in bot mine has had no connection for 0.01 s; it is restarted")


async def test_a_bot_whose_log_cannot_be_written_starts_as_soon_as_it_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(builtin_bots, "FIRST_RESTART_DELAY_S", 0.01)
    log = tmp_path / "mine.log"
    log.mkdir()
    refused = set_when_logged(caplog, "it is restarted")
    bot = BuiltinBot(name="mine", command=(sys.executable, "-c", "print('plays', flush=True); input()"))
    house = BuiltinBotSupervisor([bot], {"mine": "t" * 20}, tmp_path, allowed_environment(os.environ))
    house.start("ws://127.0.0.1:9", lambda name: False)
    try:
        async with asyncio.timeout(WITHIN):
            await refused.wait()
        log.rmdir()
        await asyncio.to_thread(found_in, tmp_path, lambda: (log.is_file() and "plays" in log.read_text()) or None)
    finally:
        await house.stop()
    assert "mine.log can't be" in caplog.messages[0]


@pytest.mark.virtual_time
async def test_a_bot_that_never_had_a_connection_is_left_to_warm_up() -> None:
    connected = False
    waiting = asyncio.create_task(builtin_bots._wait_until_hung(lambda: connected))
    await advance(3600.0)
    connected = True
    await advance(CHECK_INTERVAL_S)
    connected = False
    await advance(HANG_TIMEOUT_S - CHECK_INTERVAL_S)
    assert not waiting.done()
    await advance(CHECK_INTERVAL_S)
    assert waiting.done()
