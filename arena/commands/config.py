"""The settings of a server out of defaults, a TOML file, the environment and flags."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from arena.commands.settings import NAME, RENAMED, SETTINGS, ServerSettings
from arena.feed import Broker
from arena.network.addresses import host_names, networks, origins
from arena.store.thinning import Retention
from machine.arguments import read_clock
from protocol import bot_launch
from protocol.display import among
from protocol.errors import UsageFault

DEMO = {"data": "arena-demo", "rated_per_pair": 0}
"""What a demo has otherwise, unless it is said."""
ELSEWHERE = ("ARENA_OPERATOR_TOKEN", "ARENA_PLAIN")
"""Variables that commands and the machine know, beside those of a server and of bots."""
_PREFIX = "ARENA_"
_PARSED = {"trusted_proxy": networks, "allow_origin": origins, "admin_host": host_names}


def settings(
    flags: Mapping[str, Any], file: Path | None, environment: Mapping[str, str] = os.environ
) -> ServerSettings:
    """Settings from flags (None: not given) over `ARENA_…` variables over a TOML file. Raises `UsageFault`."""
    values: dict[str, Any] = {}
    if file is not None:
        values.update(_from_file(file))
    for old, new in RENAMED.items():
        if f"ARENA_{old.upper()}" in environment:
            raise UsageFault(f"ARENA_{old.upper()} is called ARENA_{new.upper()} now")
    for key, described in SETTINGS.items():
        text = environment.get(f"ARENA_{key.upper()}")
        if text is not None:
            values[key] = _read(text, described.kind)
    values.update({key: value for key, value in flags.items() if value is not None})
    if values.get("demo") is True:
        values = {**DEMO, **values}
    for key, value in values.items():
        _check(key, value)
    made = ServerSettings(**values)
    if made.public_url is not None and made.nodes == 1:
        made = replace(made, public_url=made.public_url.replace(NAME, made.node))
    read_clock(made.clock)
    read_clock(made.slow_clock, "slow_clock")
    if made.mqtt is not None:
        Broker.parse(made.mqtt)
    for name, url in (("socket_url", made.socket_url), ("public_url", made.public_url)):
        if url is not None and not re.fullmatch(r"wss?://[^\s;,'\"?#]+", url):
            raise UsageFault(f"{name} is {url!r}: it is {SETTINGS[name].setting.takes}")
    if (made.tls_cert is None) != (made.tls_key is None):
        raise UsageFault("tls_cert and tls_key go together: one of them is missing")
    if made.admin and not made.web:
        raise UsageFault("admin is a page, and there are none: leave out --no-web")
    for key, parse in _PARSED.items():
        try:
            parse(getattr(made, key))
        except ValueError as exc:
            raise UsageFault(f"{key}: {exc}; it is {SETTINGS[key].setting.takes}") from exc
    return made


def unknown_variables(environment: Mapping[str, str]) -> list[str]:
    """A line for each `ARENA_…` variable that nothing here knows, with the known name that is nearest."""
    names = [*(f"ARENA_{key.upper()}" for key in SETTINGS), *vars(bot_launch).values(), *ELSEWHERE]
    known = [name.removeprefix(_PREFIX) for name in names if isinstance(name, str) and name.startswith(_PREFIX)]
    lines = []
    for name in sorted(environment):
        key = name.removeprefix(_PREFIX)
        if key != name and key not in known:
            near = get_close_matches(key, known, 1)
            meant = f"did you mean {_PREFIX}{near[0]}?" if near else "`arena serve --help` names the settings"
            lines.append(f"{name} in the environment is ignored, as nothing here knows it: {meant}")
    return lines


def _check(key: str, value: Any) -> None:
    kind, setting = SETTINGS[key]
    if type(value) is not kind:
        raise UsageFault(f"{key} is {value!r}: it is {setting.takes}")
    if setting.choices and value not in setting.choices:
        raise UsageFault(f"{key} is {value!r}: it is {among(setting.choices)}")
    if isinstance(value, int) and not setting.least <= value <= setting.most:
        raise UsageFault(f"{key} is {value}: it is {setting.takes}")


def _read(text: str, kind: type) -> str | int | bool:
    """A variable of the environment; the text itself where it is none of its kind."""
    if kind is bool:
        return {"true": True, "false": False}.get(text.lower(), text)
    return int(text) if kind is int and text.isdecimal() else text


def _from_file(file: Path) -> dict[str, Any]:
    try:
        values = tomllib.loads(file.read_text())
    except OSError as exc:
        raise UsageFault(f"the config file {file} can't be read: {exc.strerror}") from exc
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as exc:
        raise UsageFault(f"the config file {file} is not TOML: {exc}") from exc
    for key in values:
        if key in RENAMED:
            raise UsageFault(f"the config file {file} has a key {key!r}, which is called {RENAMED[key]!r} now")
        if key not in SETTINGS:
            raise UsageFault(f"the config file {file} has an unknown key {key!r}: one of {', '.join(SETTINGS)}")
    return values


def retention(settings: ServerSettings) -> Retention:
    """Which records are kept."""
    return Retention(
        unrated_days=settings.keep_unrated_records,
        rated_days=settings.keep_rated_records,
        max_unrated_mib=settings.max_unrated_records,
    )
