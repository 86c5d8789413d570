"""Describes every setting of a server once, for the command line, the environment, the TOML file and validation; and
finds the data folder and database of a command.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_args, get_type_hints

from arena.store.answer_limit import SERVER_STATEMENT_TIMEOUT_S
from arena.store.server_url import is_server_url
from machine.arguments import read_text_or_file
from protocol import DEFAULT_PORT
from protocol.display import list_choices
from protocol.errors import UsageFault
from protocol.names import NAME_DESCRIPTION

DEFAULT_DATA = "arena-data"
NODE_PLACEHOLDER = "{node}"
"""The placeholder for the node's name in its URL."""
RENAMED_SETTINGS = {"away": "reconnect_timeout", "pace": "max_matches_per_hour"}
"""Former names of settings, with their present names."""
_LEVELS = ("debug", "info", "warning", "error")
_LOG_FORMATS = ("text", "json")
_MIB = "a number of MiB from 1"
_CLOCK = "seconds and increment, like 60+0.5"


class Setting(NamedTuple):
    """The description of a setting: its `help`, the form of its value in words, and the limits of it. `is_list` marks a
    comma-separated list, which is a repeatable option on the command line.
    """

    help: str
    value_form: str
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    minimum: int = 0
    maximum: int = sys.maxsize
    is_list: bool = False
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """The settings of `arena serve`."""

    host: Annotated[str, Setting("The address to listen on.", "a host name or address")] = "127.0.0.1"
    port: Annotated[
        int, Setting("The port to listen on; 0: any free one.", "a port from 0 to 65535", maximum=65535)
    ] = DEFAULT_PORT
    data: Annotated[str, Setting("The data folder.", "a folder")] = DEFAULT_DATA
    db: Annotated[str | None, Setting("The database, or @FILE that has its URL.", "a database URL or file", "URL")] = (
        None
    )
    database_timeout: Annotated[
        int,
        Setting(
            "When a statement of a database on a server is given up.",
            "seconds from 1",
            "SECONDS",
            minimum=1,
            maximum=86400,
        ),
    ] = SERVER_STATEMENT_TIMEOUT_S
    node: Annotated[
        str,
        Setting(
            "Its name among several servers on one PostgreSQL database.",
            f"a name like a or arena-0, {NAME_DESCRIPTION}",
            "NAME",
        ),
    ] = "main"
    nodes: Annotated[
        int,
        Setting("Servers on this machine, on one PostgreSQL database.", "a number from 1 to 64", minimum=1, maximum=64),
    ] = 1
    shared_port: Annotated[
        int, Setting("A port that servers of this machine share; 0: none.", "a port from 0 to 65535", maximum=65535)
    ] = 0
    public_url: Annotated[
        str | None,
        Setting(
            "Where clients connect to this node, like wss://arena.example.org/{node}.",
            "where clients connect, like wss://arena.example.org/{node}, with the node's name or {node} for it",
            "URL",
        ),
    ] = None
    clock: Annotated[str, Setting("Seconds and increment, like 60+0.5.", _CLOCK)] = "60+0.5"
    slow_clock: Annotated[
        str, Setting("The same for people, and in unrated matches, where somebody asks for it.", _CLOCK)
    ] = "600+10"
    reconnect_timeout: Annotated[
        int,
        Setting(
            "When a disconnected bot has lost its match; 0: by its clock.",
            "seconds, or 0 for as long as a clock lasts",
            "SECONDS",
        ),
    ] = 60
    mqtt: Annotated[
        str | None,
        Setting("mqtt://host:1883/prefix for live events, or @FILE.", "a broker like mqtt://host:1883/prefix", "URL"),
    ] = None
    registration: Annotated[str, Setting("open or closed.", '"open" or "closed"', choices=("open", "closed"))] = "open"
    registrations_per_hour: Annotated[int, Setting("New names from one address.", "a number from 1", minimum=1)] = 100
    free_names_after: Annotated[
        int,
        Setting(
            "When a name that never played is free again; 0: never.",
            "days from 0 to 36500, 0 for never",
            "DAYS",
            maximum=36500,
        ),
    ] = 30
    max_connections: Annotated[int, Setting("Connections at once.", "a number from 1", minimum=1)] = 1000
    max_per_address: Annotated[int, Setting("Connections at once from one address.", "a number from 1", minimum=1)] = (
        100
    )
    max_matches: Annotated[
        int,
        Setting(
            "Matches at once; 0: as many as files may be open.",
            "a number, or 0 for as many as files may be open",
            "MATCHES",
        ),
    ] = 0
    max_matches_per_address: Annotated[
        int, Setting("Matches at once of one address.", "a number from 1", minimum=1)
    ] = 1000
    match_memory: Annotated[
        int,
        Setting(
            "Memory for matches and seeks, in MiB; 0: a quarter of all.",
            "a number of MiB, or 0 for a quarter of what there is",
            "MIB",
        ),
    ] = 0
    match_memory_per_address: Annotated[int, Setting("The same of one address.", _MIB, "MIB", minimum=1)] = 256
    max_match_size: Annotated[
        int, Setting("The longest record where no preset is played, in MiB.", _MIB, "MIB", minimum=1)
    ] = 24
    stored_per_day: Annotated[
        int,
        Setting(
            "Disk that a day's matches take, in MiB; 0: a quarter of what is free.",
            "a number of MiB, or 0 for a quarter of what is free at the start",
            "MIB",
        ),
    ] = 0
    stored_per_day_per_address: Annotated[int, Setting("The same of one address.", _MIB, "MIB", minimum=1)] = 2048
    trusted_proxy: Annotated[
        str,
        Setting(
            "Proxies whose X-Forwarded-For is trusted.",
            "addresses and networks, like 127.0.0.1,10.0.0.0/8",
            "ADDRESS,…",
        ),
    ] = ""
    allow_origin: Annotated[
        str,
        Setting(
            "Web pages that may connect, like https://example.org.",
            "origins of web pages, like https://example.org,http://localhost:8000",
            "ORIGIN",
            is_list=True,
        ),
    ] = ""
    tls_cert: Annotated[
        str | None, Setting("A certificate in PEM: listen on wss://.", "a certificate in PEM", "FILE")
    ] = None
    tls_key: Annotated[str | None, Setting("The key of the certificate.", "its key in PEM", "FILE")] = None
    durability: Annotated[
        str,
        Setting("What moves survive: process or machine.", '"process" or "machine"', choices=("process", "machine")),
    ] = "process"
    rated: Annotated[
        str,
        Setting(
            "all, or approved: only matches between approved bots.", '"all" or "approved"', choices=("all", "approved")
        ),
    ] = "all"
    rated_per_pair: Annotated[int, Setting("Rated matches of a pair in a day; 0: all.", "a number from 0")] = 50
    max_matches_per_hour: Annotated[
        int,
        Setting(
            "Matches of the ladder that begin for a bot; 0: any number.",
            "matches an hour, or 0 for any number",
            "MATCHES",
        ),
    ] = 600
    keep_unrated_records: Annotated[
        int,
        Setting(
            "When records of unrated matches are removed; 0: never.",
            "days from 0 to 36500, 0 for never",
            "DAYS",
            maximum=36500,
        ),
    ] = 30
    keep_rated_records: Annotated[
        int,
        Setting(
            "When records of rated matches are removed; 0: never.",
            "days from 0 to 36500, 0 for never",
            "DAYS",
            maximum=36500,
        ),
    ] = 0
    max_unrated_records: Annotated[
        int,
        Setting(
            "What records of unrated matches have in all; 0: any size.",
            "MiB, or 0 for any size",
            "MIB",
            maximum=2**40,
        ),
    ] = 10 * 1024
    backup_to: Annotated[
        str | None, Setting("A folder for backups alone, which are made by themselves.", "a folder", "FOLDER")
    ] = None
    backup_every: Annotated[int, Setting("Hours between two backups.", "hours from 1", "HOURS", minimum=1)] = 24
    backup_keep: Annotated[int, Setting("How many backups are kept.", "a number from 1", minimum=1)] = 7
    upgrade: Annotated[
        bool, Setting("Upgrade an older database first, after a backup.", "true or false", flags=("--upgrade",))
    ] = False
    web: Annotated[
        bool, Setting("A page for browsers beside it, or none.", "true or false", flags=("--web/--no-web",))
    ] = True
    web_port: Annotated[int, Setting("The page's port; 0: any free one.", "a port from 0 to 65535", maximum=65535)] = (
        8080
    )
    web_host: Annotated[str | None, Setting("The page's address, else that of --host.", "a host name or address")] = (
        None
    )
    socket_url: Annotated[
        str | None,
        Setting(
            "Where browsers find the arena, behind a proxy.",
            "where browsers find the arena, like wss://arena.example.org/socket",
            "URL",
        ),
    ] = None
    metrics_port: Annotated[
        int | None,
        Setting("Where Prometheus finds metrics; 0: any free port.", "a port from 0 to 65535", "PORT", maximum=65535),
    ] = None
    metrics_host: Annotated[str, Setting("The address of that port.", "a host name or address")] = "127.0.0.1"
    admin: Annotated[
        bool, Setting("Pages for who has the operator's token, at /admin.", "true or false", flags=("--admin",))
    ] = False
    admin_host: Annotated[
        str,
        Setting(
            "Names by which /admin is asked for, like arena.example.org.",
            "names of hosts without a port, like arena.example.org,arena.lan",
            "NAME",
            is_list=True,
        ),
    ] = ""
    operator_token_file: Annotated[
        str | None,
        Setting("A file with the operator's token, the same for all nodes.", "a file that holds a token", "FILE"),
    ] = None
    house: Annotated[
        str,
        Setting(
            "Bots that play whoever comes: random,ga:nodes=9000.",
            "bots like random,greedy,alphabeta:nodes=20000",
            "BOT,…",
            is_list=True,
        ),
    ] = ""
    demo: Annotated[
        bool, Setting("The whole show: bots, and matches that go on.", "true or false", flags=("--demo",))
    ] = False
    log_level: Annotated[str, Setting("debug, info, warning or error.", list_choices(_LEVELS), choices=_LEVELS)] = (
        "info"
    )
    log: Annotated[
        str, Setting("text, or json: an object a line.", list_choices(_LOG_FORMATS), choices=_LOG_FORMATS)
    ] = "text"


class TypedSetting(NamedTuple):
    """A setting with the type of its value."""

    kind: type
    setting: Setting


def _type_of(hint: Any) -> Any:
    """Return the type of a setting's value, without None."""
    return next((one for one in get_args(hint.__origin__) if one is not type(None)), hint.__origin__)


SETTINGS = {
    name: TypedSetting(_type_of(hint), hint.__metadata__[0])
    for name, hint in get_type_hints(ServerSettings, include_extras=True).items()
}
"""All settings by name, in the order of display."""

RETENTION_SETTINGS = ("keep_unrated_records", "keep_rated_records", "max_unrated_records")
"""The settings that define how long records are kept."""


def node_of(settings: ServerSettings) -> str | None:
    """Return the server's name as a node; None for a single server with its database in a file."""
    return settings.node if is_server_url(database_url(settings.db, Path(settings.data))) else None


def data_folder(flag: Path | None) -> Path:
    """Return the data folder: the flag, `ARENA_DATA`, or ./arena-data."""
    return flag if flag is not None else Path(os.environ.get("ARENA_DATA", DEFAULT_DATA))


def database_url(flag: str | None, data: Path) -> str:
    """Return the database's URL: the flag, `ARENA_DB`, or the SQLite file in the data folder. Raises `UsageFault` if
    the flag or variable is `@FILE` and the file can't be read or contains no URL.
    """
    given = flag or os.environ.get("ARENA_DB") or f"sqlite:///{data / 'arena.db'}"
    told = read_text_or_file(given, "db")
    if told != given and "://" not in told:  # the file may contain another secret, which must not end up as a file name
        raise UsageFault(f"db: {given.removeprefix('@')} holds no URL like postgresql://USER:PASSWORD@HOST/NAME")
    return told
