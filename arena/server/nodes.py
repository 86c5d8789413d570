"""The nodes of an arena as one of them sees them: which node pairs a game, and on which nodes a bot has matches."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import secrets
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import aclosing
from dataclasses import dataclass

import msgspec

from arena.server.stall_guard import StallGuard
from arena.server.warnings import Warnings
from arena.store.announcements import (
    Announcement,
    announce,
    free_queue,
    last_announcement,
    read_announcements_after,
    wake_channel,
)
from arena.store.async_store import AsyncStore
from arena.store.database import StoreUnavailable
from arena.store.node_store import NodeTaken
from arena.store.nodes import (
    NODE_TIMEOUT_S,
    MatchInProgress,
    NodeStatus,
    State,
    begin_matches,
    end_matches,
    list_nodes,
    mark_stopped,
    matches_of,
    record_heartbeat,
    url_of_match,
    urls_of_bot,
)
from arena.store.postgres_database import PostgresDatabase
from machine.timestamps import parse_timestamp
from protocol.display import format_count
from protocol.errors import ArenaFault
from protocol.names import fold_name
from referee.record import Header

HEARTBEAT_INTERVAL_S = 1.0
"""Seconds between two heartbeats of a node."""
NODE_LOST_WARNING_S = 15.0
"""Seconds for which a node with running matches is missing before the operator is warned. It may just be restarting."""
MAX_CLOCK_DIFFERENCE_S = 60.0
"""Maximum seconds between a node's clock and the database's. New matches of a node that is days behind look old."""
MIN_READ_INTERVAL_S = 0.1
"""Minimum seconds between two readings of announcements by a node, however often it is woken."""
RELISTEN_DELAY_S = 1.0
"""Seconds from the failure of the connection that listens for notifications to the next attempt."""
MAX_HELLO_SILENCE_S = 2.0 * NODE_TIMEOUT_S
"""Seconds without an answer from the database after which connecting bots are refused. Until then, they wait."""
PROBE_INTERVAL_S = 5.0
"""Seconds between two probes. If a node's database session does not answer, the node opens a new session and asks there
which nodes are alive. This is a probe.
"""

_NODE_STATE_TEXTS: dict[State, str] = {
    "alive": "accepts matches",
    "draining": "is draining: it accepts no new matches",
    "stopped": "has stopped",
    "gone": "is gone",
}
"""The words in the log for each state of a node."""

log = logging.getLogger("arena.server.nodes")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTimeouts:
    """Time limits, in seconds, after which a node stops waiting for the database."""

    beat_timeout_s: float = NODE_TIMEOUT_S
    """The time without an answer to a heartbeat after which the database counts as unreachable. By then, other nodes
    count this node as gone.
    """
    echo_timeout_s: float = 5.0
    """The time without the echo of a heartbeat after which a listening connection counts as deaf and is replaced."""


class SingleNode:
    """The only node of an arena with a single server. Its subclass `ClusterView` is for several nodes."""

    url: str | None = None
    """The URL where clients connect to this node; None for a single server."""
    stall_guard: StallGuard | None = None
    """The guard that ends this process if it was suspended for so long that it may have lost the name of its node."""

    def __init__(self) -> None:
        self.warnings = Warnings()
        """The warnings to the operator about this server."""

    @property
    def is_draining(self) -> bool:
        """True while no match may start on this node."""
        return False

    def unready_reason(self) -> str | None:
        """Return a line that says why clients should not connect to this node now; None if they may."""
        return self.database_problem()

    def database_problem(self) -> str | None:
        """Return a line that says why the database is unreachable; None if it is reachable or is a file."""
        return None

    def long_database_problem(self) -> str | None:
        """Return the `database_problem` if it has lasted so long that connecting bots are refused; None otherwise."""
        return None

    def url_of_other_owner(self, game: str) -> str | None:
        """Return the URL of the other node that pairs a game; None if this node pairs it."""
        return None

    def all_nodes(self) -> list[NodeStatus]:
        """Return all nodes, sorted by name; none for a single server."""
        return []

    def other_urls(self) -> list[str]:
        """Return the URLs of the other live nodes."""
        return []

    async def url_of_match(self, match: str) -> str | None:
        """Return the URL of the node where a match is in progress, if any. Raise `StoreError` if the store fails."""
        return None

    async def urls_of_bot_elsewhere(self, bot: str) -> list[str]:
        """Return the URLs of other nodes where a bot has matches in progress. Raise `StoreError` if the store fails."""
        return []

    def register_match(self, header: Header, seed: bytes) -> asyncio.Future[None] | None:
        """Register a match in the database before it begins on this node. Return a future that completes once it is
        registered; None for a single server.
        """
        return None

    async def register_resumed(self, header: Header, seed: bytes) -> None:
        """Register a match that resumes from its journal. Raise `BotGone` if the match never began and one of its bots
        is gone, and `StoreError` if the store fails.
        """

    async def unregister_match(self, match: str) -> None:
        """Delete the registration of a match that is over but was not stored here. Raise `StoreError` if that fails."""

    async def find_lost_matches(self, journaled: Collection[str]) -> str | None:
        """Return a warning about matches that are registered on this node but not in `journaled`, if any. Raise
        `StoreError` if the store fails.
        """
        return None

    async def call_bots(self, bots: list[str]) -> None:
        """Ask bots on other nodes to connect to this node. Raise `StoreError` if the store fails."""


class ClusterView(SingleNode):
    """The nodes of an arena, as the node with this `number` and `url` sees them. `run`, `listen` and `read_when_woken`
    never return. `run` raises `NodeTaken` if another process has taken this node's name.
    """

    def __init__(
        self,
        store: AsyncStore,
        database: PostgresDatabase,
        name: str,
        number: int,
        url: str,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
        timeouts: NodeTimeouts | None = None,
        stall_guard: StallGuard | None = None,
    ) -> None:
        super().__init__()
        self.stall_guard = stall_guard
        self._timeouts = timeouts or NodeTimeouts()
        self._clock = clock
        self._wall_clock = wall_clock
        self.changed = asyncio.Event()
        """The event that is set when nodes were added or removed, or changed their state or URL. A game may now be
        paired by another node than before.
        """
        self.announcements: asyncio.Queue[Announcement | None] = asyncio.Queue()
        """The announcements that were read, oldest first. None means that some were missed."""
        self.clock_difference_s = 0.0
        """The seconds by which this machine's clock is known to differ from the database's; positive if this machine's
        clock is ahead.
        """
        self.url: str = url
        self._store = store
        self._database = database
        self._name = name
        self._number = number
        self._nodes: list[NodeStatus] = []
        self._own: NodeStatus | None = None
        self._last_heartbeat = self._clock()
        """The time of the last successful heartbeat."""
        self._probed = float("-inf")
        """The time of the last probe (see `PROBE_INTERVAL_S`)."""
        self._woken = asyncio.Event()
        self._deaf = asyncio.Event()
        self._echo: str | None = None
        """The secret name of the channel for the echo of this node's heartbeats; None while the node does not listen.
        """
        self._unheard_since: float | None = None
        """The time of the first heartbeat whose echo is still missing; None if no echo is missing."""
        self._freeing: asyncio.Task[None] | None = None
        """The task that makes room in the database's queue of notifications, after a notification could not be sent."""
        self._position: int | None = None
        """The position of the last announcement that was read; None before the first reading."""
        self._is_database_away = False
        """True if the last heartbeat failed."""
        self._registered_matches: set[str] | None = None
        """The matches that were registered on this node before it resumed its first match; None until then."""
        self._missing_since: dict[str, float] = {}
        """The time at which each missing node with running matches was first seen missing, by name."""

    @property
    def is_draining(self) -> bool:
        return self._own is not None and self._own.draining

    def unready_reason(self) -> str | None:
        draining = "this node takes no new matches, because the operator drains it" if self.is_draining else None
        return self.database_problem() or draining

    def database_problem(self) -> str | None:
        silent = self._clock() - self._last_heartbeat
        return (
            f"the database is unreachable: it last answered {silent:.0f} s ago"
            if self._is_database_away or silent > NODE_TIMEOUT_S
            else None
        )

    def long_database_problem(self) -> str | None:
        return self.database_problem() if self._clock() - self._last_heartbeat > MAX_HELLO_SILENCE_S else None

    def url_of_other_owner(self, game: str) -> str | None:
        pairing = [node for node in self._nodes if node.alive and not node.draining]
        owner = max(pairing, key=lambda node: rendezvous_weight(node.name, game), default=self._own)
        return None if owner is None or owner == self._own else owner.url

    def all_nodes(self) -> list[NodeStatus]:
        return self._nodes

    def other_urls(self) -> list[str]:
        return [node.url for node in self._nodes if node.alive and node != self._own]

    async def url_of_match(self, match: str) -> str | None:
        return await self._store.read(url_of_match, match)

    async def urls_of_bot_elsewhere(self, bot: str) -> list[str]:
        return await self._store.read(urls_of_bot, self._number, bot)

    def register_match(self, header: Header, seed: bytes) -> asyncio.Future[None] | None:
        return self._store.begin(self._under_way(header, seed))

    async def register_resumed(self, header: Header, seed: bytes) -> None:
        if self._registered_matches is None:
            self._registered_matches = {one.match for one in await self._store.read(matches_of, self._name)}
        if header.match not in self._registered_matches:
            gone = await self._store.write(begin_matches, [self._under_way(header, seed)])
            for fault in gone.values():
                raise fault

    async def unregister_match(self, match: str) -> None:
        await self._store.write(end_matches, [match])

    async def find_lost_matches(self, journaled: Collection[str]) -> str | None:
        lost = [one.match for one in await self._store.read(matches_of, self._name) if one.match not in journaled]
        if not lost:
            return None
        matches = format_count(len(lost), "running match", "running matches")
        return (
            f"this node's journal lacks {matches}: if its data folder is lost for good, stop it, "
            f"and void them with `arena node lost {self._name}`"
        )

    async def call_bots(self, bots: list[str]) -> None:
        await self._store.write(announce, "called", [fold_name(bot) for bot in bots], self._number)

    async def send_heartbeat(self) -> None:
        """Send a heartbeat, and update the list of nodes. Raise `StoreError` if the database does not take it."""
        before_s, echo = self._wall_clock(), self._echo
        nodes = await self._store.write_first(record_heartbeat, self._number, self.url, echo)
        after_s = self._wall_clock()
        if not self._store.notifies:  # then a missing echo says nothing
            self._unheard_since = None
            if self._freeing is None or self._freeing.done():
                self._freeing = asyncio.create_task(self._free_queue())
        elif echo is not None and echo == self._echo:
            self._expect_echo()
        self._woken.set()
        if self._is_database_away:
            log.warning("the database answers again after %.1f s", self._clock() - self._last_heartbeat)
        self._last_heartbeat, self._is_database_away = self._clock(), False
        own = self._see(nodes)
        if own.seen is not None:
            database_s = parse_timestamp(own.seen)
            self.clock_difference_s = max(0.0, before_s - database_s) + min(0.0, after_s - database_s)
        self.warnings.update("the clock of this machine", self._clock_warning())

    def _see(self, nodes: list[NodeStatus]) -> NodeStatus:
        """Replace the list of nodes, and report what changed. Return this node's entry."""
        before, self._nodes = self._nodes, nodes
        self._own = own = next(node for node in nodes if node.name == self._name)
        if list(map(_identity, nodes)) != list(map(_identity, before)):
            self._log_changes(before)
            self.changed.set()
        self.warnings.update("nodes that are away", self._lost_nodes_warning())
        return own

    def _expect_echo(self) -> None:
        """Note that a heartbeat was sent, whose echo must arrive. If none has arrived for too long, report that the
        listening connection is deaf.
        """
        now = self._clock()
        if self._unheard_since is None:
            self._unheard_since = now
        elif now - self._unheard_since > self._timeouts.echo_timeout_s:
            self._deaf.set()

    async def _free_queue(self) -> None:
        """Make room in the database's queue of notifications, if it is full, without delaying this node's writes."""
        try:
            await self._store.read_slowly(free_queue)
        except ArenaFault as fault:
            log.debug("the notification queue can't be freed: %s", fault)

    def check_clock(self) -> None:
        """Raise `ArenaFault` if this machine's clock is too far from the database's for the server to start."""
        if abs(self.clock_difference_s) > MAX_CLOCK_DIFFERENCE_S:
            raise ArenaFault(f"{self._clock_text()}: set the clock of this machine")

    def _clock_warning(self) -> str | None:
        if abs(self.clock_difference_s) <= MAX_CLOCK_DIFFERENCE_S:
            return None
        return f"{self._clock_text()}, so the times of its matches are wrong: set the clock"

    def _clock_text(self) -> str:
        direction = "ahead of" if self.clock_difference_s > 0 else "behind"
        return f"the clock of this machine is {abs(self.clock_difference_s):.0f} s {direction} the database's"

    def _lost_nodes_warning(self) -> str | None:
        """Return a warning about nodes with running matches that have been missing for too long, if any."""
        now = self._clock()
        away = {
            node.name: node.matches for node in self._nodes if node.matches and not node.alive and node != self._own
        }
        self._missing_since = {name: self._missing_since.get(name, now) for name in away}
        gone = [name for name, since in self._missing_since.items() if now - since >= NODE_LOST_WARNING_S]
        if not gone:
            return None
        named = ", ".join(f"{format_count(away[name], 'match', 'matches')} of node {name}" for name in gone)
        return (
            f"{named} can't be resumed because the node is not running: start it again; if its data folder is lost or "
            f"you no longer need it, `arena node lost {gone[0] if len(gone) == 1 else 'NAME'}` makes the matches void"
        )

    def _log_changes(self, before: Sequence[NodeStatus]) -> None:
        """Log which nodes changed, compared with the list `before`. The first time, log which other nodes are alive."""
        known = {node.name: node for node in before}
        for node in self._nodes:
            was = known.pop(node.name, None)
            if node.name == self._name:
                if was is not None and was.draining != node.draining:
                    log.info(
                        "this node %s",
                        _NODE_STATE_TEXTS["draining"] if node.draining else f"{_NODE_STATE_TEXTS['alive']} again",
                    )
            elif node.alive if was is None else _identity(was) != _identity(node):
                log.info("node %s at %s %s", node.name, node.url, _NODE_STATE_TEXTS[node.state])
        for name in known:
            log.info("node %s was declared lost: its matches are void", name)

    async def run(self) -> None:
        """Send heartbeats as long as this process runs. Raise `NodeTaken` if another process has this node's name."""
        while True:
            await asyncio.sleep(HEARTBEAT_INTERVAL_S)
            try:
                await self._beat_or_probe()
            except NodeTaken:
                raise
            except ArenaFault as fault:
                log.log(
                    logging.DEBUG if self._is_database_away else logging.ERROR, "the database is unreachable: %s", fault
                )
                self._is_database_away = True
                await self._probe()

    async def _beat_or_probe(self) -> None:
        """Send a heartbeat. While the database session does not answer, probe which nodes are alive. Raise `StoreError`
        if the heartbeat fails.
        """
        beating, told = asyncio.ensure_future(self.send_heartbeat()), False
        try:
            waiting_s = self._timeouts.beat_timeout_s
            while not (await asyncio.wait({beating}, timeout=waiting_s))[0]:
                if not self._is_database_away:
                    limits = self._database.limit.timeouts
                    longest_s = limits.statement_timeout_s + limits.answer_timeout_s
                    text = (
                        "the database is unreachable: no answer for %.0f s; its session is closed after %.0f s "
                        "without an answer"
                    )
                    log.error(text, waiting_s, longest_s)
                    self._is_database_away = True
                await self._probe()
                waiting_s = PROBE_INTERVAL_S
                told = True
            try:
                await beating
            except StoreUnavailable as fault:
                if told:
                    log.warning("%s", fault)
                raise
        finally:
            beating.cancel()

    async def _probe(self) -> None:
        """Ask over a new database session which nodes are alive, unless the last heartbeat or the last probe was too
        recent. Bots are then redirected to the live nodes, because this node can store nothing meanwhile.
        """
        now = self._clock()
        if now - self._last_heartbeat < self._timeouts.beat_timeout_s or now - self._probed < PROBE_INTERVAL_S:
            return
        self._probed = now
        try:
            nodes = await asyncio.to_thread(self._database.query_over_new_connection, list_nodes)
        except ArenaFault as fault:
            log.debug("a new session failed too: %s", fault)
            return
        is_listed = any(node.name == self._name for node in nodes)  # false once the operator has declared it lost
        if self._is_database_away and is_listed:
            self._see(nodes)

    async def listen(self) -> None:
        """Listen for the notifications that wake this node to read announcements."""
        while True:
            try:
                channel = await self._store.write(wake_channel)
                await self._listen_to(channel)
            except ArenaFault as fault:  # announcements are read at every heartbeat anyway
                log.debug("this node gets no notifications from other nodes: %s", fault)
            except Exception:
                log.exception("this node gets no notifications from other nodes")
            await asyncio.sleep(RELISTEN_DELAY_S)

    async def _listen_to(self, channel: str) -> None:
        """Listen for notifications until the connection ends, or until the echoes of this node's heartbeats no longer
        arrive on it. Raise `StoreUnavailable` if it fails.
        """
        self._deaf.clear()
        self._unheard_since = None
        echo = f"arena_{secrets.token_hex(16)}"
        listening = asyncio.ensure_future(self._wake(channel, echo))
        deafness = asyncio.ensure_future(self._deaf.wait())
        try:
            await asyncio.wait({listening, deafness}, return_when=asyncio.FIRST_COMPLETED)
            if listening.done():
                await listening
                return
        finally:
            self._echo = None
            for task in (listening, deafness):
                task.cancel()
            await asyncio.gather(listening, deafness, return_exceptions=True)
        self.warnings.update(
            "announcements",
            f"the session that wakes this node was deaf for {self._timeouts.echo_timeout_s:.0f} s, and is replaced: "
            "what others announce is read every second all the same",
        )

    async def _wake(self, channel: str, echo: str) -> None:
        async with aclosing(self._database.notifications(channel, echo)) as notifications:
            async for sent in notifications:
                if sent == echo:
                    self._unheard_since = None
                    self.warnings.update("announcements", None)
                elif sent:
                    self._woken.set()
                else:  # from now on no announcement is missed; earlier ones are read now
                    self._echo = echo
                    self._woken.set()

    async def read_when_woken(self) -> None:
        """Read announcements whenever this node is woken, at most once in `MIN_READ_INTERVAL_S`."""
        while True:
            await self._woken.wait()
            self._woken.clear()
            try:
                await self.read_announcements()
            except ArenaFault as fault:
                log.debug("the announcements of other nodes can't be read: %s", fault)
            except Exception:
                log.exception("the announcements of other nodes can't be read")
            await asyncio.sleep(MIN_READ_INTERVAL_S)

    async def read_announcements(self) -> None:
        """Add new announcements to `announcements`. The first time, add None, because anything may have changed.

        Raise `StoreError` if reading fails.
        """
        if self._position is None:
            self._position = await self._store.read(last_announcement)
            self.announcements.put_nowait(None)
            return
        announced = await self._store.read(read_announcements_after, self._position)
        self._position = announced.position
        for announcement in (None,) if announced.announcements is None else announced.announcements:
            self.announcements.put_nowait(announcement)

    async def leave(self) -> None:
        """Store that this node has stopped."""
        with contextlib.suppress(ArenaFault):
            await self._store.write(mark_stopped, self._number)

    def _under_way(self, header: Header, seed: bytes) -> MatchInProgress:
        text = msgspec.json.encode(header).decode()
        return MatchInProgress(self._number, header.match, text, seed.hex(), [seat.bot for seat in header.seats])


def rendezvous_weight(node: str, game: str) -> bytes:
    """Return the weight of a node for a game. The node with the greatest weight pairs the game (rendezvous hashing). So
    if a node leaves, only the games that it paired move to other nodes.
    """
    return hashlib.sha256(f"{node}\n{game}".encode()).digest()


def _identity(node: NodeStatus) -> tuple[str, str, State]:
    return node.name, node.url, node.state
