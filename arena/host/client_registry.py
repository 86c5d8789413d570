"""The clients of a host and the matches under way: who is connected, who plays where, who hears of every match."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Mapping
from itertools import islice

from arena.host.broadcast import EncodedMessages
from arena.host.handler import HostHandler
from arena.host.runner import Runner
from arena.host.session import Session
from protocol.close_codes import NOT_AUTHENTICATED, SUPERSEDED
from protocol.error_codes import AUTH_FAILED
from protocol.messages import Error, ListedBot, Listing
from protocol.names import folded
from referee.effects import Delayed, Forfeited

KEPT = 1.0
"""Seconds for which one listing is told to all who ask."""
MOST_BOTS = MOST_MATCHES = 256
"""With eight seeks of each bot at most a listing has 0.8 MB, and goes into a frame."""


class ClientRegistry:
    """The sessions of bots and the matches under way, with the seats that bots have in them. `handler` is told."""

    def __init__(self, handler: HostHandler) -> None:
        self.handler = handler
        self._loop = asyncio.get_running_loop()
        self.sessions: dict[str, Session] = {}
        """Of the bots that are connected, by folded name."""
        self.runners: dict[str, Runner] = {}
        """The matches under way, the newest last."""
        self._subscribers: set[Session] = set()
        """Spectators of every match."""
        self._playing: dict[str, dict[str, tuple[Runner, int]]] = {}
        """By bot and match, its seat."""
        self._known: set[str] = set()
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
        self._known.add(session.key)
        self.handler.connected(session)
        return list(self._playing.get(session.key, ()))

    def resume(self, session: Session) -> None:
        """Give a bot that came in its seats back, one in a turn of the loop, so that nobody waits for all of them."""
        self._resume(session, list(reversed(self._playing.get(session.key, {}).values())))

    def _resume(self, session: Session, places: list[tuple[Runner, int]]) -> None:
        """Give the last of these seats back, and the others later."""
        if not places or self.sessions.get(session.key) is not session:
            return
        runner, seat = places.pop()
        if self.seat(session, runner.id) is None:
            runner.tell_missed(seat, session)
        else:
            runner.come_back(seat, session, follow=session.follow)
        self._loop.call_soon(self._resume, session, places)

    def leave(self, session: Session) -> None:
        """A connection is gone: its matches go on."""
        for runner in list(self.runners.values()):
            runner.unwatch(session)
            runner.audience.unsubscribe(session)
        self._subscribers.discard(session)
        if session.bot is None or self.sessions.get(session.key) is not session:
            return
        del self.sessions[session.key]
        self.handler.disconnected(session)
        for runner, seat in list(self._playing.get(session.key, {}).values()):
            runner.lose(seat, session)

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
        for seat, bot in enumerate(runner.bots):
            self._playing.setdefault(folded(bot), {})[runner.id] = runner, seat
            session = self.session(bot)
            if session is not None:
                self.handler.seated(session)
                runner.sit(seat, session, follow=session.follow)
        for session in self._subscribers:
            runner.audience.subscribe(session)

    def remove_match(self, runner: Runner) -> None:
        """A match is over and told."""
        del self.runners[runner.id]
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

    def was_online(self, bot: str) -> bool:
        """Whether a bot has ever been connected."""
        return folded(bot) in self._known

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

    def seat(self, session: Session, match: str) -> tuple[Runner, int] | None:
        """A match under way in which a client's bot plays, and its seat there."""
        playing = self._playing.get(session.key)
        return None if playing is None else playing.get(match)

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
                    version=session.version,
                    client=session.client,
                    playing=len(self._playing.get(session.key, ())),
                    seeks=seeks,
                    pace_s=pace_s,
                )
                for session in islice(self.sessions.values(), MOST_BOTS)
                for seeks, pace_s in [self.handler.seeks(session.key)]
            ],
            matches=[runner.listed() for runner in islice(reversed(self.runners.values()), MOST_MATCHES)],
            more_bots=max(0, len(self.sessions) - MOST_BOTS),
            more_matches=max(0, len(self.runners) - MOST_MATCHES),
        )

    def subscribe(self, session: Session) -> None:
        """Tell a client the start and the end of every match."""
        self._subscribers.add(session)
        for runner in self.runners.values():
            runner.audience.subscribe(session)

    def unsubscribe(self, session: Session) -> None:
        """Tell a client starts and ends no more."""
        self._subscribers.discard(session)
        for runner in self.runners.values():
            runner.audience.unsubscribe(session)
