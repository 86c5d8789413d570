"""Options that take a file or a folder refuse the next option as its name: `--json --on-runners` lacks a word."""

from __future__ import annotations

from functools import partial
from typing import Any

from protocol.errors import UsageFault

FILE_WORDS = ("FILE", "FOLDER")
"""The words in the help of an option that takes a file or a folder."""


def require_file_names(command: Any) -> None:
    """Have the options of a command of Typer, and of all commands in it, refuse a file name that begins with `--`."""
    for inner in getattr(command, "commands", {}).values():
        require_file_names(inner)
    for option in command.params:
        if option.param_type_name == "option" and any(word in (option.metavar or "") for word in FILE_WORDS):
            option.callback = partial(_check, option.callback)


def _check(callback: Any, context: Any, option: Any, value: Any) -> Any:
    for one in value if isinstance(value, list | tuple) else (value,):
        if str(one).startswith("--"):
            raise UsageFault(f"{option.opts[0]} needs a {option.metavar}, but the next word is {one}")
    return value if callback is None else callback(context, option, value)
