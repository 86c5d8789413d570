"""The arena: a host of matches with a ladder. It authenticates bots, and rates, stores and publishes their matches."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, BinaryIO

from msgspec.structs import replace

from arena.host.finished_match import FinishedMatch
from arena.host.game_watch import GameLimits
from arena.host.handler import HostHandler, Identity, NotRunning, OnAnotherNode, TooOften, Unavailable
from arena.host.host import MatchHost
from arena.host.journal import Journal
from arena.host.meters import Meters
from arena.host.quotas import Quotas
from arena.host.runner import MatchRunner
from arena.host.session import ClientSession
from arena.host.timeouts import HostTimeouts
from arena.lobby import events
from arena.lobby.lobby import Lobby
from arena.lobby.policy import LobbyPolicy
from arena.network.admission import Access
from arena.network.tls import Encryption
from arena.operator.channel import Channel
from arena.operator.requests import OperationHandler
from arena.server.action_log import StoredActionLog
from arena.server.assigned_matches import AssignedMatches
from arena.server.auth import Authenticator, Revoked
from arena.server.bot_loader import BotLoader
from arena.server.feed_publisher import FeedPublisher
from arena.server.lobby_runner import LobbyRunner
from arena.server.match_headers import MatchHeaders
from arena.server.nodes import SingleNode
from arena.server.requested_matches import RequestedMatches
from arena.store.announcements import Announcement
from arena.store.async_store import AsyncStore
from arena.store.database import StoreUnavailable
from arena.store.incident import Incident
from arena.store.nodes import BotGone
from arena.store.registry import find_registered_bots, log_incident
from arena.store.result_queries import rated_pools, result_of
from arena.store.stored_match import StoredMatch
from machine.backoff import Backoff, Retry
from machine.event_loop import BackgroundTasks
from protocol.close_codes import RESTARTING
from protocol.error_codes import AUTH_FAILED, NAME_TAKEN
from protocol.errors import ArenaFault, BotFault, Fault, UsageFault
from protocol.games import game_names, shared_game
from protocol.messages import ClientMessage, Clock, Hello, ListedSeek, Player
from protocol.names import fold_name
from referee.effects import NoShow
from referee.record import Header

if TYPE_CHECKING:
    from arena.feed import Feed
    from arena.server.hosting import Hosting

REVOKED_MESSAGE = "the operator revoked {bot}: it may no longer connect"
"""The message to a bot that the operator has revoked. `{bot}` is its name."""
CREDENTIAL_REPLACED_MESSAGE = "the operator gave {bot} a new token: use that one"
"""The message to a bot whose token the operator has replaced. `{bot}` is its name."""
DRAINING_REASON = "draining: no new match begins, and the server stops when the matches under way are over"
"""The reason why a draining arena is not ready, in health checks and warnings."""
RESUME_RETRY_DELAY_S, MAX_RESUME_RETRY_DELAY_S = 0.2, 2.0
"""Delays in seconds before the arena asks an unavailable database again whether a match should resume:
`RESUME_RETRY_DELAY_S` before the first repetition, and at most `MAX_RESUME_RETRY_DELAY_S` before later ones.
"""

log = logging.getLogger("arena")


class Arena(HostHandler):
    """An arena server. Its `host` resumes the matches in the journal and listens for connections. `close` leaves
    running matches in the journal.

    - A match uses `slow_clock` if one of its seeks asks for it, unless the match is rated among bots. Otherwise it uses
      `clock`.
    - A disconnected seat drops out after `away_s` seconds or, if that is 0, when its clock runs out.
    - `make_operations` returns the handlers of operator requests. `access` says who may connect.
    - `policy` has the limits and delays of the lobby. `drained` is set when the server has drained and must stop.
      The lobby's events are written to `lobby_log`.
    - `meters` measure moves, `work_clock` the work that clients cause. `game_limits` are those of games that are not
      built in, whose rules run in processes if the arena `isolates_games`.
    """

    def __init__(
        self,
        store: AsyncStore,
        journal: Journal,
        auth: Authenticator,
        clock: Clock,
        *,
        slow_clock: Clock | None = None,
        away_s: float = 0.0,
        feed: Feed | None = None,
        access: Access | None = None,
        encryption: Encryption | None = None,
        policy: LobbyPolicy | None = None,
        drained: asyncio.Event | None = None,
        lobby_log: BinaryIO | None = None,
        make_operations: Callable[[Arena], Mapping[str, OperationHandler]] = lambda arena: {},
        quotas: Quotas | None = None,
        nodes: SingleNode | None = None,
        meters: Meters | None = None,
        timeouts: HostTimeouts | None = None,
        work_clock: Callable[[], float] = time.perf_counter,
        game_limits: GameLimits | None = None,
        isolates_games: bool = False,
    ) -> None:
        self._timeouts = timeouts or HostTimeouts()
        self.store = store
        """The store of bots, matches and ratings."""
        self._auth = auth
        self.tickets = auth.tickets
        """The tickets by which runners log in as hosted bots."""
        self._journal = journal
        self.hosting: Callable[[], Hosting] | None = None
        """A function that returns the hosting of this arena, once it is made; None if it hosts no bots."""
        self.operator_channel = Channel(make_operations(self), StoredActionLog(store))
        """The channel over which connected operators send requests and get answers."""
        self.nodes = nodes or SingleNode()
        """This node and the other nodes of the arena."""
        self.url = self.nodes.url
        guard = self.nodes.stall_guard
        self.host = MatchHost(
            self,
            journal,
            access,
            encryption,
            self.operator_channel.serve,
            quotas,
            meters,
            self._timeouts,
            work_clock,
            None if guard is None else guard.check,
            store.health,
            game_limits,
            isolates_games=isolates_games,
        )
        self.warnings = self.nodes.warnings
        self.lobby = Lobby(policy)
        """The lobby, which decides who plays whom."""
        self.headers = MatchHeaders(self.host.clients, clock, slow_clock or clock, away_s)
        self._runner = LobbyRunner(
            self.lobby,
            self.host,
            self.headers,
            BotLoader(store, self.lobby.known_bots),
            journal,
            self.nodes,
            drained or asyncio.Event(),
            self._timeouts.record_retry_delay_s,
            lobby_log,
        )
        self.assigned = AssignedMatches(self.host, self._runner)
        """The matches that the operator assigns."""
        self.background = BackgroundTasks()
        """The background tasks of the arena. They are cancelled when it closes."""
        self.requested = RequestedMatches(self.host, self._runner, self.headers, self.background)
        """The matches that owners of hosted bots ask for."""
        self._feed = None if feed is None else FeedPublisher(feed, store)
        self.stopping = False
        """True once the server is about to stop."""
        self._revocations = 0
        """The number of times that tokens were, or may have been, revoked. If it changes, logins in progress are
        repeated.
        """
        self._closed_names: set[str] = set()
        """The folded names that can't log in at the moment, because the operator is renaming or deleting them."""

    def dismiss(self, bots: Iterable[str], message: str, reason: str) -> list[str]:
        """Disconnect bots that are no longer allowed to be connected. Return those that were connected.

        Logins in progress check their tokens again. The bots get the `message`, in which `{bot}` stands for the bot's
        name. `reason` is the reason in the close frame.
        """
        self._revocations += 1
        return [bot for bot in bots if self.host.clients.disconnect_bot(bot, message, reason)]

    @contextlib.contextmanager
    def block_logins(self, bot: str, why: str, reason: str) -> Iterator[None]:
        """Block logins under a name inside the context, and disconnect its bot with the message `why` and the close
        `reason`. Raise `UsageFault` if the name is blocked already.
        """
        name = fold_name(bot)
        if name in self._closed_names:
            raise UsageFault(f"{bot} is being renamed or deleted: try again in a moment")
        self._closed_names.add(name)
        self.dismiss([bot], why, reason)
        try:
            yield
        finally:
            self._closed_names.remove(name)

    def drain(self, timeout_s: float | None) -> None:
        """Start no more matches. The event `drained` is set when no match is in progress, or after `timeout_s` seconds;
        None means no limit. A further call replaces the timeout.
        """
        self._runner.feed(events.DrainStarted(timeout_s))
        self.warnings.update("drain", DRAINING_REASON)

    def undo_drain(self) -> bool:
        """Start matches again. Return whether the server was draining."""
        was_draining = self.lobby.is_draining
        self._runner.feed(events.DrainCancelled())
        self.warnings.update("drain", None)
        return was_draining

    def forfeit_matches(self, bot: str) -> None:
        """Make a bot lose all its matches in progress on this server."""
        for runner, seat in list(self.host.clients.matches_of(bot).values()):
            runner.receive(NoShow(seat))  # the match may not have started

    def on_renamed(self, old: str, new: str) -> None:
        """Rename a bot in the cache of bots. The bot must be disconnected. A runner can't log in under the old name any
        more, which may soon be another bot's.
        """
        self.tickets.revoke(old)
        self._runner.feed(events.BotRenamed(fold_name(old), fold_name(new)))

    async def reload_approvals(self, bots: Iterable[str]) -> None:
        """Apply changed approvals of bots to their seeks. Raise `StoreError` if the approvals cannot be read."""
        for bot in bots:
            await self._runner.load(bot)

    async def reload_ratings(self, pools: Iterable[str]) -> None:
        """Reload the ratings of cached bots, and publish the leaderboards of `pools`. Raise `StoreError` on failure."""
        await self._runner.reload()
        if self._feed is not None:
            for pool in pools:
                self._feed.schedule_leaderboard(pool)

    async def start_feed(self) -> None:
        """Publish the leaderboards, and those `end` messages from before a restart that the MQTT broker lacks."""
        if self._feed is not None:
            await self._feed.start()

    async def close(self, code: int = RESTARTING) -> None:
        """Stop the arena: close connections with the close code `code`, leave running matches in the journal, and store
        the results of finished matches.
        """
        await self.background.cancel()
        await self._runner.close()
        await self.host.disconnect(code)
        await self.operator_channel.close()
        self.store.stop_retrying()
        await self._auth.last_seen.close()
        await self.host.drain()
        if self._feed is not None:
            await self._feed.close()

    async def authenticate(self, hello: Hello, address: str) -> Identity:
        """Authenticate a `hello`, load its bot's ratings, and return the client's identity. The identity has the bot's
        token only if the token was generated just now.
        """
        if hello.bot is not None and fold_name(hello.bot) in self._closed_names:
            raise TooOften(f"the operator is about to change the name {hello.bot}: come back later")
        away = self.nodes.long_database_problem()
        if away is not None and hello.bot is not None:  # another node may admit the bot
            raise StoreUnavailable(away)
        revocations = self._revocations
        try:
            identity = await self._auth.identify(hello, address)
        except Revoked as fault:
            self.host.events.note_incident(fault.bot, fault.code, "it was rejected, because it is revoked")
            raise
        except BotFault as fault:
            if hello.bot is not None and fault.code in (AUTH_FAILED, NAME_TAKEN):
                self.host.events.note_impostor(hello.bot, fault.code, with_token=hello.token is not None)
            raise
        if identity.bot is not None:
            if identity.registered:
                self.host.events.log_registered(identity.bot, address)
            await self._runner.load(identity.bot)
            elsewhere = await self.nodes.urls_of_bot_elsewhere(identity.bot)
        else:
            elsewhere = []
        if revocations != self._revocations:
            again = await self.authenticate(replace(hello, token=identity.token or hello.token), address)
            return again._replace(token=identity.token or again.token)
        return identity._replace(elsewhere=elsewhere)

    def handle_message(self, session: ClientSession, message: ClientMessage) -> None:
        self._runner.handle(session, message)

    def on_connected(self, session: ClientSession) -> None:
        assert session.bot is not None
        self._auth.last_seen.on_connected(session.key)
        joined = events.BotJoined(session.bot, session.slots, session.connection.address, session.is_person)
        self._runner.feed(joined)

    def on_disconnected(self, session: ClientSession) -> None:
        self._auth.last_seen.on_disconnected(session.key)
        self._runner.feed(events.BotLeft(session.key))

    def on_game_closed(self, game: str, message: str) -> None:
        self.warnings.update(f"game {game}", message)
        self._runner.feed(events.GameClosed(game, message))

    def on_seat_ready(self, session: ClientSession) -> None:
        self._runner.feed(events.BotReady(session.key))

    def on_seat_released(self, runner: MatchRunner, seat: int) -> None:
        released = events.SeatReleased(
            runner.id, fold_name(runner.bots[seat]), missed=runner.is_absent(seat), stayed=runner.has_stayed(seat)
        )
        self._runner.feed(released)

    def on_capacity_available(self) -> None:
        self._runner.update_quotas()

    def seeks_of(self, bot: str) -> tuple[list[ListedSeek], int]:
        return self.lobby.list_seeks(bot), ceil(self.lobby.rate_delay_s(bot, self.host.clients.now()))

    def players_of(self, header: Header) -> list[Player]:
        pool = header.pool or shared_game(header.game, header.config).pool
        players = []
        for seat in header.seats:
            mu, sigma = self.lobby.known_bots.rating(fold_name(seat.bot), pool)
            session = self.host.clients.session_of(seat.bot)
            display = "" if session is None else session.display or ""
            players.append(Player(bot=seat.bot, version=seat.version, mu=mu, sigma=sigma, display=display))
        return players

    def unready_reason(self) -> str | None:
        if self.stopping:
            return "the server stops"
        return DRAINING_REASON if self.lobby.is_draining else self.nodes.unready_reason()

    def other_hosts(self) -> list[str]:
        return self.nodes.other_urls()

    def redirect_spectator(self, session: ClientSession, match: str) -> None:
        self.background.start(self._find(session, match))

    async def _find(self, session: ClientSession, match: str) -> None:
        fault: BotFault = NotRunning(match)
        try:
            url = await self.nodes.url_of_match(match)
        except ArenaFault as exc:
            fault = Unavailable(f"watch: {exc}")
        else:
            if url is not None and url != self.url:
                fault = OnAnotherNode(f"watch: match {match!r} is under way on another node", url)
        session.send_error(fault, match)

    def prepare_start(self, header: Header, seed: bytes) -> asyncio.Future[None] | None:
        return self.nodes.register_match(header, seed)

    def begun(self, match: str) -> None:
        self._runner.feed(events.MatchBegun(match))

    def not_begun(self, match: str, fault: Fault) -> None:
        self._runner.feed(events.MatchNotBegun(match))
        self.assigned.fail(match, fault)

    def on_match_added(self, runner: MatchRunner) -> None:
        self._runner.feed(events.MatchAdded(runner.id, tuple(map(fold_name, runner.bots))))
        if self._feed is not None:
            runner.report_to(self._feed.report)

    async def should_resume(self, header: Header, seed: bytes) -> bool:
        """Return whether a match in the journal should resume. It should not if it is stored already, or if it belongs
        to a tournament, which will play it again. While the database is unavailable, keep asking it.
        """
        text = "match %s waits to be resumed: %s"
        backoff = Backoff(RESUME_RETRY_DELAY_S, MAX_RESUME_RETRY_DELAY_S)
        retry = Retry(StoreUnavailable, backoff, on_fault=lambda fault, _: log.warning(text, header.match, fault))
        return await retry.run(partial(self._resumes, header, seed))

    async def _resumes(self, header: Header, seed: bytes) -> bool:
        if header.tournament is not None or await self.store.read(result_of, header.match) is not None:
            await self.nodes.unregister_match(header.match)
            return False
        for seat in header.seats:
            await self._runner.load(seat.bot)
        try:
            await self.nodes.register_resumed(header, seed)
        except BotGone as fault:  # the match was never announced before the server ended
            log.warning("match %s can't be resumed: %s", header.match, fault)
            return False
        if header.pool is not None:
            bots = tuple(fold_name(seat.bot) for seat in header.seats)
            self._runner.feed(events.RatedMatchResumed(header.match, header.pool, bots))
        return True

    async def on_announcement(self, announcement: Announcement | None) -> None:
        """Apply an announcement. None means that some were missed, so anything may have changed. Raise `StoreError` if
        reading fails.
        """
        sessions = self.host.clients.sessions
        if announcement is None:
            await self._recheck_tokens(list(sessions))
            await self._runner.reload()
        elif announcement.kind == "bots":
            await self._recheck_tokens(announcement.names)
        elif announcement.kind == "ratings":
            await self.reload_ratings(await self.store.read(rated_pools))
        elif announcement.kind == "leaving":
            for name in announcement.names:
                self.forfeit_matches(name)
                self.dismiss([name], "the operator deletes {bot}", "deleted")
        elif announcement.url not in ("", self.url):
            for name in announcement.names:
                if name in sessions:
                    why = f"{sessions[name].bot} is called to a match on another node"
                    sessions[name].send_error(OnAnotherNode(why, announcement.url))

    async def _recheck_tokens(self, bots: Collection[str]) -> None:
        """Disconnect those of the bots whose token is no longer valid, and reload the approvals of the others. Logins
        in progress check their tokens again.
        """
        self._revocations += 1
        online = []
        found = await self.store.read(find_registered_bots, bots)
        for bot in bots:
            known, session = found.get(bot), self.host.clients.session_of(bot)
            if known is None:
                self.dismiss([bot], "the operator renamed {bot} or deleted it", "renamed or deleted")
                self._runner.feed(events.BotForgotten(bot))
            elif known.revoked:
                self.dismiss([bot], REVOKED_MESSAGE, "revoked")
            elif session is not None and session.token_hash != known.token_hash:
                self.dismiss([bot], CREDENTIAL_REPLACED_MESSAGE, "its token was replaced")
            elif session is not None:
                online.append(bot)
        await self.reload_approvals(online)

    def on_nodes_changed(self) -> None:
        """Handle a change of the nodes: redirect seeks for games that another node now pairs, and reload ratings."""
        urls = {game: self.nodes.url_of_other_owner(game) for game in game_names()}
        self._runner.feed(events.GamesMoved({game: url for game, url in urls.items() if url is not None}))
        self.background.start(self._reload_cache())

    async def _reload_cache(self) -> None:
        try:
            await self._runner.reload()
        except ArenaFault as fault:
            log.warning("the ratings of other nodes can't be read now: %s", fault)

    async def _unregister_match(self, match: str) -> None:
        try:
            await self.nodes.unregister_match(match)
        except ArenaFault as fault:
            log.warning("the end of match %s can't be registered: %s", match, fault)

    async def record_incident(self, bot: str, incident: Incident) -> None:
        await self.store.write(log_incident, bot, incident)

    async def store_match(self, match: FinishedMatch) -> StoredMatch:
        if await self.assigned.hand_over(match):
            self.background.start(self._unregister_match(match.result.match))
            return StoredMatch()
        stored = await self.store.finish(match.result, match.close)
        if stored.ratings is None:
            self._runner.feed(events.MatchUnrated(match.result.match))
        else:
            bots = tuple(fold_name(seat.bot) for seat in match.result.seats)
            new_ratings = tuple((seat.mu_after, seat.sigma_after) for seat in stored.ratings.seats)
            self._runner.feed(events.MatchRated(match.result.match, stored.ratings.pool, bots, new_ratings))
            if self._feed is not None:
                self._feed.schedule_leaderboard(stored.ratings.pool)
        return stored
