"""The bots of a local tournament: parses the words of a command line into the commands that start them."""

from __future__ import annotations

import os.path
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from arena.processes.bot_commands import (
    check_names,
    check_settings,
    known_bots,
    make_startable,
    parse_reference_spec,
    reference_command,
)
from machine.command_words import split_command
from protocol.bot_launch import BotSpec, bot_name_of, parse_bot_file, parse_bot_spec, split_bot_word
from protocol.display import list_choices, short_repr
from protocol.errors import UsageFault
from protocol.names import is_bot_name


class Contestant(NamedTuple):
    """A bot with its name in the tournament and the command that starts it."""

    name: str
    command: tuple[str, ...]
    reference: bool = False
    """True for a reference bot, which is code of this project."""
    spec: BotSpec | None = None
    """The specification to make the bot in this process, without a seed; None if it cannot be made here."""
    max_log_bytes: int | None = None
    """Maximum bytes of the bot's log, after which a new one begins and one is kept; None if it is not limited."""
    fault: str = ""
    """One line that says why the bot can't be started here, so that it forfeits its matches; empty if it can."""


def parse_contestants(
    words: Sequence[str], defaults: Mapping[str, str], *, in_process: bool = False, min_bots: int = 2
) -> list[Contestant]:
    """Return the bots that `words` name: `BOT`, `NAME=BOT[:KEY=VALUE,…]`, `[NAME=]FILE.py` or `NAME=COMMAND LINE`.

    With `in_process`, a word may also be `[NAME=]FILE.py:CLASS`, and the only command line is `python FILE.py`. Each
    reference bot gets those settings of `defaults` that it knows. Raise `UsageFault` if a word, a name or a setting is
    wrong, or if there are fewer than `min_bots`.
    """
    known = known_bots()
    found = [_parse_contestant(word, known, defaults, in_process=in_process) for word in words]
    check_settings({contestant.name: contestant.command for contestant in found if contestant.reference})
    check_names([contestant.name for contestant in found])
    if len(found) < min_bots:
        raise UsageFault(f"a tournament needs two bots or more; there are {', '.join(known)}, or NAME=COMMAND LINE")
    return found


def parse_builtin_contestants(words: Sequence[str]) -> list[Contestant]:
    """Return the bots that `words` name, which are code of this project: `BOT` or `NAME=BOT[:KEY=VALUE,…]`.

    Raise `UsageFault` if a word names a program or a person, or if a name or a setting is wrong.
    """
    known = [bot for bot in known_bots() if bot != "human"]
    for word in words:
        what = split_bot_word(word)[1]
        bot = what.partition(":")[0] if parse_bot_file(what) is None else what  # such as uct:FILE.py, which is a path
        if bot not in known:
            raise UsageFault(f"there is no built-in bot {short_repr(bot)}: {list_choices(known)}")
    return parse_contestants(words, {}, min_bots=0)


def make_in_process_spec(name: str, bot: str, defaults: Mapping[str, str] | None = None) -> BotSpec:
    """Return the specification, without a seed, with which `bot` can be made in this process as `name`.

    Raise `UsageFault` if it cannot be made here.
    """
    what = bot.partition(":")[0]
    by_name = is_bot_name(what) and parse_bot_file(bot) is None
    spec = _parse_contestant(bot if by_name else f"{name}={bot}", known_bots(), defaults or {}, in_process=True).spec
    assert spec is not None
    return replace(spec, name=name)


def _parse_contestant(word: str, known: Sequence[str], defaults: Mapping[str, str], *, in_process: bool) -> Contestant:
    given, what = split_bot_word(word)
    bot, _, text = what.partition(":")
    name = bot_name_of(word)
    if bot in known:
        spec = parse_reference_spec(word, defaults)
        asked = reference_command(spec)
        return Contestant(name, asked, reference=True, spec=spec)
    file = parse_bot_file(what)
    is_program = given is not None or what.endswith(".py")
    if is_program and (shutil.which(what) or os.path.isfile(what)):  # blanks, quotes and backslashes are part of it
        return _contestant_of_path(name, what, "", in_process=in_process)
    if in_process and file is not None and os.path.isfile(file.path):
        return _contestant_of_path(name, file.path, what[len(file.path) :], in_process=True)
    try:
        command = split_command(what)
    except ValueError as exc:
        raise UsageFault(f"{name}: {what!r} is no command line: {str(exc).lower()}") from exc
    program = command[0] if command else what
    of_file = parse_bot_file(program) is not None
    if given is None and what.endswith(".py") and not os.path.isfile(program) and (len(command) == 1 or not of_file):
        return _contestant_of_path(name, what, "", in_process=in_process)  # reports that the file is missing
    if in_process and (given is not None or of_file):
        spec = _spec_of_file(name, command)
        return Contestant(spec.name, tuple(command), spec=spec)
    if program.endswith(".py"):
        return Contestant(name, make_startable(command))
    if given is not None and shutil.which(program):
        return Contestant(name, tuple(command))
    if given is not None and not text:
        raise UsageFault(f"{name}: there is no program {program!r}{_format_hint(program, known)}")
    if of_file or (given is None and file is not None):
        raise UsageFault(f"{what!r}: a class of a file plays in process: add --in-process, or name the file alone")
    own = "FILE.py" if in_process else "NAME=COMMAND LINE"
    raise UsageFault(f"there is no bot {bot!r}: one of {', '.join(known)}, or {own} for your own")


def _contestant_of_path(name: str, path: str, suffix: str, *, in_process: bool) -> Contestant:
    """Return the bot in a file. `suffix` is the rest of the word after the path: `:CLASS`, settings, or empty."""
    if not in_process:
        return Contestant(name, make_startable([path]))
    spec = _spec_of_file(name, [f"{path}{suffix}"])
    return Contestant(spec.name, (f"{path}{suffix}",), spec=spec)


def _spec_of_file(name: str, command: Sequence[str]) -> BotSpec:
    """Return the bot of a command line `FILE.py` or `python FILE.py`. Raise `UsageFault` if it has another form."""
    words = command[1:] if len(command) > 1 and Path(command[0]).name.startswith("python") else command
    if len(words) != 1 or parse_bot_file(words[0]) is None:
        raise UsageFault(
            f"{name}: {shlex.join(command)!r} can't play in process, which reference bots and Python files can: "
            f"write {name}=FILE.py or {name}=FILE.py:CLASS; "
            "any program can play in `arena tournament` without --in-process"
        )
    path = str(Path(words[0]).absolute())
    return parse_bot_spec(f"{name}={path}", "")


def _format_hint(program: str, known: Sequence[str]) -> str:
    if "/" in program or not program:
        return " to run"
    return f", nor a bot of that name: one in this folder is ./{program}, and bots are {', '.join(known)}"
