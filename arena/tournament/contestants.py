"""The bots of a local tournament: from the words of the command line to the commands that start them."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from arena.processes.reference import known_bots, reference_command
from protocol.errors import UsageFault
from protocol.launch import parted
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
    known = known_bots()
    found = [_contestant(word, known, defaults) for word in words]
    names = [folded(contestant.name) for contestant in found]
    for name in names:
        if names.count(name) > 1:
            raise UsageFault(f"two bots are called {name!r}: give one another name, like {name}-2={name}")
    if len(found) < 2:
        raise UsageFault(f"a tournament takes two bots or more; there are {', '.join(known)}, or NAME=COMMAND LINE")
    return found


def _contestant(word: str, known: Sequence[str], defaults: Mapping[str, str]) -> Contestant:
    given, what = parted(word)
    bot, _, settings = what.partition(":")
    name = bot if given is None else given
    if given is None and settings:
        raise UsageFault(f"{word!r} needs a name of its own: {name}-2={word}")
    if not is_bot_name(name):
        raise UsageFault(f"{name!r} is no bot name: letters, digits, dot, dash and underscore, at most 32")
    if bot in known:
        return Contestant(name, reference_command(bot, name, settings, defaults), reference=True)
    try:
        command = shlex.split(what)
    except ValueError as exc:
        raise UsageFault(f"{name}: {what!r} is no command line: {str(exc).lower()}") from exc
    if given is not None and command and shutil.which(command[0]):
        return Contestant(name, tuple(command))
    if given is not None and (" " in what or "/" in what):
        raise UsageFault(f"{name}: there is no program {command[0] if command else what!r} to run")
    raise UsageFault(f"there is no bot {bot!r}: one of {', '.join(known)}, or NAME=COMMAND LINE for your own")
