"""The presets of `arena-bot tune` for all games, and how to find one by name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from bots.tuning.genetic import Method
from bots.tuning.selfplay import Setup
from protocol.display import short_repr
from protocol.errors import UsageFault
from protocol.games import clear_on_registration, game_part, games_with


class TuningPreset(NamedTuple):
    """The method and the setup with which a tuning of one game starts."""

    method: Method
    setup: Setup


@clear_on_registration
@cache
def tuning_presets() -> Mapping[str, Mapping[str, TuningPreset]]:
    """Return all presets, by name and game."""
    found: dict[str, dict[str, TuningPreset]] = {}
    for game in games_with("tuning_presets"):
        for name, presets in game_part(game, "tuning_presets").items():
            found.setdefault(name, {}).update(presets)
    return found


def read_preset(name: str, game: str) -> TuningPreset:
    """Return a game's preset called `name`. Raise `UsageFault` if there is none."""
    presets = tuning_presets()
    if name not in presets:
        raise UsageFault(f"there is no preset {short_repr(name)}: one of {', '.join(presets)}")
    if game not in presets[name]:
        raise UsageFault(f"{short_repr(game)} has no weights to tune: one of {', '.join(presets[name])}")
    return presets[name][game]
