"""`arena serve`: runs a server until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import BinaryIO

from arena.builtin_bots import (
    BUILTIN_BOT_TOKENS_FILE,
    BUILTIN_BOTS_FOLDER,
    BuiltinBot,
    BuiltinBotSupervisor,
    builtin_bot_tokens,
    make_demo_bots,
    parse_builtin_bots,
)
from arena.commands.brought_games import check_storable, store_game
from arena.commands.certificate import set_up_encryption
from arena.commands.config import retention_of, unknown_variables
from arena.commands.data_dir import hold_data_dir, refuse_beside_nodes
from arena.commands.disk_room import wait_for_room
from arena.commands.fd_limits import raise_fd_limit
from arena.commands.hosting_limits import hosting_limits
from arena.commands.listening import Ports, access, bind_ports
from arena.commands.metrics import serve_metrics
from arena.commands.node_process import cluster_view_of, open_as_node, run_as_node
from arena.commands.pairing import open_log
from arena.commands.quota_limits import quota_limits
from arena.commands.rehearsal import rehearse_game
from arena.commands.restart import Restart
from arena.commands.serve_runners import check_hosting, check_runners, hosts_bots, run_runners
from arena.commands.settings import ServerSettings, database_url, node_of
from arena.commands.web import PageProcess, admin_config, page_url, serve_pages
from arena.feed import Feed, FeedTimeouts
from arena.host.game_watch import GameLimits
from arena.host.journal import Journal
from arena.host.meters import Meters
from arena.host.quotas import Quotas
from arena.host.timeouts import HostTimeouts
from arena.lobby.policy import LobbyPolicy
from arena.network.addresses import is_loopback
from arena.network.binding import InheritedSockets, bind_sockets, port_of, url_at, url_of
from arena.network.tls import Encryption
from arena.operations import disk_space
from arena.operations.administration import all_handlers
from arena.operations.backups import BackupSchedule, run_backups
from arena.operations.thinning import run_retention
from arena.operator import credentials
from arena.processes.bot_commands import check_settings
from arena.processes.launch_spec import allowed_environment
from arena.server.arena import Arena
from arena.server.auth import Authenticator, Registration
from arena.server.nodes import ClusterView
from arena.store.answer_limit import server_timeouts
from arena.store.async_store import AsyncStore
from arena.store.data_folder import FOLDER_MODE
from arena.store.database import Database, StoreError
from arena.store.database_url import open_database_url
from arena.store.feed_position import has_feed, switch_feed
from arena.store.node_store import NodeStore
from arena.store.nodes import NODE_TIMEOUT_S
from arena.store.postgres_database import PostgresDatabase
from arena.store.rules_check import check_rules
from arena.store.schema import SCHEMA_REVISIONS
from arena.store.store import Reader, Store
from arena.store.upgrade import upgrade_database
from arena.web.hosting_config import HostingConfig
from machine import event_loop, held_signals, standard_streams
from machine.arguments import read_clock, read_text_or_file
from machine.event_loop import BackgroundTasks, background_task
from machine.game_discovery import add_family_game, add_game_file, file_of, is_game_file
from machine.game_files import use_copy
from machine.log_output import configure_logging
from machine.service_manager import ServiceManager
from machine.subprocesses import limit_niceness
from machine.timeouts import scale_timeouts
from protocol.display import format_count
from protocol.errors import ArenaFault, UnknownGame, UsageFault, os_errors_as
from protocol.games import game_names
from protocol.games.spec import FAMILY_SEPARATOR
from protocol.names import fold_name
from referee.match import MatchTimeouts

HOST = "127.0.0.1"
"""The address of the private sockets for the operator and the built-in bots."""
OPERATOR_ACCOUNT, BUILTIN_BOTS_ACCOUNT, HOSTED_BOTS_ACCOUNT = "the operator", "the house", "the runners"
"""These are quota accounts: `OPERATOR_ACCOUNT` is that of the operator, `BUILTIN_BOTS_ACCOUNT` that of the built-in
bots, `HOSTED_BOTS_ACCOUNT` that of the bots on this machine's runners. They connect to private sockets. All other
clients have the account of their address.
"""
HOSTED_READY_TIMEOUT_S = 20.0
"""Seconds within which seats must be ready at an arena with hosted bots: a frozen runner is known as lost after 8 s."""
HOSTED_RETURN_TIMEOUT_S = 60.0
"""Seconds that matches wait for their seats after the loss of a runner, or a restart of the server. A runner starts two
processes for each bot, while other clients only connect again.
"""

log = logging.getLogger("arena")


def run(settings: ServerSettings) -> None:
    """Serve until SIGINT or SIGTERM. Raise `Fault` if the server can't start."""
    standard_streams.tolerate_lost_output()
    configure_logging(settings.log_level, settings.log, node_of(settings))
    for line in unknown_variables(os.environ):
        log.warning("%s", line)
    restart = Restart(os.environ)
    handed = InheritedSockets(os.environ)
    data = Path(settings.data)
    for game in add_games(settings):
        _rehearse(game, settings)
    bots = builtin_bots_of(settings)
    check_hosting(settings)
    check_runners(settings)
    with bind_ports(settings, handed) as ports, hold_data_dir(data, settings.db) as where:
        if settings.upgrade:
            upgrade_if_older(open_database_url(where), settings.backup_to)
        event_loop.run(serve(settings, data, ports, bots, restart))
    if restart.is_wanted:
        restart.perform()
    log.info("stopped")


def upgrade_if_older(database: Database, backup_to: str | None) -> None:
    """Upgrade a database of an older schema. Raise `Fault` if that fails; the database is then unchanged.

    A database in a file is first copied to the folder `backup_to`, or to its own folder if that is None.
    """
    before = database.revision()
    if before in (None, SCHEMA_REVISIONS[-1]):
        return
    file = database.file
    if file is None:
        log.info("the database has schema %s, older than this version's: it is upgraded", before)
        refuse_beside_nodes(database, "stop them, as they are of an older version", timeout_s=NODE_TIMEOUT_S + 1.0)
        upgrade_database(database)
        log.info("the database has schema %s now", SCHEMA_REVISIONS[-1])
        return
    name = f"{file.stem}-schema-{before}-{datetime.now(UTC):%Y-%m-%dT%H%M%SZ}.db"
    folder = file.parent if backup_to is None else Path(backup_to)
    with os_errors_as(ArenaFault, f"the folder for backups {folder} can't be made"):
        folder.mkdir(parents=True, exist_ok=True, mode=FOLDER_MODE)
    backup = folder / name
    log.info("the database has schema %s, older than this version's: it is copied and upgraded", before)
    upgrade_database(database, backup)
    log.info("the database has schema %s now; as it was: %s", SCHEMA_REVISIONS[-1], backup)


def add_games(settings: ServerSettings) -> list[str]:
    """Add the games that the settings name, by their files or families. Return the names of those of files, which are
    run from copies. Raise `UsageFault` if there is no such game.
    """
    games: list[str] = []
    for word in filter(None, settings.games.split(",")):
        if is_game_file(word):
            games += add_game_file(file_of(word))
        elif FAMILY_SEPARATOR in word:
            try:
                add_family_game(word)
            except UnknownGame as exc:
                raise UsageFault(f"games: {exc}") from exc
        else:
            raise UsageFault(
                f"games is {word[:40]!r}: name a file, like connect4.py, or a game of a family, like openspiel:hex; "
                "other games need no setting"
            )
    for game in games:
        use_copy(game)
    return games


def _rehearse(game: str, settings: ServerSettings) -> None:
    """Log what may be wrong with a game of a file. Raise `UsageFault` if all its matches would be void."""
    line = rehearse_game(game, GameLimits.of(settings.slow_game_call))
    if line:
        log.warning("%s", line)


def builtin_bots_of(settings: ServerSettings) -> list[BuiltinBot]:
    """Return the built-in bots that the settings ask for. Raise `UsageFault` if one is unknown or rejects its
    options.
    """
    asked = parse_builtin_bots(settings.builtin_bots)
    check_settings({f"the built-in bot {bot.name}": bot.command for bot in asked})
    bots = [bot.with_options("--open") for bot in asked]
    if settings.demo:
        ours = {fold_name(bot.name) for bot in bots}
        bots += [bot for bot in make_demo_bots() if fold_name(bot.name) not in ours]
    if len(bots) > settings.max_per_address:
        fewer = f"fewer than the {len(bots)} built-in bots"
        raise UsageFault(f"max_per_address is {settings.max_per_address}, {fewer}: raise it, or run fewer of them")
    return bots


def check_references(settings: ServerSettings) -> None:
    """Raise `Fault` if a setting refers to something invalid: a game, a built-in bot, the database's URL or the token
    file.
    """
    where = database_url(settings.db, Path(settings.data))
    for game in add_games(settings):
        check_storable(game, where)
        _rehearse(game, settings)
    builtin_bots_of(settings)
    check_hosting(settings)
    open_database_url(where)
    if settings.operator_token_file is not None:
        credentials.read_or_make_token(Path(settings.data), Path(settings.operator_token_file))


def check_start(settings: ServerSettings) -> None:
    """Raise `Fault` if a server with these settings would not start where another one runs now: its runners, its
    certificate or its database can't be used.
    """
    check_runners(settings)
    if settings.tls_cert is not None and settings.tls_key is not None:
        Encryption(Path(settings.tls_cert), Path(settings.tls_key))
    where = database_url(settings.db, Path(settings.data))
    database = open_database_url(where, server_timeouts(settings.database_timeout))
    revision = database.revision(read_only=True)
    if revision is None or (settings.upgrade and revision != SCHEMA_REVISIONS[-1]):
        return  # it is made or upgraded
    with contextlib.closing(Reader.open(database)) as reader:
        reader.read(check_rules, game_names())


async def serve(
    settings: ServerSettings,
    data: Path,
    ports: Ports,
    bots: Sequence[BuiltinBot] = (),
    restart: Restart | None = None,
) -> None:
    """Serve from this event loop until SIGINT or SIGTERM, or until a SIGUSR2 that `restart` accepts."""
    manager = ServiceManager(os.environ)
    async with contextlib.AsyncExitStack() as stack:
        stop = asyncio.Event()
        if restart is not None:  # before the loop removes its handlers
            stack.callback(lambda: held_signals.block_signals() if restart.is_wanted else None)
        _obey_signals(stop, ports, restart)
        others: list[Callable[[], None]] = []  # reload the certificate along with the arena
        encryption = set_up_encryption(settings, others, manager)
        held_signals.unblock_signals()
        where = database_url(settings.db, data)
        stored_in = open_database_url(where, server_timeouts(settings.database_timeout))
        await stack.enter_async_context(background_task(_hurry(stop, stored_in)))
        folders = {data} if stored_in.file is None else {data, stored_in.file.parent}
        feed = _feed(settings)
        await wait_for_room(folders, [*ports.arena, *ports.page], encryption, stop)
        if stop.is_set():
            return
        store = stack.enter_context(await _open_store(stored_in, settings.node, fed=feed is not None))
        for game in add_games(settings):
            store_game(store, game)
        store.read(check_rules, game_names())
        held = settings.operator_token_file
        token = credentials.read_or_make_token(data, None if held is None else Path(held))
        secret = token if isinstance(store, NodeStore) else None
        house = None
        if bots:
            house = await stack.enter_async_context(_builtin_bots(bots, store, data / BUILTIN_BOTS_FOLDER, secret))
        archive = AsyncStore(store)
        stack.push_async_callback(archive.drain)
        if feed is not None:
            await stack.enter_async_context(_run_feed(feed))
        scheme, port = "wss" if encryption else "ws", port_of(ports.arena)
        public = settings.public_url or url_of(scheme, settings.host, port)
        nodes = cluster_view_of(store, archive, public)
        meters = Meters() if ports.metrics else None
        policy = lobby_policy(settings)
        pairing_log = None
        if settings.pairing_log:
            pairing_log = stack.enter_context(open_log(data, policy, asyncio.get_running_loop().time()))
        arena = _make_arena(
            settings, data, archive, feed, encryption, ports.page, token, nodes, meters, stop, policy, pairing_log
        )
        stack.push_async_callback(arena.close)
        for game in game_names():  # now, because importing a game at its first seek would delay every client
            await arena.host.rules.check_game(game)
        if nodes is not None:
            await stack.enter_async_context(run_as_node(nodes, arena))
        event_loop.relax_gc()  # these objects stay: no collection should pause play to scan them
        restoring = arena.host.restore()
        await arena.host.listener.listen_on(ports.arena)
        named = settings.socket_url if encryption else None  # the host name in the certificate
        operator = await _open_private_socket(OPERATOR_ACCOUNT, arena, operators=True)
        credentials.write_credentials(data, token, operator, stored_in, named or url_of(scheme, settings.host, port))
        log.info("listening on %s (data in %s)", url_at(scheme, settings.host, port), data)
        _warn_of_clear_text(settings)
        if house is not None:
            clients = arena.host.clients
            house.start(
                await _open_private_socket(BUILTIN_BOTS_ACCOUNT, arena), lambda bot: clients.session_of(bot) is not None
            )
        if settings.runners:
            hosted = await _open_private_socket(HOSTED_BOTS_ACCOUNT, arena)
            await stack.enter_async_context(run_runners(settings, data, token, operator, hosted, public))
        if ports.page:
            page = await stack.enter_async_context(_serve_site(settings, where, ports, operator, token))
            others.append(page.reload)
        if meters is not None:
            await stack.enter_async_context(serve_metrics(settings, ports.metrics, arena, meters, feed, stored_in))
        await stack.enter_async_context(_run_maintenance(arena, settings, stored_in.file, folders))
        manager.notify_ready()
        stack.callback(_notify_end, manager, restart)
        await stack.enter_async_context(background_task(manager.send_status(lambda: _status(arena))))
        await _wait_for_stop(stop, arena, restoring)
        arena.stopping = True
        stored_in.hurry()


async def _hurry(stop: asyncio.Event, database: Database) -> None:
    """Once `stop` is set, shorten the time limits for the database, even if the server is still starting then."""
    await stop.wait()
    database.hurry()


def _obey_signals(stop: asyncio.Event, ports: Ports, restart: Restart | None) -> None:
    """Make SIGINT and SIGTERM set `stop`, and SIGUSR2 prepare a restart. SIGINT and SIGTERM cancel a restart."""
    loop, preparing = asyncio.get_running_loop(), BackgroundTasks()

    def end() -> None:
        stop.set()
        if restart is not None:
            restart.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, end)
    if restart is not None:
        loop.add_signal_handler(signal.SIGUSR2, lambda: preparing.start(restart.prepare(ports.arena, ports.page, stop)))


def _notify_end(manager: ServiceManager, restart: Restart | None) -> None:
    if restart is not None and restart.is_wanted:
        manager.notify_reloading()
    else:
        manager.notify("STOPPING=1")


async def _open_store(database: Database, node: str, *, fed: bool) -> contextlib.closing[Store]:
    """Open the store. If a feed runs (`fed`), the store keeps track of which matches the feed has published. If none
    runs, this information is deleted.
    """
    if isinstance(database, PostgresDatabase):
        store: Store = await open_as_node(database, node)
    else:
        store = Store.open(database)
    if store.read(has_feed, store.node) != fed:
        store.write(switch_feed, store.node, on=fed)
    return contextlib.closing(store)


@contextlib.asynccontextmanager
async def _builtin_bots(
    bots: Sequence[BuiltinBot], store: Store, folder: Path, secret: str | None
) -> AsyncIterator[BuiltinBotSupervisor]:
    """Register the built-in bots and yield their supervisor. On exit, stop the bots."""
    tokens = builtin_bot_tokens(store, folder / BUILTIN_BOT_TOKENS_FILE, [bot.name for bot in bots], secret)
    house = BuiltinBotSupervisor(bots, tokens, folder, allowed_environment(os.environ))
    try:
        yield house
    finally:
        await house.stop()


@contextlib.asynccontextmanager
async def _serve_site(
    settings: ServerSettings, where: str, ports: Ports, operator_url: str, token: str
) -> AsyncIterator[PageProcess]:
    """Serve the pages within the context."""
    hosting = None
    if hosts_bots(settings):
        limits = hosting_limits(settings).submission
        hosting = HostingConfig(url=operator_url, token=token, limits=limits, starts_runners=settings.runners > 0)
    admin = admin_config(settings, operator_url, token)
    async with serve_pages(settings, where, ports.page, port_of(ports.arena), admin, hosting) as page:
        if settings.demo:
            url = page_url(settings, ports.page)
            log.info("matches begin within seconds; open %s in a browser; Ctrl-C ends it", url)
        yield page


def host_timeouts(settings: ServerSettings) -> HostTimeouts:
    """Return the time limits for clients. Matches wait longer where runners must start bots again."""
    if not hosts_bots(settings):
        return HostTimeouts()
    return HostTimeouts(
        match=MatchTimeouts(ready_timeout_s=HOSTED_READY_TIMEOUT_S, return_timeout_s=HOSTED_RETURN_TIMEOUT_S)
    )


def _feed(settings: ServerSettings) -> Feed | None:
    if settings.mqtt is None:
        return None
    return Feed(
        read_text_or_file(settings.mqtt, "mqtt"), node=node_of(settings), timeouts=scale_timeouts(FeedTimeouts())
    )


def lobby_policy(settings: ServerSettings) -> LobbyPolicy:
    """Return the policy by which the server pairs bots."""
    return LobbyPolicy(
        max_matches_per_hour=settings.max_matches_per_hour,
        rated_per_pair=settings.rated_per_pair,
        approved_only=settings.rated == "approved",
    )


def _make_arena(
    settings: ServerSettings,
    data: Path,
    store: AsyncStore,
    feed: Feed | None,
    encryption: Encryption | None,
    page: list[socket.socket],
    operator: str,
    nodes: ClusterView | None,
    meters: Meters | None,
    drained: asyncio.Event,
    policy: LobbyPolicy,
    pairing_log: BinaryIO | None,
) -> Arena:
    limit_niceness(0)  # refuses a bad value at the start, not in a background process
    files = raise_fd_limit(settings.max_connections)
    registration = Registration(
        open=settings.registration == "open",
        per_hour=settings.registrations_per_hour,
        free_after_days=settings.free_names_after,
    )
    return Arena(
        store,
        Journal(data / "journal", synced=settings.durability == "machine", max_open=files.journals),
        Authenticator(store, registration),
        read_clock(settings.clock),
        slow_clock=read_clock(settings.slow_clock),
        away_s=settings.reconnect_timeout,
        feed=feed,
        access=access(settings, files, page, operator),
        encryption=encryption,
        policy=policy,
        lobby_log=pairing_log,
        make_operations=partial(all_handlers, hosting=hosting_limits(settings) if hosts_bots(settings) else None),
        drained=drained,
        nodes=nodes,
        meters=meters,
        timeouts=scale_timeouts(host_timeouts(settings)),
        game_limits=scale_timeouts(GameLimits.of(settings.slow_game_call)),
        isolates_games=settings.isolate_games,
        quotas=Quotas(
            quota_limits(settings, files.journals, data),
            exempt={OPERATOR_ACCOUNT, BUILTIN_BOTS_ACCOUNT, HOSTED_BOTS_ACCOUNT},
        ),
    )


def _warn_of_clear_text(settings: ServerSettings) -> None:
    here = settings.host == "localhost" or is_loopback(settings.host)
    if settings.tls_cert is None and not settings.trusted_proxy and not here:
        log.warning("tokens are sent unencrypted: use --tls-cert, or --trusted-proxy for a proxy that encrypts")


@contextlib.asynccontextmanager
async def _run_maintenance(
    arena: Arena, settings: ServerSettings, file: Path | None, folders: Collection[Path]
) -> AsyncIterator[None]:
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(background_task(disk_space.run_checks(arena.warnings, folders)))
        on_clock = partial(arena.warnings.update, "the clock of the database")
        cleaning = run_retention(arena.store, retention_of(settings), on_clock, settings.keep_bot_logs)
        await stack.enter_async_context(background_task(cleaning))
        if settings.backup_to is not None and file is not None:
            schedule = BackupSchedule(Path(settings.backup_to), settings.backup_every, settings.backup_keep)
            await stack.enter_async_context(background_task(run_backups(file, schedule, arena.warnings)))
        if hosts_bots(settings):
            from arena.operations.planned_tournaments import PlannedTournaments  # most servers don't need it

            matches = None if arena.hosting is None else arena.hosting().matches
            online = arena.host.clients.sessions.keys
            plans = PlannedTournaments(arena.store, Path(settings.data), online, matches)
            await stack.enter_async_context(background_task(plans.run()))
        yield


def _status(arena: Arena) -> str:
    clients = arena.host.clients
    here = format_count(len(clients.sessions), "bot", "bots")
    playing = f"{here} online, {format_count(len(clients.runners), 'match', 'matches')} under way"
    return "; ".join(filter(None, (playing, arena.host.health.reason, *arena.warnings.current())))


async def _open_private_socket(account: str, arena: Arena, *, operators: bool = False) -> str:
    """Open an unencrypted loopback socket for `account`, and return its URL."""
    (listening,) = bind_sockets(HOST, 0)
    await arena.host.listener.add_socket(listening, account, operators_only=operators)
    return f"ws://{HOST}:{port_of([listening])}"


async def _wait_for_stop(stop: asyncio.Event, arena: Arena, restoring: asyncio.Task[int]) -> None:
    """Finish resuming the matches of the journal, and wait for `stop`. Raise the error if matches cannot be resumed."""
    going_on = asyncio.create_task(_finish_restoring(arena, restoring))
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait((going_on, stopping), return_when=asyncio.FIRST_COMPLETED)
    if stop.is_set():
        going_on.cancel()
    else:
        await going_on
    await stopping


async def _finish_restoring(arena: Arena, restoring: asyncio.Task[int]) -> None:
    """Wait until the matches of the journal are resumed, log their number, and start the feed."""
    count = await restoring
    if count:
        matches = format_count(count, "match goes on", "matches go on")
        log.info("%s after a restart", matches)
    with contextlib.suppress(StoreError):  # the next start reports it
        arena.warnings.update("matches under way", await arena.nodes.find_lost_matches(arena.host.clients.runners))
    await arena.start_feed()


@contextlib.asynccontextmanager
async def _run_feed(feed: Feed) -> AsyncIterator[None]:
    """Run the feed while the context lasts. Then publish what is still queued, within a short timeout."""
    async with background_task(feed.run()):
        try:
            yield
        finally:
            await feed.close()
