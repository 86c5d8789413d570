"""Which matches are rated, of those that seeks ask for: so many of a pair in a day, of whom the operator approved."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from arena.server.bot_cache import BotCache
from protocol.names import folded


class RatingPolicy:
    """A pair's matches are rated in a pool as often in a day as `bots` counts; with `approved_only` those between bots
    that the operator approved.
    """

    def __init__(self, bots: BotCache, *, approved_only: bool = False) -> None:
        self.bots = bots
        self._approved_only = approved_only

    def bot(self, bot: str) -> bool:
        """Whether matches of a bot may be rated."""
        return not self._approved_only or self.bots.is_approved(bot)

    def spent(self, pool: str | None, bot: str) -> Collection[str]:
        """The bots (folded names) with which a bot has had all its rated matches of a day."""
        return () if pool is None else self.bots.spent(bot, pool)

    def group(self, pool: str, bots: Iterable[str]) -> bool:
        """Whether a match of these is to be rated: all of them may be, and no two of them have had all of theirs."""
        names = list(map(folded, bots))
        spent = any(other in self.bots.spent(name, pool) for name in names for other in names)
        return all(map(self.bot, names)) and not spent
