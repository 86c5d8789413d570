"""`arena serve`: a server until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from arena.builtin_bots import BuiltinBot, Supervisor, demo_bots, house_bots, house_tokens
from arena.commands.config import clock
from arena.commands.data_dir import hold_data_dir
from arena.commands.fd_limits import Shares, raise_fd_limit
from arena.commands.output import counted
from arena.commands.settings import ServerSettings, database
from arena.commands.web import page_url, shown, web_scheme, web_sockets
from arena.host.journal import Journal
from arena.network.addresses import OwnPage, is_loopback, networks, origins
from arena.network.admission import Access
from arena.network.binding import bound, port_of, url_of
from arena.network.connection_limits import Bounds
from arena.network.tls import CertificateFault, Encryption
from arena.operations.administration import operations
from arena.operator import credentials
from arena.processes.bot_commands import check_settings
from arena.processes.launch_spec import passed
from arena.server.arena import Arena
from arena.server.auth import Authenticator, Registration
from arena.server.bot_cache import BotCache
from arena.server.matchmaking import MatchRate
from arena.store.async_store import AsyncStore
from arena.store.database import database_path
from arena.store.store import Store
from machine import event_loop
from machine.log_output import write_log
from protocol.errors import UsageFault
from protocol.games import NAMES, load
from protocol.names import folded

if TYPE_CHECKING:
    from arena.feed import Feed

HOST = "127.0.0.1"
OPERATOR, HOUSE = "the operator", "the house"
"""What whoever comes in on a socket of theirs counts as, apart from whoever else connects from this machine."""

log = logging.getLogger("arena")


def run(settings: ServerSettings) -> None:
    """Serve until SIGINT or SIGTERM. Raises `Fault` for what keeps it from starting."""
    write_log(settings.log_level, settings.log)
    data = Path(settings.data)
    bots = builtin_bots_of(settings)
    with listening(settings) as ports, hold_data_dir(data, settings.db):
        event_loop.run(serve(settings, data, ports, bots))


class Ports(NamedTuple):
    """What listens: the sockets of the arena and those of its page, none where there is no page."""

    arena: list[socket.socket]
    page: list[socket.socket]


@contextlib.contextmanager
def listening(settings: ServerSettings) -> Iterator[Ports]:
    """The ports of a server, inside; taken before its data folder is made. Raises `PortFault`."""
    with contextlib.ExitStack() as stack:
        page = [stack.enter_context(one) for one in web_sockets(settings)]
        arena = [stack.enter_context(one) for one in bound(settings.host, settings.port)]
        yield Ports(arena, page)


def builtin_bots_of(settings: ServerSettings) -> list[BuiltinBot]:
    """The bots that the settings ask for. Raises `UsageFault`, also for a setting that a bot does not have."""
    asked = house_bots(settings.house)
    check_settings({f"the house bot {bot.name}": bot.command for bot in asked})
    bots = [bot.with_options("--open") for bot in asked]
    if settings.demo:
        ours = {folded(bot.name) for bot in bots}
        bots += [bot for bot in demo_bots() if folded(bot.name) not in ours]
    if len(bots) > settings.max_per_address:
        raise UsageFault(f"max_per_address is {settings.max_per_address}: the house alone has {len(bots)} bots")
    return bots


async def serve(settings: ServerSettings, data: Path, ports: Ports, bots: Sequence[BuiltinBot] = ()) -> None:
    """Serve from this event loop until SIGINT or SIGTERM. However it ends, what was opened by then is closed."""
    async with contextlib.AsyncExitStack() as stack:
        feed = None
        if settings.mqtt is not None:
            from arena.feed import Feed  # whose library is loaded for nobody else

            feed = Feed(settings.mqtt)
        files = raise_fd_limit(settings.max_connections)
        journal = Journal(data / "journal", synced=settings.durability == "machine", most=files.journals)
        where = database(settings.db, data)
        store = stack.enter_context(contextlib.closing(Store.open(where)))
        token = credentials.token_of(data)
        house = None
        if bots:
            folder = data / "house"
            held = house_tokens(store, folder / "tokens.json", [bot.name for bot in bots])
            house = Supervisor(bots, held, folder, passed(os.environ))
            stack.push_async_callback(house.end)
        archive = AsyncStore(store)
        stack.push_async_callback(archive.drain)
        if feed is not None:
            await stack.enter_async_context(_publishing(feed))
        stop = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        others: list[Callable[[], None]] = []  # who read the certificate again with the arena
        encryption = _encryption(settings, others)
        registration = Registration(
            open=settings.registration == "open",
            per_hour=settings.registrations_per_hour,
            free_after_days=settings.free_names_after,
        )
        arena = Arena(
            archive,
            journal,
            Authenticator(archive, registration),
            clock(settings.clock),
            slow_clock=clock(settings.slow_clock),
            away=settings.reconnect_timeout,
            feed=feed,
            access=_access(settings, files, ports.page, token),
            encryption=encryption,
            rate=MatchRate(settings.max_matches_per_hour),
            bots=BotCache(archive, settings.rated_per_pair, approved_only=settings.rated == "approved"),
            operations=operations,
        )
        stack.push_async_callback(arena.close)
        for game in NAMES:  # now, for what they import would keep everyone waiting at the first seek
            load(game)
        event_loop.collect_rarely()  # all of that stays: no collection stops the play to go through it
        restoring = arena.host.restore()
        await arena.host.listener.open_on(ports.arena)
        port = port_of(ports.arena)
        scheme = "wss" if encryption else "ws"
        named = settings.socket_url if encryption else None  # what the certificate is for
        operator = await _socket_for(OPERATOR, arena, operators=True)
        public = named or url_of(scheme, settings.host, port)
        credentials.write(data, token, operator, database_path(where), public)
        log.info("listening on %s://%s:%d (data in %s)", scheme, settings.host, port, data)
        here = settings.host == "localhost" or is_loopback(settings.host)
        if settings.tls_cert is None and not settings.trusted_proxy and not here:
            log.warning("tokens travel in clear text: see --tls-cert, or --trusted-proxy for a proxy that encrypts")
        if house is not None:
            house.begin(await _socket_for(HOUSE, arena))
        if ports.page:
            page = await stack.enter_async_context(shown(settings, where, ports.page, port))
            others.append(page.reload)
        if settings.demo and ports.page:
            log.info(
                "matches begin within seconds; open %s in a browser; Ctrl-C ends it", page_url(settings, ports.page)
            )
        await _until(stop, arena, restoring)


async def _socket_for(whom: str, arena: Arena, *, operators: bool = False) -> str:
    """The URL of a socket of theirs that the arena takes: not encrypted, and on this machine alone."""
    (listening,) = bound(HOST, 0)
    await arena.host.listener.take(listening, whom, operators=operators)
    return f"ws://{HOST}:{port_of([listening])}"


async def _until(stop: asyncio.Event, arena: Arena, restoring: asyncio.Task[int]) -> None:
    """Go on with the matches of the journal, and wait for the end. Raises what keeps them from going on."""
    going_on = asyncio.create_task(_go_on(arena, restoring))
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait((going_on, stopping), return_when=asyncio.FIRST_COMPLETED)
    if stop.is_set():
        going_on.cancel()
    else:
        await going_on
    await stopping


async def _go_on(arena: Arena, restoring: asyncio.Task[int]) -> None:
    """Say how many matches go on from the journal, and publish the leaderboards."""
    count = await restoring
    if count:
        matches = counted(count, "match goes on", "matches go on")
        log.info("%s from the journal", matches)
    await arena.publish_boards()


def _access(settings: ServerSettings, files: Shares, page: list[socket.socket], operator: str) -> Access:
    return Access(
        bounds=Bounds(
            connections=files.connections,
            per_address=settings.max_per_address,
            waiting=files.waiting,
            waiting_per_address=settings.max_per_address,
        ),
        proxies=networks(settings.trusted_proxy),
        origins=origins(settings.allow_origin),
        page=OwnPage(web_scheme(settings), port_of(page)) if page else None,
        operator=operator,
    )


def _encryption(settings: ServerSettings, others: Sequence[Callable[[], None]]) -> Encryption | None:
    """TLS as it is set, which reads its files again on SIGHUP, and then has the others do so."""
    if settings.tls_cert is None or settings.tls_key is None:
        return None
    encryption = Encryption(Path(settings.tls_cert), Path(settings.tls_key))

    def look() -> None:
        trouble = encryption.trouble()
        if trouble is not None:
            log.warning("no client will accept %s: %s", settings.tls_cert, trouble)

    def reload() -> None:
        try:
            encryption.reload()
        except CertificateFault as fault:
            log.error("the certificate in use stays so: %s", fault)
            return
        log.info("the certificate was read again")
        look()
        for read_again in others:
            read_again()

    look()
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reload)
    return encryption


@contextlib.asynccontextmanager
async def _publishing(feed: Feed) -> AsyncIterator[None]:
    """Publish inside; at the end what waits, for a moment at most."""
    running = asyncio.create_task(feed.run())
    try:
        yield
    finally:
        await feed.close()
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running
