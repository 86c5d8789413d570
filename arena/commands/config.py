"""The settings of a server: one frozen struct out of defaults, a TOML file, the environment and flags."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from arena.network.addresses import networks
from arena.network.origins import origins
from machine.log_output import FORMS, LEVELS
from protocol.bot_launch import PORT
from protocol.display import among
from protocol.errors import UsageFault
from protocol.messages import MOST_CLOCK_MS, Clock

DEFAULT_DATA = "arena-data"
DEMO = {"data": "arena-demo", "rated_per_pair": 0}
"""What a demo has otherwise, unless it is said."""


class ServerSettings(Struct, frozen=True, kw_only=True):
    """What `arena serve` needs to know."""

    host: str = "127.0.0.1"
    port: int = PORT
    data: str = DEFAULT_DATA
    db: str | None = None
    clock: str = "60+0.5"
    slow_clock: str = "600+10"
    away: int = 60
    mqtt: str | None = None
    registration: str = "open"
    registrations_per_hour: int = 100
    free_names_after: int = 30
    max_connections: int = 1000
    max_per_address: int = 100
    trusted_proxy: str = ""
    allow_origin: str = ""
    tls_cert: str | None = None
    tls_key: str | None = None
    durability: str = "process"
    rated: str = "all"
    rated_per_pair: int = 50
    pace: int = 600
    web: bool = True
    web_port: int = 8080
    web_host: str | None = None
    socket_url: str | None = None
    house: str = ""
    demo: bool = False
    log_level: str = "info"
    log: str = "text"


_CHECKS: dict[str, tuple[type, str]] = {
    "host": (str, "a host name or address"),
    "port": (int, "a port from 0 to 65535"),
    "data": (str, "a folder"),
    "db": (str, "a database URL or file"),
    "clock": (str, "seconds and increment, like 60+0.5"),
    "slow_clock": (str, "seconds and increment, like 600+10"),
    "away": (int, "seconds, or 0 for as long as a clock lasts"),
    "mqtt": (str, "a broker like mqtt://host:1883/prefix"),
    "registration": (str, '"open" or "closed"'),
    "registrations_per_hour": (int, "a number from 1"),
    "free_names_after": (int, "days, or 0 for never"),
    "max_connections": (int, "a number from 1"),
    "max_per_address": (int, "a number from 1"),
    "rated": (str, '"all" or "approved"'),
    "rated_per_pair": (int, "a number from 0"),
    "pace": (int, "matches an hour, or 0 for any number"),
    "trusted_proxy": (str, "addresses and networks, like 127.0.0.1,10.0.0.0/8"),
    "allow_origin": (str, "origins of web pages, like https://example.org,http://localhost:8000"),
    "tls_cert": (str, "a certificate in PEM"),
    "tls_key": (str, "its key in PEM"),
    "durability": (str, '"process" or "machine"'),
    "web": (bool, "true or false"),
    "web_port": (int, "a port from 0 to 65535"),
    "web_host": (str, "a host name or address"),
    "house": (str, "bots like random,greedy,alphabeta:nodes=20000"),
    "demo": (bool, "true or false"),
    "log_level": (str, among(LEVELS)),
    "log": (str, among(FORMS)),
    "socket_url": (str, "where browsers find the arena, like wss://arena.example.org/socket"),
}

_LEAST = {
    "away": 0,
    "registrations_per_hour": 1,
    "free_names_after": 0,
    "max_connections": 1,
    "max_per_address": 1,
    "rated_per_pair": 0,
    "pace": 0,
}
_MOST = {"free_names_after": 36500}
_PARSED = {"trusted_proxy": networks, "allow_origin": origins}


def settings(
    flags: Mapping[str, Any], file: Path | None, environment: Mapping[str, str] = os.environ
) -> ServerSettings:
    """Settings from flags (None: not given) over `ARENA_…` variables over a TOML file. Raises `UsageFault`."""
    values: dict[str, Any] = {}
    if file is not None:
        values.update(_from_file(file))
    for key, (kind, _) in _CHECKS.items():
        text = environment.get(f"ARENA_{key.upper()}")
        if text is not None:
            values[key] = _read(text, kind)
    values.update({key: value for key, value in flags.items() if value is not None})
    if values.get("demo") is True:
        values = {**DEMO, **values}
    for key, value in values.items():
        kind, right = _CHECKS[key]
        if type(value) is not kind:
            raise UsageFault(f"{key} is {value!r}: it is {right}")
    made = ServerSettings(**values)
    clock(made.clock)
    clock(made.slow_clock, "slow_clock")
    if made.registration not in ("open", "closed"):
        raise UsageFault(f"registration is {made.registration!r}: it is open or closed")
    if made.durability not in ("process", "machine"):
        raise UsageFault(f"durability is {made.durability!r}: it is process or machine")
    if made.rated not in ("all", "approved"):
        raise UsageFault(f"rated is {made.rated!r}: it is all or approved")
    for key, choices in (("log_level", LEVELS), ("log", FORMS)):
        if getattr(made, key) not in choices:
            raise UsageFault(f"{key} is {getattr(made, key)!r}: it is {among(choices)}")
    for key in ("port", "web_port"):
        if not 0 <= getattr(made, key) <= 65535:
            raise UsageFault(f"{key} is {getattr(made, key)}: it is {_CHECKS[key][1]}")
    if made.socket_url is not None and not re.fullmatch(r"wss?://[^\s;,'\"?#]+", made.socket_url):
        raise UsageFault(f"socket_url is {made.socket_url!r}: it is {_CHECKS['socket_url'][1]}")
    for key, least in _LEAST.items():
        if getattr(made, key) < least:
            raise UsageFault(f"{key} is {getattr(made, key)}: it is {_CHECKS[key][1]}")
    for key, most in _MOST.items():
        if getattr(made, key) > most:
            raise UsageFault(f"{key} is {getattr(made, key)}: it is {most} at most")
    if (made.tls_cert is None) != (made.tls_key is None):
        raise UsageFault("tls_cert and tls_key go together: one of them is missing")
    for key, parse in _PARSED.items():
        try:
            parse(getattr(made, key))
        except ValueError as exc:
            raise UsageFault(f"{key}: {exc}; it is {_CHECKS[key][1]}") from exc
    return made


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
        if key not in _CHECKS:
            raise UsageFault(f"the config file {file} has an unknown key {key!r}: one of {', '.join(_CHECKS)}")
    return values


def clock(text: str, key: str = "clock") -> Clock:
    """A clock from `seconds+increment` or `seconds`. Raises `UsageFault`, naming the key."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(?:\+(\d+(?:\.\d+)?))?", text)
    bank, increment = (round(float(part or 0) * 1000) for part in found.groups()) if found else (0, 0)
    if not 1 <= bank <= MOST_CLOCK_MS or increment > MOST_CLOCK_MS:
        raise UsageFault(f"{key} is {text!r}: it is seconds and increment, like 60+0.5, from 0.001 s to a day")
    return Clock(bank_ms=bank, increment_ms=increment)


def data_folder(flag: Path | None) -> Path:
    """The data folder: the flag, `ARENA_DATA`, or ./arena-data."""
    return flag if flag is not None else Path(os.environ.get("ARENA_DATA", DEFAULT_DATA))


def database(flag: str | None, data: Path) -> str:
    """The database: the flag, `ARENA_DB`, or the SQLite file in the data folder."""
    return flag or os.environ.get("ARENA_DB") or f"sqlite:///{data / 'arena.db'}"
