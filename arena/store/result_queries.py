"""Reading results, records, ratings and leaderboards from the database, and the outcome of a match for a seat."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import Struct
from sqlalchemy import Connection

from arena.ratings import rating_system
from arena.ratings.rating_system import RatingStanding
from arena.ratings.tournament_pairing import start_name
from arena.store.archive_file import ArchiveMissing
from arena.store.archives import read_archived
from arena.store.database import StoreError
from arena.store.dialect import execute, list_parameter
from arena.store.match_numbers import IN_NUMBERS_SQL, numbers_parameter
from arena.store.paging import MAX_INTEGER
from arena.store.pool_payoffs import CURRENT_SEASON_SQL, EQUAL_MEAN_DIGITS, PoolPayoff, pairs_query, read_payoff
from arena.store.rows import read_row, read_rows
from machine.timestamps import utc_now
from protocol.errors import ArenaFault
from protocol.games import game_class, is_known_game
from protocol.names import fold_name
from protocol.reasons import VOID
from referee.result import Ratings, Result, SeatRating, SeatResult

T = TypeVar("T")

UNRATED_SUFFIX = "unrated"
"""The suffix of `GAME/unrated`, which stands for the pool of unrated matches of a game."""
WON, DRAWN, LOST, VOID_OUTCOME = "won", "drawn", "lost", "void"
"""These are the outcomes of a match for a seat: it was alone in first place (`WON`), it shared the first place
(`DRAWN`), it was not first (`LOST`), or the match was called off (`VOID_OUTCOME`).
"""
OUTCOMES = (WON, DRAWN, LOST, VOID_OUTCOME)
"""All outcomes of a match for a seat."""
_SEAT_COLUMNS = (
    *("seat", "version", "rank", "moves", "thought_ms", "payoff", "rounds", "bot", "played"),
    *SeatRating.__struct_fields__,
)
"""The columns of `seats` that are needed for results and their ratings."""
_RESULTS_SQL = f"""SELECT matches.*, {", ".join(f"seats.{name}" for name in _SEAT_COLUMNS)},
    seats.reason AS seat_reason, bots.name, bots.renamed, (
        SELECT arguments LIKE '%"paired":' || 'true%' FROM tournaments WHERE tournaments.id = matches.tournament
    ) AS is_paired
FROM matches JOIN seats ON seats.match = matches.number JOIN bots ON bots.id = seats.bot
WHERE matches.number IN ({{numbers}}) ORDER BY matches.number {{order}}, seats.seat"""
"""The template of the query for results: a row for each seat of the matches whose numbers the query `numbers` gives."""
_RECORD_SQL = """SELECT record_bytes, archive, data FROM matches LEFT JOIN records ON records.match = matches.number
WHERE id = :match"""
"""The query for the record of a match, or where it is."""
_STANDINGS_OF_BOT = "SELECT ratings.* FROM ratings JOIN bots ON bots.id = ratings.bot WHERE bots.key = :key"
# From `hours`, which has few rows a day. In `matches`, the search would begin at the first match ever.
_RECENT_MEETINGS = """SELECT matches.id, matches.pool, others.key, matches.finished
FROM matches JOIN seats AS mine ON mine.match = matches.number JOIN bots ON bots.id = mine.bot
JOIN seats AS theirs ON theirs.match = mine.match AND theirs.seat <> mine.seat
JOIN bots AS others ON others.id = theirs.bot
WHERE bots.key = :key AND matches.pool IS NOT NULL AND matches.tournament IS NULL AND matches.finished >= :since
    AND mine.match >= (SELECT min(first) FROM hours WHERE hour >= substr(CAST(:since AS text), 1, 13))"""
"""The query for the rated ladder matches of a bot since a time, one row for each opponent in a match."""
_ENCOUNTER_COUNTS = """SELECT opponents.pool, them.key, wins + draws + losses AS met
FROM opponents JOIN bots ON bots.id = opponents.bot JOIN bots AS them ON them.id = opponents.opponent
WHERE bots.key = :key AND opponents.tournament = ''"""
_FAILURES_SQL = "SELECT matches.id, seat, text FROM failures JOIN matches ON matches.number = failures.match"
"""The query for why programs of bots failed, without its condition."""
_LEADERBOARD_SQL = f"""SELECT bots.name, bots.person, ratings.*,
{pairs_query("ratings.bot", CURRENT_SEASON_SQL)} AS pairs
FROM ratings JOIN bots ON bots.id = ratings.bot WHERE ratings.pool = :pool"""


class RecordRemoved(ArenaFault):
    """The record of a match was removed, or the archive file with the record is missing."""

    def __init__(self, match: str, why: object = None) -> None:
        how = "was removed" if why is None else f"is not here, {why}"
        super().__init__(f"the record of match {match} {how}: its result is what is left")


class LeaderboardRow(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A row of a leaderboard. `score` is mu − 3 sigma. `few` is true if the bot has too few matches for its score to
    mean much, or too few rounds and opponents for a rank by payoff. `payoff` is set if the game's result is a payoff
    and a match counts.
    """

    bot: str
    person: bool = False
    mu: float
    sigma: float
    score: float
    played: int
    wins: int
    draws: int
    losses: int
    few: bool
    version: str
    payoff: PoolPayoff | None = None


def leaderboard_of(connection: Connection, pool: str) -> list[LeaderboardRow]:
    """Return the leaderboard of a pool this season, best first."""
    return leaderboard_from_rows(execute(connection, _LEADERBOARD_SQL, {"pool": pool}))


def leaderboard_from_rows(rows: Iterable[Any]) -> list[LeaderboardRow]:
    """Convert rows of standings, which have bot names, to a leaderboard, best first. Bots with payoffs come first."""
    return sorted((read_standing(LeaderboardRow, row, bot=row.name) for row in rows), key=_sort_key)


def leaderboard_places(lines: Sequence[LeaderboardRow]) -> list[int]:
    """Return the places, from 1, of the rows of a sorted leaderboard. Rows with equal results have the same place."""
    results = [_sort_key(line)[:-1] for line in lines]
    return [1 + results.index(result) for result in results]


def _sort_key(row: LeaderboardRow) -> tuple[bool, bool, float, str]:
    if row.payoff is None:
        return True, True, -row.score, fold_name(row.bot)
    return False, not row.payoff.ranked, -round(row.payoff.mean, EQUAL_MEAN_DIGITS), fold_name(row.bot)


def read_standing(kind: type[T], row: Any, **further: Any) -> T:
    """Return the struct of a standing that a row of `ratings` holds. The row also has the result of `pairs_query`: the
    sums of the bot's payoffs against each opponent. Fields that are not columns are given by name.
    """
    payoff = read_payoff(row.pairs)
    few = row.matches < rating_system.PROVISIONAL_MATCHES or not (payoff is None or payoff.ranked)
    score = rating_system.conservative_score(row.mu, row.sigma)
    return read_row(kind, row, score=score, played=row.matches, few=few, payoff=payoff, **further)


def standings_of(connection: Connection, bot: str) -> dict[str, RatingStanding]:
    """Return a bot's standing in each pool where it is rated this season, by pool."""
    rows = execute(connection, _STANDINGS_OF_BOT, {"key": fold_name(bot)})
    return {row.pool: read_row(RatingStanding, row) for row in rows}


class LadderBot(NamedTuple):
    """The facts about a bot that the ladder needs: its (mu, sigma) by pool, whether it is approved, and its past
    matches as `encounter_counts` and `recent_meetings` return them.
    """

    ratings: dict[str, tuple[float, float]]
    approved: bool
    encounters: list[tuple[str, str, int]]
    meetings: list[tuple[str, str, str, str]]


def load_ladder_bot(connection: Connection, bot: str, *, history: bool) -> LadderBot:
    """Load the facts about a bot that the ladder needs. Its past matches are loaded only with `history`."""
    approved = execute(connection, "SELECT approved FROM bots WHERE key = :key", {"key": fold_name(bot)}).scalar()
    return LadderBot(
        {pool: (standing.mu, standing.sigma) for pool, standing in standings_of(connection, bot).items()},
        bool(approved),
        encounter_counts(connection, bot) if history else [],
        recent_meetings(connection, bot) if history else [],
    )


def rated_pools(connection: Connection, game: str | None = None) -> list[str]:
    """Return the pools with rated matches this season, of one game or all."""
    found = execute(connection, "SELECT DISTINCT pool FROM ratings ORDER BY pool").scalars()
    return [pool for pool in found if game in (None, rating_system.game_of(pool))]


def pools_of_other_versions(connection: Connection) -> list[str]:
    """Return the pools with rated matches this season of whose game this arena has another version of the rules."""
    return [
        pool
        for pool in rated_pools(connection)
        if is_known_game(rating_system.game_of(pool)) and not rating_system.has_rules_of(pool)
    ]


def check_game(connection: Connection, game: str) -> None:
    """Raise `UnknownGame` if this arena has neither the rules nor any match of a game."""
    if execute(connection, "SELECT 1 FROM matches WHERE game = :game LIMIT 1", {"game": game}).first() is None:
        game_class(game)


def matches_without_rules(connection: Connection) -> dict[str, int]:
    """Return how many matches are stored of each game whose rules this arena does not have."""
    query = "SELECT game, count(*) AS matches FROM matches GROUP BY game ORDER BY game"
    return {row.game: row.matches for row in execute(connection, query) if not is_known_game(row.game)}


def iter_results(
    connection: Connection,
    bot: str | None = None,
    game: str | None = None,
    tournament: str | None = None,
    limit: int | None = None,
) -> Iterator[Result]:
    """Yield the results of a bot, a game or a tournament, or all results, newest first. Rows are loaded as needed."""
    chosen = ["true"]
    if bot is not None:
        chosen.append("number IN (SELECT match FROM seats JOIN bots ON bots.id = seats.bot WHERE bots.key = :key)")
    if game is not None:
        chosen.append("game = :game")
    if tournament is not None:
        chosen.append("tournament = :tournament")
    numbers = f"SELECT number FROM matches WHERE {' AND '.join(chosen)} ORDER BY number DESC"
    words: dict[str, object] = {"key": fold_name(bot or ""), "game": game, "tournament": tournament}
    if limit is not None:
        words["limit"] = min(limit, MAX_INTEGER)
        numbers += " LIMIT :limit"
    for _, result, _ in iter_results_with_seats(connection, numbers, words, newest_first=True, stream=True):
        yield result


def result_of(connection: Connection, match: str) -> Result | None:
    found = result_with_seats(connection, match)
    return found and found[0]


def result_with_seats(connection: Connection, match: str) -> tuple[Result, list[Any]] | None:
    """Return the result of a finished match with its stored seats; None if the match is unknown."""
    number = "SELECT number FROM matches WHERE id = :match"
    found = iter_results_with_seats(connection, number, {"match": match})
    return next(((result, rows) for _, result, rows in found), None)


def record_of(connection: Connection, match: str) -> bytes | None:
    """Return a match's gzip record, from the database or an archive file; None if there is no such match or record.
    Raise `RecordRemoved` if the record was removed, and `BadRecord` if the archive file is damaged.
    """
    row = execute(connection, _RECORD_SQL, {"match": match}).one_or_none()
    if row is None:
        return None
    if row.data is None and row.archive is not None:
        try:
            return read_archived(connection, row.archive, [match]).get(match)
        except ArchiveMissing as exc:
            raise RecordRemoved(match, exc) from exc
    if row.data is None and row.record_bytes is None:
        raise RecordRemoved(match)
    data: bytes | None = row.data
    return data


def tournament_results(connection: Connection, tournament: str) -> list[Result]:
    """Return the results of a tournament so far, in schedule order."""
    return sorted(iter_results(connection, tournament=tournament), key=lambda result: result.place or 0)


def recent_meetings(connection: Connection, bot: str) -> list[tuple[str, str, str, str]]:
    """Return a bot's rated ladder matches of the last day, one entry for each opponent in a match. An entry is (match
    id, pool, folded name of the opponent, end time).
    """
    since = utc_now(days_ago=1)
    rows = execute(connection, _RECENT_MEETINGS, {"key": fold_name(bot), "since": since})
    return [(row.id, row.pool, row.key, row.finished) for row in rows]


def encounter_counts(connection: Connection, bot: str) -> list[tuple[str, str, int]]:
    """Return how often a bot met each opponent, as (pool or GAME/unrated, opponent's folded name, matches)."""
    rows = execute(connection, _ENCOUNTER_COUNTS, {"key": fold_name(bot)})
    return [(row.pool, row.key, row.met) for row in rows]


def ratings_of(connection: Connection, ids: Sequence[str]) -> dict[str, Ratings | None]:
    """Return the ratings of stored matches by match id; None for unrated matches."""
    numbers = "SELECT number FROM matches WHERE id IN (SELECT value FROM {each:ids} AS told)"
    found = iter_results_with_seats(connection, numbers, list_parameter("ids", ids))
    return {
        result.match: None if result.pool is None else rating_system.make_ratings(result.pool, seat_ratings(rows))
        for _, result, rows in found
    }


def seat_ratings(rows: Iterable[Any]) -> tuple[SeatRating, ...]:
    """Return the ratings in these stored seats."""
    return tuple(read_rows(SeatRating, rows))


def iter_results_with_seats(
    connection: Connection,
    numbers: str,
    parameters: Mapping[str, object],
    *,
    newest_first: bool = False,
    stream: bool = False,
) -> Iterator[tuple[int, Result, list[Any]]]:
    """Yield (match number, result, stored seats) of the matches whose numbers a query gives, by increasing match number
    or with `newest_first` by decreasing number. With `stream`, rows are loaded as needed.
    """
    query = _RESULTS_SQL.format(numbers=numbers, order="DESC" if newest_first else "ASC")
    found = execute(connection, query, parameters, stream=stream)
    for at, group in groupby(found, key=lambda row: row.number):
        rows = list(group)
        yield at, _result(rows), rows


def iter_numbered_results(
    connection: Connection, numbers: Iterable[int], *, newest_first: bool = False
) -> Iterator[tuple[int, Result, list[Any]]]:
    """Yield the results of the matches with these numbers, as `iter_results_with_seats` does."""
    query = f"SELECT number FROM matches WHERE number {IN_NUMBERS_SQL}"
    return iter_results_with_seats(connection, query, numbers_parameter(numbers), newest_first=newest_first)


def bot_failures(connection: Connection, tournament: str) -> dict[str, dict[int, str]]:
    """Return why bots' programs failed in the matches of a tournament, as texts by match id and seat."""
    found: dict[str, dict[int, str]] = {}
    rows = execute(connection, f"{_FAILURES_SQL} WHERE matches.tournament = :tournament", {"tournament": tournament})
    for row in rows:
        found.setdefault(row.id, {})[row.seat] = row.text
    return found


def match_failures(connection: Connection, match: str) -> dict[int, str]:
    """Return why bots' programs failed in a match, as texts by seat."""
    rows = execute(connection, f"{_FAILURES_SQL} WHERE matches.id = :match", {"match": match})
    return {row.seat: row.text for row in rows}


def _result(rows: Sequence[Any]) -> Result:
    row = rows[0]
    try:
        config = msgspec.json.decode(row.config)
    except msgspec.DecodeError as exc:
        raise StoreError(f"match {row.id} is damaged: its config is not JSON: {exc}") from exc
    return read_row(
        Result,
        row,
        match=row.id,
        config=config,
        rated=row.pool is not None,
        seats=tuple(read_row(SeatResult, seat, bot=seat.name, reason=seat.seat_reason) for seat in rows),
        start=start_name(row.tournament, row.place, len(rows)) if row.is_paired else None,
    )


def pool_or_unrated(result: Result) -> str:
    """Return the pool of a match, or `GAME/unrated` if the match is not rated."""
    return result.pool or f"{result.game}/{UNRATED_SUFFIX}"


def outcome_of(result: Result, seat: SeatResult) -> str:
    """Return the outcome of a match, one of `OUTCOMES`, for one of its seats."""
    if result.reason == VOID:
        return VOID_OUTCOME
    if seat.rank != 1:
        return LOST
    return WON if [other.rank for other in result.seats].count(1) == 1 else DRAWN
