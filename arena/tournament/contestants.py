"""The bots of a local tournament: from the words of the command line to the commands that start them."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points
from typing import NamedTuple

from protocol.errors import UsageFault
from protocol.launch import REFERENCE_BOTS, name_in
from protocol.names import folded, is_bot_name


class Contestant(NamedTuple):
    """A bot under its name in the tournament, and the command that starts it."""

    name: str
    command: tuple[str, ...]
    reference: bool = False
    """Whether it is a reference bot, which plays as many matches at once as it is told to."""


def contestants(words: Sequence[str], defaults: Mapping[str, str]) -> list[Contestant]:
    """The bots that `words` name: `BOT`, `NAME=BOT`, `NAME=BOT:KEY=VALUE,…` or `NAME=COMMAND LINE`.

    `defaults` are settings for every reference bot that knows them. Raises `UsageFault`.
    """
    known = sorted({point.name for point in entry_points(group=REFERENCE_BOTS)})
    found = [_contestant(word, known, defaults) for word in words]
    names = [folded(contestant.name) for contestant in found]
    for name in names:
        if names.count(name) > 1:
            raise UsageFault(f"two bots are called {name!r}: give one another name, like {name}-2={name}")
    if len(found) < 2:
        raise UsageFault(f"a tournament takes two bots or more; there are {', '.join(known)}, or NAME=COMMAND LINE")
    return found


def _contestant(word: str, known: Sequence[str], defaults: Mapping[str, str]) -> Contestant:
    name = name_in(word)
    equals, what = word.startswith(f"{name}="), name
    if not equals and len(word) > len(name) + 1:
        raise UsageFault(f"{word!r} needs a name of its own: {name}-2={word}")
    if equals:
        what = word[len(name) + 1 :]
    if not is_bot_name(name):
        raise UsageFault(f"{name!r} is no bot name: letters, digits, dot, dash and underscore, at most 32")
    bot, _, settings = what.partition(":")
    if bot in known:
        return Contestant(name, _reference(bot, name, settings, defaults), reference=True)
    try:
        command = shlex.split(what)
    except ValueError as exc:
        raise UsageFault(f"{name}: {what!r} is no command line: {str(exc).lower()}") from exc
    if equals and command and shutil.which(command[0]):
        return Contestant(name, tuple(command))
    if equals and (" " in what or "/" in what):
        raise UsageFault(f"{name}: there is no program {command[0] if command else what!r} to run")
    raise UsageFault(f"there is no bot {bot!r}: one of {', '.join(known)}, or NAME=COMMAND LINE for your own")


def _reference(bot: str, name: str, settings: str, defaults: Mapping[str, str]) -> tuple[str, ...]:
    command = [sys.executable, "-m", "bots", "run", bot, "--name", name]
    for setting in _parted(settings) if settings else ():
        key, equals, value = setting.partition("=")
        if not (key and equals and value):
            raise UsageFault(f"{name}: {setting!r} is no setting: write KEY=VALUE, like {name}={bot}:depth=4")
        command += ["--set", setting]
    for key, value in defaults.items():
        command += ["--default", f"{key}={value}"]
    return tuple(command)


def _parted(settings: str) -> list[str]:
    """`depth=4,weights=1,2.5,3` as `depth=4` and `weights=1,2.5,3`: a bare number goes on with the list before it."""
    parted: list[str] = []
    for part in settings.split(","):
        if parted and re.fullmatch(r"-?\d*\.?\d+", part):
            parted[-1] += f",{part}"
        else:
            parted.append(part)
    return parted
