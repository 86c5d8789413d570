"""Which matches are rated, of those that seeks ask for: so many of a pair in a day, of whom the operator approved."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Collection, Iterable

from arena.server.bot_cache import BotCache
from protocol.names import folded

DAY = 24 * 3600.0


class RatingPolicy:
    """A pair's matches are rated in a pool `per_pair` times in a day, 0: always; with `approved_only` those between
    bots that the operator approved. What is known of them is in `bots`.
    """

    def __init__(
        self,
        bots: BotCache,
        per_pair: int = 0,
        *,
        approved_only: bool = False,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.bots = bots
        self._per_pair = per_pair
        self._approved_only = approved_only
        self._now = now

    def bot(self, bot: str) -> bool:
        """Whether matches of a bot may be rated."""
        return not self._approved_only or self.bots.is_approved(bot)

    def spent(self, pool: str | None, bot: str) -> Collection[str]:
        """The bots (folded names) with which a bot has had all its rated matches of a day."""
        if not self._per_pair or pool is None:
            return ()
        return {other for other, met in self.bots.rated(bot, pool).items() if self._full(met)}

    def group(self, pool: str, bots: Iterable[str]) -> bool:
        """Whether a match of these is to be rated: all of them may be, and no two of them have had all of theirs."""
        names = list(map(folded, bots))
        pairs = itertools.permutations(names, 2)
        full = any(self._full(self.bots.rated(bot, pool).get(other, {})) for bot, other in pairs)
        return all(map(self.bot, names)) and not full

    def _full(self, met: dict[str, float]) -> bool:
        if not self._per_pair or len(met) < self._per_pair:
            return False
        since = self._now() - DAY
        for match in [match for match, at in met.items() if at < since]:
            del met[match]
        return len(met) >= self._per_pair
