"""Who is on the ladder of each kind of match: the bots that play now and sought it last, and will seek it again."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from arena.server.seek_index import MatchSpec

MOST = 128
"""So many are told: it is an estimate of who else there is."""


class PoolMembers:
    """Bots by the kind of match that they sought last, naming nobody. `plays` says who is in a match."""

    def __init__(self, plays: Callable[[str], bool], chance: Random) -> None:
        self._plays = plays
        self._chance = chance
        self._kind_of: dict[str, MatchSpec] = {}
        self._by_kind: dict[MatchSpec, dict[str, None]] = {}

    def note(self, bot: str, kind: MatchSpec) -> None:
        """A bot seeks."""
        if self._kind_of.get(bot) is not kind:
            self.leave(bot)
            self._kind_of[bot] = kind
            self._by_kind.setdefault(kind, {})[bot] = None

    def leave(self, bot: str) -> None:
        """A bot is gone."""
        kind = self._kind_of.pop(bot, None)
        if kind is not None:
            bots = self._by_kind[kind]
            del bots[bot]
            if not bots:
                del self._by_kind[kind]

    def playing(self, kind: MatchSpec) -> list[str]:
        """Those of a kind that are in a match, or some of them where they are many."""
        bots = [bot for bot in self._by_kind.get(kind, ()) if self._plays(bot)]
        return bots if len(bots) <= MOST else self._chance.sample(bots, MOST)
