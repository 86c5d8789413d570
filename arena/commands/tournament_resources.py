"""The resources of a tournament: worker processes here or on a cluster, what bots find around them, or their server."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from arena.commands import config
from arena.operator import credentials
from arena.operator.client import NoServer
from arena.processes.launch_spec import passed
from arena.store.database import database_path
from arena.store.lock import is_held
from arena.tournament.job import CONNECT_TIMEOUT, Server, ServerAt, ServerOn
from arena.tournament.sandbox import BWRAP, KINDS, NONE, USERS, BotEnvironment, Sandbox, check_bubblewrap, free_users
from protocol.errors import UsageFault

LEAST_MEMORY_MIB = 64
MOST_JOBS = 1024
MOST_AFAR = 16
"""Matches under way among the bots of a server, unless more are asked for."""
MOST_ON_A_MACHINE = 64
"""Threads of a cluster's workers there, for which a bot in a sandbox has processes enough."""
LEAST_CONNECT_TIMEOUT, MOST_CONNECT_TIMEOUT = 1.0, 3600.0


class TournamentOptions(Struct, frozen=True, kw_only=True):
    """The options as they were given."""

    bots: Sequence[str]
    game: str
    sets: Sequence[str]
    form: str
    rounds: int
    paired: bool
    clock: str
    seed: str | None
    jobs: int | None
    db: str | None
    data: Path
    to_json: Path | None
    pass_env: Sequence[str] = ()
    sandbox: str = NONE
    read: Sequence[Path] = ()
    memory: int = 2048
    dask: str | None = None
    in_process: bool = False
    strict: bool | None = None
    connect_timeout: float = CONNECT_TIMEOUT
    at: str | None = None
    operator_token: str | None = None


class Resources(Struct, frozen=True, kw_only=True):
    """Where matches are played: `jobs` processes of this machine or the workers of a cluster, `dask`; what bots that
    are started there find; or the server to which they are connected.
    """

    jobs: int
    dask: str | None
    in_process: bool
    environment: BotEnvironment
    connect_timeout: float
    server: Server | None


def check_resources(options: TournamentOptions) -> None:
    """Raise `UsageFault` for options that can't be together, or are out of bounds."""
    if options.jobs is not None and options.dask is not None:
        raise UsageFault("--jobs is of this machine, --dask of a cluster: give one of them")
    if options.jobs is not None and not 1 <= options.jobs <= MOST_JOBS:
        raise UsageFault(f"--jobs is {options.jobs}: it is 1 to {MOST_JOBS}")
    if options.in_process and options.sandbox != NONE:
        raise UsageFault("--sandbox is for processes: with --in-process bots have none of their own")
    if not LEAST_CONNECT_TIMEOUT <= options.connect_timeout <= MOST_CONNECT_TIMEOUT:
        raise UsageFault(
            f"--connect-timeout is {options.connect_timeout:g}: "
            f"it is {LEAST_CONNECT_TIMEOUT:g} to {MOST_CONNECT_TIMEOUT:g} seconds"
        )


def read_resources(options: TournamentOptions, environ: Mapping[str, str]) -> Resources:
    """What there is to play with. Raises `UsageFault`, `ArenaFault` for no sandbox, and `NoServer`."""
    return Resources(
        jobs=_jobs(options),
        dask=options.dask,
        in_process=options.in_process,
        environment=_environment(options, environ),
        connect_timeout=options.connect_timeout,
        server=_server(options),
    )


def _jobs(options: TournamentOptions) -> int:
    """Worker processes on this machine: one fewer than there are cores where nobody says.

    Where bots play elsewhere they only wait: as many as matches can be under way, within reason.
    """
    if options.at is not None:
        return options.jobs or max(1, min(MOST_AFAR, len(options.bots) // 2))
    return options.jobs or max(1, (os.cpu_count() or 2) - 1)


def _server(options: TournamentOptions) -> Server | None:
    """The server among whose bots is played, where `--at` names one. Raises `UsageFault`, and `NoServer`."""
    if options.at is None:
        return None
    if "://" in options.at:
        if options.operator_token is None:
            raise UsageFault(
                "--at URL needs --operator-token or ARENA_OPERATOR_TOKEN: it is in the server's operator.json"
            )
        return ServerAt(options.at, options.operator_token)
    folder = Path(options.at).absolute()
    if credentials.read(folder) is None or not is_held(folder):
        raise NoServer(f"no server runs on {options.at}: --at takes a server's data folder, or its URL")
    return ServerOn(folder)


def _environment(options: TournamentOptions, environ: Mapping[str, str]) -> BotEnvironment:
    """What the bots find around them. Raises `UsageFault` for options that don't fit, `ArenaFault` for no sandbox."""
    variables = passed(environ, options.pass_env)
    if options.dask is not None:  # there, the worker's own are passed
        variables = {name: variables[name] for name in options.pass_env}
    if options.sandbox not in KINDS:
        raise UsageFault(f"there is no sandbox {options.sandbox!r}: one of {', '.join(KINDS)}")
    if options.memory < LEAST_MEMORY_MIB:
        raise UsageFault(f"--memory is {options.memory}: it is {LEAST_MEMORY_MIB} or more, in MiB")
    for path in options.read:
        if not path.exists():
            raise UsageFault(f"--read {path}: there is no such file or folder")
    if options.sandbox == NONE:
        return BotEnvironment(variables=variables)
    if options.sandbox == USERS and os.geteuid() != 0:
        raise UsageFault("--sandbox users is for root, who can run programs as other users: take bwrap")
    if options.sandbox == BWRAP:
        check_bubblewrap()
    sandbox = Sandbox(
        kind=options.sandbox,
        data=options.data,
        database=database_path(config.database(options.db, options.data)),
        users=free_users(len(options.bots)) if os.geteuid() == 0 else (),
        readable=tuple(options.read),
        memory_mib=options.memory,
        copies=_jobs(options) if options.dask is None else MOST_ON_A_MACHINE,
    )
    return BotEnvironment(variables=variables, sandbox=sandbox)
