"""Parsing of values on command lines. `@my.toml` stands for the file's content; other text stands for itself."""

from __future__ import annotations

import json
import os
import re
import tomllib
from pathlib import Path
from typing import Any

from machine.input_file import read_bytes
from machine.text_encoding import decode
from protocol.config_values import FileTable, parse_value
from protocol.display import short_repr
from protocol.errors import UsageFault
from protocol.messages import MAX_CLOCK_MS, Clock
from protocol.secret_text import strip_invisible

MAX_FILE_BYTES = 1024 * 1024
"""Maximum size of a file named on a command line, in bytes."""
MAX_DAYS = 36500
"""Maximum number of days in an option such as `90d`."""
MAX_DIGITS = 4300
"""Maximum number of decimal digits of an integer, which is Python's limit for conversion from and to text. Only
hexadecimal, octal and binary integers in TOML could exceed it.
"""
MAX_CLOCK_CHARACTERS = 40
"""Maximum characters of a clock on a command line, so that no number in it becomes an infinite float."""
_MIN_UNPRINTABLE_INTEGER = 10**MAX_DIGITS
"""The smallest integer with more digits than Python converts to text."""
_LONG_NUMBER_MESSAGE = f"a number has more than {MAX_DIGITS} digits"
"""The message about a number that Python does not convert because it has too many digits."""


def read_clock(text: str, key: str = "clock") -> Clock:
    """Parse a clock such as `60+0.5` or `60`. Raise `UsageFault`, which names `key`, for another text."""
    found = len(text) <= MAX_CLOCK_CHARACTERS and re.fullmatch(r"(\d+(?:\.\d+)?)(?:\+(\d+(?:\.\d+)?))?", text)
    bank, increment = (round(float(part or 0) * 1000) for part in found.groups()) if found else (0, 0)
    if not 1 <= bank <= MAX_CLOCK_MS or increment > MAX_CLOCK_MS:
        raise UsageFault(
            f"{key} is {short_repr(text)}: it must be seconds and increment, like 60+0.5, from 0.001 s to a day"
        )
    return Clock(bank_ms=bank, increment_ms=increment)


def read_days(text: str, key: str) -> int:
    """Return the days in an option such as `90d` or `12w` (weeks). Raise `UsageFault`, which names `key`, otherwise."""
    found = re.fullmatch(r"(\d{1,5})([dw])", text)
    days = int(found[1]) * {"d": 1, "w": 7}[found[2]] if found else 0
    if not 1 <= days <= MAX_DAYS:
        raise UsageFault(
            f"{key} is {short_repr(text)}: it must be days or weeks, like 90d or 12w, from 1d to {MAX_DAYS}d"
        )
    return days


def read_value(text: str) -> Any:
    """Return the content of the file that `@my.toml` names, or the value that `parse_value` reads from another text.
    Raise `UsageFault` if the file cannot be read.
    """
    return read_file(text[1:]) if text.startswith("@") else parse_value(text)


def add_preset(config: dict[str, Any], preset: str | None, option: str) -> None:
    """Add the preset of the option `--preset`, if any, to a game's config, which comes from the option called `option`.
    Raise `UsageFault` if both options name a preset.
    """
    if preset is None:
        return
    if "preset" in config:
        raise UsageFault(f"--preset {preset} and {option} preset={config['preset']} name two presets: give one of them")
    config["preset"] = preset


def read_text_or_file(text: str, key: str) -> str:
    """Return a text, such as a password, or the first line of the file that the text names (`@/run/secrets/db`).

    Raise `UsageFault` if the file cannot be read. The error names `key` and the file, never the content.
    """
    if not text.startswith("@"):
        return strip_invisible(text)
    name = strip_invisible(text[1:])
    try:
        return strip_invisible(strip_invisible(decode(_read_bytes(name))).split("\n", 1)[0])
    except UsageFault as exc:
        raise UsageFault(f"{key}: {exc}") from exc
    except UnicodeDecodeError as exc:
        raise UsageFault(f"{key}: the file {_format_name(name)} is not text") from exc


def read_file(name: str) -> Any:
    """Read JSON from a file whose name ends in `.json`, or TOML from any other file. A table becomes a `FileTable`.
    Raise `UsageFault` if the file cannot be read or parsed.
    """
    form = "JSON" if name.endswith(".json") else "TOML"
    try:
        text = decode(_read_bytes(name))
        held = json.loads(text) if form == "JSON" else parse_toml(text)
    except (ValueError, RecursionError) as exc:
        if type(exc) is ValueError:  # raised by `int`: the parsers and the decoder raise subclasses
            raise UsageFault(f"the file {_format_name(name)} can't be read: {_LONG_NUMBER_MESSAGE}") from exc
        raise UsageFault(f"the file {_format_name(name)} is not {form}: {_format_reason(exc)}") from exc
    return FileTable(held, _format_name(name)) if isinstance(held, dict) else held


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML. Raise `tomllib.TOMLDecodeError` if it is invalid or nested too deeply, and `ValueError` for an
    integer of more than `MAX_DIGITS` digits. Both exceptions have a message for users.
    """
    try:
        held = tomllib.loads(text)
    except RecursionError as exc:
        raise tomllib.TOMLDecodeError("it is nested too deeply") from exc
    except ValueError as exc:
        if type(exc) is ValueError:  # raised by `int`
            raise ValueError(_LONG_NUMBER_MESSAGE) from exc
        raise
    if _has_too_long_integer(held):
        raise ValueError(_LONG_NUMBER_MESSAGE)
    return held


def _has_too_long_integer(held: Any) -> bool:
    waiting = [held]
    while waiting:
        value = waiting.pop()
        if isinstance(value, int) and abs(value) >= _MIN_UNPRINTABLE_INTEGER:
            return True
        if isinstance(value, (dict, list)):
            waiting += value.values() if isinstance(value, dict) else value
    return False


def _read_bytes(name: str) -> bytes:
    try:
        return read_bytes(Path(os.path.expanduser(name)), MAX_FILE_BYTES)
    except (OSError, ValueError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else str(exc)
        raise UsageFault(f"the file {_format_name(name)} can't be read: {reason}") from exc


def _format_name(name: str) -> str:
    text = repr(name)
    return text if len(text) <= 60 else f"'...{text[-55:]}"


def _format_reason(exc: Exception) -> str:
    """Return the message of a parser's error. A long message is shortened in the middle, because its end says where in
    the file the error is.
    """
    text = str(exc) if str(exc).isprintable() else repr(str(exc))
    return text if len(text) <= 100 else f"{text[:50]}...{text[-45:]}"
