"""Running a program with commands (Typer), with one-line errors for wrong usage."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from functools import partial
from typing import NoReturn

import typer
from typer.main import get_command

from machine.file_options import require_file_names
from machine.main_program import run_program
from machine.terminal import say
from protocol.display import short_repr
from protocol.errors import UsageFault

_ParseError: type[Exception] = typer.BadParameter.__mro__[1]
"""The base class of all usage errors of Typer, which exports only some of them."""
_WRONG_TYPE_PATTERN = re.compile(r"Invalid value for (.+): Input should be a valid ([a-z]+)\b.*")
"""The pattern of Typer's message about a value of the wrong type."""

_SURROGATE_PATTERN = re.compile("[\ud800-\udfff]")
"""The pattern of a character that no encoding has."""


def run(app: typer.Typer, name: str, words: Sequence[str] | None = None) -> NoReturn:
    """Run the program called `name` and exit with a status: 0 done, 1 failed, 2 wrong usage, 130 interrupted."""
    run_program(partial(run_command, app, words), name)


def run_command(app: typer.Typer, words: Sequence[str] | None = None, program_name: str | None = None) -> None:
    """Run the command of `app` that `words` name, by default the words of the process's command line. In help texts,
    the program is called `program_name`.

    Raise `UsageFault` for wrong usage, and `SystemExit` if the command exits with a status other than 0.
    """
    command = get_command(app)
    require_file_names(command)
    try:
        code = command(words, prog_name=program_name, standalone_mode=False)
    except _ParseError as exc:
        raise _to_fault(exc) from exc
    except UnicodeEncodeError as exc:
        if (word := _find_undecoded(sys.argv[1:] if words is None else words)) is None:
            raise
        raise UsageFault(f"{short_repr(word)} is not text in UTF-8") from exc
    if isinstance(code, int) and code:
        raise SystemExit(code)


def _find_undecoded(words: Sequence[str]) -> str | None:
    """Return the first word with bytes that are not UTF-8, which Python keeps as surrogates; None if there is none.

    Such a word can be the name of a file, but no other text.
    """
    return next((word for word in words if _SURROGATE_PATTERN.search(word)), None)


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
