"""The clients of a host and the matches under way: who is connected, who plays where, who hears of every match."""

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
"""Seats that are lost in one go, when their client is gone."""
KEPT = 1.0
"""Seconds for which one listing is told to all who ask."""
MOST_BOTS = MOST_MATCHES = 256
"""With eight seeks of each bot at most a listing has 0.8 MB, and goes into a frame."""


class ClientRegistry:
    """The sessions of bots and the matches under way, with the seats that bots have in them. `handler` is told."""

    def __init__(self, handler: HostHandler, quotas: Quotas, broadcaster: Broadcaster) -> None:
        self.handler = handler
        self.quotas = quotas
        """What is kept for whom."""
        self._loop = asyncio.get_running_loop()
        self.sessions: dict[str, Session] = {}
        """Of the bots that are connected, by folded name."""
        self.runners: dict[str, Runner] = {}
        """The matches under way, the newest last."""
        self.subscribers = broadcaster.subscribers
        """Spectators of every match."""
        self._watched: dict[Peer, dict[str, Runner]] = {}
        """The matches that each client watches."""
        self._playing: dict[str, dict[str, tuple[Runner, int]]] = {}
        """By bot and match, its seat."""
        self._removed = asyncio.Event()
        """Set, and another one, whenever a match is."""
        self._listing = EncodedMessages([])
        self._listed: float | None = None
        """When that was made."""

    def enter(self, session: Session) -> list[str]:
        """A bot comes in; an older connection of it is closed. Its matches under way, to be told by `resume`."""
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
        """Give a bot that came in its seats back, one by one when it is its turn."""
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
        """A connection is gone: its matches go on. What it held is let go of in its own time."""
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
        """End the connection of a bot whose token counts no more; whether there was one. Its matches go on."""
        session = self.session(bot)
        if session is None:
            return False
        session.send(Error(code=AUTH_FAILED, message=why.format(bot=session.bot), fatal=True))
        self.leave(session)
        session.close(NOT_AUTHENTICATED, reason)
        return True

    def add_match(self, runner: Runner) -> None:
        """A match is about to begin, or goes on after a restart: seat the bots that are connected."""
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
        """A match is over, and about to be told so."""
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
        """A seat plays no more in this match, which may go on: its bot has the slot back."""
        bot = folded(runner.bots[seat])
        playing = self._playing.get(bot, {})
        if playing.pop(runner.id, None) is None:
            return
        if not playing:
            del self._playing[bot]
        self.handler.seat_released(runner, seat)

    def _late(self, session: Session, before: float, written: float) -> None:
        """What a bot was sent after `before` could be written only at `written`."""
        if self.sessions.get(session.key) is session:
            for runner, seat in list(self._playing.get(session.key, {}).values()):
                runner.receive(Delayed(seat, before, written))

    def close(self) -> None:
        """Leave the matches under way to their journals."""
        for runner in self.runners.values():
            runner.stop()

    def is_online(self, bot: str) -> bool:
        """Whether a bot is connected."""
        return folded(bot) in self.sessions

    def session(self, bot: str) -> Session | None:
        """The connection of a bot."""
        return self.sessions.get(folded(bot))

    def matches_of(self, bot: str) -> Mapping[str, tuple[Runner, int]]:
        """The matches under way in which a bot plays, with its seat in each."""
        return self._playing.get(folded(bot), {})

    def version(self, bot: str) -> str:
        """What a bot that is connected announced as its version; empty where it is not."""
        session = self.session(bot)
        return "" if session is None else session.version

    def free_slots(self, bot: str) -> int:
        """How many slots of a bot no match holds; 0 while it is away."""
        session = self.session(bot)
        return 0 if session is None else session.slots - len(self._playing.get(session.key, ()))

    def forfeit(self, bot: str) -> None:
        """A bot is gone for good: its matches under way are lost at once."""
        for runner, seat in list(self.matches_of(bot).values()):
            runner.receive(Forfeited(seat))

    def matches_with(self, bot: str) -> list[Runner]:
        """The matches under way, until they are told, in which a bot plays or was released."""
        return [runner for runner in self.runners.values() if folded(bot) in map(folded, runner.bots)]

    async def matches_over(self, bot: str | None = None) -> None:
        """Return when there are none of these, or none at all."""
        while self.runners if bot is None else self.matches_with(bot):
            await self._removed.wait()

    def seat(self, session: Session, match: str) -> tuple[Runner, int] | None:
        """A match under way in which a client's bot plays, and its seat there."""
        playing = self._playing.get(session.key)
        return None if playing is None else playing.get(match)

    def now(self) -> float:
        """Return the time of the loop, in seconds."""
        return self._loop.time()

    def listing(self) -> EncodedMessages:
        """Who is here and what is played, as of now or a moment ago: however many ask, it is made once in a while."""
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
                for session in islice(self.sessions.values(), MOST_BOTS)
                for seeks, pace_s in [self.handler.seeks(session.key)]
            ],
            matches=[runner.listed() for runner in islice(reversed(self.runners.values()), MOST_MATCHES)],
            more_bots=max(0, len(self.sessions) - MOST_BOTS),
            more_matches=max(0, len(self.runners) - MOST_MATCHES),
            elsewhere=self.handler.others(),
        )

    def watch(self, session: Session, runner: Runner) -> None:
        """Tell a client how a match stands, and its turns from now on."""
        self._watched.setdefault(session, {})[runner.id] = runner
        runner.watch(session)

    def unwatch(self, session: Session, match: str) -> None:
        """Tell a client turns of a match no more."""
        runner = self._watched.get(session, {}).pop(match, None)
        if runner is not None:
            runner.unwatch(session)


def _let_go(session: Session, watched: list[Runner], places: list[tuple[Runner, int]]) -> Iterator[None]:
    """Take a client that is gone from what it watched, and from its seats, some in each piece."""
    for number, runner in enumerate(watched, 1):
        runner.unwatch(session)
        if number % AT_ONCE == 0:
            yield
    for number, (runner, seat) in enumerate(places, 1):
        runner.lose(seat, session)
        if number % AT_ONCE == 0:
            yield
