"""The clients of a host and its running matches: who is connected, who plays where, and who watches."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Iterator, Mapping
from itertools import islice

from arena.host.broadcast import Broadcaster, EncodedMessages, Peer
from arena.host.handler import HostHandler
from arena.host.quotas import Quotas
from arena.host.runner import Runner
from arena.host.session import Session
from protocol.close_codes import NOT_AUTHENTICATED, SUPERSEDED
from protocol.error_codes import AUTH_FAILED
from protocol.messages import Error, ListedBot, Listing
from protocol.names import folded
from referee.effects import Delayed, Forfeited

AT_ONCE = 8
"""Seats or watched matches to release in one piece of work after a client has gone."""
KEPT = 1.0
"""Seconds for which all clients get the same listing."""
MAX_LISTED_BOTS = 200
MAX_LISTED_MATCHES = 256
"""Bounds of a listing. With at most eight seeks per bot it takes 0.92 MB, which fits into a frame."""


class ClientRegistry:
    """The sessions of connected bots and the running matches with their seats. Calls `handler` when either changes."""

    def __init__(self, handler: HostHandler, quotas: Quotas, broadcaster: Broadcaster) -> None:
        self.handler = handler
        self.quotas = quotas
        """The quotas per address, charged for seats."""
        self._loop = asyncio.get_running_loop()
        self.sessions: dict[str, Session] = {}
        """The sessions of connected bots, by folded name."""
        self.runners: dict[str, Runner] = {}
        """The running matches, newest last."""
        self.subscribers = broadcaster.subscribers
        """Spectators of every match."""
        self._watched: dict[Peer, dict[str, Runner]] = {}
        """The matches that each client watches."""
        self._playing: dict[str, dict[str, tuple[Runner, int]]] = {}
        """The seats of bots, by bot and match."""
        self._removed = asyncio.Event()
        """Set when a match is removed, and then replaced by a new event."""
        self._listing = EncodedMessages([])
        self._listed: float | None = None
        """The time at which `_listing` was made, in seconds of the event loop."""

    def enter(self, session: Session) -> list[str]:
        """Register a bot's session, closing its older one. Return its running matches, which `resume` gives back."""
        assert session.bot is not None
        older = self.sessions.get(session.key)
        if older is not None:
            self.leave(older)
            older.close(SUPERSEDED, "superseded by a newer connection of the same bot")
        self.sessions[session.key] = session
        session.wire.late = functools.partial(self._late, session)
        self.handler.connected(session)
        return list(self._playing.get(session.key, ()))

    def resume(self, session: Session) -> None:
        """Hand a newly connected bot its seats in running matches, one in each of its scheduler turns."""
        places = list(self._playing.get(session.key, {}).values())
        if places:
            session.wire.in_turn(self._resume(session, places))

    def _resume(self, session: Session, places: list[tuple[Runner, int]]) -> Iterator[None]:
        for runner, seat in places:
            if self.sessions.get(session.key) is not session:
                return
            if self.seat(session, runner.id) is None:
                runner.tell_missed(seat, session)
            else:
                self.quotas.seat(runner.id, seat, session.wire.address)
                runner.come_back(seat, session, follow=session.follow)
            yield

    def leave(self, session: Session) -> None:
        """Remove a closed connection. Its matches continue; its seats are vacated step by step."""
        self.subscribers.pop(session, None)
        watched = list(self._watched.pop(session, {}).values())
        places: list[tuple[Runner, int]] = []
        if session.bot is not None and self.sessions.get(session.key) is session:
            del self.sessions[session.key]
            self.handler.disconnected(session)
            places = list(self._playing.get(session.key, {}).values())
        if watched or places:
            session.wire.in_turn(_let_go(session, watched, places))

    def dismiss(self, bot: str, why: str, reason: str) -> bool:
        """Disconnect a bot whose token is no longer valid. Return whether it was connected. Its matches continue."""
        session = self.session(bot)
        if session is None:
            return False
        session.send(Error(code=AUTH_FAILED, message=why.format(bot=session.bot), fatal=True))
        self.leave(session)
        session.close(NOT_AUTHENTICATED, reason)
        return True

    def add_match(self, runner: Runner) -> None:
        """Add a match that is about to start or resume, and seat the connected bots."""
        self.runners[runner.id] = runner
        self.quotas.begin(runner.id, runner.config_bytes)
        for seat, bot in enumerate(runner.bots):
            self._playing.setdefault(folded(bot), {})[runner.id] = runner, seat
            session = self.session(bot)
            if session is not None:
                self.handler.seated(session)
                self.quotas.seat(runner.id, seat, session.wire.address)
                runner.sit(seat, session, follow=session.follow)

    def remove_match(self, runner: Runner) -> None:
        """Remove a finished match, just before its end is sent."""
        del self.runners[runner.id]
        for peer in runner.audience.watchers:
            self._watched.get(peer, {}).pop(runner.id, None)
        if self.quotas.end(runner.id):
            self.handler.room_again()
        self._removed.set()
        self._removed = asyncio.Event()
        for seat in range(len(runner.bots)):
            self.release(runner, seat)

    def release(self, runner: Runner, seat: int) -> None:
        """Release a seat that no longer plays, so that its bot has the slot back. The match may continue."""
        bot = folded(runner.bots[seat])
        playing = self._playing.get(bot, {})
        if playing.pop(runner.id, None) is None:
            return
        if not playing:
            del self._playing[bot]
        self.handler.seat_released(runner, seat)

    def _late(self, session: Session, before: float, written: float) -> None:
        """Report to a bot's matches that what it was sent after `before` was only written at `written` (loop time)."""
        if self.sessions.get(session.key) is session:
            for runner, seat in list(self._playing.get(session.key, {}).values()):
                runner.receive(Delayed(seat, before, written))

    def close(self) -> None:
        """Stop the running matches; their journals stay."""
        for runner in self.runners.values():
            runner.stop()

    def is_online(self, bot: str) -> bool:
        return folded(bot) in self.sessions

    def session(self, bot: str) -> Session | None:
        """Return the session of a connected bot, None for any other."""
        return self.sessions.get(folded(bot))

    def matches_of(self, bot: str) -> Mapping[str, tuple[Runner, int]]:
        """Return the running matches of a bot, each with its seat."""
        return self._playing.get(folded(bot), {})

    def version(self, bot: str) -> str:
        """Return the version that a connected bot announced; "" if it is not connected."""
        session = self.session(bot)
        return "" if session is None else session.version

    def free_slots(self, bot: str) -> int:
        """Return how many slots of a bot are free; 0 while it is disconnected."""
        session = self.session(bot)
        return 0 if session is None else session.slots - len(self._playing.get(session.key, ()))

    def forfeit(self, bot: str) -> None:
        """Forfeit all running matches of a bot that has gone for good."""
        for runner, seat in list(self.matches_of(bot).values()):
            runner.receive(Forfeited(seat))

    def matches_with(self, bot: str) -> list[Runner]:
        """Return the running matches that have a bot among their players, even if it has left its seat."""
        return [runner for runner in self.runners.values() if folded(bot) in map(folded, runner.bots)]

    async def matches_over(self, bot: str | None = None) -> None:
        """Wait until a bot, or with None the host, has no running match."""
        while self.runners if bot is None else self.matches_with(bot):
            await self._removed.wait()

    def seat(self, session: Session, match: str) -> tuple[Runner, int] | None:
        """Return a running match in which a client's bot plays, and its seat there."""
        playing = self._playing.get(session.key)
        return None if playing is None else playing.get(match)

    def now(self) -> float:
        """Return the time of the loop, in seconds."""
        return self._loop.time()

    def listing(self) -> EncodedMessages:
        """Return the listing of bots and matches. It is made at most once in `KEPT` seconds."""
        now = self._loop.time()
        if self._listed is None or now - self._listed >= KEPT:
            self._listing, self._listed = EncodedMessages([self._list()]), now
        return self._listing

    def _list(self) -> Listing:
        return Listing(
            bots=[
                ListedBot(
                    bot=session.bot or "",
                    display=session.display or "",
                    person=session.person,
                    version=session.version,
                    client=session.client,
                    playing=len(self._playing.get(session.key, ())),
                    seeks=seeks,
                    pace_s=pace_s,
                    warming=session.warming,
                    warming_s=int(self.now() - session.warming_since) if session.warming else 0,
                )
                for session in islice(self.sessions.values(), MAX_LISTED_BOTS)
                for seeks, pace_s in [self.handler.seeks(session.key)]
            ],
            matches=[runner.listed() for runner in islice(reversed(self.runners.values()), MAX_LISTED_MATCHES)],
            more_bots=max(0, len(self.sessions) - MAX_LISTED_BOTS),
            more_matches=max(0, len(self.runners) - MAX_LISTED_MATCHES),
            elsewhere=self.handler.others(),
        )

    def watch(self, session: Session, runner: Runner) -> None:
        """Send a client the state of a match, and its turns from now on."""
        self._watched.setdefault(session, {})[runner.id] = runner
        runner.watch(session)

    def unwatch(self, session: Session, match: str) -> None:
        runner = self._watched.get(session, {}).pop(match, None)
        if runner is not None:
            runner.unwatch(session)


def _let_go(session: Session, watched: list[Runner], places: list[tuple[Runner, int]]) -> Iterator[None]:
    """Remove a disconnected client from what it watched and from its seats, a few in each piece."""
    for number, runner in enumerate(watched, 1):
        runner.unwatch(session)
        if number % AT_ONCE == 0:
            yield
    for number, (runner, seat) in enumerate(places, 1):
        runner.lose(seat, session)
        if number % AT_ONCE == 0:
            yield
