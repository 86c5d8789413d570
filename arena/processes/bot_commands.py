"""Commands that start bots: reference bots by name, with their settings, and a user's own bots by file."""

from __future__ import annotations

import functools
import os.path
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points

from machine import compiled
from protocol.bot_launch import REFERENCE_BOTS, BotSpec, parse_bot_spec, split_bot_word
from protocol.errors import UsageFault
from protocol.names import NAME_DESCRIPTION, fold_name, is_bot_name

BOT_SETTINGS = ("battles", "depth", "draft", "eval", "horizon", "level", "nodes", "sims", "weights")
"""The keys of `--set` that are settings of reference bots, not of a game. Each bot takes the keys that it knows."""


def make_startable(command: Sequence[str]) -> tuple[str, ...]:
    """Return the command in a form that can be started: a Python file that is not executable gets this Python in front.

    Raise `UsageFault` if the command can't be started.
    """
    if not command or shutil.which(command[0]) is not None:
        return tuple(command)
    program, there = command[0], os.path.isfile(command[0])
    if program.endswith(".py") and there:
        return (sys.executable, *command)
    if there:
        here = "" if "/" in program else "./"
        raise UsageFault(f"{program!r} can't be run: write {here}{program}, after chmod +x {program}")
    raise UsageFault(f"there is no {'file' if program.endswith('.py') else 'program'} {program!r}")


@functools.cache
def known_bots() -> tuple[str, ...]:
    """Return the sorted names of the reference bots. They are cached, because reading all entry points takes 10 ms."""
    return tuple(sorted({point.name for point in entry_points(group=REFERENCE_BOTS)}))


def parse_reference_spec(word: str, defaults: Mapping[str, str] | None = None) -> BotSpec:
    """Return the reference bot that a command-line word names, with its settings.

    Raise `UsageFault` if a setting is wrong; the message lists the settings of the bot.
    """
    try:
        return parse_bot_spec(word, "", defaults)
    except UsageFault as fault:
        bot = split_bot_word(word)[1].partition(":")[0]
        (point,) = entry_points(group=REFERENCE_BOTS, name=bot)
        raise UsageFault(f"{fault}; {bot} has {', '.join(point.load().settings) or 'no settings'}") from fault


def reference_command(spec: BotSpec) -> tuple[str, ...]:
    """Return the command that runs a reference bot."""
    command = [sys.executable, "-P", "-m", "bots", "run", spec.bot, "--name", spec.name]
    for option, values in (("--set", spec.settings), ("--default", spec.defaults)):
        for key, value in values.items():
            command += [option, f"{key}={value}"]
    return tuple(command)


def check_settings(commands: Mapping[str, Sequence[str]]) -> None:
    """Run the commands of bots with `--check`, in parallel, to check that they accept their settings and can play here.

    Commands without settings are skipped if numba is installed: they always pass. Raise `UsageFault` if a check fails.
    """
    asked = [
        (name, subprocess.Popen((*command, "--check"), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))  # noqa: S603 - ours
        for name, command in commands.items()
        if "--set" in command or not compiled.HAS_NUMBA
    ]
    said = [(name, asking.communicate()[1].strip(), asking.returncode) for name, asking in asked]
    for name, words, code in said:
        if code:
            why = words.removeprefix("arena-bot: ").removeprefix(f"{name}: ") or f"exit code {code}"
            for bot in commands[name]:  # it may call itself by its own name
                why = why.removeprefix(f"{bot}: ")
            raise UsageFault(why if why.startswith(f"{name} ") else f"{name}: {why}")


def check_names(names: Sequence[str]) -> None:
    """Raise `UsageFault` if a bot name is invalid, or if two bots share a name."""
    keys = list(map(fold_name, names))
    for name, key in zip(names, keys, strict=True):
        if not is_bot_name(name):
            raise UsageFault(f"{name!r} is no bot name: {NAME_DESCRIPTION}")
        if keys.count(key) > 1:
            raise UsageFault(f"two bots are called {key!r}: give one another name, like {key}-2=BOT")
