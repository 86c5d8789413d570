"""The reference bots: which there are, the commands that start them, and the names they may have."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points

from protocol.errors import UsageFault
from protocol.launch import REFERENCE_BOTS
from protocol.names import NAME_FORM, folded, is_bot_name

BOT_SETTINGS = ("battles", "depth", "draft", "eval", "horizon", "nodes", "weights")
"""Keys of `--set` that are not a game's but the reference bots': each takes those it knows."""


def known_bots() -> list[str]:
    """Their names, in order."""
    return sorted({point.name for point in entry_points(group=REFERENCE_BOTS)})


def reference_command(bot: str, name: str, settings: str, defaults: Mapping[str, str]) -> tuple[str, ...]:
    """The command that runs a reference bot under a name; `settings` are `KEY=VALUE,…`. Raises `UsageFault`."""
    command = [sys.executable, "-m", "bots", "run", bot, "--name", name]
    for setting in _parted(settings) if settings else ():
        key, equals, value = setting.partition("=")
        if not (key and equals and value):
            raise UsageFault(f"{name}: {setting!r} is no setting: write KEY=VALUE, like {name}={bot}:depth=4")
        command += ["--set", setting]
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


def _parted(settings: str) -> list[str]:
    """`depth=4,weights=1,2.5,3` as `depth=4` and `weights=1,2.5,3`: a bare number goes on with the list before it."""
    parted: list[str] = []
    for part in settings.split(","):
        if parted and re.fullmatch(r"-?\d*\.?\d+", part):
            parted[-1] += f",{part}"
        else:
            parted.append(part)
    return parted
