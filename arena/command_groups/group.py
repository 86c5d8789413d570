"""Creates groups of commands."""

from __future__ import annotations

import typer


def group(name: str, help_text: str) -> typer.Typer:
    """Return a group of commands with this name and help text."""
    return typer.Typer(
        name=name, help=help_text, no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False
    )
