"""Reads files that name bots: lists of names, and the entrants of a tournament."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from arena.operator.name_list import DISPLAY_COLUMN, NAME_COLUMN, NameList, mistakes_fault, parse_name_list
from machine.arguments import parse_toml
from machine.input_file import read_text
from protocol.display import list_choices, short_repr
from protocol.display_names import describe_invalid_bot_name
from protocol.errors import UsageFault
from protocol.names import fold_name, is_bot_name

COMMAND_KEY, BOT_KEY, SETTINGS_KEY = "command", "bot", "settings"
"""Keys of an entrant in a file. `COMMAND_KEY` is the key of its command, `BOT_KEY` of the name of a built-in bot,
`SETTINGS_KEY` of the settings of that bot.
"""
_ENTRANT_KEYS = (NAME_COLUMN, COMMAND_KEY, BOT_KEY, SETTINGS_KEY)
"""The keys of an entrant in a file: columns of a CSV file, keys of a TOML table."""

_NO_DISPLAY_MESSAGE = (
    "there is a display name, and a tournament's standings have names alone: leave display out. For the pages, "
    "`arena bot display NAME DISPLAY` gives one to a registered bot"
)
"""The error message for a file of entrants that has a display name, which entrants can't have."""


def read_name_list(file: Path, refused: Mapping[str, str] | None = None) -> NameList:
    """Read a list of names from a CSV file, as `parse_name_list` does. Raise a `UsageFault` that names each wrong line.

    `refused` maps each column that the file may not have to the reason.
    """
    try:
        text = read_text(file)
    except OSError as exc:
        raise UsageFault(f"{file} can't be read: {exc.strerror}") from exc
    except UnicodeDecodeError as exc:
        raise UsageFault(f"{file} is not text in UTF-8: save it as CSV UTF-8") from exc
    return parse_name_list(text, str(file), refused, (*_ENTRANT_KEYS, DISPLAY_COLUMN))


def read_entrants(file: Path) -> list[str]:
    """Return the entrants that a CSV or TOML file lists, as `NAME`, `NAME=COMMAND` or `NAME=BOT:KEY=VALUE,…`.

    Raise a `UsageFault` that lists all mistakes in the file.
    """
    entries = list(_read_toml_entries(file) if file.suffix.lower() == ".toml" else _read_csv_entries(file))
    wrong = list(_find_errors(entries))
    if wrong:
        raise mistakes_fault([f"{file}, {line}" for line in wrong])
    return [_entrant_word(entry) for _, entry in entries]


def _read_csv_entries(file: Path) -> Iterator[tuple[str, Mapping[str, str]]]:
    listed = read_name_list(file)
    lines = [line for row, line in zip(listed.rows, listed.lines, strict=True) if row.get(DISPLAY_COLUMN)]
    if lines:
        raise UsageFault(f"{file}, line {lines[0]}: {_NO_DISPLAY_MESSAGE}")
    for row, line in zip(listed.rows, listed.lines, strict=True):
        yield f"line {line}", {key: row[key] for key in _ENTRANT_KEYS if row.get(key)}


def _read_toml_entries(file: Path) -> Iterator[tuple[str, Mapping[str, str]]]:
    try:
        document = parse_toml(read_text(file))
    except OSError as exc:
        raise UsageFault(f"{file} can't be read: {exc.strerror}") from exc
    except UnicodeDecodeError as exc:
        raise UsageFault(f"{file} is not text in UTF-8: save it as UTF-8") from exc
    except tomllib.TOMLDecodeError as exc:
        raise UsageFault(f"{file} is not TOML: {exc}") from exc
    except ValueError as exc:
        raise UsageFault(f"{file} can't be read: {exc}") from exc
    entries = document.get("entrants")
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
        raise UsageFault(f'{file} has no entrants: each is a table [[entrants]] with name = "…" and command = "…"')
    for number, entry in enumerate(entries, 1):
        yield f"entrant {number}", {key: _text(file, number, key, value) for key, value in entry.items()}


def _text(file: Path, number: int, key: str, value: Any) -> str:
    """Return the value of a key of a TOML entrant as the text that stands for it on a command line. Raise `UsageFault`
    if the key or value is wrong.
    """
    if key == DISPLAY_COLUMN:
        raise UsageFault(f"{file}, entrant {number}: {_NO_DISPLAY_MESSAGE}")
    if key not in _ENTRANT_KEYS:
        raise UsageFault(f"{file}, entrant {number}: there is no key {short_repr(key)}: {list_choices(_ENTRANT_KEYS)}")
    if key == SETTINGS_KEY and isinstance(value, dict):
        return ",".join(f"{name}={_format_setting(setting)}" for name, setting in value.items())
    if not isinstance(value, str):
        raise UsageFault(f"{file}, entrant {number}: {key} is {short_repr(value)}: it is text")
    return value


def _format_setting(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _find_errors(entries: list[tuple[str, Mapping[str, str]]]) -> Iterator[str]:
    first: dict[str, str] = {}
    for where, entry in entries:
        name = entry.get(NAME_COLUMN, "")
        if not is_bot_name(name):
            yield f"{where}: {describe_invalid_bot_name(name)}" if name else f"{where}: there is no name"
            continue
        if COMMAND_KEY in entry and (BOT_KEY in entry or SETTINGS_KEY in entry):
            other = BOT_KEY if BOT_KEY in entry else SETTINGS_KEY
            yield f"{where}: {name} has a command and a {other}: it is one of them"
        elif SETTINGS_KEY in entry and BOT_KEY not in entry:
            yield f"{where}: {name} has settings and no bot whose they are"
        if fold_name(name) in first:
            yield f"{where}: {name} is there twice, first in {first[fold_name(name)]}"
        first.setdefault(fold_name(name), where)


def _entrant_word(entry: Mapping[str, str]) -> str:
    name, settings = entry[NAME_COLUMN], entry.get(SETTINGS_KEY)
    if COMMAND_KEY in entry:
        return f"{name}={entry[COMMAND_KEY]}"
    if BOT_KEY in entry:
        return f"{name}={entry[BOT_KEY]}{f':{settings}' if settings else ''}"
    return name
