"""Seeks whose matches are noted instead of played."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from random import Random
from typing import Any, cast

from arena.host.session import ClientSession
from arena.server.bot_cache import BotCache
from arena.server.matchmaking import Matchmaker, MatchRate
from arena.server.seek_index import ActiveSeek, agreed_spec
from arena.store.async_store import AsyncStore
from protocol.games import load_game
from protocol.messages import Seek
from timeouts import WITHIN
from virtual_time import VirtualTimeLoop, passing


class Bot:
    """All of a session that seeks look at."""

    def __init__(self, name: str, *, person: bool = False) -> None:
        self.bot = self.key = name
        self.is_person = person


class SeekBoard:
    """Seeks whose matches are noted instead of played: who plays, in the order of the names, and what."""

    def __init__(self, rate: MatchRate | None = None) -> None:
        self.begun: list[tuple[str, ...]] = []
        self.played: list[tuple[dict[str, Any], bool]] = []
        """The config of each match, and whether it is rated."""
        self.busy: set[str] = set()
        """The bots that may begin no match."""
        self.sated: set[tuple[str, str]] = set()
        """Who has enough matches of which open bot."""
        self.bots = BotCache(cast("AsyncStore", None), per_pair=1)
        self.seeks = Matchmaker(
            self.begin,
            self.bots,
            lambda bot: False,
            capacity=lambda bot: bot not in self.busy,
            rng=Random(1),
            is_at_open_limit=lambda bot, other: (bot, other) in self.sated,
            rate=rate,
        )
        self.changed = asyncio.Event()

    def begin(self, group: Sequence[ActiveSeek]) -> None:
        kind = agreed_spec(group)
        self.begun.append(tuple(sorted(sought.bot for sought in group)))
        self.played.append((kind.config, kind.rated))
        self.changed.set()

    def seek(self, bot: str, ref: str = "s", opponent: str | None = None, **config: Any) -> None:
        self.add(bot, Seek(id=ref, game="nim", config=config, rated=False, opponent=opponent))

    def campaign(self, bot: str, *opponents: str, players: int = 3, ref: str = "s") -> None:
        config = {"players": players}
        self.add(bot, Seek(id=ref, game="risk-campaign", config=config, rated=False, opponents=list(opponents)))

    def private(self, bot: str, ref: str = "private", game: str = "nim", **config: Any) -> None:
        self.add(bot, Seek(id=ref, game=game, config=config, private=True))

    def open(self, bot: str, ref: str = "open", game: str = "nim", presets: Sequence[str] = ()) -> None:
        self.add(bot, Seek(id=ref, game=game, open=True, presets=[*presets]))

    def add(self, bot: str, seek: Seek, *, person: bool = False) -> None:
        session = cast(ClientSession, Bot(bot, person=person))
        self.seeks.add(session, seek, None if seek.open else load_game(seek.game, seek.config))

    async def until(self, matches: int) -> list[tuple[str, ...]]:
        """Let time pass until so many matches have begun: what has."""
        if isinstance(asyncio.get_running_loop(), VirtualTimeLoop):
            await passing(self._count(matches))
        else:
            await asyncio.wait_for(self._count(matches), WITHIN)
        return self.begun

    async def _count(self, matches: int) -> None:
        while len(self.begun) < matches:
            self.changed.clear()
            await self.changed.wait()
