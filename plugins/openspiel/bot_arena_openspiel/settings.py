"""OpenSpiel's parameters of a game as keys of a config.

OpenSpiel checks few of its parameters: a board without rows ends the process, a large one takes all memory. So a config
may set a parameter only within bounds that a test has played in (`plugins/openspiel/tests/test_parameters.py`).
A config has no floats, because digests need one spelling of each value: a parameter that is a float is a text in
decimal digits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from protocol.display import short_repr
from protocol.errors import BadConfig
from protocol.games.turn_settings import ChoiceSetting, IntegerSetting

GROWTH = 2
"""A parameter may be at most this many times as large as its default."""
MIN_UPPER_BOUND = 6
"""The least upper bound of a parameter that is an integer, however small its default."""
BOUNDS: Mapping[tuple[str, str], tuple[int, int]] = {
    ("blotto", "coins"): (2, 12),
    ("blotto", "fields"): (2, 4),
    ("gomoku", "connect"): (3, 10),
    ("leduc_poker", "starting_player"): (0, 1),
    ("y", "board_size"): (2, 19),
    ("yacht", "dice_sides"): (2, 6),
    ("yacht", "num_dice"): (2, 5),
}
"""The bounds of single parameters, by game and parameter, where the general ones are too wide."""
FIXED_PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "blotto": ("players",),
    "go_fish": ("initial_cards", "ranks", "suits"),
    "gomoku": ("dims",),
    "goofspiel": ("num_turns",),
    "oh_hell": ("num_tricks_fixed",),
    "universal_poker": (
        "calcOddsNumSims",
        "numHoleCards",
        "numPlayers",
        "numRanks",
        "numRounds",
        "numSuits",
        "potSize",
    ),
}
"""The integers that no config can set, by game, because only some combinations make a game."""
TEXT_CHOICES: Mapping[str, tuple[str, ...]] = {
    "winloss_scoring": ("winloss_scoring", "enable_gammons", "full_scoring"),
    "cdh": ("cdh", "adh"),
    "classical": ("classical", "abrupt"),
    "reveal-nothing": ("reveal-nothing", "reveal-numturns"),
    "random": ("random", "descending", "ascending"),
    "win_loss": ("win_loss", "point_difference", "total_points"),
    "reset-face": ("reset-face", "reset-quantity"),
    "fcpa": ("fcpa", "fc"),
}
"""The values of parameters that are texts, by the default. A config sets no other texts, such as boards and files."""
DECIMAL_PATTERN = re.compile(r"\d{1,6}(\.\d{1,6})?")
"""The form of a parameter that is a float."""


class DecimalSetting(NamedTuple):
    """A setting that is a float from 0 to `maximum`, as text."""

    default: str
    maximum: float

    def parse(self, game: str, key: str, value: Any) -> float:
        """Return the value of a config. Raise `BadConfig` if the setting does not allow it."""
        if isinstance(value, str) and DECIMAL_PATTERN.fullmatch(value) and float(value) <= self.maximum:
            return float(value)
        raise BadConfig(
            f"{game}: {key} is {short_repr(value)}: it must be a number from 0 to {self.maximum:g} in quotes, like "
            f'"{self.default}"'
        )


Setting = IntegerSetting | ChoiceSetting | DecimalSetting


def settings_of(short_name: str, parameters: Mapping[str, Any]) -> dict[str, Setting]:
    """Return the settings of a game by OpenSpiel's name and parameters, which have their defaults."""
    settings = {key: _make_setting(short_name, key, value) for key, value in parameters.items()}
    return {key: setting for key, setting in settings.items() if setting is not None}


def _make_setting(short_name: str, key: str, default: Any) -> Setting | None:
    """Return the setting of a parameter; None if no config can set it."""
    if key == "ansi_color_output" or key in FIXED_PARAMETERS.get(short_name, ()):
        return None
    if isinstance(default, bool):
        return ChoiceSetting((default, not default))
    if isinstance(default, int):
        low, high = BOUNDS.get((short_name, key), (min(default, 2), max(GROWTH * default, MIN_UPPER_BOUND)))
        return IntegerSetting(default, low, high)
    if isinstance(default, float):
        return DecimalSetting(format_decimal(default), max(GROWTH * default, 1.0))
    if isinstance(default, str) and default in TEXT_CHOICES:
        return ChoiceSetting(TEXT_CHOICES[default])
    return None


def format_decimal(value: float) -> str:
    """Return a float in decimal digits, in a form that `DECIMAL_PATTERN` allows."""
    return f"{value:.6f}".rstrip("0").rstrip(".")
