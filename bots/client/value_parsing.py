"""Settings and configs as a person gives them: pairs, numbers, one of a few names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from machine.arguments import read_value
from protocol.errors import UsageFault

Name = TypeVar("Name", bound=str)


def read_pairs(pairs: Iterable[str], option: str) -> dict[str, str]:
    """`key=value` texts as a map. Raises `UsageFault`."""
    read = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UsageFault(f"{option} {pair[:40]!r}: it is key=value")
        read[key] = value
    return read


def read_config(pairs: Iterable[str], preset: str | None) -> dict[str, Any] | None:
    """A game's config from `--preset` and `--config key=value`; None without either. Raises `UsageFault`.

    A value is JSON (`true`, `null`, `5`, `[3,5]`), a list with commas (`3,5,7`), a file (`@my.toml`), or else a text.
    """
    config: dict[str, Any] = {key: read_value(text) for key, text in read_pairs(pairs, "--config").items()}
    if preset is not None:
        config["preset"] = preset
    return config or None


def read_one(bot: str, key: str, text: str, of: Sequence[Name]) -> Name:
    """A setting that is one of a few. Raises `UsageFault`."""
    for name in of:
        if name == text:
            return name
    raise UsageFault(f"{bot}: {key} is {text[:40]!r}: one of {', '.join(of)}")


def read_number(bot: str, key: str, value: object, most: int) -> int | None:
    """A setting that is an integer from 1 to `most`, as text or number; None if it was not given.

    Raises `UsageFault`.
    """
    if value is None:
        return None
    try:
        number = int(value) if isinstance(value, (int, str)) else 0
    except ValueError:
        number = 0
    if not 1 <= number <= most:
        raise UsageFault(f"{bot}: {key} is {str(value)[:40]!r}: an integer from 1 to {most}")
    return number
