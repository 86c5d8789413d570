"""Which matches are rated, of those that seeks ask for: so many of a pair in a day, of whom the operator approved."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Collection, Iterable

from arena.store.async_store import AsyncStore
from arena.store.registry import is_approved_bot
from arena.store.result_queries import meetings
from machine.timestamps import seconds_of
from protocol.names import folded
from referee.result import Result

DAY = 24 * 3600.0


class RatingPolicy:
    """What the store says of bots that were looked up, kept up to date by the results since.

    A pair's matches are rated in a pool `per_pair` times in a day, 0: always; with `approved_only` those between bots
    that the operator approved.
    """

    def __init__(
        self,
        store: AsyncStore,
        per_pair: int = 0,
        *,
        approved_only: bool = False,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._per_pair = per_pair
        self._approved_only = approved_only
        self._now = now
        self._approved: set[str] = set()
        self._looked_up: set[str] = set()
        self._met: dict[tuple[str, frozenset[str]], dict[str, float]] = {}
        """By pool and pair, when which match of theirs was over."""
        self._spent: dict[tuple[str, str], set[str]] = {}
        """By pool and bot, with whom it had as many."""

    async def look_up(self, bot: str) -> None:
        """Read what concerns a bot. Raises `StoreError`."""
        name = folded(bot)
        if self._approved_only:
            (self._approved.add if await self._store.read(is_approved_bot, bot) else self._approved.discard)(name)
        if self._per_pair and name not in self._looked_up:
            await self._read(name)
            self._looked_up.add(name)

    async def renew(self) -> None:
        """Read again which matches were rated. Raises `StoreError`."""
        self._met.clear()
        self._spent.clear()
        for name in list(self._looked_up):
            await self._read(name)

    def learn(self, result: Result) -> None:
        """Know that a match was rated."""
        if self._per_pair and result.pool is not None and result.tournament is None:
            bots = [folded(seat.bot) for seat in result.seats]
            for pair in itertools.combinations(bots, 2):
                self._note(result.match, result.pool, frozenset(pair), self._now())

    def bot(self, bot: str) -> bool:
        """Whether matches of a bot may be rated."""
        return not self._approved_only or folded(bot) in self._approved

    def spent(self, pool: str | None, bot: str) -> Collection[str]:
        """The bots (folded names) with which a bot has had all its rated matches of a day."""
        others = self._spent.get((pool or "", bot))
        if not others or pool is None:
            return ()
        for other in list(others):
            if not self._full(pool, frozenset((bot, other))):
                others.discard(other)
        return others

    def group(self, pool: str, bots: Iterable[str]) -> bool:
        """Whether a match of these is to be rated: all of them may be, and no two of them have had all of theirs."""
        names = list(map(folded, bots))
        pairs = itertools.combinations(names, 2)
        return all(map(self.bot, names)) and not any(self._full(pool, frozenset(pair)) for pair in pairs)

    async def _read(self, name: str) -> None:
        for match, pool, other, finished in await self._store.read(meetings, name):
            self._note(match, pool, frozenset((name, other)), seconds_of(finished))

    def _note(self, match: str, pool: str, pair: frozenset[str], at: float) -> None:
        self._met.setdefault((pool, pair), {})[match] = at
        if self._full(pool, pair):
            one, other = pair
            self._spent.setdefault((pool, one), set()).add(other)
            self._spent.setdefault((pool, other), set()).add(one)

    def _full(self, pool: str, pair: frozenset[str]) -> bool:
        met = self._met.get((pool, pair), {})
        if not self._per_pair or len(met) < self._per_pair:
            return False
        since = self._now() - DAY
        for match in [match for match, at in met.items() if at < since]:
            del met[match]
        return len(met) >= self._per_pair
