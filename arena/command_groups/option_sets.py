"""Builds command-line options from the server's settings, and adds options to commands."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Annotated, Any

import typer

from arena.commands.settings import SETTING_GROUPS, ServerSettings, TypedSetting

Command = Callable[..., None]


def parameters_of(command: Command) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a command function by name."""
    return inspect.signature(command, eval_str=True).parameters


def with_options(options: Mapping[str, inspect.Parameter]) -> Callable[[Command], Command]:
    """Return a decorator that gives a command these command-line options in place of its parameter `words`.

    The command receives the values of the options in `words`, as a dictionary.
    """

    def with_theirs(command: Command) -> Command:
        own = parameters_of(command).values()
        shown = [one for each in own for one in (options.values() if each.name == "words" else [each])]

        @wraps(command)
        def run(**given: Any) -> None:
            words = {name: given.pop(name) for name in options}
            command(**given, words=words)

        run.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
        return run

    return with_theirs


def option_of(name: str, typed_setting: TypedSetting) -> inspect.Parameter:
    """Return a server setting as an optional command-line option."""
    kind, setting = typed_setting
    group = next(heading for heading, names in SETTING_GROUPS.items() if name in names)
    metavar = setting.metavar or {int: "N", str: "TEXT"}.get(kind)
    flag = setting.flag or f"--{name.replace('_', '-')}"
    if getattr(ServerSettings, name) is True:
        flag = f"{flag}/--no-{name.replace('_', '-')}"
    option = typer.Option(flag, metavar=metavar, help=setting.help, rich_help_panel=group)
    of: Any = list[str] if setting.is_list else kind
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[of | None, option]
    )
