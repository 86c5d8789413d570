"""Leaderboards in pages, and the results of one bot by pool, opponent, seat, version and ending.

Bot names match in any case. The pool `GAME/unrated` stands for unrated matches of a game. Pages have 1 to
`MAX_PAGE_ROWS` rows. An invalid limit, order or cursor raises `UsageFault`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import Connection

from arena.ratings import rating_system
from arena.store import seasons
from arena.store.dialect import execute, list_parameter
from arena.store.paging import Page, read_page
from arena.store.pool_payoffs import CURRENT_SEASON_SQL, PoolPayoff, means_query, pairs_query
from arena.store.registry import find_bot_id
from arena.store.result_queries import OUTCOMES, UNRATED_SUFFIX, LeaderboardRow, read_standing
from arena.store.rows import read_row, read_rows
from protocol.errors import UsageFault
from protocol.games import payoff_unit
from protocol.names import fold_name
from protocol.pools import is_people_pool

PAYOFF_SORT, SCORE_SORT = "payoff", "score"
"""These are the names of the default orders of leaderboards: `PAYOFF_SORT` by payoff, `SCORE_SORT` by score."""
LEADERBOARD_SORTS = (SCORE_SORT, PAYOFF_SORT, "bot", "mu", "sigma", "played", "wins", "draws", "losses", "share")
"""The names of the sort orders of a leaderboard. `share` is the share of matches won; a draw counts as half a win."""
_UNRANKED_GAP_SQL = "1e9"
"""A number larger than any payoff or score. It is subtracted from the payoff of bots that are not ranked, so that they
come below ranked bots. It is subtracted twice from the score of bots without a payoff, so that they come last.
"""
_SORT_EXPRESSIONS = {name: name for name in LEADERBOARD_SORTS} | {
    "bot": "key",
    "played": "matches",
    "share": "(wins + CAST(draws AS float) / 2) / matches",
    PAYOFF_SORT: f"coalesce(payoff - (1 - ranked) * {_UNRANKED_GAP_SQL}, mu - 3 * sigma - 2 * {_UNRANKED_GAP_SQL})",
}
"""The SQL expression that sorts a leaderboard, by the name of the sort order."""
CURVE_POINTS = 20
"""The number of ratings in the rating curve of a leaderboard row."""
MAX_HISTORY_POINTS = 300
"""The maximum number of points in a rating history. A bot with more matches gets at least half this number of points.
"""
LATEST_MATCHES_PER_ENDING = 5
"""The number of latest matches listed for each kind of ending."""
MAX_PROFILE_VERSIONS = 20
"""The maximum number of versions of a bot that its profile lists."""

_RANK_SQL = """rank() OVER (ORDER BY ranked DESC NULLS LAST, payoff DESC NULLS LAST,
    CASE WHEN payoff IS NULL THEN mu - 3 * sigma ELSE 0 END DESC)"""
"""The SQL expression for a bot's rank: by payoff if there is one, else by score."""
_LEADERBOARD_PAGE = """
WITH paid AS ({paid}), board AS (
    SELECT bots.name, bots.key, bots.person, stood.*, mu - 3 * sigma AS score, payoff, ranked, {rank} AS rank
    FROM ({stood}) AS stood JOIN bots ON bots.id = stood.bot LEFT JOIN paid ON paid.bot = stood.bot
), chosen AS (
    SELECT *, {by} AS value, count(*) OVER () AS total FROM board WHERE :search = '' OR {{instr}}(key, :search) > 0
), found AS (
    SELECT * FROM chosen WHERE :start OR value {beyond} :value OR (value = :value AND key > :key)
    ORDER BY value {order}, key LIMIT :limit
)
SELECT *, (
    SELECT coalesce({{json_group_array}}(round(CAST(mu_after AS numeric), 2)), '[]') FROM ({curve}) AS newest
) AS curve, {pairs} AS pairs
FROM found ORDER BY value {order}, key
"""
"""The template of the query for a page of a leaderboard. `_CURRENT_SEASON_PARTS` or `_ANY_SEASON_PARTS` complete it."""
_CURRENT_SEASON_PARTS = {
    "stood": "SELECT * FROM ratings WHERE pool = :pool",
    "paid": means_query(CURRENT_SEASON_SQL),
    "pairs": pairs_query("found.bot", CURRENT_SEASON_SQL),
    "curve": """SELECT mu_after FROM seats {using:seats_by_played}
        WHERE seats.bot = found.bot AND seats.pool = :pool AND seats.played > found.matches - :curve ORDER BY played""",
}
"""The SQL parts that complete `_LEADERBOARD_PAGE` for the current season."""
_ANY_SEASON_PARTS = {
    "stood": seasons.STANDINGS_QUERY,
    "paid": means_query(":first"),
    "pairs": pairs_query("found.bot", ":first"),
    "curve": """SELECT mu_after FROM (
            SELECT match, mu_after FROM seats {using:seats_by_bot}
            WHERE seats.bot = found.bot AND seats.pool = :pool AND mu_after IS NOT NULL
                AND match BETWEEN :first AND found.last ORDER BY match DESC LIMIT :curve
        ) AS last ORDER BY match""",
}
"""The SQL parts that complete `_LEADERBOARD_PAGE` for the season from match :first to :last."""
_BOTS_PAGE = """
SELECT bots.*, name AS bot, (SELECT count(*) FROM bots WHERE :search = '' OR {instr}(key, :search) > 0) AS total
FROM bots WHERE (:start OR key > :key) AND (:search = '' OR {instr}(key, :search) > 0) ORDER BY key LIMIT :limit
"""
"""The query for a page of the list of bots whose keys (folded names) contain :search, in the order of their keys."""
_POOLS_BY_MATCHES = "SELECT pool FROM ratings GROUP BY pool ORDER BY sum(matches) DESC, pool"
_PLAYED_POOLS = "SELECT DISTINCT pool FROM counts WHERE tournament = '' ORDER BY pool"
"""The query for the pools with matches, and GAME/unrated for unrated ones."""
_LEADERS_BY_SCORE = """
SELECT bots.name AS bot, first.score, NULL AS payoff, rank() OVER (ORDER BY first.score DESC) AS rank FROM (
    SELECT bot, mu - 3 * sigma AS score FROM ratings WHERE pool = :pool ORDER BY score DESC LIMIT :limit
) AS first JOIN bots ON bots.id = first.bot ORDER BY rank, bots.key
"""
_LEADERS_BY_PAYOFF = f"""
SELECT bots.name AS bot, mu - 3 * sigma AS score, payoff, rank() OVER (ORDER BY ranked DESC, payoff DESC) AS rank
FROM ({means_query(CURRENT_SEASON_SQL)} ORDER BY ranked DESC, payoff DESC LIMIT :limit) AS first
JOIN bots ON bots.id = first.bot JOIN ratings ON ratings.bot = first.bot AND ratings.pool = :pool
ORDER BY rank, bots.key
"""
_BEST_RATED_BOTS = """
SELECT pool, name AS bot, mu, matches AS played FROM (
    SELECT ratings.*, row_number() OVER (PARTITION BY pool ORDER BY mu DESC) AS place FROM ratings
) AS placed JOIN bots ON bots.id = placed.bot WHERE place <= :limit ORDER BY pool, mu
"""
_STANDINGS_OF_BOT = f"""
SELECT ratings.*, {pairs_query("ratings.bot", CURRENT_SEASON_SQL, "ratings.pool")} AS pairs,
    (SELECT count(*) FROM ratings AS other WHERE other.pool = ratings.pool) AS bots,
    (SELECT 1 + count(*) FROM ratings AS other
        WHERE other.pool = ratings.pool AND other.mu - 3 * other.sigma > ratings.mu - 3 * ratings.sigma) AS rank
FROM ratings WHERE bot = :bot ORDER BY pool
"""
"""The query for the standings of a bot in all pools, with its rank by score."""
_NEXT_OPPONENT = """
SELECT bots.name FROM ratings JOIN bots ON bots.id = ratings.bot
WHERE pool = :pool AND NOT person AND NOT revoked AND bot <> :bot AND mu - 3 * sigma >
    (SELECT mu - 3 * sigma FROM ratings WHERE bot = :bot AND pool = :pool) ORDER BY mu - 3 * sigma, bots.key LIMIT 1
"""
"""The query for the bot with the lowest score in :pool above the score of :bot. It skips people and revoked bots."""
_RANK_PAID_SQL = f"""
WITH paid AS ({means_query(CURRENT_SEASON_SQL)})
SELECT rank FROM (
    SELECT ratings.bot, {_RANK_SQL} AS rank FROM ratings LEFT JOIN paid ON paid.bot = ratings.bot WHERE pool = :pool
) AS ranked WHERE bot = :bot
"""
_TALLY_COLUMNS = """coalesce(sum(matches) FILTER (WHERE outcome <> 'void'), 0) AS played,
    coalesce(sum(matches) FILTER (WHERE outcome = 'won'), 0) AS wins,
    coalesce(sum(matches) FILTER (WHERE outcome = 'drawn'), 0) AS draws,
    coalesce(sum(matches) FILTER (WHERE outcome = 'lost'), 0) AS losses,
    coalesce(sum(matches) FILTER (WHERE outcome = 'void'), 0) AS void,
    CAST(sum(thought_ms) AS float) / nullif(sum(moves), 0) AS ms_per_move"""
"""The SQL columns that add up the matches, wins, draws, losses and times in rows of `tallies`."""
_TALLIES_BY_POOL = (
    f"SELECT pool, {_TALLY_COLUMNS} FROM tallies WHERE tournament = '' AND bot = :bot GROUP BY pool ORDER BY pool"
)
_SEATS_SQL = f"""SELECT seat, {_TALLY_COLUMNS} FROM tallies WHERE tournament = '' AND bot = :bot AND pool = :pool
GROUP BY seat ORDER BY 1"""
_POINTS_SQL = """
SELECT seats.played, seats.mu_after AS mu, seats.sigma_after AS sigma, matches.finished, matches.id AS match
FROM {each:points} AS point
CROSS JOIN seats {using:seats_by_played}
JOIN matches ON matches.number = seats.match
WHERE seats.bot = :bot AND seats.pool = :pool AND seats.played = CAST(point.value AS bigint)
    AND seats.played IS NOT NULL
ORDER BY seats.played
"""
"""The query for a bot's rating after each of some of its matches. :points has the numbers of these matches."""
_OPPONENTS_PAGE = """
WITH met AS (
    SELECT bots.name AS opponent, bots.key, wins, draws, losses, wins + draws + losses AS played, (
        SELECT CAST(sum(total) AS float) / CAST(sum(rounds) AS float) FROM payoffs
        WHERE payoffs.tournament = '' AND payoffs.pool = :pool AND season IN (SELECT 1 UNION SELECT first FROM seasons)
            AND payoffs.bot = :bot AND payoffs.opponent = opponents.opponent
    ) AS payoff
    FROM opponents JOIN bots ON bots.id = opponents.opponent
    WHERE opponents.tournament = '' AND opponents.bot = :bot AND opponents.pool = :pool AND wins + draws + losses > 0
)
SELECT *, (wins + CAST(draws AS float) / 2) / played AS share, (SELECT count(*) FROM met) AS total FROM met
WHERE :start OR played < :played OR (played = :played AND key > :key) ORDER BY played DESC, key LIMIT :limit
"""
_VERSIONS_PAGE = """
SELECT versions.*, wins + draws + losses AS played, CAST(thought_ms AS float) / nullif(moves, 0) AS ms_per_move,
    matches.id AS match, matches.finished,
    (SELECT count(*) FROM versions AS every WHERE every.bot = :bot AND every.pool = :pool) AS total
FROM versions JOIN matches ON matches.number = versions.last
WHERE versions.bot = :bot AND versions.pool = :pool AND (:start OR versions.last < :last)
ORDER BY versions.last DESC LIMIT :limit
"""
_ENDINGS_OF_BOT = """
SELECT outcome, reason, sum(matches) AS played, (
    SELECT coalesce({json_group_array}(
        {json_object}('match', id, 'plies', plies, 'finished', finished)
    ), '[]')
    FROM (
        SELECT matches.id, matches.plies, matches.finished FROM (
            SELECT match FROM seats {using:seats_by_ending}
            WHERE seats.bot = :bot AND seats.pool = :pool AND seats.outcome = tallies.outcome
                AND seats.reason = tallies.reason
            ORDER BY match DESC LIMIT :latest
        ) AS newest JOIN matches ON matches.number = newest.match ORDER BY newest.match DESC
    ) AS latest
) AS latest
FROM tallies WHERE tournament = '' AND bot = :bot AND pool = :pool GROUP BY outcome, reason
"""
"""The query for how often a bot's matches ended in each way, with the latest matches of each."""


class BoardRow(LeaderboardRow, frozen=True, kw_only=True):
    """A row of a leaderboard. `rank` is always by payoff or score, even if the rows are in another order. `curve` has
    the bot's latest values of mu, oldest first, to two decimals.
    """

    rank: int
    curve: list[float]


class Leader(Struct, frozen=True, kw_only=True):
    """A leading bot of a pool. Leaders are ordered by `payoff` if the game's result is a payoff, else by score."""

    bot: str
    rank: int
    score: float
    payoff: float | None = None


class PoolLeaders(Struct, frozen=True, kw_only=True):
    """The leading bots of a pool, best first."""

    pool: str
    leaders: list[Leader]


class RatedBot(Struct, frozen=True, kw_only=True):
    """The mu of a bot in a pool, and its number of rated matches there."""

    pool: str
    bot: str
    mu: float
    played: int


class PoolStanding(Struct, frozen=True, kw_only=True):
    """A bot's standing in a pool: its rating and results, and its `rank` among the `bots` bots there. The rank is by
    `payoff` in games whose result is a payoff, else by score.

    `ms_per_move` is the mean clock time of a move, including deliberate delays of the bot; None if unknown.
    """

    pool: str
    game: str
    rank: int
    bots: int
    mu: float
    sigma: float
    score: float
    played: int
    wins: int
    draws: int
    losses: int
    few: bool
    version: str
    ms_per_move: float | None
    payoff: PoolPayoff | None = None


class UnratedStanding(Struct, frozen=True, kw_only=True):
    """A bot's matches that no current rating counts. They are unrated matches of a game (`pool` is `GAME/unrated`), or
    matches in a pool in past seasons. `void` is the number of void matches.
    """

    pool: str
    game: str
    played: int
    wins: int
    draws: int
    losses: int
    void: int
    ms_per_move: float | None


class BotRow(Struct, frozen=True, kw_only=True):
    """A known bot: when it was registered and last connected, whether the operator approved it, and whether the name is
    a person's.
    """

    bot: str
    display: str | None
    """The name that people see for the player; with None, they see only the bot's name."""
    created: str
    seen: str | None
    approved: bool
    person: bool


class Profile(Struct, frozen=True, kw_only=True, rename={"name": "bot"}):
    """A bot's profile: when it was registered and last connected, its versions (newest first) and its standings.

    `person` is true if the name is a person's. `earlier` lists pools of past seasons in which it has no rating this
    season.
    """

    name: str
    display: str | None
    created: str
    seen: str | None
    approved: bool
    revoked: bool
    person: bool
    versions: list[str]
    standings: list[PoolStanding]
    earlier: list[UnratedStanding]
    unrated: list[UnratedStanding]


class HistoryPoint(Struct, frozen=True, kw_only=True):
    """A bot's rating after its `played`th rated match in a pool. `match` is that match, which ended at `finished`."""

    played: int
    mu: float
    sigma: float
    finished: str
    match: str


class OpponentRow(Struct, frozen=True, kw_only=True):
    """A bot's results against one opponent. A match is a win if the bot's rank is better. `share` counts a draw as half
    a win.

    `payoff` is the mean per round of rated matches, in games whose result is a payoff.
    """

    opponent: str
    played: int
    wins: int
    draws: int
    losses: int
    share: float
    payoff: float | None = None


class SeatRow(Struct, frozen=True, kw_only=True):
    """A bot's results in a seat. Seat 0 moves first."""

    seat: int
    played: int
    wins: int
    draws: int
    losses: int
    ms_per_move: float | None


class VersionRow(Struct, frozen=True, kw_only=True):
    """The results of a version of a bot. `match` is its last match, which ended at `finished`."""

    version: str
    played: int
    wins: int
    draws: int
    losses: int
    ms_per_move: float | None
    match: str
    finished: str


class EndingMatch(Struct, frozen=True, kw_only=True):
    """A match, its number of plies, and the time at which it ended."""

    match: str
    plies: int
    finished: str


class Ending(Struct, frozen=True, kw_only=True):
    """The number of a bot's matches that ended with this outcome for this reason, and the `latest` of them, newest
    first.
    """

    outcome: str
    reason: str
    played: int
    latest: list[EndingMatch]


def bots_page(
    connection: Connection, *, search: str | None = None, after: str | None = None, limit: int = 50
) -> Page[BotRow]:
    """Return a page of all known bots, or of those whose names contain `search`, in the order of names."""
    given = {"search": fold_name(search or "")}
    return read_page(connection, _BOTS_PAGE, given, {"key": str}, partial(read_row, BotRow), after=after, limit=limit)


def leaderboard_page(
    connection: Connection,
    pool: str,
    *,
    sort: str | None = None,
    descending: bool = True,
    search: str | None = None,
    after: str | None = None,
    limit: int = 50,
    season: str | None = None,
) -> Page[BoardRow]:
    """Return a page of a pool's leaderboard, now or at the end of a season, in one of the orders `LEADERBOARD_SORTS`.

    The default order is by payoff in games whose result is a payoff, else by score. With `search`, only names that
    contain it are listed. Raise `UsageFault` for an unknown order, season or cursor.
    """
    sort = sort or default_sort(pool)
    if sort not in LEADERBOARD_SORTS:
        raise UsageFault(f"there is no order {sort!r} of a leaderboard: one of {', '.join(LEADERBOARD_SORTS)}")
    beyond, order = ("<", "DESC") if descending else (">", "ASC")
    query = _LEADERBOARD_PAGE.format(
        by=_SORT_EXPRESSIONS[sort],
        rank=_RANK_SQL,
        beyond=beyond,
        order=order,
        **(_CURRENT_SEASON_PARTS if season is None else _ANY_SEASON_PARTS),
    )
    given = {"pool": pool, "search": fold_name(search or ""), "curve": CURVE_POINTS}
    if season is not None:
        given |= seasons.match_range_of(connection, season)

    def to_row(row: Any) -> BoardRow:
        return read_standing(BoardRow, row, bot=row.name, curve=msgspec.json.decode(row.curve))

    return read_page(connection, query, given, {"value": str | float, "key": str}, to_row, after=after, limit=limit)


def default_sort(pool: str) -> str:
    """Return the name of the order in which a pool's leaderboard is sorted by default."""
    return PAYOFF_SORT if payoff_unit(rating_system.game_of(pool)) else SCORE_SORT


def pools_with_results(connection: Connection, game: str | None = None, season: str | None = None) -> list[str]:
    """Return the pools with rated matches: of one game or all games, in one season or ever."""
    if season is not None:
        return seasons.season_pools(connection, season, game)
    found = [pool for pool in execute(connection, _PLAYED_POOLS).scalars() if not pool.endswith(f"/{UNRATED_SUFFIX}")]
    return [pool for pool in found if game in (None, rating_system.game_of(pool))]


def games_with_results(connection: Connection) -> list[str]:
    """Return the games of which at least one match, rated or not, is stored."""
    return list(dict.fromkeys(map(rating_system.game_of, execute(connection, _PLAYED_POOLS).scalars())))


def leaders_of_games(connection: Connection, limit: int) -> list[PoolLeaders]:
    """Return, for each game, up to `limit` leading bots of the pool that has the most matches this season. Pools of
    people are left out. Games whose pools have more matches come first.
    """
    busiest: dict[str, str] = {}
    for pool in execute(connection, _POOLS_BY_MATCHES).scalars():
        if not is_people_pool(pool):
            busiest.setdefault(rating_system.game_of(pool), pool)
    return [PoolLeaders(pool=pool, leaders=_leaders(connection, pool, limit)) for pool in busiest.values()]


def _leaders(connection: Connection, pool: str, limit: int) -> list[Leader]:
    given = {"pool": pool, "limit": limit}
    if payoff_unit(rating_system.game_of(pool)):
        return read_rows(Leader, execute(connection, _LEADERS_BY_PAYOFF, given))
    return read_rows(Leader, execute(connection, _LEADERS_BY_SCORE, given))


def strongest_bots(connection: Connection, limit: int) -> list[RatedBot]:
    """Return for each pool up to `limit` bots with the highest mu in this season, by increasing mu."""
    return read_rows(RatedBot, execute(connection, _BEST_RATED_BOTS, {"limit": limit}))


def find_profile(connection: Connection, name: str) -> Profile | None:
    """Return a bot's profile; None for an unknown name."""
    found = execute(connection, "SELECT * FROM bots WHERE key = :key", {"key": fold_name(name)})
    bot = found.one_or_none()
    if bot is None:
        return None
    played = {row.pool: row for row in execute(connection, _TALLIES_BY_POOL, {"bot": bot.id})}
    newest = f"SELECT version FROM versions WHERE bot = :bot ORDER BY last DESC LIMIT {5 * MAX_PROFILE_VERSIONS}"
    versions = execute(connection, newest, {"bot": bot.id}).scalars()
    standings = [
        read_standing(
            PoolStanding,
            row,
            game=rating_system.game_of(row.pool),
            rank=_rank(connection, row),
            ms_per_move=played[row.pool].ms_per_move,
        )
        for row in execute(connection, _STANDINGS_OF_BOT, {"bot": bot.id})
    ]
    standing_in = {row.pool for row in standings}
    without = [
        read_row(UnratedStanding, row, game=rating_system.game_of(pool))
        for pool, row in played.items()
        if pool not in standing_in
    ]
    return read_row(
        Profile,
        bot,
        versions=list(dict.fromkeys(versions))[:MAX_PROFILE_VERSIONS],
        standings=standings,
        earlier=[row for row in without if not row.pool.endswith(f"/{UNRATED_SUFFIX}")],
        unrated=[row for row in without if row.pool.endswith(f"/{UNRATED_SUFFIX}")],
    )


def _rank(connection: Connection, row: Any) -> int:
    """Return a bot's rank in a pool, from the row for the pool that `_STANDINGS_OF_BOT` gives."""
    if payoff_unit(rating_system.game_of(row.pool)):
        return int(execute(connection, _RANK_PAID_SQL, {"pool": row.pool, "bot": row.bot}).scalar_one())
    return int(row.rank)


def rating_history(connection: Connection, name: str, pool: str) -> list[HistoryPoint]:
    """Return at most `MAX_HISTORY_POINTS` ratings of a bot in a pool: the first, the last, and others evenly spaced."""
    bot = find_bot_id(connection, name)
    query = "SELECT matches FROM ratings WHERE bot = :bot AND pool = :pool"
    total = execute(connection, query, {"bot": bot, "pool": pool}).scalar_one_or_none() or 0
    step = 1
    while total > step * (MAX_HISTORY_POINTS - 2):
        step *= 2
    points = sorted({*range(step, total + 1, step), *([1, total] if total else [])})
    given = {"bot": bot, "pool": pool, **list_parameter("points", points)}
    return read_rows(HistoryPoint, execute(connection, _POINTS_SQL, given))


def next_opponent(connection: Connection, name: str, pool: str) -> str | None:
    """Return the bot with the next higher score than a given bot, except people and revoked bots; None if none."""
    given = {"bot": find_bot_id(connection, name), "pool": pool}
    found: str | None = execute(connection, _NEXT_OPPONENT, given).scalar()
    return found


def opponents_page(
    connection: Connection, name: str, pool: str, *, after: str | None = None, limit: int = 50
) -> Page[OpponentRow]:
    """Return a page of a bot's results against each opponent, most frequent opponents first."""
    given = {"bot": find_bot_id(connection, name), "pool": pool}
    place = {"played": int, "key": str}
    return read_page(
        connection, _OPPONENTS_PAGE, given, place, partial(read_row, OpponentRow), after=after, limit=limit
    )


def results_by_seat(connection: Connection, name: str, pool: str) -> list[SeatRow]:
    """Return a bot's results in a pool by seat."""
    given = {"bot": find_bot_id(connection, name), "pool": pool}
    return read_rows(SeatRow, execute(connection, _SEATS_SQL, given))


def versions_page(
    connection: Connection, name: str, pool: str, *, after: str | None = None, limit: int = 50
) -> Page[VersionRow]:
    """Return a page of a bot's results by version, the most recently played version first."""
    given = {"bot": find_bot_id(connection, name), "pool": pool}
    return read_page(
        connection, _VERSIONS_PAGE, given, {"last": int}, partial(read_row, VersionRow), after=after, limit=limit
    )


def endings_of(connection: Connection, name: str, pool: str) -> list[Ending]:
    """Return how often a bot's matches ended with each outcome and reason, with the latest matches of each."""
    rows = execute(
        connection,
        _ENDINGS_OF_BOT,
        {"bot": find_bot_id(connection, name), "pool": pool, "latest": LATEST_MATCHES_PER_ENDING},
    )
    found = [read_row(Ending, row, latest=msgspec.json.decode(row.latest, type=list[EndingMatch])) for row in rows]
    return sorted(found, key=lambda ending: (OUTCOMES.index(ending.outcome), -ending.played, ending.reason))
