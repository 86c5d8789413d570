"""How commands under one word are made."""

from __future__ import annotations

import typer


def group(name: str, says: str) -> typer.Typer:
    """Commands under one word."""
    return typer.Typer(
        name=name, help=says, no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False
    )
