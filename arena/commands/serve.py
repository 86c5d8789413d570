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

from arena.builtin_bots import HOUSE_FOLDER, HOUSE_TOKENS, BuiltinBot, Supervisor, demo_bots, house_bots, house_tokens
from arena.commands.certificate import encryption_of
from arena.commands.config import retention, unknown_variables
from arena.commands.data_dir import hold_data_dir, refuse_beside_nodes
from arena.commands.disk_room import wait_for_room
from arena.commands.fd_limits import raise_fd_limit
from arena.commands.listening import Ports, access, listening
from arena.commands.metrics import answering_metrics
from arena.commands.node_process import being_a_node, nodes_of, open_as_node
from arena.commands.quota_limits import quota_limits
from arena.commands.restart import Restart
from arena.commands.settings import ServerSettings, database, node_of
from arena.commands.web import admin_config, page_url, shown
from arena.feed import Feed, FeedTimeouts
from arena.host.journal import Journal
from arena.host.meters import Meters
from arena.host.quotas import Quotas
from arena.host.timeouts import HostTimeouts
from arena.network.addresses import is_loopback
from arena.network.binding import HandedOver, bound, port_of, url_at, url_of
from arena.network.tls import Encryption
from arena.operations import disk_space
from arena.operations.administration import operations
from arena.operations.backups import Schedule, keep_backing_up
from arena.operations.thinning import keep_thin
from arena.operator import credentials
from arena.processes.bot_commands import check_settings
from arena.processes.launch_spec import passed
from arena.server.arena import Arena
from arena.server.auth import Authenticator, Registration
from arena.server.bot_cache import BotCache
from arena.server.matchmaking import MatchRate
from arena.server.nodes import Nodes
from arena.store.answer_limit import of_server
from arena.store.async_store import AsyncStore
from arena.store.data_folder import FOLDER
from arena.store.database import Database, StoreError
from arena.store.database_url import database_at
from arena.store.feed_position import is_fed, switch_feed
from arena.store.node_store import NodeStore
from arena.store.nodes import ALIVE_S
from arena.store.postgres_database import PostgresDatabase
from arena.store.schema import REVISIONS
from arena.store.store import Store
from arena.store.upgrade import upgrade
from machine import event_loop, held_signals, standard_streams
from machine.arguments import read_clock, text_or_file
from machine.event_loop import Tasks, running
from machine.log_output import write_log
from machine.service_manager import ServiceManager
from machine.subprocesses import limited_niceness
from machine.timeouts import scaled
from protocol.display import counted
from protocol.errors import ArenaFault, UsageFault, os_errors_as
from protocol.games import NAMES, load
from protocol.names import folded

HOST = "127.0.0.1"
OPERATOR, HOUSE = "the operator", "the house"
"""The quota accounts of clients on the operator's and the built-in bots' own sockets, apart from other local ones."""

log = logging.getLogger("arena")


def run(settings: ServerSettings) -> None:
    """Serve until SIGINT or SIGTERM. Raises `Fault` if the server can't start."""
    standard_streams.tolerate_lost_output()
    write_log(settings.log_level, settings.log, node_of(settings))
    for line in unknown_variables(os.environ):
        log.warning("%s", line)
    restart = Restart(os.environ)
    handed = HandedOver(os.environ)
    data = Path(settings.data)
    bots = builtin_bots_of(settings)
    with listening(settings, handed) as ports, hold_data_dir(data, settings.db) as where:
        if settings.upgrade:
            upgrade_if_older(database_at(where), settings.backup_to)
        event_loop.run(serve(settings, data, ports, bots, restart))
    if restart.wanted:
        restart.perform()
    log.info("stopped")


def upgrade_if_older(database: Database, backup_to: str | None) -> None:
    """Upgrade a database of an older schema. A file is first copied into the folder for backups, or beside itself.

    Raises `Fault`; then nothing has changed.
    """
    before = database.revision()
    if before in (None, REVISIONS[-1]):
        return
    file = database.file
    if file is None:
        log.info("the database has schema %s, older than this version's: it is upgraded", before)
        refuse_beside_nodes(database, "stop them, as they are of an older version", within=ALIVE_S + 1.0)
        upgrade(database)
        log.info("the database has schema %s now", REVISIONS[-1])
        return
    name = f"{file.stem}-schema-{before}-{datetime.now(UTC):%Y-%m-%dT%H%M%SZ}.db"
    folder = file.parent if backup_to is None else Path(backup_to)
    with os_errors_as(ArenaFault, f"the folder for backups {folder} can't be made"):
        folder.mkdir(parents=True, exist_ok=True, mode=FOLDER)
    backup = folder / name
    log.info("the database has schema %s, older than this version's: it is copied and upgraded", before)
    upgrade(database, backup)
    log.info("the database has schema %s now; as it was: %s", REVISIONS[-1], backup)


def builtin_bots_of(settings: ServerSettings) -> list[BuiltinBot]:
    """Return the bots that the settings ask for. Raises `UsageFault`, also for an unknown setting of a bot."""
    asked = house_bots(settings.house)
    check_settings({f"the house bot {bot.name}": bot.command for bot in asked})
    bots = [bot.with_options("--open") for bot in asked]
    if settings.demo:
        ours = {folded(bot.name) for bot in bots}
        bots += [bot for bot in demo_bots() if folded(bot.name) not in ours]
    if len(bots) > settings.max_per_address:
        raise UsageFault(f"max_per_address is {settings.max_per_address}: the house alone has {len(bots)} bots")
    return bots


def check_what_is_named(settings: ServerSettings) -> None:
    """Check the settings of bots, the database and the token file, as `run` does at its start. Raises `Fault`."""
    builtin_bots_of(settings)
    database_at(database(settings.db, Path(settings.data)))
    if settings.operator_token_file is not None:
        credentials.token_of(Path(settings.data), Path(settings.operator_token_file))


async def serve(
    settings: ServerSettings,
    data: Path,
    ports: Ports,
    bots: Sequence[BuiltinBot] = (),
    restart: Restart | None = None,
) -> None:
    """Serve from this event loop until SIGINT or SIGTERM, or until a SIGUSR2 that `restart` accepts. Everything opened
    is closed at the end.
    """
    manager = ServiceManager(os.environ)
    async with contextlib.AsyncExitStack() as stack:
        stop = asyncio.Event()
        if restart is not None:  # before the loop removes its handlers
            stack.callback(lambda: held_signals.hold() if restart.wanted else None)
        _obey_signals(stop, ports, restart)
        others: list[Callable[[], None]] = []  # reload the certificate along with the arena
        encryption = encryption_of(settings, others, manager)
        held_signals.release()
        where = database(settings.db, data)
        stored_in = database_at(where, of_server(settings.database_timeout))
        await stack.enter_async_context(running(_hurry(stop, stored_in)))
        folders = {data} if stored_in.file is None else {data, stored_in.file.parent}
        feed = _feed(settings)
        await wait_for_room(folders, [*ports.arena, *ports.page], encryption, stop)
        if stop.is_set():
            return
        store = stack.enter_context(await _opened(stored_in, settings.node, fed=feed is not None))
        held = settings.operator_token_file
        token = credentials.token_of(data, None if held is None else Path(held))
        secret = token if isinstance(store, NodeStore) else None
        house = await stack.enter_async_context(_house(bots, store, data / HOUSE_FOLDER, secret)) if bots else None
        archive = AsyncStore(store)
        stack.push_async_callback(archive.drain)
        if feed is not None:
            await stack.enter_async_context(_publishing(feed))
        scheme, port = "wss" if encryption else "ws", port_of(ports.arena)
        nodes = nodes_of(store, archive, settings.public_url or url_of(scheme, settings.host, port))
        meters = Meters() if ports.metrics else None
        arena = _arena(settings, data, archive, feed, encryption, ports.page, token, nodes, meters)
        arena.drain.stop = stop.set
        stack.push_async_callback(arena.close)
        for game in NAMES:  # now, because importing a game at its first seek would delay every client
            load(game)
        if nodes is not None:
            await stack.enter_async_context(being_a_node(nodes, arena))
        event_loop.collect_rarely()  # these objects stay: no collection should pause play to scan them
        restoring = arena.host.restore()
        await arena.host.listener.open_on(ports.arena)
        named = settings.socket_url if encryption else None  # the host name in the certificate
        operator = await _socket_for(OPERATOR, arena, operators=True)
        credentials.write(data, token, operator, stored_in, named or url_of(scheme, settings.host, port))
        log.info("listening on %s (data in %s)", url_at(scheme, settings.host, port), data)
        _warn_of_clear_text(settings)
        if house is not None:
            clients = arena.host.clients
            house.begin(await _socket_for(HOUSE, arena), lambda bot: clients.session(bot) is not None)
        if ports.page:
            page = await stack.enter_async_context(
                shown(settings, where, ports.page, port, admin_config(settings, operator, token))
            )
            others.append(page.reload)
            if settings.demo:
                url = page_url(settings, ports.page)
                log.info("matches begin within seconds; open %s in a browser; Ctrl-C ends it", url)
        if meters is not None:
            await stack.enter_async_context(answering_metrics(settings, ports.metrics, arena, meters, feed, stored_in))
        await stack.enter_async_context(_looked_after(arena, settings, stored_in.file, folders))
        manager.tell_ready()
        stack.callback(_tell_the_end, manager, restart)
        await stack.enter_async_context(running(manager.watch(lambda: _status(arena))))
        await _until(stop, arena, restoring)
        arena.stopping = True
        stored_in.hurry()


async def _hurry(stop: asyncio.Event, database: Database) -> None:
    """Wait less for the database once the server is told to stop, also while it starts."""
    await stop.wait()
    database.hurry()


def _obey_signals(stop: asyncio.Event, ports: Ports, restart: Restart | None) -> None:
    """Make SIGINT and SIGTERM set `stop`. SIGUSR2 prepares a `restart`, which the other two cancel."""
    loop, preparing = asyncio.get_running_loop(), Tasks()

    def end() -> None:
        stop.set()
        if restart is not None:
            restart.forget()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, end)
    if restart is not None:
        loop.add_signal_handler(signal.SIGUSR2, lambda: preparing.begin(restart.prepare(ports.arena, ports.page, stop)))


def _tell_the_end(manager: ServiceManager, restart: Restart | None) -> None:
    if restart is not None and restart.wanted:
        manager.tell_reloading()
    else:
        manager.tell("STOPPING=1")


async def _opened(database: Database, node: str, *, fed: bool) -> contextlib.closing[Store]:
    """Open the store, and start or resume its MQTT feed position if it is `fed`; else forget that position."""
    if isinstance(database, PostgresDatabase):
        store: Store = await open_as_node(database, node)
    else:
        store = Store.open(database)
    if store.read(is_fed, store.node) != fed:
        store.write(switch_feed, store.node, on=fed)
    return contextlib.closing(store)


@contextlib.asynccontextmanager
async def _house(
    bots: Sequence[BuiltinBot], store: Store, folder: Path, secret: str | None
) -> AsyncIterator[Supervisor]:
    """Register the built-in bots and yield their supervisor, which stops them on exit."""
    tokens = house_tokens(store, folder / HOUSE_TOKENS, [bot.name for bot in bots], secret)
    house = Supervisor(bots, tokens, folder, passed(os.environ))
    try:
        yield house
    finally:
        await house.end()


def _feed(settings: ServerSettings) -> Feed | None:
    if settings.mqtt is None:
        return None
    return Feed(text_or_file(settings.mqtt, "mqtt"), node=node_of(settings), timeouts=scaled(FeedTimeouts()))


def _arena(
    settings: ServerSettings,
    data: Path,
    archive: AsyncStore,
    feed: Feed | None,
    encryption: Encryption | None,
    page: list[socket.socket],
    operator: str,
    nodes: Nodes | None,
    meters: Meters | None,
) -> Arena:
    """Create the arena from the settings; `operator` is the operator's token."""
    limited_niceness(0)  # refuses a bad value at the start, not in a background process
    files = raise_fd_limit(settings.max_connections)
    registration = Registration(
        open=settings.registration == "open",
        per_hour=settings.registrations_per_hour,
        free_after_days=settings.free_names_after,
    )
    return Arena(
        archive,
        Journal(data / "journal", synced=settings.durability == "machine", most=files.journals),
        Authenticator(archive, registration),
        read_clock(settings.clock),
        slow_clock=read_clock(settings.slow_clock),
        away=settings.reconnect_timeout,
        feed=feed,
        access=access(settings, files, page, operator),
        encryption=encryption,
        rate=MatchRate(settings.max_matches_per_hour),
        bots=BotCache(archive, settings.rated_per_pair, approved_only=settings.rated == "approved"),
        operations=operations,
        nodes=nodes,
        meters=meters,
        timeouts=scaled(HostTimeouts()),
        quotas=Quotas(quota_limits(settings, files.journals, data), exempt={OPERATOR, HOUSE}),
    )


def _warn_of_clear_text(settings: ServerSettings) -> None:
    here = settings.host == "localhost" or is_loopback(settings.host)
    if settings.tls_cert is None and not settings.trusted_proxy and not here:
        log.warning("tokens travel in clear text: see --tls-cert, or --trusted-proxy for a proxy that encrypts")


@contextlib.asynccontextmanager
async def _looked_after(
    arena: Arena, settings: ServerSettings, file: Path | None, folders: Collection[Path]
) -> AsyncIterator[None]:
    """Watch disk space, remove old records and make backups within the context."""
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(running(disk_space.watch(arena.warnings, folders)))
        on_clock = partial(arena.warnings.tell, "the clock of the database")
        await stack.enter_async_context(running(keep_thin(arena.store, retention(settings), on_clock)))
        if settings.backup_to is not None and file is not None:
            schedule = Schedule(Path(settings.backup_to), settings.backup_every, settings.backup_keep)
            await stack.enter_async_context(running(keep_backing_up(file, schedule, arena.warnings)))
        yield


def _status(arena: Arena) -> str:
    clients = arena.host.clients
    here = counted(len(clients.sessions), "bot", "bots")
    playing = f"{here} online, {counted(len(clients.runners), 'match', 'matches')} under way"
    return "; ".join(filter(None, (playing, arena.host.health.reason, *arena.warnings.all())))


async def _socket_for(whom: str, arena: Arena, *, operators: bool = False) -> str:
    """Open an unencrypted loopback socket for `whom`, and return its URL."""
    (listening,) = bound(HOST, 0)
    await arena.host.listener.take(listening, whom, operators=operators)
    return f"ws://{HOST}:{port_of([listening])}"


async def _until(stop: asyncio.Event, arena: Arena, restoring: asyncio.Task[int]) -> None:
    """Resume the matches of the journal, and wait for `stop`. Raises the error that keeps matches from resuming."""
    going_on = asyncio.create_task(_go_on(arena, restoring))
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait((going_on, stopping), return_when=asyncio.FIRST_COMPLETED)
    if stop.is_set():
        going_on.cancel()
    else:
        await going_on
    await stopping


async def _go_on(arena: Arena, restoring: asyncio.Task[int]) -> None:
    """Log how many matches were resumed from the journal, and start the feed."""
    count = await restoring
    if count:
        matches = counted(count, "match goes on", "matches go on")
        log.info("%s from the journal", matches)
    with contextlib.suppress(StoreError):  # the next start reports it
        arena.warnings.tell("matches under way", await arena.nodes.lost(arena.host.clients.runners))
    await arena.begin_feed()


@contextlib.asynccontextmanager
async def _publishing(feed: Feed) -> AsyncIterator[None]:
    """Run the feed within the context; at the end, publish what is queued, within a short timeout."""
    async with running(feed.run()):
        try:
            yield
        finally:
            await feed.close()
