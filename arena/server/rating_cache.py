"""The ratings of the bots that are here, in memory: where pairing and `start` find them."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from arena.ratings.rating_system import INITIAL
from arena.server.rating_policy import RatingPolicy
from arena.store.async_store import AsyncStore
from arena.store.result_queries import encounter_counts, standings_of
from protocol.messages import Player
from protocol.names import folded
from referee.record import Header
from referee.result import Ratings, Result
from referee.rules import rules_of


class EncounterCounts:
    """Matches of each bot with each other one in a pool; bots in lower case."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._met: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        """By bot and pool."""

    def known(self, bot: str) -> bool:
        """Whether it was said what a bot played before."""
        return bot in self._known

    def learn(self, bot: str, found: Iterable[tuple[str, str, int]]) -> None:
        """A bot had so many matches in a pool with another one. Said once, before any of its matches begins."""
        if bot not in self._known:
            self._known.add(bot)
            for pool, other, count in found:
                self._met[bot, pool][other] += count

    def begin(self, pool: str, bots: Iterable[str]) -> None:
        """A match of these begins."""
        for bot, other in itertools.permutations(bots, 2):
            self._met[bot, pool][other] += 1

    def of(self, bot: str, pool: str) -> Mapping[str, int]:
        """With whom a bot met how often in a pool."""
        return self._met.get((bot, pool), {})


class RatingCache:
    """What the store says of bots that were looked up, kept up to date by the results since."""

    def __init__(self, store: AsyncStore, policy: RatingPolicy) -> None:
        self._store = store
        self._policy = policy
        self.met = EncounterCounts()
        """Who met whom how often."""
        self._known: dict[tuple[str, str], tuple[float, float]] = {}
        self._looked_up: set[str] = set()

    def of(self, bot: str, pool: str | None) -> tuple[float, float]:
        """A bot's mu and sigma in a pool; those of a new bot where nothing is known, or nothing is rated."""
        return self._known.get((folded(bot), pool or ""), (INITIAL.mu, INITIAL.sigma))

    def players(self, header: Header) -> list[Player]:
        """Who sits at a match, with the ratings they bring in its pool. Raises `UnknownGame` or `BadConfig`."""
        pool = header.pool or rules_of(header.game, header.config).pool
        players = []
        for seat in header.seats:
            mu, sigma = self.of(seat.bot, pool)
            players.append(Player(bot=seat.bot, version=seat.version, mu=mu, sigma=sigma))
        return players

    async def look_up(self, bot: str) -> None:
        """Read a bot's ratings. Raises `StoreError`."""
        name = folded(bot)
        self._looked_up.add(name)
        for pool, standing in (await self._store.read(standings_of, bot)).items():
            self._put(bot, pool, standing.mu, standing.sigma)
        await self._policy.look_up(bot)
        if not self.met.known(name):
            self.met.learn(name, await self._store.read(encounter_counts, bot))

    async def renew(self) -> None:
        """Read again what is known of ratings and of the matches that were rated, as the operator changed that.

        Raises `StoreError`.
        """
        await self._policy.renew()
        for bot in list(self._looked_up):
            standings = await self._store.read(standings_of, bot)
            for place in [place for place in self._known if place[0] == bot]:
                del self._known[place]
            for pool, standing in standings.items():
                self._put(bot, pool, standing.mu, standing.sigma)

    def learn(self, result: Result, ratings: Ratings) -> None:
        """Know what a match changed."""
        self._policy.learn(result)
        for seat, rating in zip(result.seats, ratings.seats, strict=True):
            self._put(seat.bot, ratings.pool, rating.mu_after, rating.sigma_after)

    def _put(self, bot: str, pool: str, mu: float, sigma: float) -> None:
        self._known[folded(bot), pool] = (mu, sigma)
