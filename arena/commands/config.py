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

from arena.commands.output import WIDTH, columns, print_document, table
from arena.commands.settings import NAME, RENAMED, SETTINGS, ServerSettings, database, node_of
from arena.feed import Broker
from arena.network.addresses import host_names, networks, origins
from arena.store.thinning import Retention
from machine.arguments import MOST_DIGITS, parse_toml, read_clock, text_or_file
from machine.input_file import read_text
from machine.subprocesses import MAX_NICENESS_VARIABLE
from machine.terminal import say
from machine.timeouts import FACTOR_VARIABLE
from protocol import bot_launch
from protocol.display import among, shown
from protocol.errors import UsageFault
from protocol.names import NAME_PATTERN

DEMO = {"data": "arena-demo", "rated_per_pair": 0}
"""Defaults of a demo server where they differ from a normal one's."""
FILE_VARIABLE = "ARENA_CONFIG_FILE"
"""The environment variable that names the TOML file."""
ELSEWHERE = (FILE_VARIABLE, "ARENA_OPERATOR_TOKEN", "ARENA_PLAIN", FACTOR_VARIABLE, MAX_NICENESS_VARIABLE)
"""Known environment variables besides those of server settings and of bots."""
MAX_SHOWN_CHARACTERS = 200
"""Maximum characters of a value in a message."""
_PREFIX = "ARENA_"
_FORMS = {"node": NAME_PATTERN, **dict.fromkeys(("socket_url", "public_url"), r"^wss?://[^\s;,'\"?#{}]+\Z")}
_PARSED = {"trusted_proxy": networks, "allow_origin": origins, "admin_host": host_names}


class Given(NamedTuple):
    """The value of a setting, its source, and its name in that source."""

    value: Any
    source: str
    name: str


class InForce(NamedTuple):
    """A server's effective settings. `sources` names the source, like `--port` or `ARENA_PORT`, of each non-default
    one.
    """

    settings: ServerSettings
    sources: dict[str, str]


def settings(
    flags: Mapping[str, Any], file: Path | None, environment: Mapping[str, str] = os.environ
) -> ServerSettings:
    """Return the effective settings: flags (unless None), else `ARENA_…`, else a TOML file. Raises `UsageFault`."""
    return in_force(flags, file, environment).settings


def in_force(flags: Mapping[str, Any], file: Path | None, environment: Mapping[str, str] = os.environ) -> InForce:
    """Return the effective settings with their sources. `ARENA_CONFIG_FILE` may name the file. Raises `UsageFault`."""
    if file is None and FILE_VARIABLE in environment:
        file = Path(environment[FILE_VARIABLE])
    given = {} if file is None else _from_file(file)
    given |= _from_environment(environment)
    for key, value in flags.items():
        if value is not None:
            given[key] = Given(value, f"--{key.replace('_', '-')}", key)
    if "demo" in given and given["demo"].value is True:
        given = {key: Given(value, "demo", key) for key, value in DEMO.items()} | given
    for key, one in given.items():
        _check(key, one)
    made = ServerSettings(**{key: one.value for key, one in given.items()})
    if made.public_url is not None and made.nodes == 1:
        made = replace(made, public_url=made.public_url.replace(NAME, made.node))
    _check_together(made, {key: given[key].name if key in given else key for key in SETTINGS})
    return InForce(made, {key: one.source for key, one in given.items()})


def _check_together(made: ServerSettings, names: Mapping[str, str]) -> None:
    """Refuse values of the right type that are invalid or contradict others. `names` is what the user called them."""
    for key in ("clock", "slow_clock"):
        read_clock(getattr(made, key), names[key])
    if made.mqtt is not None:
        Broker.parse(text_or_file(made.mqtt, names["mqtt"]))
    for key, form in _FORMS.items():
        text = getattr(made, key)
        if text is not None and not re.match(form, text.replace(NAME, "")):
            raise UsageFault(f"{names[key]} is {text!r}: it is {SETTINGS[key].setting.takes}")
    _check_nodes(made, names)
    if (made.tls_cert is None) != (made.tls_key is None):
        raise UsageFault("tls_cert and tls_key go together: one of them is missing")
    if made.backup_to is not None and node_of(made) is not None:
        raise UsageFault("backup_to is for a database in a file: `arena db backup FILE` says how pg_dump backs up db")
    if made.admin and not made.web:
        raise UsageFault("admin is a page, and there are none: leave out --no-web")
    for key, parse in _PARSED.items():
        try:
            parse(getattr(made, key))
        except ValueError as exc:
            raise UsageFault(f"{names[key].rstrip(',')}: {exc}; it is {SETTINGS[key].setting.takes}") from exc


def _check_nodes(made: ServerSettings, names: Mapping[str, str]) -> None:
    if node_of(made) is None:
        for key in ("node", "nodes"):
            value = getattr(made, key)
            if value != getattr(ServerSettings(), key):
                text = f"{names[key]} is {value}: nodes share a database on a server, so give db too: postgresql://…"
                raise UsageFault(text)
    elif made.public_url is None and made.tls_cert is None:
        socket = made.socket_url or ""
        tells = "trusted_proxy" if made.trusted_proxy else "socket_url" if socket.startswith("wss:") else None
        if tells is not None:
            raise UsageFault(
                f"{names[tells]} is {getattr(made, tells)}, so there is a proxy, and public_url is missing: nodes "
                f"would send bots past it, without TLS. Write where bots connect, like wss://arena.example.org/{NAME}"
            )
    if made.nodes > 1 and made.public_url is not None and NAME not in made.public_url:
        raise UsageFault(
            f"{names['public_url']} is {made.public_url}, the same for {made.nodes} nodes: "
            f"write {NAME} where the name of each belongs, like wss://arena.example.org/{NAME}"
        )


def unknown_variables(environment: Mapping[str, str]) -> list[str]:
    """Return a warning for each `ARENA_…` variable that is unknown, with the closest known name."""
    names = [*map(_variable, SETTINGS), *vars(bot_launch).values(), *ELSEWHERE]
    known = [name.removeprefix(_PREFIX) for name in names if isinstance(name, str) and name.startswith(_PREFIX)]
    lines = []
    for name in sorted(environment):
        key = name.removeprefix(_PREFIX)
        if key != name and key not in known:
            near = get_close_matches(key, known, 1)
            meant = f"did you mean {_PREFIX}{near[0]}?" if near else "`arena config` names the settings"
            lines.append(f"{name} in the environment is ignored, as nothing here knows it: {meant}")
    return lines


def show(found: InForce, *, to_json: bool) -> None:
    """Print every setting with its value and source, passwords hidden; warn of unknown `ARENA_…` variables."""
    for line in unknown_variables(os.environ):
        say(f"arena: {line}", err=True)
    made = found.settings
    effective = replace(
        made,
        db=made.db or database(None, Path(made.data)),
        web_host=made.host if made.web_host is None else made.web_host,
    )
    rows = [(key, _without_password(getattr(effective, key)), found.sources.get(key, "default")) for key in SETTINGS]
    if to_json:
        print_document({key: {"value": value, "source": source} for key, value, source in rows})
    else:
        said = [
            (
                key,
                "none" if value in (None, "") else _in_toml(value),
                source.rpartition("/")[2],
            )  # the name of a file is enough
            for key, value, source in rows
        ]
        width = min(columns(), WIDTH) if sys.stdout.isatty() else WIDTH
        say(table(("setting", "value", "from"), said, elastic=1, left=(0, 2), width=width))


def _without_password(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    hidden = re.sub(r"(://[^/@:]*):.*@", r"\1:***@", value)
    return re.sub(r"(?i)([?&]\w*password=)[^&]*", r"\1***", hidden)


def _in_toml(value: Any) -> str:
    """Return a value as TOML writes it, but text without quotes."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check(key: str, given: Given) -> None:
    kind, setting = SETTINGS[key]
    value = given.value
    if type(value) is not kind or (setting.choices and value not in setting.choices):
        said = _in_toml(value) if isinstance(value, bool) else shown(value, MAX_SHOWN_CHARACTERS)
        right = among(setting.choices) if setting.choices else setting.takes
        raise UsageFault(f"{given.name} is {said}: it is {right}")
    if isinstance(value, int) and not setting.least <= value <= setting.most:
        raise UsageFault(f"{given.name} is {shown(value)}: it is {setting.takes}")


def _from_environment(environment: Mapping[str, str]) -> dict[str, Given]:
    given = {}
    for old, new in RENAMED.items():
        if _variable(old) in environment:
            raise UsageFault(f"{_variable(old)} is called {_variable(new)} now")
    for key, described in SETTINGS.items():
        text = environment.get(_variable(key))
        if text is not None:
            given[key] = Given(_read(text, described.kind), _variable(key), _variable(key))
    return given


def _variable(key: str) -> str:
    return f"{_PREFIX}{key.upper()}"


def _read(text: str, kind: type) -> str | int | bool:
    """Convert the text of an environment variable to `kind`; return the text itself if that fails."""
    if kind is bool:
        return {"true": True, "false": False}.get(text.lower(), text)
    return int(text) if kind is int and text.isdecimal() and len(text) <= MOST_DIGITS else text


def _from_file(file: Path) -> dict[str, Given]:
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
        where = f"{file}{_line_of(key, text)}"
        if key in RENAMED:
            raise UsageFault(f"the config file {where}, has a key {key!r}, which is called {RENAMED[key]!r} now")
        if key not in SETTINGS:
            near = get_close_matches(key, SETTINGS, 1)
            meant = f"did you mean {near[0]!r}?" if near else "`arena config` names those there are"
            raise UsageFault(f"the config file {where}, has an unknown key {key!r}: {meant}")
        if SETTINGS[key].setting.many and isinstance(value, list) and all(isinstance(one, str) for one in value):
            value = ",".join(value)
        given[key] = Given(value, where, f"{key} in {where},")
    return given


def _line_of(key: str, text: str) -> str:
    """Return `, line N` for the line on which a key stands in a TOML file; empty text if it is not found."""
    found = re.search(rf"^[ \t]*[\[\"']*{re.escape(key)}\b", text, re.MULTILINE)
    return f", line {text.count(chr(10), 0, found.start()) + 1}" if found else ""


def retention(settings: ServerSettings) -> Retention:
    """Return how long the settings keep which records."""
    return Retention(
        unrated_days=settings.keep_unrated_records,
        rated_days=settings.keep_rated_records,
        max_unrated_mib=settings.max_unrated_records,
    )
