"""Creates groups of commands."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from machine.help_groups import command_group


def group(name: str, help_text: str, headings: Sequence[str] = ()) -> typer.Typer:
    """Return an empty group of commands. Its help shows the commands under `headings`, in that order."""
    return typer.Typer(
        name=name,
        cls=command_group(headings),
        help=help_text,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
