"""Bots by name: entry points of this package and of others, and the settings that they are made with."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points

from protocol.bot_launch import REFERENCE_BOTS
from protocol.errors import UsageFault


def find(name: str) -> EntryPoint:
    """Where the bot called `name` is. Raises `UsageFault`, listing those there are."""
    known = {entry.name: entry for entry in entry_points(group=REFERENCE_BOTS)}
    if name.endswith(".py"):
        raise UsageFault(f"{name[:80]!r} is a program, which needs no arena-bot: python {name[:80]}")
    if name not in known:
        raise UsageFault(f"there is no bot {name[:40]!r}: one of {', '.join(sorted(known)) or 'none installed'}")
    return known[name]


def choose_settings(
    bot: str, known: Mapping[str, str], given: Mapping[str, str], defaults: Mapping[str, str]
) -> dict[str, str]:
    """What to construct the bot with: `given` over those `defaults` that it knows. Raises `UsageFault`."""
    for key in given:
        if key not in known:
            has = f": it has {', '.join(known)}" if known else ", nor any other: it plays as it is"
            raise UsageFault(f"{bot} has no setting {key[:40]!r}{has}")
    return {**{key: value for key, value in defaults.items() if key in known}, **given}
