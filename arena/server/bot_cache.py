"""A cache of the store's data about connected and recent bots: ratings, encounters and rated matches.

It also remembers which opponents' names in seeks are not registered.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import math
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from arena.ratings.rating_system import INITIAL_RATING
from arena.store.async_store import AsyncStore
from arena.store.registry import is_known_bot
from arena.store.result_queries import LadderBot, load_ladder_bot
from machine.event_loop import BackgroundTasks
from machine.log_output import log_fields
from machine.timestamps import parse_timestamp
from protocol.errors import ArenaFault
from protocol.games import shared_game
from protocol.messages import Player
from protocol.names import fold_name
from referee.record import Header, RecordedSeat
from referee.result import Ratings, Result, SeatResult

DAY_S = 24 * 3600.0
"""Seconds of a day."""
MAX_UNKNOWN_NAMES = 1000
"""Maximum number of unregistered names that the cache remembers."""
MAX_ABSENT_BOTS = 256
"""Maximum number of disconnected bots in the cache. It has room for them because most bots that lose their connection
soon come back. Other bots are read from the store again when they connect.
"""
MAX_LOOKUPS = 16
"""Maximum number of names that are looked up at the same time. Further names count as registered."""

log = logging.getLogger("arena.server.bot_cache")


class _CachedBot:
    """The cached data of one bot. Opponents are given by their folded names."""

    def __init__(self) -> None:
        self.ratings: dict[str, tuple[float, float]] = {}
        """The bot's rating (mu, sigma), by pool."""
        self.encounter_counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        """The number of matches against each cached opponent, by pool and opponent. It includes running matches."""
        self.encounters: Counter[str] = Counter()
        """The number of encounters with all opponents, by pool. A match counts once for each opponent in it."""
        self.rated_matches: defaultdict[str, defaultdict[str, dict[str, float]]] = defaultdict(
            lambda: defaultdict(dict)
        )
        """The end time of each recent rated match, by pool, opponent and match id; infinite for a running match."""
        self.at_limit: defaultdict[str, set[str]] = defaultdict(set)
        """Opponents with whom the daily limit of rated matches may have been reached, by pool."""
        self.approved = False
        self.has_history = False
        """True when the bot's past matches have been loaded."""


class BotCache:
    """A cache of the bots that are connected or were recently. Each match updates it. `now()` returns the time in
    seconds since 1970.

    Of the matches of each pair of bots in a pool, at most `per_pair` per day are rated (0: no limit). With
    `approved_only`, only matches between approved bots are rated.
    """

    def __init__(
        self,
        store: AsyncStore,
        per_pair: int = 0,
        *,
        approved_only: bool = False,
        now: Callable[[], float] = time.time,
        max_absent: int = MAX_ABSENT_BOTS,
    ) -> None:
        self._store = store
        self._per_pair = per_pair
        self._approved_only = approved_only
        self.unknown = UnknownNames(store)
        """The unregistered names that seeks give for opponents."""
        self._now = now
        self._max_absent = max_absent
        self._bots: dict[str, _CachedBot] = {}
        """The cached bots, by folded name. If two bots are both cached, each entry has the number of encounters between
        them, and the two numbers are equal.
        """
        self._here: set[str] = set()
        self._absent: dict[str, None] = {}
        """The cached bots that are disconnected, in the order in which they left."""
        self._playing: Counter[str] = Counter()
        """The number of running rated matches of each bot, by folded name."""
        self._under_way: dict[str, Header] = {}
        """The headers of rated matches in progress, by match id."""
        self._renewing = asyncio.Lock()
        self._requested_renewal = self._done_renewal = 0
        """`_requested_renewal` counts the reloads that were requested, `_done_renewal` those that are done."""

    def on_connected(self, bot: str) -> bool:
        """Note that a bot (folded name) has connected. Return whether it is in the cache."""
        self._here.add(bot)
        self._absent.pop(bot, None)
        return bot in self._bots

    def on_disconnected(self, bot: str) -> None:
        """Note that a bot (folded name) has disconnected. It leaves the cache when too many other bots have
        disconnected after it.
        """
        self._here.discard(bot)
        if bot in self._bots:
            self._absent.pop(bot, None)
            self._absent[bot] = None
        self._forget_absent()

    def rating(self, bot: str, pool: str | None) -> tuple[float, float]:
        """Return a bot's rating (mu, sigma) in a pool; if none is cached, the rating of a new bot."""
        known = self._bots.get(fold_name(bot))
        return (known and known.ratings.get(pool or "")) or (INITIAL_RATING.mu, INITIAL_RATING.sigma)

    def encounter_counts(self, bot: str, pool: str) -> Mapping[str, int]:
        """Return a bot's number of matches against each cached opponent in a pool. All names are folded."""
        known = self._bots.get(bot)
        return {} if known is None else known.encounter_counts.get(pool, {})

    def total_encounters(self, bot: str, pool: str) -> int:
        """Return a bot's number of encounters with all opponents in a pool. A match counts once for each opponent."""
        known = self._bots.get(bot)
        return 0 if known is None else known.encounters[pool]

    def opponents_at_limit(self, bot: str, pool: str | None) -> Collection[str]:
        """Return the opponents with whom a bot (folded name) has reached the daily limit of rated matches in a pool."""
        known = self._bots.get(bot)
        if known is None or pool is None or pool not in known.at_limit:
            return ()
        since = self._now() - DAY_S
        for other in list(known.at_limit[pool]):
            met = known.rated_matches[pool][other]
            for match in [match for match, at in met.items() if at < since]:
                del met[match]
            if len(met) < self._per_pair:
                known.at_limit[pool].discard(other)
        return known.at_limit[pool]

    def may_be_rated(self, bot: str) -> bool:
        known = self._bots.get(fold_name(bot))
        return not self._approved_only or (known is not None and known.approved)

    def is_rated(self, pool: str, bots: Iterable[str]) -> bool:
        """Return whether a match between these bots is rated. The matches of each bot must be ratable, and no pair may
        have reached its daily limit.
        """
        names = list(map(fold_name, bots))
        spent = any(other in self.opponents_at_limit(name, pool) for name in names for other in names)
        return all(map(self.may_be_rated, names)) and not spent

    def players(self, header: Header) -> list[Player]:
        """Return a match's players with their ratings in its pool. Raise `UnknownGame` or `BadConfig` for a wrong
        header.
        """
        pool = header.pool or shared_game(header.game, header.config).pool
        players = []
        for seat in header.seats:
            mu, sigma = self.rating(seat.bot, pool)
            players.append(Player(bot=seat.bot, version=seat.version, mu=mu, sigma=sigma))
        return players

    async def load(self, bot: str) -> None:
        """Load a bot's ratings and approval, and the first time its past matches. Raise `StoreError` if that fails."""
        name = fold_name(bot)
        has_history = name in self._bots and self._bots[name].has_history
        found = await self._store.read(load_ladder_bot, bot, history=not has_history)
        known = self._of(name)
        known.approved = found.approved
        known.ratings = found.ratings
        if not known.has_history:
            if has_history:  # it left the cache meanwhile
                found = await self._store.read(load_ladder_bot, bot, history=True)
                known = self._of(name)
            self._note_history(name, known, found)
        self._forget_absent()

    def _note_history(self, name: str, cached: _CachedBot, ladder_bot: LadderBot) -> None:
        cached.has_history = True
        totals: Counter[str] = Counter()
        for pool, other, count in ladder_bot.encounters:
            totals[pool] += count
            if other in self._bots:
                met = max(count, cached.encounter_counts[pool][other])
                cached.encounter_counts[pool][other] = self._bots[other].encounter_counts[pool][name] = met
        cached.encounters |= totals
        self._note_meetings(name, ladder_bot)

    async def reload(self) -> None:
        """Reload the ratings and rated matches of all cached bots after a change in the store. Rated matches in
        progress still count towards the daily limits. Raise `StoreError` if reading fails.

        Only one reload runs at a time. It serves all calls made before it began.
        """
        self._requested_renewal += 1
        asked = self._requested_renewal
        async with self._renewing:
            if self._done_renewal >= asked:
                return
            doing = self._requested_renewal
            for name in [name for name, known in self._bots.items() if known.has_history]:
                self._reset_ratings(name, await self._store.read(load_ladder_bot, name, history=True))
            self._done_renewal = doing

    def _reset_ratings(self, name: str, ladder_bot: LadderBot) -> None:
        known = self._bots.get(name)
        if known is None:  # it left the cache meanwhile
            return
        known.ratings = ladder_bot.ratings
        known.rated_matches.clear()
        known.at_limit.clear()
        self._note_meetings(name, ladder_bot)
        for header in self._under_way.values():
            for bot, other in _pairs(header.seats):
                if bot == name:
                    self._note_rated(bot, other, header.pool or "", header.match, math.inf)

    def forget(self, bot: str) -> None:
        """Remove a bot from the cache, and its encounters from the data of other bots. If the bot connects again, its
        data are read from the store.
        """
        known = self._bots.pop(bot, None)
        self._absent.pop(bot, None)
        if known is None:
            return
        for pool, met in known.encounter_counts.items():
            for other in met:
                if other in self._bots:
                    self._bots[other].encounter_counts[pool].pop(bot, None)
        for pool, rated in known.rated_matches.items():
            for other in rated:
                if other in self._bots:
                    self._bots[other].rated_matches[pool].pop(bot, None)
                    self._bots[other].at_limit[pool].discard(bot)

    def _of(self, bot: str) -> _CachedBot:
        """Return the cached data of a bot (folded name). If there are none, create an empty entry."""
        known = self._bots.get(bot)
        if known is None:
            known = self._bots[bot] = _CachedBot()
            if bot not in self._here:
                self._absent[bot] = None
        return known

    def _forget_absent(self) -> None:
        """If more than `max_absent` cached bots are disconnected, remove those that left first. Keep bots with a
        running rated match.
        """
        excess = len(self._absent) - self._max_absent
        if excess > 0:
            idle = (bot for bot in self._absent if bot not in self._playing)
            for bot in list(itertools.islice(idle, excess)):
                self.forget(bot)

    def rename(self, old: str, new: str) -> None:
        """Rename a disconnected bot in the data of all other bots, and remove its own data. Both names are folded."""
        self._bots.pop(old, None)
        self._absent.pop(old, None)
        for known in self._bots.values():
            by_pool: list[dict[str, Any]] = [*known.encounter_counts.values(), *known.rated_matches.values()]
            for met in by_pool:
                if old in met:
                    met[new] = met.pop(old)
            for often in known.at_limit.values():
                if old in often:
                    often.remove(old)
                    often.add(new)

    def count_encounter(self, pool: str, bots: Iterable[str]) -> None:
        """Count a match that begins between these bots (folded names) in the encounters of each."""
        for bot, other in itertools.permutations(bots, 2):
            known = self._of(bot)
            known.encounter_counts[pool][other] += 1
            known.encounters[pool] += 1

    def uncount_encounter(self, pool: str, bots: Iterable[str]) -> None:
        """Undo `count_encounter` for a match between these bots that does not begin after all."""
        for bot, other in itertools.permutations(bots, 2):
            known = self._bots.get(bot)
            if known is not None and known.encounter_counts[pool][other]:
                known.encounter_counts[pool][other] -= 1
                known.encounters[pool] -= 1

    def begin_rated(self, header: Header) -> None:
        """Count a rated ladder match towards the daily limit when it begins."""
        assert header.pool is not None
        if header.match not in self._under_way:
            self._playing.update(fold_name(seat.bot) for seat in header.seats)
        self._under_way[header.match] = header
        for bot, other in _pairs(header.seats):
            self._note_rated(bot, other, header.pool, header.match, math.inf)

    def end_unrated(self, match: str) -> None:
        """Stop counting a match towards the daily limit, because it ended without ratings."""
        header = self._end(match)
        if header is not None and header.pool is not None:
            for bot, other in _pairs(header.seats):
                self._of(bot).rated_matches[header.pool][other].pop(match, None)
        self._forget_absent()

    def apply_ratings(self, result: Result, ratings: Ratings) -> None:
        for seat, rating in zip(result.seats, ratings.seats, strict=True):
            self._of(fold_name(seat.bot)).ratings[ratings.pool] = (rating.mu_after, rating.sigma_after)
        self.record_rated(result)

    def record_rated(self, result: Result) -> None:
        """Count a finished rated match towards the daily limit, unless it belongs to a tournament."""
        self._end(result.match)
        if result.pool is not None and result.tournament is None:
            for bot, other in _pairs(result.seats):
                self._note_rated(bot, other, result.pool, result.match, self._now())
        self._forget_absent()

    def _end(self, match: str) -> Header | None:
        """Remove a match from the rated matches in progress. Return its header; None if it was not one of them."""
        header = self._under_way.pop(match, None)
        for seat in () if header is None else header.seats:
            bot = fold_name(seat.bot)
            self._playing[bot] -= 1
            if not self._playing[bot]:
                del self._playing[bot]
        return header

    def _note_meetings(self, name: str, ladder_bot: LadderBot) -> None:
        for match, pool, other, finished in ladder_bot.meetings:
            if other in self._bots:
                self._note_rated(name, other, pool, match, parse_timestamp(finished))
                self._note_rated(other, name, pool, match, parse_timestamp(finished))

    def _note_rated(self, bot: str, other: str, pool: str, match: str, at: float) -> None:
        if self._per_pair:
            known = self._of(bot)
            met = known.rated_matches[pool][other]
            met[match] = at
            if len(met) >= self._per_pair:
                known.at_limit[pool].add(other)


def _pairs(seats: Iterable[RecordedSeat | SeatResult]) -> Iterable[tuple[str, str]]:
    return itertools.permutations([fold_name(seat.bot) for seat in seats], 2)


class UnknownNames:
    """The names that were looked up in the store and found to be unregistered."""

    def __init__(self, store: AsyncStore) -> None:
        self._store = store
        self._unknown: dict[str, None] = {}
        self._asking = BackgroundTasks()

    def look_up(self, names: Iterable[str]) -> None:
        """Look up in the store, in the background, whether names are registered."""
        for name in names:
            if len(self._asking) < MAX_LOOKUPS and name not in self._unknown:
                self._asking.start(self._ask(name))

    def mark_known(self, name: str) -> None:
        """Remove a name from the unregistered names, because its bot has connected."""
        self._unknown.pop(name, None)

    def filter_unknown(self, names: Iterable[str]) -> list[str]:
        """Return those of `names` that were looked up and found to be unregistered."""
        return sorted(name for name in names if name in self._unknown)

    async def _ask(self, name: str) -> None:
        try:
            known = await self._store.read(is_known_bot, name)
        except ArenaFault as fault:
            log.warning("the name %s can't be looked up: %s", name, fault, extra=log_fields(bot=name))
            return
        if not known:
            self._unknown[name] = None
            if len(self._unknown) > MAX_UNKNOWN_NAMES:
                del self._unknown[next(iter(self._unknown))]
