"""Reads and checks the options of `arena tournament`: schedule, entrants, resources, output."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from arena.commands.hosted_entrants import HostedOptions, HostedSource
from arena.commands.settings import database_url
from arena.operator import credentials
from arena.operator.client import no_server
from arena.processes.bot_commands import BOT_SETTINGS, check_names
from arena.processes.launch_spec import allowed_environment
from arena.runner.entrants import hosted_arguments, hosted_contestant
from arena.runs.contestants import Contestant, parse_contestants
from arena.runs.hosted_players import MAX_PENDING_MATCHES
from arena.runs.in_process import check_bots
from arena.runs.job import CONNECT_TIMEOUT_S
from arena.runs.plan import RunTerms
from arena.runs.remote import LocalServer, RemoteServer, Server
from arena.runs.sandbox import (
    BWRAP_SANDBOX,
    NO_SANDBOX,
    SANDBOX_KINDS,
    USERS_SANDBOX,
    BotEnvironment,
    Sandbox,
    check_bubblewrap,
)
from arena.runs.schedule_limits import MAX_ROUNDS, TOURNAMENT_FORMATS, check_size, default_concurrency
from arena.store.data_folder import is_held
from arena.store.database_url import open_database_url
from arena.store.entrants import EntrantList
from machine.arguments import add_preset, read_clock, read_value
from machine.cores import usable_cores, warn_of_excess
from machine.game_files import copied_folders
from machine.output_file import why_not_writable
from protocol.display import format_count, short_repr
from protocol.errors import BadConfig, UsageFault
from protocol.games import config_keys, load_game
from protocol.names import is_bot_name
from protocol.secret_text import strip_invisible

MIN_MEMORY_MIB = 64
"""Minimum value, in MiB, of the memory limit of a sandboxed bot (`--memory`)."""
MAX_JOBS = 1024
"""Maximum number of worker processes on this machine (`--jobs`)."""
MAX_THREADS_PER_MACHINE = 64
"""The maximum number of worker threads that one machine of a cluster is assumed to have.

Each thread may run a process of a sandboxed bot, so the sandbox allows this number of processes at a time.
"""
MIN_CONNECT_TIMEOUT_S, MAX_CONNECT_TIMEOUT_S = 1.0, 3600.0
"""The limits, in seconds, of the time that matches wait for a bot (`--connect-timeout`)."""


class TournamentOptions(Struct, frozen=True, kw_only=True):
    """The options of `arena tournament` as the user gave them."""

    bots: Sequence[str]
    game: str
    preset: str | None = None
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
    sandbox: str = NO_SANDBOX
    sandbox_read: Sequence[Path] = ()
    memory: int = 2048
    dask: str | None = None
    in_process: bool = False
    strict: bool | None = None
    connect_timeout: float = CONNECT_TIMEOUT_S
    server: str | None = None
    operator_token: str | None = None
    no_luck_adjustment: bool = False
    """True if bots rank by raw results. The same tournament may be shown with and without this option."""
    hosted: HostedOptions | None = None
    """The options about hosted bots, which then enter beside `bots`."""
    on_runners: bool = False
    """True if the runners of the server play, rather than this machine."""


class TournamentSetup(RunTerms, frozen=True, kw_only=True):
    """A tournament as its options define it. The bots are started here in `environment`, or are connected to `server`.

    - If `strict`, a bot that fails ends the run. Otherwise it forfeits its matches, and `failing` has the reason by
      bot.
    - Without a cluster, `jobs` processes of this machine play.
    - `hosted` are the hosted bots among the contestants; None if the tournament is not one of these.
    """

    options: TournamentOptions
    strict: bool
    failing: Mapping[str, str]
    jobs: int
    environment: BotEnvironment
    server: Server | None
    hosted: EntrantList | None = None


def read_options(options: TournamentOptions) -> TournamentSetup:
    """Check the options and return the tournament that they define.

    Raise `UsageFault` if an option is wrong, `BotFault` if the game is, and `ArenaFault` if no sandbox can be created.
    """
    if options.form not in TOURNAMENT_FORMATS:
        raise UsageFault(f"there is no format {options.form!r}: one of {', '.join(TOURNAMENT_FORMATS)}")
    if not 1 <= options.rounds <= MAX_ROUNDS:
        raise UsageFault(f"--rounds is {options.rounds}: it is 1 to {MAX_ROUNDS}")
    return read_any_format(options)


def read_any_format(options: TournamentOptions) -> TournamentSetup:
    """Do what `read_options` does, but accept any format and any number of rounds."""
    _check_resources(options)
    game_config, bot_settings = read_sets(options.game, options.sets, options.preset)
    hosted = None
    words = options.bots
    if options.hosted is not None:
        hosted, bots = _hosted_contestants(options, options.hosted, bot_settings)
        words = [*words, *(entrant.bot for entrant in hosted.entrants)]
    elif options.server is None:
        bots = tuple(parse_contestants(options.bots, bot_settings, in_process=options.in_process))
    else:
        bots = _connected_contestants(options, bot_settings)
    rules = load_game(options.game, game_config)
    check_size(rules, options.form, len(bots), options.rounds, paired=options.paired)
    check_writable(options.to_json)
    read_clock(options.clock)
    strict = len(bots) == 2 if options.strict is None else options.strict
    return TournamentSetup(
        words=words,
        contestants=bots,
        settings=bot_settings,
        rules=rules,
        format=options.form,
        rounds=options.rounds,
        paired=options.paired,
        clock=options.clock,
        further=hosted_arguments(hosted.entrants) if hosted else {} if options.server is None else {"afar": True},
        options=options,
        strict=strict,
        failing=check_bots(bots, rules, strict=strict),
        jobs=_choose_jobs(options),
        environment=_make_environment(options),
        server=None if hosted and not options.on_runners else server_of(options),
        hosted=hosted,
    )


def _check_resources(options: TournamentOptions) -> None:
    if options.jobs is not None and options.dask is not None:
        raise UsageFault("--jobs is for this machine, --dask for a cluster: give one of them")
    if options.jobs is not None and not 1 <= options.jobs <= MAX_JOBS:
        raise UsageFault(f"--jobs is {options.jobs}: it is 1 to {MAX_JOBS}")
    if options.jobs is not None and options.server is None:
        warn_of_excess("--jobs", options.jobs)
    if options.in_process and options.sandbox != NO_SANDBOX:
        raise UsageFault("--sandbox is for bots that run as processes: leave out --sandbox or --in-process")
    if not MIN_CONNECT_TIMEOUT_S <= options.connect_timeout <= MAX_CONNECT_TIMEOUT_S:
        raise UsageFault(
            f"--connect-timeout is {options.connect_timeout:g}: "
            f"it is {MIN_CONNECT_TIMEOUT_S:g} to {MAX_CONNECT_TIMEOUT_S:g} seconds"
        )


def _choose_jobs(options: TournamentOptions) -> int:
    """Return the number of worker processes on this machine.

    By default it is one fewer than the cores. If the bots are connected to a server, workers only wait: then it is the
    number of matches that can run at a time, up to a limit.
    """
    if options.on_runners:
        return options.jobs or MAX_PENDING_MATCHES
    if options.server is not None and options.hosted is None:
        return options.jobs or default_concurrency(len(options.bots))
    return options.jobs or max(1, usable_cores() - 1)


def server_of(options: TournamentOptions) -> Server | None:
    """Return the server that `--server` names; None without that option. Raise `Fault` if it cannot be used."""
    if options.server is None:
        return None
    if "://" in options.server:
        if options.operator_token is None:
            raise UsageFault(
                "--server URL needs --operator-token or ARENA_OPERATOR_TOKEN: it is in the server's operator.json"
            )
        return RemoteServer(options.server, strip_invisible(options.operator_token))
    folder = Path(options.server).absolute()
    if credentials.running_credentials(folder) is None:
        raise no_server(Path(options.server), "--server takes a server's data folder, or its URL")
    return LocalServer(folder)


def _make_environment(options: TournamentOptions) -> BotEnvironment:
    """Return the environment variables and the sandbox of the bots. Raise `Fault` if an option cannot be met."""
    variables = allowed_environment(os.environ, options.pass_env)
    if options.dask is not None:  # a cluster's workers pass on their own variables
        variables = {name: variables[name] for name in options.pass_env}
    if options.sandbox not in SANDBOX_KINDS:
        raise UsageFault(f"there is no sandbox {options.sandbox!r}: one of {', '.join(SANDBOX_KINDS)}")
    if options.memory < MIN_MEMORY_MIB:
        raise UsageFault(f"--memory is {options.memory}: it is {MIN_MEMORY_MIB} or more, in MiB")
    for path in options.sandbox_read:
        if not os.path.exists(path):
            raise UsageFault(f"--sandbox-read {path}: there is no such file or folder")
    if options.sandbox == NO_SANDBOX:
        return BotEnvironment(variables=variables)
    if options.sandbox == USERS_SANDBOX and os.geteuid() != 0:
        raise UsageFault("--sandbox users needs root: use --sandbox bwrap")
    if options.sandbox == BWRAP_SANDBOX:
        check_bubblewrap()
    sandbox = Sandbox(
        kind=options.sandbox,
        data=options.data,
        database=open_database_url(database_url(options.db, options.data)).file,
        readable=(*options.sandbox_read, *copied_folders()),
        memory_mib=options.memory,
        copies=_choose_jobs(options) if options.dask is None else MAX_THREADS_PER_MACHINE,
    )
    return BotEnvironment(variables=variables, sandbox=sandbox)


def _hosted_contestants(
    options: TournamentOptions, hosted: HostedOptions, settings: Mapping[str, str]
) -> tuple[EntrantList, tuple[Contestant, ...]]:
    """Return the hosted bots of a tournament, and all of its bots. Raise `Fault` if an option does not fit."""
    for given, what in ((options.in_process, "--in-process"), (options.dask, "--dask")):
        if given:
            raise UsageFault(f"--hosted is for boxes on this machine: leave out {what}")
    if options.on_runners and options.server is None:
        raise UsageFault("--on-runners needs --server, the data folder or the URL of the arena with the runners")
    if options.server is None and is_held(options.data):
        raise UsageFault(
            f"{options.data} is in use: if an arena runs there, add --server {options.data}, and name another folder "
            "for the results with --data"
        )
    if not options.on_runners:
        check_bubblewrap("--hosted")
    found = HostedSource(server_of(options), options.data, options.db).find(hosted, options.game)
    bots = (
        *parse_contestants(options.bots, settings, min_bots=0),
        *map(hosted_contestant, found.entrants),
    )
    check_names([bot.name for bot in bots])
    if len(bots) < 2:
        reasons = "".join(f"; {note}" for note in found.notes)
        play = format_count(len(found.entrants), "hosted bot plays", "hosted bots play")
        raise UsageFault(f"a tournament needs two bots or more: {play} {options.game}{reasons}")
    return found, bots


def _connected_contestants(options: TournamentOptions, settings: Mapping[str, str]) -> tuple[Contestant, ...]:
    """Return the bots of a running server that the options name. Raise `UsageFault` if another option does not fit."""
    for word in options.bots:
        if not is_bot_name(word):
            raise UsageFault(f"{short_repr(word)} is no name of a bot: with --server, give the names of connected bots")
    check_names(list(options.bots))
    for given, what in (
        (options.in_process, "--in-process"),
        (options.dask, "--dask"),
        (options.sandbox != NO_SANDBOX, "--sandbox"),
    ):
        if given:
            raise UsageFault(f"{what} is for bots that run on this machine: with --server they run elsewhere")
    if settings:
        raise UsageFault(
            f"--set {next(iter(settings))} is for bots that run on this machine: with --server they run elsewhere"
        )
    if len(options.bots) < 2:
        raise UsageFault("a tournament needs two bots or more")
    return tuple(Contestant(name, ()) for name in options.bots)


def read_sets(game: str, sets: Sequence[str], preset: str | None = None) -> tuple[dict[str, Any], dict[str, str]]:
    """Split the words of `--set` into the game's config and the settings of built-in bots, and return both.

    The config gets the `preset` too. Raise `UsageFault` if a key is unknown, and `BadConfig` if a value is invalid.
    """
    game_config: dict[str, Any] = {}
    bot_settings: dict[str, str] = {}
    keys = config_keys(game)
    for word in sets:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise UsageFault(f"--set {word}: write KEY=VALUE, like --set heaps=3,5,7")
        if key in keys or key == "preset":
            game_config[key] = read_value(value)
            if key in BOT_SETTINGS:
                _check_game_value(game, key, game_config[key])
        elif key in BOT_SETTINGS:
            bot_settings[key] = value
        else:
            raise UsageFault(
                f"{game} has no config key {short_repr(key)}: one of {', '.join((*keys, 'preset'))}; "
                f"bots have {', '.join(BOT_SETTINGS)}"
            )
    add_preset(game_config, preset, "--set")
    return game_config, bot_settings


def _check_game_value(game: str, key: str, value: Any) -> None:
    """Raise `UsageFault` if a config key of the game has an invalid value. A bot's setting may have the same name, so
    the message also says how to set that.
    """
    try:
        load_game(game, {key: value})
    except BadConfig as exc:
        raise UsageFault(f"{exc}; to set it for a bot, write it with the bot, like x=alphabeta:{key}=VALUE") from exc


def check_writable(file: Path | None) -> None:
    """Raise `UsageFault` if results cannot be written to `file`. Call it before the first match."""
    refusal = None if file is None else why_not_writable(file)
    if refusal is not None:
        raise UsageFault(f"--json {file} can't be written: {refusal}")
