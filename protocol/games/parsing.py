"""Parsing of configs and moves, with presets, defaults, bounds and error messages, for all games."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from protocol.display import list_choices, short_repr
from protocol.errors import BadConfig, IllegalMove, MalformedMove
from protocol.games.base import Game

MAX_MOVE_DIGITS = 20
"""Maximum number of digits of a number in a move that a person writes. Python itself converts at most 4300 digits."""


def read_config(game: type[Game[Any, Any]], config: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return a config with all keys. The value of a key comes from `config`, else from the preset that `config` names,
    else from `defaults` or the game's `late_keys`. Raise `BadConfig` for an unknown key or preset.
    """
    given, defaults = dict(config), {**defaults, **game.late_keys}
    base: Mapping[str, Any] = {}
    if "preset" in given:
        preset = given.pop("preset")
        if not isinstance(preset, str) or preset not in game.presets:
            raise BadConfig(f"{game.name} has no preset {short_repr(preset)}: {list_choices(game.presets)}")
        base = game.presets[preset]
    for key in given:
        if key not in defaults:
            raise BadConfig(f"{game.name} has no config key {short_repr(key)}: {list_choices((*defaults, 'preset'))}")
    return {**defaults, **base, **given}


def parse_integers(
    game: str, key: str, value: Any, *, count: tuple[int, int], bounds: tuple[int, int]
) -> tuple[int, ...]:
    """Convert a config value, a list of integers or one integer, to a tuple. Raise `BadConfig` if an integer or the
    number of integers is out of bounds.
    """
    items = [value] if type(value) is int else value
    (fewest, most), (low, high) = count, bounds
    if not isinstance(items, (list, tuple)) or not fewest <= len(items) <= most:
        raise BadConfig(f"{game}: {key} is {short_repr(value)}: it must be a list of {fewest} to {most} integers")
    return tuple(parse_integer(game, f"{key}[{at}]", item, low, high) for at, item in enumerate(items))


def parse_integer(game: str, key: str, value: Any, low: int, high: int) -> int:
    """Return a config value if it is an integer within bounds. Raise `BadConfig` if it is not."""
    if type(value) is not int or not low <= value <= high:
        raise BadConfig(f"{game}: {key} is {short_repr(value)}: it must be an integer from {low} to {high}")
    return value


def parse_choice(game: str, key: str, value: Any, values: Sequence[Any]) -> Any:
    """Return a config value if it is one of `values`. Raise `BadConfig` if it is not."""
    for known in values:
        if type(value) is type(known) and value == known:
            return value
    raise BadConfig(f"{game}: {key} is {short_repr(value)}: {list_choices(values)}")


def read_move_fields(wire: Any, form: str, *names: str) -> tuple[int, ...]:
    """Return the integer fields `names` of a move. Raise `MalformedMove`, which shows the example `form`, otherwise."""
    if type(wire) is dict and len(wire) == len(names):
        values: tuple[Any, ...] = tuple(map(wire.get, names))
        for value in values:
            if type(value) is not int:
                break
        else:
            return values
    raise MalformedMove(_describe_bad_form(wire, form, names))


def read_move_kind(wire: Any, forms: Mapping[str, tuple[str, Sequence[str]]]) -> tuple[str, tuple[int, ...]]:
    """Return the kind of a move, which is its field `do`, and the values of its other fields, which are integers. For
    each kind, `forms` has an example and the names of the other fields. Raise `MalformedMove` if the move has another
    form.
    """
    do = wire.get("do") if isinstance(wire, Mapping) else None
    if not isinstance(do, str) or do not in forms:
        example, _ = next(iter(forms.values()))
        if not isinstance(wire, Mapping):
            raise MalformedMove(f"a move is a map like {example}, not {short_repr(wire)}")
        raise MalformedMove(f"do is {short_repr(do)}: it is {list_choices(forms)}, as in {example}")
    example, names = forms[do]
    if wire.keys() != {"do", *names}:
        raise MalformedMove(_describe_bad_form(wire, example, ("do", *names)))
    return do, read_move_fields({key: value for key, value in wire.items() if key != "do"}, example, *names)


def _describe_bad_form(wire: Any, form: str, names: Sequence[str]) -> str:
    if not isinstance(wire, Mapping):
        return f"a move is a map like {form}, not {short_repr(wire)}"
    if wire.keys() != set(names):
        fields = ", ".join(sorted(map(str, wire)))[:80]
        return (
            f"a move looks like {form}; this one has {(fields if fields.isprintable() else repr(fields)) or 'nothing'}"
        )
    name = next(name for name in names if type(wire[name]) is not int)
    return f"{name} is {short_repr(wire[name])}: it is an integer, as in {form}"


def parse_whole_number(text: str) -> int | None:
    """Return the whole number that a text consists of; None for any other text, or if it has too many digits."""
    digits = text.strip()
    return int(digits) if digits.isdecimal() and len(digits) <= MAX_MOVE_DIGITS else None


def parse_two_numbers(text: str, pattern: str, move_syntax: str) -> tuple[int, int]:
    """Return the two numbers in a move that a person wrote in the form of `pattern`, in upper or lower case. Raise
    `MalformedMove`, with the examples in `move_syntax`, if the text has another form.
    """
    found = re.fullmatch(pattern, text.strip(), re.IGNORECASE)
    one, two = map(parse_whole_number, found.groups()) if found else (None, None)
    if one is None or two is None:
        raise MalformedMove(f"{short_repr(text)} is not a move here: write it like {move_syntax}")
    return one, two


def raise_illegal(reason: str) -> NoReturn:
    """Raise `IllegalMove`. A call of this function, unlike the statement `raise`, can be part of an expression."""
    raise IllegalMove(reason)
