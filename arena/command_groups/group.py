"""Creates groups of commands."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from machine.help_groups import command_group


def group(name: str, help_text: str, headings: Sequence[str] = ()) -> typer.Typer:
    """Return a group of commands with this name and help text, and the order of its commands' headings."""
    return typer.Typer(
        name=name,
        cls=command_group(headings),
        help=help_text,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
