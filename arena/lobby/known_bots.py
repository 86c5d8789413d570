"""The ratings, encounters and rated matches of the bots that are connected or were recently."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from msgspec import Struct

from arena.lobby.events import BotLoaded, MatchRated, RatingsReloaded
from arena.lobby.policy import LobbyPolicy
from arena.ratings.rating_system import INITIAL_RATING
from machine.units import DAY_S


class _KnownBot:
    """The data of one bot. Opponents are given by their folded names."""

    def __init__(self) -> None:
        self.ratings: dict[str, tuple[float, float]] = {}
        """The bot's rating (mu, sigma), by pool."""
        self.encounter_counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        """The number of matches against each known opponent, by pool and opponent. It includes running matches."""
        self.encounters: Counter[str] = Counter()
        """The number of encounters with all opponents, by pool. A match counts once for each opponent in it."""
        self.rated_matches: defaultdict[str, defaultdict[str, dict[str, float]]] = defaultdict(
            lambda: defaultdict(dict)
        )
        """The end time of each recent rated match, by pool, opponent and match id; infinite for a running match."""
        self.at_limit: defaultdict[str, set[str]] = defaultdict(set)
        """Opponents with whom the daily limit of rated matches may have been reached, by pool."""
        self.is_approved = False
        self.has_history = False
        """True when the bot's past matches have been loaded."""


class _RatedMatch(Struct, frozen=True):
    """A rated match in progress."""

    pool: str
    bots: tuple[str, ...]


class KnownBots:
    """The data of the bots that are connected or were recently, by folded name. Each match updates it.

    Of the matches of each pair of bots in a pool, at most `rated_per_pair` of the policy per day are rated. With
    `approved_only`, only matches between approved bots are rated.
    """

    def __init__(self, policy: LobbyPolicy) -> None:
        self._per_pair = policy.rated_per_pair
        self._approved_only = policy.approved_only
        self._max_absent = policy.max_absent_bots
        self._bots: dict[str, _KnownBot] = {}
        """The known bots. If two bots are both known, each entry has the number of encounters between them, and the two
        numbers are equal.
        """
        self._here: set[str] = set()
        self._absent: dict[str, None] = {}
        """The known bots that are disconnected, in the order in which they left."""
        self._under_way: dict[str, _RatedMatch] = {}
        """The rated matches in progress, by match id."""

    def on_joined(self, bot: str) -> bool:
        """Note that a bot has connected. Return whether it is known."""
        self._here.add(bot)
        self._absent.pop(bot, None)
        return bot in self._bots

    def on_left(self, bot: str) -> None:
        """Note that a bot has disconnected. It is forgotten when too many other bots have disconnected after it."""
        self._here.discard(bot)
        if bot in self._bots:
            self._absent.pop(bot, None)
            self._absent[bot] = None
        self._forget_absent()

    def rating(self, bot: str, pool: str | None) -> tuple[float, float]:
        """Return a bot's rating (mu, sigma) in a pool; if none is known, the rating of a new bot."""
        known = self._bots.get(bot)
        return (known and known.ratings.get(pool or "")) or (INITIAL_RATING.mu, INITIAL_RATING.sigma)

    def encounter_counts(self, bot: str, pool: str) -> Mapping[str, int]:
        """Return a bot's number of matches against each known opponent in a pool."""
        known = self._bots.get(bot)
        return {} if known is None else known.encounter_counts.get(pool, {})

    def total_encounters(self, bot: str, pool: str) -> int:
        """Return a bot's number of encounters with all opponents in a pool. A match counts once for each opponent."""
        known = self._bots.get(bot)
        return 0 if known is None else known.encounters[pool]

    def opponents_at_limit(self, bot: str, pool: str | None, now: float) -> Collection[str]:
        """Return the opponents with whom a bot has reached the daily limit of rated matches in a pool."""
        known = self._bots.get(bot)
        if known is None or pool is None or pool not in known.at_limit:
            return ()
        since = now - DAY_S
        for other in list(known.at_limit[pool]):
            met = known.rated_matches[pool][other]
            for match in [match for match, at in met.items() if at < since]:
                del met[match]
            if len(met) < self._per_pair:
                known.at_limit[pool].discard(other)
        return known.at_limit[pool]

    def may_be_rated(self, bot: str) -> bool:
        known = self._bots.get(bot)
        return not self._approved_only or (known is not None and known.is_approved)

    def is_rated(self, pool: str, bots: Collection[str], now: float) -> bool:
        """Return whether a match between these bots is rated. The matches of each bot must be ratable, and no pair may
        have reached its daily limit.
        """
        spent = any(other in self.opponents_at_limit(bot, pool, now) for bot in bots for other in bots)
        return all(map(self.may_be_rated, bots)) and not spent

    def has_history(self, bot: str) -> bool:
        """Return whether a bot's past matches have been loaded."""
        return bot in self._bots and self._bots[bot].has_history

    def bots_with_history(self) -> list[str]:
        return [bot for bot, known in self._bots.items() if known.has_history]

    def load(self, loaded: BotLoaded) -> bool:
        """Take over a bot's ratings and approval, and the first time its past matches. Return whether its approval
        changed.
        """
        known = self._of(loaded.bot)
        changed = known.is_approved != loaded.is_approved
        known.is_approved, known.ratings = loaded.is_approved, dict(loaded.ratings)
        if loaded.has_history and not known.has_history:
            known.has_history = True
            self._note_history(known, loaded)
        self._forget_absent()
        return changed

    def _note_history(self, known: _KnownBot, loaded: BotLoaded) -> None:
        totals: Counter[str] = Counter()
        for pool, other, count in loaded.encounters:
            totals[pool] += count
            if other in self._bots:
                met = max(count, known.encounter_counts[pool][other])
                known.encounter_counts[pool][other] = self._bots[other].encounter_counts[pool][loaded.bot] = met
        known.encounters |= totals
        self._note_rated_matches(loaded)

    def reload(self, reloaded: RatingsReloaded) -> None:
        """Replace a bot's ratings and rated matches. Rated matches in progress still count towards the daily limits."""
        known = self._bots.get(reloaded.bot)
        if known is None:  # it was forgotten meanwhile
            return
        known.ratings = dict(reloaded.ratings)
        known.rated_matches.clear()
        known.at_limit.clear()
        self._note_rated_matches(reloaded)
        for match, rated in self._under_way.items():
            for bot, other in itertools.permutations(rated.bots, 2):
                if bot == reloaded.bot:
                    self._note_rated(bot, other, rated.pool, match, math.inf)

    def forget(self, bot: str) -> None:
        """Forget a bot, and its encounters with other bots. If it connects again, its data are read from the store."""
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

    def _of(self, bot: str) -> _KnownBot:
        """Return the data of a bot. If there are none, create an empty entry."""
        known = self._bots.get(bot)
        if known is None:
            known = self._bots[bot] = _KnownBot()
            if bot not in self._here:
                self._absent[bot] = None
        return known

    def _forget_absent(self) -> None:
        """If too many known bots are disconnected, forget those that left first. Keep bots with a running rated
        match.
        """
        excess = len(self._absent) - self._max_absent
        if excess > 0:
            playing = {bot for rated in self._under_way.values() for bot in rated.bots}
            idle = (bot for bot in self._absent if bot not in playing)
            for bot in list(itertools.islice(idle, excess)):
                self.forget(bot)

    def rename(self, old: str, new: str) -> None:
        """Rename a disconnected bot in the data of all other bots, and remove its own data."""
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
        """Count a match that begins between these bots in the encounters of each."""
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

    def begin_rated(self, match: str, pool: str, bots: tuple[str, ...]) -> None:
        """Count a rated ladder match towards the daily limit when it begins."""
        self._under_way[match] = _RatedMatch(pool, bots)
        for bot, other in itertools.permutations(bots, 2):
            self._note_rated(bot, other, pool, match, math.inf)

    def end_unrated(self, match: str) -> None:
        """Stop counting a match towards the daily limit, because it ended without ratings."""
        rated = self._under_way.pop(match, None)
        if rated is not None:
            for bot, other in itertools.permutations(rated.bots, 2):
                self._of(bot).rated_matches[rated.pool][other].pop(match, None)
        self._forget_absent()

    def end_rated(self, rated: MatchRated, now: float) -> None:
        """Take over the new ratings of a finished match, and count it towards the daily limit."""
        for bot, rating in zip(rated.bots, rated.ratings, strict=True):
            self._of(bot).ratings[rated.pool] = rating
        self._under_way.pop(rated.match, None)
        for bot, other in itertools.permutations(rated.bots, 2):
            self._note_rated(bot, other, rated.pool, rated.match, now)
        self._forget_absent()

    def _note_rated_matches(self, loaded: BotLoaded | RatingsReloaded) -> None:
        for match, pool, other, at in loaded.rated_matches:
            if other in self._bots:
                self._note_rated(loaded.bot, other, pool, match, at)
                self._note_rated(other, loaded.bot, pool, match, at)

    def _note_rated(self, bot: str, other: str, pool: str, match: str, at: float) -> None:
        if self._per_pair:
            known = self._of(bot)
            met = known.rated_matches[pool][other]
            met[match] = at
            if len(met) >= self._per_pair:
                known.at_limit[pool].add(other)
