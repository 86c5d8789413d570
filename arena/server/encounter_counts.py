"""How often bots met, as of the store and of the matches since: what pairing spreads matches by."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping


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
