"""Creates groups of commands."""

from __future__ import annotations

import typer


def group(name: str, says: str) -> typer.Typer:
    """Return a group of commands with this name and help text."""
    return typer.Typer(
        name=name, help=says, no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False
    )
