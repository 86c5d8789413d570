"""Built-in bots: ordinary clients that a server runs itself, so that every newcomer finds an opponent.

This module parses the specification of the bots, like `random,NAME=BOT,alphabeta:nodes=20000,levels`, into commands.
It keeps the bots' tokens in the data folder, and supervises their processes.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import msgspec

from arena.processes.bot_commands import BOT_SETTINGS, check_names, known_bots, parse_reference_spec, reference_command
from arena.processes.launch_spec import LaunchSpec
from arena.processes.process import BotProcess, Crash, keep_running
from arena.processes.warmup_notice import announce_warmups
from arena.store.registry import NameInUse, add_bots, find_registered_bot
from arena.store.store import Store
from arena.store.tokens import generate_token, hash_token
from machine.atomic_write import replacing_file
from machine.event_loop import run_until_first
from machine.subprocesses import limit_niceness
from protocol import bot_launch
from protocol.bot_launch import LEVELLED_BOT, MAX_LEVEL, bot_name_of, split_bot_word
from protocol.errors import ArenaFault, UsageFault, os_errors_as
from protocol.games import game_spec, games_with
from protocol.names import fold_name

USAGE_HINT = "write random,greedy,alphabeta:nodes=20000 or NAME=BOT:KEY=VALUE, or levels for all eight of level"
"""The end of the error message about a wrong specification of built-in bots."""
ALL_LEVELS_WORD = "levels"
"""The word in a specification that stands for all eight levels of the bot `level`."""
OPEN_DEMO_BOTS = "random,greedy,perfect,level:2,level:4,level:6"
"""The bots of a demo server that accept challenges in every game.

Only three of the eight levels are among them, because all would take much memory. After a match against a level, people
are offered the next level.
"""
DEMO_PACE_OPTIONS = ("--min-move-time", "0.7")
"""Command-line options that slow down the bots of a demo server so that people can follow their matches."""
FIRST_RESTART_DELAY_S = 1.0
"""Seconds before a built-in bot that ended is started again for the first time."""
BUILTIN_BOTS_FOLDER, BUILTIN_BOT_TOKENS_FILE = "house", "tokens.json"
"""`BUILTIN_BOTS_FOLDER` is the folder in a data folder for the logs of built-in bots. `BUILTIN_BOT_TOKENS_FILE` is the
file in that folder with the tokens of these bots.
"""
NICENESS = 15
"""The niceness of built-in bots: the referee comes first, then the web pages. Programs of hosted bots have the same."""
CHECK_INTERVAL_S = 5.0
"""Seconds between two checks whether a built-in bot is connected."""
HANG_TIMEOUT_S = 60.0
"""Seconds without a connection after which a built-in bot that was connected counts as hung."""
MAX_LOG_BYTES = 1024 * 1024
"""Maximum bytes of a built-in bot's log. Then a new log begins, and the previous one is kept."""

log = logging.getLogger("arena.builtin_bots")


class BuiltinBot(msgspec.Struct, frozen=True, kw_only=True):
    """A built-in bot: its name on this server and the command that starts it."""

    name: str
    command: tuple[str, ...]

    def with_options(self, *options: str) -> BuiltinBot:
        """Return this bot with further command-line options."""
        return BuiltinBot(name=self.name, command=(*self.command, *options))


def parse_builtin_bots(text: str) -> list[BuiltinBot]:
    """Parse a specification into bots. Raise `UsageFault` if it is wrong, or if two names differ only in case."""
    known = known_bots()
    found: list[str] = []
    for part in filter(None, map(str.strip, text.split(","))):
        if part == ALL_LEVELS_WORD:
            found += [f"{LEVELLED_BOT}:{level}" for level in range(1, MAX_LEVEL + 1)]
        elif found and ":" in found[-1] and not _is_bot_start(part, known):
            found[-1] += f",{part}"
        else:
            found.append(part)
    bots = [_parse_bot(word, known) for word in found]
    check_names([bot.name for bot in bots])
    return bots


def _is_bot_start(part: str, known: Sequence[str]) -> bool:
    """Return whether a comma-separated part of a specification names a new bot. Any other part is a further setting of
    the bot named before it.
    """
    name, bot = split_bot_word(part)
    return bot.partition(":")[0] in known and name not in BOT_SETTINGS


def _parse_bot(word: str, known: Sequence[str]) -> BuiltinBot:
    bot = split_bot_word(word)[1].partition(":")[0]
    if bot not in known or bot == "human":
        there = ", ".join(one for one in known if one != "human")
        raise UsageFault(f"there is no built-in bot {bot!r}: one of {there}; {USAGE_HINT}")
    return BuiltinBot(name=bot_name_of(word), command=reference_command(parse_reference_spec(word)))


def make_demo_bots() -> list[BuiltinBot]:
    """Return the bots of a demo server: those that accept challenges, and for each game with a `demo_bot` one that
    seeks rated matches.
    """
    games = games_with("demo_bot")
    seeking = parse_builtin_bots(",".join(game_spec(game).demo_bot or "" for game in games))
    return [bot.with_options("--open", *DEMO_PACE_OPTIONS) for bot in parse_builtin_bots(OPEN_DEMO_BOTS)] + [
        bot.with_options("--game", game, *DEMO_PACE_OPTIONS) for game, bot in zip(games, seeking, strict=True)
    ]


def builtin_bot_tokens(store: Store, file: Path, names: Sequence[str], secret: str | None = None) -> dict[str, str]:
    """Return the token of each built-in bot by name, and register the bots that are new.

    The tokens are saved in `file` before any bot is registered. With a `secret`, tokens are derived from it and are the
    same on every node. Raise `UsageFault` if a name belongs to another bot. Raise `ArenaFault` if the file is unusable.
    """
    saved = _read_tokens(file)
    made = {
        name: _derive_token(name, secret) if secret else saved.get(fold_name(name)) or generate_token()
        for name in names
    }
    known = {name: store.read(find_registered_bot, name) for name in names}
    for name, bot in known.items():
        if bot is not None and bot.revoked:
            raise UsageFault(f"the built-in bot {name} was revoked: leave it out, or give it another name")
        if bot is not None and bot.token_hash != hash_token(made[name]):
            raise UsageFault(_name_taken_message(name))
    _write_tokens(file, saved | {fold_name(name): token for name, token in made.items()})
    for name, bot in known.items():
        if bot is None:
            _register(store, name, hash_token(made[name]))
    return made


def _register(store: Store, name: str, token_hash: str) -> None:
    try:
        store.write(add_bots, {name: token_hash})
    except NameInUse as exc:
        bot = store.read(find_registered_bot, name)  # maybe another node has registered this very bot meanwhile
        if bot is None or bot.token_hash != token_hash:
            raise UsageFault(_name_taken_message(name)) from exc


def builtin_bot_names(data: Path) -> list[str]:
    """Return the names, in lower case, of all built-in bots whose tokens are saved in a data folder. They include bots
    that no longer run. Raise `ArenaFault` if the file of tokens can't be read.
    """
    return sorted(_read_tokens(data / BUILTIN_BOTS_FOLDER / BUILTIN_BOT_TOKENS_FILE))


def _derive_token(name: str, secret: str) -> str:
    return hmac.digest(secret.encode(), f"house/{fold_name(name)}".encode(), "sha256").hex()


def _name_taken_message(name: str) -> str:
    return (
        f"another bot is registered as {name}: give the built-in bot another name, like --builtin-bots my-{name}=BOT; "
        "if the data was moved or restored, copy house/tokens.json too, which has the tokens of the built-in bots"
    )


def _read_tokens(file: Path) -> dict[str, str]:
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[str, str])
    except FileNotFoundError:
        return {}
    except OSError as exc:
        raise ArenaFault(f"{file} can't be read: {exc.strerror}") from exc
    except msgspec.MsgspecError as exc:
        raise ArenaFault(f"{file} has no readable tokens: move it away, and give the built-in bots new names") from exc


def _write_tokens(file: Path, tokens: dict[str, str]) -> None:
    with os_errors_as(ArenaFault, f"{file} can't be written"):
        file.parent.mkdir(exist_ok=True)
        with replacing_file(file) as part:
            part.touch(mode=0o600)
            part.write_bytes(msgspec.json.format(msgspec.json.encode(tokens)) + b"\n")


class BuiltinBotSupervisor:
    """Runs built-in bots from `start` to `stop`, each with its token. Their logs are in `folder`.

    `kind` is what the server's log calls them.
    """

    def __init__(
        self,
        bots: Sequence[BuiltinBot],
        tokens: Mapping[str, str],
        folder: Path,
        environment: Mapping[str, str],
        kind: str = "the built-in bot",
    ) -> None:
        self._kind = kind
        self._bots = bots
        self._tokens = tokens
        self._folder = folder
        self._environment = environment
        self._task: asyncio.Task[None] | None = None

    def start(self, url: str, is_connected: Callable[[str], bool]) -> None:
        """Start the bots and keep them running.

        `url` is the arena's; `is_connected(name)` returns whether the bot `name` is online.
        """
        self._task = asyncio.create_task(self._run_all(url, is_connected))

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _run_all(self, url: str, is_connected: Callable[[str], bool]) -> None:
        environment = {
            **self._environment,
            bot_launch.URL_VARIABLE: url,
            bot_launch.TOKEN_FD_VARIABLE: "0",
            bot_launch.PIN_NODE_VARIABLE: "1",
        }
        with announce_warmups(self._folder, "*.log"):  # the folders of runners have programs of strangers
            async with asyncio.TaskGroup() as group:
                for bot in self._bots:
                    order = LaunchSpec(
                        command=bot.command,
                        environment=environment,
                        token=self._tokens[bot.name],
                        nice=limit_niceness(NICENESS),
                        largest_log=MAX_LOG_BYTES,
                    )
                    run = partial(self._run_process, bot.name, order, partial(is_connected, bot.name))
                    group.create_task(keep_running(run, FIRST_RESTART_DELAY_S, log, self._kind))

    async def _run_process(self, name: str, launch_spec: LaunchSpec, is_connected: Callable[[], bool]) -> str:
        """Run a bot's process until it ends, and return the reason in words. A process that hangs is stopped."""
        crash: asyncio.Future[Crash] = asyncio.get_running_loop().create_future()
        log_file = self._folder / f"{name}.log"
        process = BotProcess(name, launch_spec, log_file, lambda process, how: crash.set_result(how))
        try:
            await process.start()
            await run_until_first(asyncio.wait((crash,)), _wait_until_hung(is_connected))
        except ArenaFault as fault:
            return str(fault)
        finally:
            await process.stop(0)
        if not crash.done():
            return f"{name} has had no connection for {HANG_TIMEOUT_S:g} s"
        return " ".join(str(crash.result()).split())


async def _wait_until_hung(is_connected: Callable[[], bool]) -> None:
    """Return when a bot that was connected has had no connection for `HANG_TIMEOUT_S` seconds."""
    loop = asyncio.get_running_loop()
    seen = None
    while seen is None or loop.time() - seen < HANG_TIMEOUT_S:
        await asyncio.sleep(CHECK_INTERVAL_S)
        if is_connected():
            seen = loop.time()
