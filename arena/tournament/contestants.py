"""The bots of a local tournament: from the words of the command line to the commands that start them."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
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
    program = command[0] if command else what
    if given is not None and shutil.which(program):
        return Contestant(name, tuple(command))
    if program.endswith(".py"):
        called = Path(program).stem if given is None else name
        raise UsageFault(f'{program!r} is no program by itself: write "{called}=python {what}"')
    if given is not None and not settings:
        raise UsageFault(f"{name}: there is no program {program!r}{_instead(program, known)}")
    raise UsageFault(f"there is no bot {bot!r}: one of {', '.join(known)}, or NAME=COMMAND LINE for your own")


def _instead(program: str, known: Sequence[str]) -> str:
    """What else may have been meant by a program that is not found."""
    if "/" in program or not program:
        return " to run"
    return f", nor a bot of that name: one in this folder is ./{program}, and bots are {', '.join(known)}"
