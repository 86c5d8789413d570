"""Computing ratings again from the results, to check the stored ratings or to replace them."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from sqlalchemy import Connection

from arena.ratings import rating_system
from arena.store import finish, result_queries, seasons, summaries
from arena.store.dialect import execute, list_parameter
from arena.store.finish import Tallies, Tally
from arena.store.match_numbers import IN_NUMBERS_SQL, last_match_number, numbers_parameter
from arena.store.rating_decisions import record_decision
from referee.result import Result, SeatRating

_RATING_FIELDS = SeatRating.__struct_fields__
_UPDATE_SEAT = """UPDATE seats SET mu_before = :mu_before, sigma_before = :sigma_before, mu_after = :mu_after,
    sigma_after = :sigma_after, played = :played
WHERE match = :match AND seat = :seat"""
_MARK_MATCHES_RERATED = f"UPDATE matches SET rerated = true WHERE NOT rerated AND number {IN_NUMBERS_SQL}"
"""The statement that marks matches as rated again: their ratings differ from those in their records."""
_IN_POOLS_SQL = "IN (SELECT value FROM {each:pools} AS told)"
_DELETE_RATINGS = f"DELETE FROM ratings WHERE pool {_IN_POOLS_SQL}"


class SeatCorrection(NamedTuple):
    """The correction of the stored row of a seat: the bot's correct ratings before and after the match, and its correct
    number of rated matches (`played`).
    """

    mu_before: float
    sigma_before: float
    mu_after: float
    sigma_after: float
    played: int | None
    match: int
    seat: int


class RatingRebuild:
    """A new computation of ratings. It rates the matches of some or all pools again, from the match number `first` on,
    and collects corrections of stored rows.

    It writes nothing until `save`. Each `advance` includes matches that were stored meanwhile. `pool_overrides`
    replaces the stored pools of some matches, by number; None means unrated. With `skip_unknown`, pools of games whose
    rules this arena does not have are left out.
    """

    def __init__(
        self,
        connection: Connection,
        first: int = 0,
        pools: Collection[str] | None = None,
        pool_overrides: Mapping[int, str | None] = MappingProxyType({}),
        *,
        skip_unknown: bool = False,
    ) -> None:
        self.corrections: list[SeatCorrection] = []
        """The corrections of stored seats, in the order of matches and seats."""
        self.wrong_seats: list[tuple[int, int]] = []
        """The (match number, seat) pairs whose stored ratings are wrong."""
        self._pools, self._pools_of = pools, pool_overrides
        self._skip_unknown = skip_unknown
        self._tallies: Tallies = {}
        season_starts = seasons.season_starts(connection)
        self._season = season_starts[-1] if season_starts else 0
        if first > self._season:
            before = finish.load_tallies_before(connection, first)
            self._tallies = {place: tally for place, tally in before.items() if pools is None or place[1] in pools}
        else:
            first = max((begin for begin in season_starts if begin <= first), default=0)
        self._later_season_starts = deque(begin for begin in season_starts if begin > first)
        self._next_number = first

    @property
    def tallies(self) -> Tallies:
        """The computed ratings and counts of bots in the pools of the current season."""
        return {} if self._later_season_starts else self._tallies

    def advance(self, connection: Connection) -> int:
        """Rate matches up to the last stored one. Return how many match numbers the computation advanced."""
        last = last_match_number(connection)
        chosen = "SELECT number FROM matches WHERE number BETWEEN :first AND :last"
        words: dict[str, object] = {"first": self._next_number, "last": last}
        if self._pools is not None:
            chosen += f" AND coalesce(pool, annulled) {_IN_POOLS_SQL}"
            words |= list_parameter("pools", self._pools)
        for number, result, rows in result_queries.iter_results_with_seats(connection, chosen, words, stream=True):
            pool = self._pools_of.get(number, result.pool)
            if pool is not None and not (self._skip_unknown and _lacks_rules(pool)):
                self._rate(number, pool, result, rows)
        count, self._next_number = last + 1 - self._next_number, last + 1
        return count

    def _rate(self, number: int, pool: str, result: Result, rows: Sequence[Any]) -> None:
        while self._later_season_starts and number >= self._later_season_starts[0]:
            self._later_season_starts.popleft()
            self._tallies = {}
        rated = finish.rate_match(self._tallies, pool, result, [row.bot for row in rows])
        for row, rating in zip(rows, rated.seats, strict=True):
            same = all(_is_same_value(getattr(row, name), getattr(rating, name)) for name in _RATING_FIELDS)
            played = self._tallies[row.bot, pool].standing.matches if number >= self._season else None
            if not same:
                self.wrong_seats.append((number, row.seat))
            if not same or row.played != played:
                values = (rating.mu_before, rating.sigma_before, rating.mu_after, rating.sigma_after)
                self.corrections.append(SeatCorrection(*values, played, number, row.seat))

    def save(self, connection: Connection) -> None:
        """Write the corrected seats, and the standings of the rated pools after the last match. Mark the matches whose
        ratings now differ from their records.
        """
        self.advance(connection)
        _correct(connection, self.corrections)
        execute(connection, _MARK_MATCHES_RERATED, numbers_parameter({number for number, _ in self.wrong_seats}))
        if self._pools is None:
            execute(connection, "DELETE FROM ratings")
        else:
            execute(connection, _DELETE_RATINGS, list_parameter("pools", self._pools))
        finish.save_tallies(connection, self.tallies)


def rebuild_ratings(connection: Connection) -> int:
    """Replace all stored ratings by those that follow from the results. Return how many stored rows were wrong. Pools
    of games whose rules this arena does not have keep their ratings.
    """
    record_decision(connection)
    rerating = RatingRebuild(connection, skip_unknown=True)
    rerating.advance(connection)
    stale = _count_differences(connection, rerating.tallies)
    _correct(connection, rerating.corrections)
    if stale:
        computed = [pool for pool in result_queries.rated_pools(connection) if not _lacks_rules(pool)]
        execute(connection, _DELETE_RATINGS, list_parameter("pools", computed))
        finish.save_tallies(connection, rerating.tallies)
    return len(rerating.corrections) + stale + summaries.rebuild(connection)


def _lacks_rules(pool: str) -> bool:
    return not rating_system.has_rules_of(pool)


def _correct(connection: Connection, corrections: list[SeatCorrection]) -> None:
    if corrections:
        execute(connection, _UPDATE_SEAT, [correction._asdict() for correction in corrections])


def find_problems(connection: Connection) -> Iterator[str]:
    """Yield a line for each stored rating that does not follow from the results. Pools of games whose rules this arena
    does not have are left out.
    """
    rerating = RatingRebuild(connection, skip_unknown=True)
    rerating.advance(connection)
    wrong = rerating.wrong_seats
    names = {row.number: row.id for row in execute(connection, "SELECT number, id FROM matches")} if wrong else {}
    for number, seat in wrong:
        yield f"match {names[number]}, seat {seat}: the rating does not follow from the results"
    stale = _count_differences(connection, rerating.tallies)
    if stale:
        yield f"{stale} standings do not follow from the results: run `arena db rebuild-ratings`"
    yield from summaries.find_problems(connection)


def _count_differences(connection: Connection, tallies: Tallies) -> int:
    """Return how many standings are missing, superfluous or wrong, in games whose rules this arena has."""
    stored = {place: tally for place, tally in finish.load_tallies(connection).items() if not _lacks_rules(place[1])}
    return sum(
        not _are_equal_tallies(stored.get(place), tallies.get(place)) for place in stored.keys() | tallies.keys()
    )


def _are_equal_tallies(first: Tally | None, second: Tally | None) -> bool:
    if first is None or second is None:
        return False
    counts = first.standing[2:] == second.standing[2:] and first[1:] == second[1:]
    return counts and all(_is_same_value(x, y) for x, y in zip(first.standing[:2], second.standing[:2], strict=True))


def _is_same_value(a: float | None, b: float) -> bool:
    return a is not None and rating_system.nearly_equal(a, b)
