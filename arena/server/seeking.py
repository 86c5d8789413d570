"""Who plays whom: the matches that the seeks in force make."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import islice
from typing import Any

from arena.ratings import pairing
from arena.server.session import Session
from arena.server.waiting import InTurn, Kind, Sought, Waiting, kind_of
from protocol.games.base import Game
from protocol.messages import MAX_SLOTS, Seek
from protocol.names import folded

GATHER = 0.02
"""How long the first new seek waits for company, in seconds; after that seeks are looked at every second."""
LOOK_AGAIN = 1.0
AT_ONCE = 64
"""Seeks that are compared before the loop goes on: a millisecond or two."""

Begin = Callable[[Sequence[Sought]], None]
SpentOf = Callable[[str | None, str], Collection[str]]
RatingOf = Callable[[str, str | None], tuple[float, float]]


class Seeks:
    """The seeks in force, looked at now and then until `close`.

    `begin` starts a match of seeks that fit; `rating_of(bot, pool)`: mu, sigma; `present`: how many bots are here.
    While `held` says so, all of them wait. `most(bot)`: how many matches may begin for a bot that seeks; when it is not
    0 any more, `again` is called. `spent(pool, bot)` is that of `Seeker`.
    """

    def __init__(
        self,
        begin: Begin,
        rating_of: RatingOf,
        present: Callable[[], int],
        held: Callable[[], bool] = lambda: False,
        most: Callable[[str], int] = lambda bot: MAX_SLOTS,
        spent: SpentOf = lambda pool, bot: (),
        may_be_rated: Callable[[str], bool] = lambda bot: True,
    ) -> None:
        self._begin = begin
        self._rating_of = rating_of
        self._present = present
        self._held = held
        self._most = most
        self._spent = spent
        self._may_be_rated = may_be_rated
        self._waiting = Waiting()
        self._new = InTurn()
        """Those that were not looked at yet. No two of the others name each other and might begin."""
        self._put_off: dict[Sought, None] = {}
        """Those whose match might not begin yet; the partner names it, or is named."""
        self._looking: Iterator[None] | None = None
        """What is left of the look that goes on now."""
        self._began = False
        self._timer: asyncio.Handle | None = None
        self._due = 0.0
        self._loop = asyncio.get_running_loop()

    def add(self, session: Session, message: Seek, game: Game[Any, Any]) -> None:
        """Put a bot's seek in force."""
        assert session.bot is not None
        wanted = message.rated and message.opponent is None and game.pool is not None
        rated = wanted and self._may_be_rated(session.bot)
        opponent = None if message.opponent is None else folded(message.opponent)
        kind = kind_of(game, rated=rated)
        sought = Sought(session, session.bot, message.id, kind, opponent, self._loop.time())
        self._waiting.add(sought)
        self._new.add(sought)
        self._look_in(GATHER)

    def holds(self, bot: str, seek: str) -> bool:
        """Whether a bot's seek is in force."""
        return self._waiting.find(bot, seek) is not None

    def count(self, bot: str) -> int:
        """How many seeks of a bot are in force."""
        return len(self._waiting.of(bot))

    def withdraw(self, bot: str, seek: str) -> None:
        """Take a seek back, if it is in force."""
        sought = self._waiting.find(bot, seek)
        if sought is not None:
            self._take(sought)

    def put_back(self, group: Sequence[Sought]) -> None:
        """In force again: their match could not begin."""
        for sought in group:
            self._waiting.add(sought)
            self._new.add(sought)

    def leave(self, bot: str) -> list[Sought]:
        """Take all of a bot's seeks back: which they were."""
        left = list(self._waiting.of(bot))
        for sought in left:
            self._take(sought)
        return left

    def again(self) -> None:
        """Look again, as matches may begin that could not before."""
        for sought in self._put_off:
            self._new.add(sought)
        self._put_off.clear()
        if self._new or self._waiting.ripe:
            self._look_in(0.0)

    def close(self) -> None:
        """Pair no more."""
        if self._timer is not None:
            self._timer.cancel()

    def _take(self, sought: Sought) -> None:
        self._waiting.remove(sought)
        self._new.discard(sought)
        self._put_off.pop(sought, None)

    def _look_in(self, seconds: float) -> None:
        """Look again in so many seconds, unless that goes on now or is due before."""
        at = self._loop.time() + seconds
        if self._looking is not None:
            return
        if self._timer is not None:
            if self._due <= at:
                return
            self._timer.cancel()
        self._due = at
        self._timer = self._loop.call_at(at, self._look)

    def _look(self) -> None:
        """Do one piece of a look and leave the others to the next turns of the loop: nobody waits for all of it."""
        if self._held():
            self._due = self._loop.time() + LOOK_AGAIN
            self._timer = self._loop.call_at(self._due, self._look)
            return
        looking = self._looking
        if looking is None:
            looking, self._began = self._pair(), False
        self._looking = self._timer = None
        if next(looking, self) is None:
            self._looking = looking
            self._timer = self._loop.call_soon(self._look)
        elif self._new or (self._began and self._waiting.ripe):
            self._look_in(GATHER)
        elif self._waiting.ripe:
            self._look_in(LOOK_AGAIN)

    def _pair(self) -> Iterator[None]:
        """Begin every match that the seeks in force allow now, those that name an opponent first, piece by piece."""
        for _ in range(len(self._new)):  # and not until there are none: more may come all the time
            sought = self._new.take()
            if sought is None:
                break
            other = self._waiting.partner(sought)
            if other is not None:
                if not self._together((sought, other)):
                    self._put_off[sought] = None
                yield
        for kind in list(self._waiting.ripe):
            for bots in self._near(kind):
                for group in self._open_groups(kind, bots):
                    self._together(group)
                    yield
                yield

    def _together(self, group: Sequence[Sought]) -> bool:
        """Begin a match, unless a seek was taken back since the group was made, or its bot may begin none now."""
        if not all(sought in self._waiting and self._most(sought.session.key) for sought in group):
            return False
        for sought in group:
            self._take(sought)
        self._began = True
        self._begin(group)
        return True

    def _near(self, kind: Kind) -> Iterator[list[str]]:
        """The bots with open seeks of a kind by rating, in parts that are small enough to be compared at once."""
        free = (bot for bot in self._waiting.open(kind) if self._most(bot))
        bots = sorted(free, key=lambda bot: self._rating_of(bot, kind.pool))
        parts = -(-len(bots) // AT_ONCE)
        return (bots[len(bots) * part // parts : len(bots) * (part + 1) // parts] for part in range(parts))

    def _open_groups(self, kind: Kind, bots: Sequence[str]) -> list[tuple[Sought, ...]]:
        waits = kind.seats < self._present()  # all there are have nobody better to wait for
        patience = pairing.PATIENCE if waits else 0.0
        seekers = []
        waiting = self._waiting.open(kind)
        for bot in bots:
            mu, sigma = self._rating_of(bot, kind.pool)
            spent = self._spent(kind.pool, bot) if kind.rated else ()
            seekers += [
                pairing.Seeker(bot, mu, sigma, sought.since, sought, kind, kind.seats, patience, spent)
                for sought in islice(waiting.get(bot, {}).values(), min(self._most(bot), AT_ONCE // len(bots)))
            ]
        return [tuple(seeker.key for seeker in group) for group in pairing.ladder_groups(seekers, self._loop.time())]
