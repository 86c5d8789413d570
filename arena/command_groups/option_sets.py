"""Options of commands that are made of others: of settings of the server, of those that several commands take."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Annotated, Any

import typer

from arena.commands.settings import Described

Command = Callable[..., None]


def words_of(taken: Command) -> Mapping[str, inspect.Parameter]:
    """The options and arguments that a function takes, by name."""
    return inspect.signature(taken, eval_str=True).parameters


def with_options(theirs: Mapping[str, inspect.Parameter]) -> Callable[[Command], Command]:
    """Have a command take these options in place of its own `words`, which are what was given for them, by name."""

    def with_theirs(command: Command) -> Command:
        own = words_of(command).values()
        shown = [one for each in own for one in (theirs.values() if each.name == "words" else [each])]

        @wraps(command)
        def run(**given: Any) -> None:
            words = {name: given.pop(name) for name in theirs}
            command(**given, words=words)

        run.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
        return run

    return with_theirs


def option_of(name: str, described: Described) -> inspect.Parameter:
    """A setting of the server as an option of the command line, where it may be left out."""
    kind, setting = described
    option = typer.Option(*setting.flags, metavar=setting.metavar, help=setting.help)
    of: Any = list[str] if setting.many else kind
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[of | None, option]
    )
