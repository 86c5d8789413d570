"""Seasons of the ladder: the list of seasons, and the standings at the end of each. A season begins ratings again."""

from __future__ import annotations

from msgspec import Struct
from sqlalchemy import Connection

from arena.ratings.rating_system import game_of
from arena.store.announcements import announce
from arena.store.dialect import execute
from arena.store.match_numbers import BEYOND_ALL_MATCHES, last_match_number
from arena.store.pool_payoffs import pairs_query
from arena.store.rating_decisions import record_decision
from arena.store.result_queries import LeaderboardRow, leaderboard_from_rows
from machine.timestamps import utc_now
from protocol.display import list_choices
from protocol.errors import UsageFault
from protocol.names import NAME_DESCRIPTION, fold_name, is_bot_name

FIRST_SEASON_NAME = "first"
"""The name of the season before the operator started any."""

_START_SEASON = """INSERT INTO seasons (name, key, started, first)
VALUES (:name, :key, :started, (SELECT coalesce(max(number), 0) + 1 FROM matches))"""
_RATED_IN_RANGE_SQL = "mu_after IS NOT NULL AND match BETWEEN :first AND :last"
STANDINGS_QUERY = f"""SELECT counted.*, newest.mu_after AS mu, newest.sigma_after AS sigma, newest.version FROM (
    SELECT bot, max(match) AS last, count(*) AS matches, count(*) FILTER (WHERE outcome = 'won') AS wins,
        count(*) FILTER (WHERE outcome = 'drawn') AS draws, count(*) FILTER (WHERE outcome = 'lost') AS losses
    FROM seats WHERE pool = :pool AND {_RATED_IN_RANGE_SQL} GROUP BY bot
) AS counted JOIN seats AS newest ON newest.match = counted.last AND newest.bot = counted.bot"""
"""The query for the standings of the bots in :pool, computed from the matches from :first to :last."""
_LEADERBOARD_SQL = f"""SELECT bots.name, bots.person, stood.*, {pairs_query("stood.bot", ":first")} AS pairs
FROM ({STANDINGS_QUERY}) AS stood JOIN bots ON bots.id = stood.bot"""
_POOLS_SQL = f"SELECT DISTINCT pool FROM seats WHERE {_RATED_IN_RANGE_SQL} ORDER BY pool"


class Season(Struct, frozen=True, kw_only=True):
    """A season. `started` is when it began (None for the first), and `matches` counts its matches."""

    season: str
    started: str | None
    matches: int


def season_starts(connection: Connection) -> list[int]:
    """Return the number of the first match of each season except the initial one, oldest first."""
    return list(execute(connection, "SELECT first FROM seasons ORDER BY id").scalars())


def start_season(connection: Connection, name: str) -> None:
    """Start a new season, in which ratings begin again. Raise `UsageFault` for an invalid or used name."""
    if not is_bot_name(name):
        raise UsageFault(f"{name!r} is no name for a season: {NAME_DESCRIPTION}")
    if fold_name(name) in [fold_name(season.season) for season in list_seasons(connection)]:
        raise UsageFault(f"there was a season {name} already: choose another name")
    record_decision(connection)
    execute(connection, _START_SEASON, {"name": name, "key": fold_name(name), "started": utc_now()})
    execute(connection, "UPDATE seats SET played = NULL WHERE played IS NOT NULL")
    execute(connection, "DELETE FROM ratings")
    announce(connection, "ratings")


def list_seasons(connection: Connection) -> list[Season]:
    """Return all seasons, oldest first."""
    rows = execute(connection, "SELECT * FROM seasons ORDER BY id").all()
    last = last_match_number(connection)
    names = [(FIRST_SEASON_NAME, None, 1), *((row.name, row.started, row.first) for row in rows)]
    ends = [*(row.first for row in rows), last + 1]
    return [
        Season(season=name, started=started, matches=end - first)
        for (name, started, first), end in zip(names, ends, strict=True)
    ]


def match_range_of(connection: Connection, name: str) -> dict[str, int]:
    """Return the `first` and the `last` match number of a season, whose name matches in any case. Raise `UsageFault`
    for an unknown season.
    """
    names = [season.season for season in list_seasons(connection)]
    first = 1
    for known, following in zip(names, [*season_starts(connection), BEYOND_ALL_MATCHES], strict=True):
        if fold_name(known) == fold_name(name):
            return {"first": first, "last": following - 1}
        first = following
    raise UsageFault(f"there is no season {name!r}: {list_choices(names)}")


def season_pools(connection: Connection, season: str, game: str | None = None) -> list[str]:
    """Return the pools with rated matches in a season, of one game or all. Raise `UsageFault` for an unknown season."""
    found = execute(connection, _POOLS_SQL, match_range_of(connection, season)).scalars()
    return [pool for pool in found if game in (None, game_of(pool))]


def season_leaderboards(
    connection: Connection, season: str, game: str | None = None
) -> dict[str, list[LeaderboardRow]]:
    """Return the leaderboards at the end of a season, by pool. Raise `UsageFault` for an unknown season."""
    span = match_range_of(connection, season)
    return {
        pool: leaderboard_from_rows(execute(connection, _LEADERBOARD_SQL, {"pool": pool, **span}))
        for pool in season_pools(connection, season, game)
    }
