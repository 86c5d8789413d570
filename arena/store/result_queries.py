"""Reading results, records, ratings and leaderboards from the database, and the outcome of a match for a seat."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct
from sqlalchemy import Connection, Select, bindparam, func, select

from arena.ratings import rating_system
from arena.ratings.rating_system import RatingStanding
from arena.ratings.tournament_pairing import start_name
from arena.store.archive_file import ArchiveMissing
from arena.store.archives import read_archived
from arena.store.database import StoreError
from arena.store.dialect import execute
from arena.store.pool_payoffs import CURRENT_SEASON_SQL, EQUAL_MEAN_DIGITS, PoolPayoff, pairs_query, read_payoff
from arena.store.schema import bots, failures, hours, matches, opponents, ratings, records, seats, tournaments
from machine.timestamps import utc_now
from protocol.errors import ArenaFault
from protocol.games import game_class, is_known_game
from protocol.names import fold_name
from protocol.reasons import VOID
from referee.result import Ratings, Result, SeatRating, SeatResult

UNRATED_SUFFIX = "unrated"
"""The suffix of `GAME/unrated`, which stands for the pool of unrated matches of a game."""
WON, DRAWN, LOST, VOID_OUTCOME = "won", "drawn", "lost", "void"
"""These are the outcomes of a match for a seat: it was alone in first place (`WON`), it shared the first place
(`DRAWN`), it was not first (`LOST`), or the match was called off (`VOID_OUTCOME`).
"""
OUTCOMES = (WON, DRAWN, LOST, VOID_OUTCOME)
"""All outcomes of a match for a seat."""
MAX_IDS_PER_QUERY = 500
"""The maximum number of match ids in one query."""
_SEAT_COLUMNS = (
    "seat",
    "version",
    "rank",
    "moves",
    "thought_ms",
    "payoff",
    "rounds",
    "bot",
    "played",
    *SeatRating.__struct_fields__,
)
"""The columns of `seats` that are needed for results and their ratings."""


_LEADERBOARD_SQL = f"""SELECT bots.name, bots.person, ratings.*,
{pairs_query("ratings.bot", CURRENT_SEASON_SQL)} AS pairs
FROM ratings JOIN bots ON bots.id = ratings.bot WHERE ratings.pool = :pool"""
"""The query for the standings of all bots in :pool this season."""


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
    lines = [LeaderboardRow(bot=row.name, person=bool(row.person), **standing_from_row(row)) for row in rows]
    return sorted(lines, key=_sort_key)


def leaderboard_places(lines: Sequence[LeaderboardRow]) -> list[int]:
    """Return the places, from 1, of the rows of a sorted leaderboard. Rows with equal results have the same place."""
    results = [_sort_key(line)[:-1] for line in lines]
    return [1 + results.index(result) for result in results]


def _sort_key(row: LeaderboardRow) -> tuple[bool, bool, float, str]:
    if row.payoff is None:
        return True, True, -row.score, fold_name(row.bot)
    return False, not row.payoff.ranked, -round(row.payoff.mean, EQUAL_MEAN_DIGITS), fold_name(row.bot)


def standing_from_row(row: Any) -> dict[str, Any]:
    """Convert a row of `ratings` to the fields common to all structs of standings. The row also has the result of
    `pairs_query`: the sums of the bot's payoffs against each opponent.
    """
    payoff = read_payoff(row.pairs)
    is_ranked = payoff is None or payoff.ranked
    return {
        "mu": row.mu,
        "sigma": row.sigma,
        "score": rating_system.conservative_score(row.mu, row.sigma),
        "played": row.matches,
        "wins": row.wins,
        "draws": row.draws,
        "losses": row.losses,
        "few": row.matches < rating_system.PROVISIONAL_MATCHES or not is_ranked,
        "version": row.version,
        "payoff": payoff,
    }


def standings_of(connection: Connection, bot: str) -> dict[str, RatingStanding]:
    """Return a bot's standing in each pool where it is rated this season, by pool."""
    query = select(ratings).join(bots, bots.c.id == ratings.c.bot).where(bots.c.key == fold_name(bot))
    return {
        row.pool: RatingStanding(row.mu, row.sigma, row.matches, row.version) for row in connection.execute(query).all()
    }


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
    approved = connection.execute(select(bots.c.approved).where(bots.c.key == fold_name(bot))).scalar()
    return LadderBot(
        {pool: (standing.mu, standing.sigma) for pool, standing in standings_of(connection, bot).items()},
        bool(approved),
        encounter_counts(connection, bot) if history else [],
        recent_meetings(connection, bot) if history else [],
    )


def rated_pools(connection: Connection, game: str | None = None) -> list[str]:
    """Return the pools with rated matches this season, of one game or all."""
    found = connection.execute(select(ratings.c.pool).distinct().order_by(ratings.c.pool)).scalars()
    return [pool for pool in found if game in (None, rating_system.game_of(pool))]


def check_game(connection: Connection, game: str) -> None:
    """Raise `UnknownGame` if this arena has neither the rules nor any match of a game."""
    if connection.execute(select(matches.c.game).where(matches.c.game == game).limit(1)).first() is None:
        game_class(game)


def matches_without_rules(connection: Connection) -> dict[str, int]:
    """Return how many matches are stored of each game whose rules this arena does not have."""
    query = select(matches.c.game, func.count()).group_by(matches.c.game).order_by(matches.c.game)
    return {game: count for game, count in connection.execute(query) if not is_known_game(game)}


def iter_results(
    connection: Connection,
    bot: str | None = None,
    game: str | None = None,
    tournament: str | None = None,
    limit: int | None = None,
) -> Iterator[Result]:
    """Yield the results of a bot, a game or a tournament, or all results, newest first. Rows are loaded as needed."""
    numbers = select(matches.c.number).order_by(matches.c.number.desc())
    if bot is not None:
        sat = select(seats.c.match).join(bots, bots.c.id == seats.c.bot).where(bots.c.key == fold_name(bot))
        numbers = numbers.where(matches.c.number.in_(sat))
    if game is not None:
        numbers = numbers.where(matches.c.game == game)
    if tournament is not None:
        numbers = numbers.where(matches.c.tournament == tournament)
    for _, result, _ in iter_results_with_seats(connection, numbers.limit(limit), newest_first=True, stream=True):
        yield result


def result_of(connection: Connection, match: str) -> Result | None:
    found = result_with_seats(connection, match)
    return found and found[0]


def result_with_seats(connection: Connection, match: str) -> tuple[Result, list[Any]] | None:
    """Return the result of a finished match with its stored seats; None if the match is unknown."""
    number = select(matches.c.number).where(matches.c.id == match)
    return next(((result, rows) for _, result, rows in iter_results_with_seats(connection, number)), None)


def record_of(connection: Connection, match: str) -> bytes | None:
    """Return a match's gzip record, from the database or an archive file; None if there is no such match or record.
    Raise `RecordRemoved` if the record was removed, and `BadRecord` if the archive file is damaged.
    """
    columns = matches.c.record_bytes, matches.c.archive, records.c.data
    query = select(*columns).outerjoin(records, matches.c.number == records.c.match)
    row = connection.execute(query.where(matches.c.id == match)).one_or_none()
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
    mine, theirs, others = seats.alias(), seats.alias(), bots.alias()
    # From `hours`, which has few rows a day. In `matches`, the search would begin at the first match ever.
    first = select(func.min(hours.c.first)).where(hours.c.hour >= func.substr(since, 1, 13)).scalar_subquery()
    query = (
        select(matches.c.id, matches.c.pool, others.c.key, matches.c.finished)
        .join(mine, mine.c.match == matches.c.number)
        .join(bots, bots.c.id == mine.c.bot)
        .join(theirs, (theirs.c.match == mine.c.match) & (theirs.c.seat != mine.c.seat))
        .join(others, others.c.id == theirs.c.bot)
        .where(bots.c.key == fold_name(bot), mine.c.match >= first)
        .where(matches.c.pool.is_not(None), matches.c.tournament.is_(None), matches.c.finished >= since)
    )
    return [(row.id, row.pool, row.key, row.finished) for row in connection.execute(query)]


def encounter_counts(connection: Connection, bot: str) -> list[tuple[str, str, int]]:
    """Return how often a bot met each opponent, as (pool or GAME/unrated, opponent's folded name, matches)."""
    others, them = opponents, bots.alias()
    query = (
        select(others.c.pool, them.c.key, others.c.wins + others.c.draws + others.c.losses)
        .join(bots, bots.c.id == others.c.bot)
        .join(them, them.c.id == others.c.opponent)
        .where(bots.c.key == fold_name(bot), others.c.tournament == "")
    )
    return [(pool, key, count) for pool, key, count in connection.execute(query)]


_IS_PAIRED_COLUMN = (
    select(tournaments.c.arguments.contains('"paired":true'))
    .where(tournaments.c.id == matches.c.tournament)
    .scalar_subquery()
    .label("is_paired")
)
"""The SQL column that is true for a match of a tournament with paired matches."""
_SELECT_MATCH_NUMBERS = select(matches.c.number).where(matches.c.id.in_(bindparam("ids", expanding=True)))
"""The query for the numbers of the matches with certain ids."""


def ratings_of(connection: Connection, ids: Sequence[str]) -> dict[str, Ratings | None]:
    """Return the ratings of stored matches by match id; None for unrated matches."""
    found: dict[str, Ratings | None] = {}
    for at in range(0, len(ids), MAX_IDS_PER_QUERY):
        numbers = connection.execute(_SELECT_MATCH_NUMBERS, {"ids": ids[at : at + MAX_IDS_PER_QUERY]}).scalars().all()
        if not numbers:
            continue
        some = select(matches.c.number).where(matches.c.number.in_(numbers))
        for _, result, rows in iter_results_with_seats(connection, some):
            found[result.match] = (
                None if result.pool is None else rating_system.make_ratings(result.pool, seat_ratings(rows))
            )
    return found


def seat_ratings(rows: Iterable[Any]) -> tuple[SeatRating, ...]:
    """Return the ratings in these stored seats."""
    return tuple(SeatRating(**{name: getattr(row, name) for name in SeatRating.__struct_fields__}) for row in rows)


def iter_results_with_seats(
    connection: Connection, numbers: Select[tuple[int]], *, newest_first: bool = False, stream: bool = False
) -> Iterator[tuple[int, Result, list[Any]]]:
    """Yield (match number, result, stored seats), by increasing match number or with `newest_first` by decreasing
    number. With `stream`, rows are loaded as needed, which saves memory but takes more round trips to a server.
    """
    number = matches.c.number
    query = (
        select(
            matches,
            *(seats.c[name] for name in _SEAT_COLUMNS),
            seats.c.reason.label("seat_reason"),
            bots.c.name,
            bots.c.renamed,
            _IS_PAIRED_COLUMN,
        )
        .join(seats, seats.c.match == matches.c.number)
        .join(bots, bots.c.id == seats.c.bot)
        .where(number.in_(numbers))
        .order_by(number.desc() if newest_first else number, seats.c.seat)
    )
    found = connection.execute(query, execution_options={"stream_results": stream})
    for at, group in groupby(found, key=lambda row: row.number):
        rows = list(group)
        yield at, _result(rows), rows


def bot_failures(connection: Connection, tournament: str) -> dict[str, dict[int, str]]:
    """Return why bots' programs failed in the matches of a tournament, as texts by match id and seat."""
    query = select(matches.c.id, failures.c.seat, failures.c.text).join(failures, failures.c.match == matches.c.number)
    found: dict[str, dict[int, str]] = {}
    for match, seat, why in connection.execute(query.where(matches.c.tournament == tournament)):
        found.setdefault(match, {})[seat] = why
    return found


def match_failures(connection: Connection, match: str) -> dict[int, str]:
    """Return why bots' programs failed in a match, as texts by seat."""
    query = select(failures.c.seat, failures.c.text).join(matches, failures.c.match == matches.c.number)
    return {row.seat: row.text for row in connection.execute(query.where(matches.c.id == match))}


def _result(rows: Sequence[Any]) -> Result:
    row = rows[0]
    try:
        config = msgspec.json.decode(row.config)
    except msgspec.DecodeError as exc:
        raise StoreError(f"match {row.id} is damaged: its config is not JSON: {exc}") from exc
    return Result(
        match=row.id,
        game=row.game,
        config=config,
        rated=row.pool is not None,
        pool=row.pool,
        seats=tuple(
            SeatResult(
                bot=seat.name,
                version=seat.version,
                rank=seat.rank,
                reason=seat.seat_reason,
                moves=seat.moves,
                thought_ms=seat.thought_ms,
                payoff=seat.payoff,
                rounds=seat.rounds,
            )
            for seat in rows
        ),
        reason=row.reason,
        plies=row.plies,
        digest=row.digest,
        started=row.started,
        finished=row.finished,
        tournament=row.tournament,
        place=row.place,
        annulled=row.annulled,
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
