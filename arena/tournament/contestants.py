"""The bots of a local tournament: from the words of the command line to the commands that start them."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from arena.processes.reference import check_names, known_bots, reference_command
from protocol.errors import UsageFault
from protocol.launch import parted


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
    check_names([contestant.name for contestant in found])
    if len(found) < 2:
        raise UsageFault(f"a tournament takes two bots or more; there are {', '.join(known)}, or NAME=COMMAND LINE")
    return found


def _contestant(word: str, known: Sequence[str], defaults: Mapping[str, str]) -> Contestant:
    given, what = parted(word)
    bot, _, settings = what.partition(":")
    name = bot if given is None else given
    if given is None and settings:
        raise UsageFault(f"{word!r} needs a name of its own: {name}-2={word}")
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
