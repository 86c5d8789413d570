"""Merges a server's settings from defaults, a TOML file, the environment and flags, and prints the effective ones."""

from __future__ import annotations

import os
import re
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from arena.commands.output import DEFAULT_COLUMNS, format_table, print_document, terminal_columns
from arena.commands.settings import NODE_PLACEHOLDER, SETTINGS, ServerSettings, database_url, node_of
from arena.feed import Broker
from arena.network.addresses import parse_host_names, parse_networks, parse_origins
from arena.store.thinning import Retention
from machine.arguments import MAX_DIGITS, parse_toml, read_clock, read_text_or_file
from machine.game_discovery import FAMILY_GAMES_VARIABLE, GAME_FILES_VARIABLE
from machine.input_file import read_text
from machine.subprocesses import MAX_NICENESS_VARIABLE
from machine.terminal import say
from machine.timeouts import FACTOR_VARIABLE
from protocol import bot_launch
from protocol.display import list_choices, short_repr
from protocol.errors import UsageFault
from protocol.names import NAME_PATTERN

DEMO_DEFAULTS = {"data": "arena-demo", "rated_per_pair": 0}
"""The default settings of a demo server that differ from those of a normal server."""
FILE_VARIABLE = "ARENA_CONFIG_FILE"
"""The environment variable that names the TOML file with a server's settings."""
OTHER_VARIABLES = (
    FILE_VARIABLE,
    "ARENA_OPERATOR_TOKEN",
    "ARENA_PLAIN",
    FACTOR_VARIABLE,
    MAX_NICENESS_VARIABLE,
    "ARENA_STORED_GAMES",
    GAME_FILES_VARIABLE,
    FAMILY_GAMES_VARIABLE,
)
"""The `ARENA_…` environment variables that are neither settings of a server nor read by bots."""
MAX_SHOWN_CHARACTERS = 200
"""Maximum characters of a setting's value that an error message shows."""
_VARIABLE_PREFIX = "ARENA_"
"""The prefix of the environment variables that this project defines."""
_SETTING_PATTERNS = {
    "node": NAME_PATTERN,
    **dict.fromkeys(("socket_url", "public_url"), r"^wss?://[^\s;,'\"?#{}]+\Z"),
    "dask": r"^(tcp|tls)://([^\s\[\]/:]+|\[[0-9A-Fa-f:.]+\]):[0-9]+\Z",
}
"""The regular expressions that values of a server's settings must match, by setting. Other settings have none."""
_SETTING_PARSERS = {"trusted_proxy": parse_networks, "allow_origin": parse_origins, "admin_host": parse_host_names}
"""The functions that parse values of a server's settings and raise `ValueError` for a wrong one, by setting."""


class SourcedValue(NamedTuple):
    """The value of a setting, its source, and its name in that source."""

    value: Any
    source: str
    name: str


class EffectiveSettings(NamedTuple):
    """A server's effective settings. `sources` has the source of each setting that is set, like `--port` or
    `ARENA_PORT`.
    """

    settings: ServerSettings
    sources: dict[str, str]


def read_settings(
    flags: Mapping[str, Any], file: Path | None, environment: Mapping[str, str] = os.environ
) -> ServerSettings:
    """Return settings from flags, else `ARENA_…` variables, else a TOML file. Raise `UsageFault` if one is wrong."""
    return read_effective_settings(flags, file, environment).settings


def read_effective_settings(
    flags: Mapping[str, Any], file: Path | None, environment: Mapping[str, str] = os.environ
) -> EffectiveSettings:
    """Return the effective settings with their sources. Raise `UsageFault` if a setting is wrong.

    If `file` is None, `ARENA_CONFIG_FILE` may name the TOML file.
    """
    if file is None and FILE_VARIABLE in environment:
        file = Path(environment[FILE_VARIABLE])
    given = {} if file is None else _from_file(file)
    given |= _from_environment(environment)
    for key, value in flags.items():
        if value is not None:
            given[key] = SourcedValue(value, f"--{key.replace('_', '-')}", key)
    if "demo" in given and given["demo"].value is True:
        given = {key: SourcedValue(value, "demo", key) for key, value in DEMO_DEFAULTS.items()} | given
    for key, one in given.items():
        _check(key, one)
    made = ServerSettings(**{key: one.value for key, one in given.items()})
    if made.public_url is not None and made.nodes == 1:
        made = replace(made, public_url=made.public_url.replace(NODE_PLACEHOLDER, made.node))
    _check_consistency(made, {key: given[key].name if key in given else key for key in SETTINGS})
    return EffectiveSettings(made, {key: one.source for key, one in given.items()})


def _check_consistency(settings: ServerSettings, names: Mapping[str, str]) -> None:
    """Raise `UsageFault` if a setting is invalid or contradicts another. The message names settings as in `names`."""
    for key in ("clock", "slow_clock"):
        read_clock(getattr(settings, key), names[key])
    if settings.mqtt is not None:
        Broker.parse(read_text_or_file(settings.mqtt, names["mqtt"]))
    for key, form in _SETTING_PATTERNS.items():
        text = getattr(settings, key)
        if text is not None and not re.match(form, text.replace(NODE_PLACEHOLDER, "")):
            raise UsageFault(f"{names[key]} is {text!r}: it is {SETTINGS[key].setting.value_form}")
    _check_nodes(settings, names)
    if (settings.tls_cert is None) != (settings.tls_key is None):
        raise UsageFault("tls_cert and tls_key belong together: one of them is missing")
    if settings.backup_to is not None and node_of(settings) is not None:
        raise UsageFault("backup_to is for a database in a file: `arena db backup FILE` says how pg_dump backs up db")
    if settings.admin and not settings.web:
        raise UsageFault("admin needs the web pages: leave out --no-web")
    for key, parse in _SETTING_PARSERS.items():
        try:
            parse(getattr(settings, key))
        except ValueError as exc:
            raise UsageFault(f"{names[key].rstrip(',')}: {exc}; it is {SETTINGS[key].setting.value_form}") from exc


def _check_nodes(settings: ServerSettings, names: Mapping[str, str]) -> None:
    if node_of(settings) is None:
        for key in ("node", "nodes"):
            value = getattr(settings, key)
            if value != getattr(ServerSettings(), key):
                text = f"{names[key]} is {value}: nodes share a database on a server, so give db too: postgresql://…"
                raise UsageFault(text)
    elif settings.public_url is None and settings.tls_cert is None:
        socket = settings.socket_url or ""
        tells = "trusted_proxy" if settings.trusted_proxy else "socket_url" if socket.startswith("wss:") else None
        if tells is not None:
            raise UsageFault(
                f"{names[tells]} is {getattr(settings, tells)}, so there is a proxy, and public_url is missing: nodes "
                f"would send bots past it, without TLS. Write where bots connect, like wss://arena.example.org/{NODE_PLACEHOLDER}"
            )
    if settings.nodes > 1 and settings.public_url is not None and NODE_PLACEHOLDER not in settings.public_url:
        raise UsageFault(
            f"{names['public_url']} is {settings.public_url}, the same for {settings.nodes} nodes: "
            f"write {NODE_PLACEHOLDER} where the name of each belongs, like wss://arena.example.org/{NODE_PLACEHOLDER}"
        )


def unknown_variables(environment: Mapping[str, str]) -> list[str]:
    """Return a warning for each `ARENA_…` variable that is unknown, with the closest known name."""
    names = [*map(_variable, SETTINGS), *vars(bot_launch).values(), *OTHER_VARIABLES]
    known = [
        name.removeprefix(_VARIABLE_PREFIX)
        for name in names
        if isinstance(name, str) and name.startswith(_VARIABLE_PREFIX)
    ]
    lines = []
    for name in sorted(environment):
        key = name.removeprefix(_VARIABLE_PREFIX)
        if key != name and key not in known:
            near = get_close_matches(key, known, 1)
            meant = f"did you mean {_VARIABLE_PREFIX}{near[0]}?" if near else "`arena config` lists the settings"
            lines.append(f"{name} in the environment is ignored, because it is unknown: {meant}")
    return lines


def show(effective_settings: EffectiveSettings, *, to_json: bool) -> None:
    """Print every setting with its value and source. Hide passwords, and warn of unknown `ARENA_…` variables."""
    for line in unknown_variables(os.environ):
        say(f"arena: {line}", err=True)
    made = effective_settings.settings
    effective = replace(
        made,
        db=made.db or database_url(None, Path(made.data)),
        web_host=made.host if made.web_host is None else made.web_host,
    )
    rows = [
        (key, _hide_password(getattr(effective, key)), effective_settings.sources.get(key, "default"))
        for key in SETTINGS
    ]
    if to_json:
        print_document({key: {"value": value, "source": source} for key, value, source in rows})
    else:
        said = [
            (
                key,
                "none" if value in (None, "") else _format_toml_value(value),
                source.rpartition("/")[2],
            )  # the name of a file is enough
            for key, value, source in rows
        ]
        width = min(terminal_columns(), DEFAULT_COLUMNS) if sys.stdout.isatty() else DEFAULT_COLUMNS
        say(format_table(("setting", "value", "from"), said, wrapped_column=1, left_columns=(0, 2), width=width))


def _hide_password(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    hidden = re.sub(r"(://[^/@:]*):.*@", r"\1:***@", value)
    return re.sub(r"(?i)([?&]\w*password=)[^&]*", r"\1***", hidden)


def _format_toml_value(value: Any) -> str:
    """Return a setting's value in the syntax of TOML, except that text has no quotes."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check(key: str, sourced: SourcedValue) -> None:
    kind, setting = SETTINGS[key]
    value = sourced.value
    if type(value) is not kind or (setting.choices and value not in setting.choices):
        said = _format_toml_value(value) if isinstance(value, bool) else short_repr(value, MAX_SHOWN_CHARACTERS)
        right = list_choices(setting.choices) if setting.choices else setting.value_form
        raise UsageFault(f"{sourced.name} is {said}: it is {right}")
    if isinstance(value, int) and not setting.minimum <= value <= setting.maximum:
        raise UsageFault(f"{sourced.name} is {short_repr(value)}: it is {setting.value_form}")


def _from_environment(environment: Mapping[str, str]) -> dict[str, SourcedValue]:
    given = {}
    for key, described in SETTINGS.items():
        text = environment.get(_variable(key))
        if text is not None:
            given[key] = SourcedValue(_parse_variable(text, described.kind), _variable(key), _variable(key))
    return given


def _variable(key: str) -> str:
    return f"{_VARIABLE_PREFIX}{key.upper()}"


def _parse_variable(text: str, kind: type) -> str | int | bool:
    """Convert the text of an environment variable to the type `kind`. If that fails, return the text unchanged."""
    if kind is bool:
        return {"true": True, "false": False}.get(text.lower(), text)
    return int(text) if kind is int and text.isdecimal() and len(text) <= MAX_DIGITS else text


def _from_file(file: Path) -> dict[str, SourcedValue]:
    try:
        text = read_text(file)
        values = parse_toml(text)
    except OSError as exc:
        raise UsageFault(f"the config file {file} can't be read: {exc.strerror}") from exc
    except UnicodeDecodeError as exc:
        raise UsageFault(f"the config file {file} is not text in UTF-8: save it as UTF-8") from exc
    except tomllib.TOMLDecodeError as exc:
        raise UsageFault(f"the config file {file} is not TOML: {exc}") from exc
    except ValueError as exc:
        raise UsageFault(f"the config file {file} can't be read: {exc}") from exc
    given = {}
    for key, value in values.items():
        where = f"{file}{_find_line(key, text)}"
        if key not in SETTINGS:
            near = get_close_matches(key, SETTINGS, 1)
            meant = f"did you mean {near[0]!r}?" if near else "`arena config` lists all keys"
            raise UsageFault(f"the config file {where}, has an unknown key {key!r}: {meant}")
        if SETTINGS[key].setting.is_list and isinstance(value, list) and all(isinstance(one, str) for one in value):
            value = ",".join(value)
        given[key] = SourcedValue(value, where, f"{key} in {where},")
    return given


def _find_line(key: str, text: str) -> str:
    """Return `, line N` for the line on which a key stands in a TOML file; empty text if it is not found."""
    found = re.search(rf"^[ \t]*[\[\"']*{re.escape(key)}\b", text, re.MULTILINE)
    return f", line {text.count(chr(10), 0, found.start()) + 1}" if found else ""


def retention_of(settings: ServerSettings) -> Retention:
    """Return how long records are kept, from the settings `RETENTION_SETTINGS`."""
    return Retention(
        unrated_days=settings.keep_unrated_records,
        rated_days=settings.keep_rated_records,
        max_unrated_mib=settings.max_unrated_records,
    )
