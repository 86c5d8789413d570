"""The settings of a `TurnGame`: what its matches may set, and which values each setting allows."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar, cast

from protocol.games.parsing import parse_choice, parse_integer

V = TypeVar("V")


class IntegerSetting(NamedTuple):
    """A setting that is an integer from `minimum` to `maximum`."""

    default: int
    minimum: int
    maximum: int

    def parse(self, game: str, key: str, value: Any) -> int:
        """Return the value of a config. Raise `BadConfig` if the setting does not allow it."""
        return parse_integer(game, key, value, self.minimum, self.maximum)


class ChoiceSetting(NamedTuple):
    """A setting that is one of some `values`. The first is the default."""

    values: tuple[Any, ...]

    @property
    def default(self) -> Any:
        return self.values[0]

    def parse(self, game: str, key: str, value: Any) -> Any:
        """Return the value of a config. Raise `BadConfig` if the setting does not allow it."""
        return parse_choice(game, key, value, self.values)


def integer(default: int, *, minimum: int, maximum: int) -> int:
    """Make a setting of a game that is an integer: `width = integer(7, minimum=4, maximum=12)`."""
    setting: Any = IntegerSetting(default, minimum, maximum)
    return cast(int, setting)  # instances have the integer


def choice(*values: V) -> V:
    """Make a setting that is one of some values, the first by default: `variant = choice("short", "long")`."""
    setting: Any = ChoiceSetting(values)
    return cast(V, setting)  # instances have the value
