"""Running a program with commands (Typer), with one-line errors for wrong usage."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from copy import copy
from functools import cache, partial
from typing import Any, NoReturn

import typer
from typer.main import get_command, get_command_name
from typer.models import CommandInfo, TyperInfo

from machine.file_options import require_file_names
from machine.main_program import run_program
from machine.terminal import say
from protocol.display import short_repr
from protocol.errors import UsageFault

_ParseError: type[Exception] = typer.BadParameter.__mro__[1]
"""The base class of all usage errors of Typer, which exports only some of them."""
_WRONG_TYPE_PATTERN = re.compile(r"Invalid value for (.+): Input should be a valid ([a-z]+)\b.*")
"""The pattern of Typer's message about a value of the wrong type."""

_NOT_UTF8_REASON = "surrogates not allowed"
"""The reason of the error about a word of the command line, or a file's name, whose bytes are not UTF-8."""


def run(app: typer.Typer, name: str, words: Sequence[str] | None = None) -> NoReturn:
    """Run the program called `name` and exit with a status: 0 done, 1 failed, 2 wrong usage, 130 interrupted."""
    run_program(partial(run_command, app, words), name)


def run_command(app: typer.Typer, words: Sequence[str] | None = None, program_name: str | None = None) -> None:
    """Run the command of `app` that `words` name, by default the words of the process's command line. In help texts,
    the program is called `program_name`.

    Raise `UsageFault` for wrong usage, and `SystemExit` if the command exits with a status other than 0.
    """
    given = sys.argv[1:] if words is None else words
    try:
        code = _make_command(app, given[0] if given else "")(words, prog_name=program_name, standalone_mode=False)
    except _ParseError as exc:
        raise _to_fault(exc) from exc
    except UnicodeEncodeError as exc:
        if exc.reason != _NOT_UTF8_REASON:
            raise
        raise UsageFault(f"{short_repr(exc.object)} is not UTF-8: write it, or name the file, in UTF-8") from exc
    if isinstance(code, int) and code:
        raise SystemExit(code)


@cache
def _make_command(app: typer.Typer, first_word: str) -> Any:
    """Make the command of `app` for a command line. It is kept: to make it takes longer than many commands do."""
    command = get_command(_narrowed(app, first_word))
    require_file_names(command)
    return command


def _narrowed(app: typer.Typer, first_word: str) -> typer.Typer:
    """Return an application with no other command or group than the one that a word names, because to make all takes a
    fifth of a program's start. Return `app` itself if the word names none, or `app` is no group.
    """
    commands = [command for command in app.registered_commands if _name_of(command) == first_word]
    groups = [group for group in app.registered_groups if _name_of_group(group) == first_word]
    if app.registered_callback is None or not (commands or groups):
        return app
    narrowed = copy(app)
    narrowed.registered_commands, narrowed.registered_groups = commands, groups
    return narrowed


def _name_of(command: CommandInfo) -> str:
    return command.name or get_command_name(command.callback.__name__ if command.callback else "")


def _name_of_group(group: TyperInfo) -> str:
    names = (group.name, group.typer_instance.info.name if group.typer_instance else None)
    return next((name for name in names if isinstance(name, str)), "")


def _to_fault(exc: Exception) -> UsageFault | SystemExit:
    """Return the exception to raise for a usage error of Typer. If a command that needs arguments has none, print its
    help and return `SystemExit`.
    """
    text = exc.format_message()  # type: ignore[attr-defined]
    if "\n" in text:
        say(text, err=True)
        return SystemExit(2)
    text = _WRONG_TYPE_PATTERN.sub(_format_type_error, text).rstrip(".")
    context = exc.ctx  # type: ignore[attr-defined]
    where = f"; `{context.command_path} --help` says what there is" if context else ""
    return UsageFault(text[:1].lower() + text[1:] + where)


def _format_type_error(found: re.Match[str]) -> str:
    return f"{found[1]} takes {'an' if found[2][0] in 'aeiou' else 'a'} {found[2]}"
