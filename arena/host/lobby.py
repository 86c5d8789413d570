"""Who is connected, who seeks, who plays where and who watches."""

from __future__ import annotations

import asyncio
import functools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from arena.host.peer import EncodedMessages
from arena.host.runner import Runner
from arena.host.session import Session
from arena.server.encounter_counts import EncounterCounts
from arena.server.listing import KEPT, listing
from arena.server.match_rate import Pace
from arena.server.matchmaking import Begin, Matchmaker, RatingOf, SpentOf, named
from arena.server.playban import Playbans, paused
from arena.server.unknown_names import UnknownNames
from protocol.close_codes import NOT_AUTHENTICATED, SUPERSEDED
from protocol.error_codes import AUTH_FAILED, UNAVAILABLE
from protocol.games.base import Game
from protocol.messages import Error, Seek
from protocol.names import folded
from referee.effects import Delayed

SHARES = 4
"""What a bot may have of the slots of one that is open: so many others find one."""


class Lobby:
    """The arena's memory of the present. `begin` starts a match of paired seeks; `rating_of(bot, pool)`: mu, sigma.

    While `held` says so no match begins; `spent(pool, bot)` is that of `Seeker`. `missed(bot, match, pause)` is told of
    a bot that did not come to a match, and for how many seconds it may seek none.
    """

    def __init__(
        self,
        begin: Begin,
        rating_of: RatingOf,
        met: EncounterCounts,
        held: Callable[[], bool] = lambda: False,
        spent: SpentOf = lambda pool, bot: (),
        may_be_rated: Callable[[str], bool] = lambda bot: True,
        missed: Callable[[str, str, float], None] = lambda bot, match, pause: None,
        pace: Pace | None = None,
        strangers: UnknownNames | None = None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._told_missed = missed
        self._strangers = strangers
        self._attendance = Playbans(self._loop.time)
        self.seeks = Matchmaker(
            begin,
            rating_of,
            met,
            lambda bot: bot in self._playing,
            held,
            self._most,
            spent,
            may_be_rated,
            sated=self._sated,
            pace=pace,
        )
        """The seeks in force."""
        self._sessions: dict[str, Session] = {}
        self._runners: dict[str, Runner] = {}
        self._news: set[Session] = set()
        """Watchers of every match."""
        self._playing: dict[str, dict[str, int]] = {}
        self._known: set[str] = set()
        self._kept: Counter[str] = Counter()
        """How many slots of each bot are kept free for matches to which it is called."""
        self._listing = EncodedMessages([])
        self._listed: float | None = None
        """When that was made."""

    def enter(self, session: Session) -> list[str]:
        """A bot comes in; an older connection of it is closed. Its matches under way, to be told by `resume`."""
        assert session.bot is not None
        older = self._sessions.get(session.key)
        if older is not None:
            self.leave(older)
            older.close(SUPERSEDED, "superseded by a newer connection of the same bot")
        self._sessions[session.key] = session
        session.when_late(functools.partial(self._late, session))
        self._known.add(session.key)
        if self._strangers is not None:
            self._strangers.met(session.key)
        return list(self._playing.get(session.key, ()))

    def resume(self, session: Session) -> None:
        """Give a bot that came in its seats back, one in a turn of the loop, so that nobody waits for all of them."""
        playing = self._playing.get(session.key, {})
        self._resume(session, [(self._runners[match], seat) for match, seat in reversed(playing.items())])

    def _resume(self, session: Session, places: list[tuple[Runner, int]]) -> None:
        """Give the last of these seats back, and the others later."""
        if not places or self._sessions.get(session.key) is not session:
            return
        runner, seat = places.pop()
        if self.seat(session, runner.id) is None:
            runner.tell_missed(seat, session)
        else:
            runner.come_back(seat, session, follow=session.follow)
        asyncio.get_running_loop().call_soon(self._resume, session, places)

    def leave(self, session: Session) -> None:
        """A connection is gone: its seeks die with it, its matches go on."""
        for runner in list(self._runners.values()):
            runner.unwatch(session)
            runner.unsubscribe(session)
        self._news.discard(session)
        if session.bot is None or self._sessions.get(session.key) is not session:
            return
        del self._sessions[session.key]
        self.seeks.leave(session.key)
        for match, seat in list(self._playing.get(session.key, {}).items()):
            self._runners[match].lose(seat, session)

    def dismiss(self, bot: str, why: str, reason: str) -> bool:
        """End the connection of a bot whose token counts no more; whether there was one. Its matches go on."""
        session = self._sessions.get(folded(bot))
        if session is None:
            return False
        session.send(Error(code=AUTH_FAILED, message=why.format(bot=session.bot), fatal=True))
        self.leave(session)
        session.close(NOT_AUTHENTICATED, reason)
        return True

    def add(self, runner: Runner) -> None:
        """A match is about to begin, or goes on after a restart: seat the bots that are here."""
        self._runners[runner.id] = runner
        for seat, bot in enumerate(runner.bots):
            self._playing.setdefault(folded(bot), {})[runner.id] = seat
            session = self._sessions.get(folded(bot))
            if session is not None:
                self._attendance.begin(session.key, session.address)
                runner.sit(seat, session, follow=session.follow)
        for session in self._news:
            runner.subscribe(session)

    def remove(self, runner: Runner) -> None:
        """A match is over and told."""
        del self._runners[runner.id]
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
        if runner.absent(seat):
            self._missed(bot, runner.id)
        elif runner.stayed(seat):
            self._attendance.played(bot)
        if self._attendance.end(bot):
            self.seeks.again()

    def seek(self, session: Session, message: Seek, game: Game[Any, Any] | None) -> None:
        """Put a bot's seek in force; without the game's rules one that is open."""
        self.seeks.add(session, message, game)
        if self._strangers is not None:
            self._strangers.ask(set(map(folded, named(message))) - self._known)

    def ready(self, bot: str) -> None:
        """A bot came to its match."""
        if self._attendance.ready(bot):
            self.seeks.again()

    def pause(self, session: Session) -> float:
        """Seconds for which a bot may not seek, as it or others of its address did not come to matches."""
        return self._attendance.pause(session.key, session.address)

    def _missed(self, bot: str, match: str) -> None:
        """A bot did not come to its match: its seeks are taken back, and it may seek again after a pause."""
        seconds = self._attendance.missed(bot)
        self._told_missed(bot, match, seconds)
        for sought in self.seeks.leave(bot):
            sought.session.send(Error(code=UNAVAILABLE, message=paused(seconds), ref=sought.id))
        self._loop.call_later(seconds, self.seeks.again)

    def _most(self, bot: str) -> int:
        """How many matches may begin now for a bot that seeks."""
        session = self._sessions.get(bot)  # it may have left while a look went on
        if session is None or not self._attendance.free(bot, session.address):
            return 0
        if self._kept[bot] and session.slots - len(self._playing.get(bot, ())) <= self._kept[bot]:
            return 0
        return session.slots if self._attendance.tried(bot) else 1

    def _sated(self, bot: str, other: str) -> bool:
        """Whether a bot plays as many matches with another one as it may take of its open seeks."""
        session = self._sessions.get(other)
        together = self._playing.get(bot, {}).keys() & self._playing.get(other, {}).keys()
        return session is not None and len(together) >= max(1, session.slots // SHARES)

    def _late(self, session: Session, before: float, written: float) -> None:
        """What a bot was sent after `before` could be written only at `written`."""
        if self._sessions.get(session.key) is session:
            for match, seat in list(self._playing.get(session.key, {}).items()):
                self._runners[match].receive(Delayed(seat, before, written))

    def close(self) -> None:
        """Pair no more, and leave the matches under way to their journals."""
        self.seeks.close()
        for runner in self._runners.values():
            runner.stop()

    def here(self, bot: str) -> bool:
        """Whether a bot is connected."""
        return folded(bot) in self._sessions

    def sessions(self) -> list[Session]:
        """The bots that are connected."""
        return list(self._sessions.values())

    def known(self, bot: str) -> bool:
        """Whether a bot was ever here."""
        return folded(bot) in self._known

    def playing(self, session: Session) -> int:
        """In how many matches a client's bot plays."""
        return len(self._playing.get(session.key, ()))

    def version(self, bot: str) -> str:
        """What a bot that is here announced as its version; empty where it is not here."""
        session = self._sessions.get(folded(bot))
        return "" if session is None else session.version

    def callable(self, bot: str) -> bool:
        """Whether a bot has a slot that no match holds."""
        name = folded(bot)
        session = self._sessions.get(name)
        return session is not None and session.slots > len(self._playing.get(name, ()))

    @contextmanager
    def kept_free(self, bots: Sequence[str]) -> Iterator[None]:
        """Meanwhile, have a slot of each of them that no match holds go to none that it seeks."""
        names = list(map(folded, bots))
        self._kept.update(names)
        try:
            yield
        finally:
            self._kept.subtract(names)
            self._kept = +self._kept
            self.seeks.again()

    def call(self, bot: str) -> None:
        """Have a slot of a bot free for a match that it does not seek: if need be its newest seek is over."""
        name = folded(bot)
        if self.free_slots(name) > 0:
            return
        for sought in list(self.seeks.of(name))[-1:]:
            self.seeks.withdraw(name, sought.id)
            text = "this seek is over, as the bot is called to a match of a tournament: seek again"
            sought.session.send(Error(code=UNAVAILABLE, message=text, ref=sought.id))

    def free_slots(self, bot: str) -> int:
        """How many more matches a bot takes now; 0 while it is away."""
        name = folded(bot)
        session = self._sessions.get(name)
        if session is None:
            return 0
        return session.slots - len(self.seeks.of(name)) - len(self._playing.get(name, ()))

    def forfeit(self, bot: str) -> None:
        """A bot is gone for good: its matches under way are lost at once."""
        for match, seat in list(self._playing.get(folded(bot), {}).items()):
            self._runners[match].forfeit(seat)

    def runners(self) -> list[Runner]:
        """The matches under way, the newest last."""
        return list(self._runners.values())

    def runner(self, match: str) -> Runner | None:
        """A match under way."""
        return self._runners.get(match)

    def seat(self, session: Session, match: str) -> tuple[Runner, int] | None:
        """A match under way in which a client's bot plays, and its seat there."""
        playing = self._playing.get(session.key)
        seat = None if playing is None else playing.get(match)
        return None if seat is None else (self._runners[match], seat)

    def listing(self) -> EncodedMessages:
        """Who is here and what is played, as of now or a moment ago: however many ask, it is made once in a while."""
        now = self._loop.time()
        if self._listed is None or now - self._listed >= KEPT:
            unknown = (lambda names: []) if self._strangers is None else self._strangers.of
            made = listing(self._sessions.values(), self._playing, self.seeks, self._runners, unknown)
            self._listing, self._listed = EncodedMessages([made]), now
        return self._listing

    def subscribe(self, session: Session) -> None:
        """Tell a client the start and the end of every match."""
        self._news.add(session)
        for runner in self._runners.values():
            runner.subscribe(session)

    def unsubscribe(self, session: Session) -> None:
        """Tell a client starts and ends no more."""
        self._news.discard(session)
        for runner in self._runners.values():
            runner.unsubscribe(session)
