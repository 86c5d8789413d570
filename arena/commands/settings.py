"""Describes every setting of a server, for the command line, the environment, the TOML file and validation.

It also finds the data folder and the database of a command.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_args, get_type_hints

from arena.store.answer_limit import SERVER_STATEMENT_TIMEOUT_S
from arena.store.server_url import is_server_url
from machine.arguments import read_text_or_file
from protocol import DEFAULT_PORT
from protocol.errors import UsageFault
from protocol.names import NAME_DESCRIPTION

DEFAULT_DATA = "arena-data"
"""The default data folder, in the current folder."""
NODE_PLACEHOLDER = "{node}"
"""The placeholder for a node's name in the setting `public_url`."""


class Setting(NamedTuple):
    """The description of a server's setting: its help text, the form of its value in words, and limits of the value.

    With `is_list`, the value is a comma-separated list, and the command-line option may be repeated. `flag` is the
    option, if it is not called like the setting.
    """

    help: str
    value_form: str = ""
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    minimum: int = 0
    maximum: int = sys.maxsize
    is_list: bool = False
    flag: str | None = None


_switch = partial(Setting, value_form="true or false")
_port = partial(Setting, value_form="a port from 0 to 65535", maximum=65535)
_count = partial(Setting, value_form="a number from 1", minimum=1)
_mib = partial(Setting, value_form="a number of MiB from 1", metavar="MIB", minimum=1)
_days = partial(Setting, value_form="days from 0 to 36500, 0 for never", metavar="DAYS", maximum=36500)
_clock = partial(Setting, value_form="seconds and increment, like 60+0.5")
_address = partial(Setting, value_form="a host name or address")


def _choice(text: str, *choices: str) -> Setting:
    return Setting(text, choices=choices)


@dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """The settings of `arena serve`."""

    host: Annotated[str, _address("The address to listen on.")] = "127.0.0.1"
    port: Annotated[int, _port("The port to listen on; 0: any free port.")] = DEFAULT_PORT
    data: Annotated[str, Setting("The data folder.", "a folder")] = DEFAULT_DATA
    db: Annotated[
        str | None, Setting("The database's URL, or @FILE, a file that contains it.", "a database URL or file", "URL")
    ] = None
    database_timeout: Annotated[
        int,
        _count(
            "Cancel a statement on a database server after this time.",
            value_form="seconds from 1",
            metavar="SECONDS",
            maximum=86400,
        ),
    ] = SERVER_STATEMENT_TIMEOUT_S
    node: Annotated[
        str,
        Setting(
            "This server's name as a node of a PostgreSQL database.",
            f"a name like a or arena-0, {NAME_DESCRIPTION}",
            "NAME",
        ),
    ] = "main"
    nodes: Annotated[
        int, _count("Start this many nodes on this machine.", value_form="a number from 1 to 64", maximum=64)
    ] = 1
    shared_port: Annotated[int, _port("A second port that all nodes of this machine share; 0: none.")] = 0
    public_url: Annotated[
        str | None,
        Setting(
            "The URL of this node for clients: wss://HOST/{node}.",
            "where clients connect, like wss://arena.example.org/{node}, with the node's name or {node} for it",
            "URL",
        ),
    ] = None
    clock: Annotated[str, _clock("Clock of a match: seconds+increment, like 60+0.5.")] = "60+0.5"
    slow_clock: Annotated[str, _clock("Clock of slow matches, which people ask for.")] = "600+10"
    reconnect_timeout: Annotated[
        int,
        Setting(
            "A bot disconnected for this long loses its match; 0: when its clock runs out.",
            "seconds, or 0 for as long as a clock lasts",
            "SECONDS",
        ),
    ] = 60
    mqtt: Annotated[
        str | None,
        Setting(
            "Publish live events: mqtt://host:1883/prefix, or @FILE.", "a broker like mqtt://host:1883/prefix", "URL"
        ),
    ] = None
    registration: Annotated[
        str, _choice("open: any new name is registered; closed: only by `arena bot add`.", "open", "closed")
    ] = "open"
    registrations_per_hour: Annotated[int, _count("New names an hour from one address.")] = 100
    free_names_after: Annotated[int, _days("Free a name that never played after this many days; 0: never.")] = 30
    max_connections: Annotated[int, _count("Maximum connections at a time.")] = 1000
    max_per_address: Annotated[int, _count("Maximum connections at a time from one address.")] = 100
    max_matches: Annotated[
        int,
        Setting(
            "Maximum matches at a time; 0: as many as open files allow.",
            "a number, or 0 for as many as files may be open",
            "MATCHES",
        ),
    ] = 0
    max_matches_per_address: Annotated[int, _count("Maximum matches at a time with clients of one address.")] = 1000
    match_memory: Annotated[
        int,
        Setting(
            "Memory for running matches and seeks; 0: a quarter of all.",
            "a number of MiB, or 0 for a quarter of what there is",
            "MIB",
        ),
    ] = 0
    match_memory_per_address: Annotated[int, _mib("Memory for those of one address.")] = 256
    max_match_size: Annotated[int, _mib("Maximum record of a match whose config is no preset.")] = 24
    stored_per_day: Annotated[
        int,
        Setting(
            "Disk space for the records of a day; 0: a quarter of what is free.",
            "a number of MiB, or 0 for a quarter of what is free at the start",
            "MIB",
        ),
    ] = 0
    stored_per_day_per_address: Annotated[int, _mib("Disk space for those of one address.")] = 2048
    trusted_proxy: Annotated[
        str,
        Setting(
            "Proxies whose X-Forwarded-For header is trusted.",
            "addresses and networks, like 127.0.0.1,10.0.0.0/8",
            "ADDRESS,…",
        ),
    ] = ""
    allow_origin: Annotated[
        str,
        Setting(
            "Origins of web pages that may connect, like https://example.org.",
            "origins of web pages, like https://example.org,http://localhost:8000",
            "ORIGIN",
            is_list=True,
        ),
    ] = ""
    tls_cert: Annotated[
        str | None, Setting("A certificate in PEM; clients then connect by wss://.", "a certificate in PEM", "FILE")
    ] = None
    tls_key: Annotated[str | None, Setting("The key of the certificate, in PEM.", "its key in PEM", "FILE")] = None
    durability: Annotated[
        str, _choice("What moves survive: a crash of the process, or of the machine.", "process", "machine")
    ] = "process"
    rated: Annotated[
        str, _choice("all: rate any bots; approved: rate only matches between approved bots.", "all", "approved")
    ] = "all"
    rated_per_pair: Annotated[
        int, Setting("Rated matches of a pair of bots in a day; 0: no limit.", "a number from 0")
    ] = 50
    max_matches_per_hour: Annotated[
        int,
        Setting(
            "Matches an hour that the ladder starts for a bot; 0: no limit.",
            "matches an hour, or 0 for any number",
            "MATCHES",
        ),
    ] = 600
    keep_unrated_records: Annotated[int, _days("Remove records of unrated matches after this many days; 0: never.")] = (
        30
    )
    keep_rated_records: Annotated[int, _days("Remove records of rated matches after this many days; 0: never.")] = 0
    max_unrated_records: Annotated[
        int,
        Setting(
            "Disk space for all records of unrated matches; 0: no limit.",
            "MiB, or 0 for any size",
            "MIB",
            maximum=2**40,
        ),
    ] = 10 * 1024
    backup_to: Annotated[
        str | None, Setting("Make backups in this folder, which holds nothing else.", "a folder", "FOLDER")
    ] = None
    backup_every: Annotated[int, _count("Hours between two backups.", value_form="hours from 1", metavar="HOURS")] = 24
    backup_keep: Annotated[int, _count("How many backups to keep.")] = 7
    upgrade: Annotated[bool, _switch("Upgrade an older database at the start, after a backup.")] = False
    web: Annotated[bool, _switch("Serve pages for browsers, or none.")] = True
    web_port: Annotated[int, _port("The port of the pages; 0: any free port.")] = 8080
    web_host: Annotated[str | None, _address("The address of the pages; by default that of --host.")] = None
    socket_url: Annotated[
        str | None,
        Setting(
            "The arena's URL for browsers and bots, if behind a proxy.",
            "where browsers find the arena, like wss://arena.example.org/socket",
            "URL",
        ),
    ] = None
    metrics_port: Annotated[
        int | None, _port("Serve metrics for Prometheus on this port; 0: any free port.", metavar="PORT")
    ] = None
    metrics_host: Annotated[str, _address("The address of the metrics.")] = "127.0.0.1"
    admin: Annotated[bool, _switch("Serve pages for the operator at /admin.")] = False
    admin_host: Annotated[
        str,
        Setting(
            "Host names under which /admin may be opened, like arena.example.org.",
            "names of hosts without a port, like arena.example.org,arena.lan",
            "NAME",
            is_list=True,
        ),
    ] = ""
    operator_token_file: Annotated[
        str | None,
        Setting("A file with the operator's token, the same for all nodes.", "a file that holds a token", "FILE"),
    ] = None
    builtin_bots: Annotated[
        str,
        Setting(
            "Bots that the server runs to play anyone: random,ga:nodes=9000.",
            "bots like random,greedy,alphabeta:nodes=20000",
            "BOT,…",
            is_list=True,
        ),
    ] = ""
    games: Annotated[
        str,
        Setting(
            "Offer the game in this Python file, which is stored, or this game of an installed family.",
            "files like connect4.py, or games like openspiel:hex",
            "FILE.py|FAMILY:GAME",
            is_list=True,
            flag="--game",
        ),
    ] = ""
    slow_game_call: Annotated[
        int,
        Setting(
            "Log calls of such a game that take longer; close it if there are many.",
            "milliseconds from 1 to 10000",
            "MS",
            minimum=1,
            maximum=10_000,
        ),
    ] = 50
    isolate_games: Annotated[bool, _switch("Run the rules of such games in processes of their own.")] = False
    hosting: Annotated[
        bool, _switch("Accept programs of hosted bots, which runners run: --runners, or `arena runner`.")
    ] = False
    runners: Annotated[
        int,
        Setting(
            "Run hosted bots on this machine, or with --dask on a cluster, by this many runners; turns --hosting on.",
            "a number from 0 to 256",
            maximum=256,
        ),
    ] = 0
    dask: Annotated[
        str | None,
        Setting(
            "A Dask scheduler, on whose workers the runners are.", "like tls://cluster.example.org:8786", "ADDRESS"
        ),
    ] = None
    runner_slots: Annotated[
        int, Setting("Hosted bots that each of these runners runs.", "a number from 1 to 256", minimum=1, maximum=256)
    ] = 8
    keep_bot_logs: Annotated[int, _days("Remove logs of hosted bots after this many days; 0: never.")] = 14
    runner_sandbox: Annotated[
        str, _choice("bwrap: run hosted bots in boxes; none: with this user's rights.", "bwrap", "none")
    ] = "bwrap"
    max_program_size: Annotated[
        int,
        _mib("Maximum size of a program that is handed in.", value_form="a number of MiB from 1 to 256", maximum=256),
    ] = 12
    max_unpacked_program_size: Annotated[
        int, _mib("Maximum size of its files unpacked.", value_form="a number of MiB from 1 to 1024", maximum=1024)
    ] = 32
    max_program_files: Annotated[
        int, _count("Maximum number of its files.", value_form="a number from 1 to 10000", maximum=10_000)
    ] = 200
    max_versions_per_day: Annotated[int, _count("New versions of a hosted bot within 24 hours.")] = 50
    max_versions_kept: Annotated[
        int, _count("Versions of a hosted bot that are kept, besides those of a day and the one that plays.")
    ] = 20
    max_kept_size: Annotated[
        int,
        _mib(
            "Maximum size of the files that a hosted bot keeps between matches.",
            value_form="a number of MiB from 1 to 16",
            maximum=16,
        ),
    ] = 1
    program_storage: Annotated[
        int,
        Setting(
            "Disk space for the programs of all hosted bots; 0: no limit.",
            "MiB, or 0 for any size",
            "MIB",
            maximum=2**40,
        ),
    ] = 4096
    demo: Annotated[bool, _switch("Run a demo: built-in bots that play each other all the time.")] = False
    pairing_log: Annotated[bool, _switch("Log the events that pair bots, for `arena pairing`.")] = False
    log_level: Annotated[
        str,
        _choice(
            "The least severe messages to log: debug, info, warning or error.", "debug", "info", "warning", "error"
        ),
    ] = "info"
    log: Annotated[str, _choice("Format of the log: text, or json with an object a line.", "text", "json")] = "text"


class TypedSetting(NamedTuple):
    """A setting with the type of its value."""

    kind: type
    setting: Setting


def _type_of(hint: Any) -> Any:
    return next((one for one in get_args(hint.__origin__) if one is not type(None)), hint.__origin__)


SETTINGS = {
    name: TypedSetting(_type_of(hint), hint.__metadata__[0])
    for name, hint in get_type_hints(ServerSettings, include_extras=True).items()
}
"""All settings of a server by name, in the order in which `arena config` prints them."""

SETTING_GROUPS = {
    "Network": ("host", "port", "tls_cert", "tls_key", "trusted_proxy", "allow_origin"),
    "Data and database": ("data", "db", "database_timeout", "durability", "upgrade"),
    "Nodes": ("node", "nodes", "shared_port", "public_url"),
    "Registration": ("registration", "registrations_per_hour", "free_names_after"),
    "Matches and ratings": (
        "games",
        "slow_game_call",
        "isolate_games",
        "clock",
        "slow_clock",
        "reconnect_timeout",
        "rated",
        "rated_per_pair",
        "max_matches_per_hour",
    ),
    "Built-in bots": ("builtin_bots", "demo"),
    "Hosted bots": (
        "hosting",
        "runners",
        "dask",
        "runner_slots",
        "runner_sandbox",
        "max_program_size",
        "max_unpacked_program_size",
        "max_program_files",
        "max_versions_per_day",
        "max_versions_kept",
        "max_kept_size",
        "program_storage",
        "keep_bot_logs",
    ),
    "Limits": ("max_connections", "max_matches", "match_memory", "max_match_size", "stored_per_day"),
    "Limits per address": (
        "max_per_address",
        "max_matches_per_address",
        "match_memory_per_address",
        "stored_per_day_per_address",
    ),
    "Records and backups": (
        "keep_unrated_records",
        "keep_rated_records",
        "max_unrated_records",
        "backup_to",
        "backup_every",
        "backup_keep",
    ),
    "Web pages": ("web", "web_port", "web_host", "socket_url", "admin", "admin_host", "operator_token_file"),
    "Live feed, metrics and log": ("mqtt", "metrics_port", "metrics_host", "pairing_log", "log_level", "log"),
}
"""The names of settings under each heading in the help of `arena serve`, in order."""

RETENTION_SETTINGS = ("keep_unrated_records", "keep_rated_records", "max_unrated_records")
"""The settings that define how long records are kept."""


def node_of(settings: ServerSettings) -> str | None:
    """Return a server's name as a node. Return None if the server is no node, because its database is a file."""
    return settings.node if is_server_url(database_url(settings.db, Path(settings.data))) else None


def data_folder(flag: Path | None) -> Path:
    """Return the data folder: `flag` if given, else the environment variable `ARENA_DATA`, else ./arena-data."""
    return flag if flag is not None else Path(os.environ.get("ARENA_DATA", DEFAULT_DATA))


def database_url(flag: str | None, data: Path) -> str:
    """Return the database's URL: `flag` if given, else `ARENA_DB`, else the URL of the SQLite file in the data folder.

    If the URL is given as `@FILE`, it is read from that file. Raise `UsageFault` if this fails.
    """
    given = flag or os.environ.get("ARENA_DB") or f"sqlite:///{data / 'arena.db'}"
    told = read_text_or_file(given, "db")
    if told != given and "://" not in told:  # the file may contain another secret, which must not end up as a file name
        raise UsageFault(f"db: {given.removeprefix('@')} holds no URL like postgresql://USER:PASSWORD@HOST/NAME")
    return told
