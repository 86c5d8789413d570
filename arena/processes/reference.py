"""The reference bots: which there are, the commands that start them, and the names they may have."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points

from protocol.errors import UsageFault
from protocol.launch import REFERENCE_BOTS, settings_in
from protocol.names import NAME_FORM, folded, is_bot_name

BOT_SETTINGS = ("battles", "depth", "draft", "eval", "horizon", "nodes", "weights")
"""Keys of `--set` that are not a game's but the reference bots': each takes those it knows."""


def known_bots() -> list[str]:
    """Their names, in order."""
    return sorted({point.name for point in entry_points(group=REFERENCE_BOTS)})


def reference_command(bot: str, name: str, settings: str, defaults: Mapping[str, str]) -> tuple[str, ...]:
    """The command that runs a reference bot under a name; `settings` are `KEY=VALUE,…`. Raises `UsageFault`."""
    command = [sys.executable, "-m", "bots", "run", bot, "--name", name]
    for key, value in settings_in(settings, name, bot).items():
        command += ["--set", f"{key}={value}"]
    for key, value in defaults.items():
        command += ["--default", f"{key}={value}"]
    return tuple(command)


def check_names(names: Sequence[str]) -> None:
    """Raises `UsageFault` for a name that no bot can have, and for one that two of these would have."""
    keys = list(map(folded, names))
    for name, key in zip(names, keys, strict=True):
        if not is_bot_name(name):
            raise UsageFault(f"{name!r} is no bot name: {NAME_FORM}")
        if keys.count(key) > 1:
            raise UsageFault(f"two bots are called {key!r}: give one another name, like {key}-2={key}")
