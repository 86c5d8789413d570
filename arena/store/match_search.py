"""Searching for matches. For any combination of criteria, an index yields the newest matches that meet them.

The rows of an index fall into groups by pool and ending, and a summary table lists the groups with their counts. The
query takes the newest matches below a match number from each group, then the newest of all these. The table `hours`
turns times into bounds of match numbers, so only matches near the bounds have their times compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from msgspec import Struct
from sqlalchemy import Connection

from arena.store import result_queries
from arena.store.dialect import execute
from arena.store.match_numbers import BEYOND_ALL_MATCHES
from arena.store.paging import Page, check_limit, decode_cursor, encode_cursor
from arena.store.registry import find_bot_id
from arena.store.result_queries import OUTCOMES
from machine.timestamps import format_timestamp
from protocol.display import list_choices
from protocol.errors import UsageFault
from referee.result import Result

_NEWEST_BY_GROUP_SQL = """
SELECT DISTINCT found.value FROM (SELECT DISTINCT {columns} FROM {summary} WHERE {chosen}) AS part,
    {{each_number_of}} (
        SELECT {number} AS number FROM {rows}
        WHERE {same} AND {number} < :before AND {number} >= :least {further}
        ORDER BY {number} DESC LIMIT :limit
    ) AS newest)) AS found ORDER BY found.value DESC LIMIT :limit
"""
"""The query for the newest match numbers. It takes the newest matches of each group (those with the same pool and
ending), then the newest of all these. It supports all criteria.
"""
_NEWEST_UNGROUPED_SQL = """
SELECT DISTINCT {number} FROM {rows} WHERE {same} AND {number} < :before AND {number} >= :least {further}
ORDER BY 1 DESC LIMIT :limit
"""
"""The query for the newest match numbers if there are no criteria except a bot and times. An index then has all matches
in the order of their numbers, so no groups are needed.
"""
_SINCE_BOUNDS = """(SELECT min(first) FROM hours WHERE hour >= substr(CAST(:since AS text), 1, 13)),
    (SELECT max(last) FROM hours WHERE hour <= substr(CAST(:since AS text), 1, 13) AND hour || ':' < :since)"""
"""The SQL for two match numbers. All matches below the first ended before `since`, and all matches above the second
ended after it.
"""
_UNTIL_BOUNDS = """(SELECT max(last) FROM hours WHERE hour <= substr(CAST(:until AS text), 1, 13)),
    (SELECT min(first) FROM hours WHERE hour >= substr(CAST(:until AS text), 1, 13) AND hour || ':~' > :until)"""
"""The SQL for two match numbers. All matches above the first ended after `until`, and all matches below the second
ended before it.
"""
_NO_SINCE_BOUNDS, _NO_UNTIL_BOUNDS = "1, NULL", "(SELECT max(number) FROM matches), NULL"
"""The SQL that replaces `_SINCE_BOUNDS` or `_UNTIL_BOUNDS` in a search without `since` or without `until`."""
_IN_TIME_CONDITION = """ AND ({number} > :early AND {number} < :late
    OR (SELECT finished >= :since AND finished < :until FROM matches AS ended WHERE ended.number = {number}))"""
_OPPONENT_CONDITION = (
    " AND EXISTS (SELECT 1 FROM seats AS other WHERE other.match = seats.match AND other.bot = :opponent)"
)
_GAME_CONDITION = "(pool = :game OR substr(pool, 1, length(CAST(:game AS text)) + 1) = CAST(:game AS text) || '/')"
_ALL_TIME_BOUNDS = ("", "9999-12-31T23:59:59.999Z")
"""The values that replace `since` and `until` in a search without them."""
_MIN_WINDOW_MATCHES, _WINDOW_FACTOR = 1000, 4
"""These give the size of the window of match numbers that is searched first: `_WINDOW_FACTOR` times as many numbers as
are expected to be needed, but at least `_MIN_WINDOW_MATCHES`.
"""


class Search(Struct, frozen=True, kw_only=True):
    """Criteria for matches. A match must meet all criteria that are given.

    `reason` and `outcome` concern the seat of `bot`; without a bot, `reason` is that of the match, and there is neither
    `outcome` nor `opponent`. `pool` may be `GAME/unrated`. The match ended at the time `since` or later, and before
    `until`. Each of the two is an ISO 8601 day or a time in UTC; a day given as `until` is included.
    """

    bot: str | None = None
    opponent: str | None = None
    game: str | None = None
    pool: str | None = None
    reason: str | None = None
    outcome: str | None = None
    tournament: str | None = None
    since: str | None = None
    until: str | None = None


class _Index(NamedTuple):
    """A database index that a search can use. `rows` is the table with the index, and `number` its column of match
    numbers. The index sorts the rows into groups. `columns` of the table `summary` identify a group, and `same` is the
    SQL condition that a row of `rows` belongs to it.
    """

    rows: str
    same: str
    number: str = "match"
    columns: str = "pool, outcome, reason"
    summary: str = "tallies"


_SEAT_IN_GROUP = "bot = :bot AND pool = part.pool AND outcome = part.outcome AND reason = part.reason"
"""The SQL condition that a row belongs to :bot and to a group. The row `part` has the group's pool, outcome and reason.
"""
_MATCH_IN_GROUP = "matches.game = part.game AND {same_pool} AND matches.reason = part.reason"
"""The SQL condition that a match belongs to a group. The row `part` has the group's game, pool and reason."""
_ALL_MATCHES_INDEX = _Index("matches", "true", "matches.number")
"""The index for a search without criteria other than times."""
_SEATS_INDEX = _Index("seats {using:seats_by_bot}", "bot = :bot")
"""The index for a search without criteria other than a bot and times."""
_BOT_INDEX = _Index("seats {using:seats_by_ending}", _SEAT_IN_GROUP)
"""The index for a search that names a bot, but neither a tournament nor an opponent, and has other criteria such as a
pool.
"""
_BOT_IN_TOURNAMENT_INDEX = _Index("seats {using:seats_by_tournament}", f"tournament = :scope AND {_SEAT_IN_GROUP}")
"""The index for a search for the matches of a bot in a tournament."""
_PAIR_INDEX = _Index("encounters", f"opponent = :opponent AND {_SEAT_IN_GROUP}")
"""The index for a search for the matches of a bot against an opponent."""
_MATCHES_INDEX = _Index(
    "matches {using:matches_by_ending}", _MATCH_IN_GROUP, "matches.number", "game, pool, reason", "counts"
)
"""The index for a search that names neither a bot nor a tournament, but has criteria besides times."""
_TOURNAMENT_INDEX = _MATCHES_INDEX._replace(
    rows="matches {using:matches_by_tournament}", same=f"tournament = :scope AND {_MATCH_IN_GROUP}"
)
"""The index for a search that names a tournament, but no bot."""


def search_matches(
    connection: Connection, search: Search, *, after: str | None = None, limit: int = 50
) -> Page[Result]:
    """Return a page of the matches that meet the criteria, newest first. Raise `UsageFault` for an invalid argument."""
    check_limit(limit)
    _check(search)
    before = BEYOND_ALL_MATCHES if after is None else decode_cursor(after, tuple[int])[0]
    given = _parameters(connection, search, before)
    if given is None:
        return Page(rows=[], total=0)
    query, counting = _queries(search)
    total = None if counting is None else execute(connection, counting, given).scalar_one()
    numbers = _find_newest(connection, query, given | {"limit": limit + 1}, total)
    found = _load_results(connection, numbers[:limit]) if numbers else []
    further = encode_cursor((numbers[limit - 1],)) if len(numbers) > limit else None
    if after is None and further is None:
        total = len(found)
    elif search.since is not None or search.until is not None:
        total = None  # the count ignores the time bounds
    return Page(rows=found, next=further, total=total)


def _load_results(connection: Connection, numbers: Sequence[int]) -> list[Result]:
    found = result_queries.iter_numbered_results(connection, numbers, newest_first=True)
    return [result for _, result, _ in found]


def match_numbers(connection: Connection, search: Search) -> list[int]:
    """Return the numbers of all matches that meet the criteria, in storage order. Raise `UsageFault` if a criterion
    is invalid.
    """
    _check(search)
    given = _parameters(connection, search, BEYOND_ALL_MATCHES)
    if given is None:
        return []
    query, _ = _queries(search)
    return _find_newest(connection, query, given | {"limit": BEYOND_ALL_MATCHES}, None)[::-1]


def _check(search: Search) -> None:
    """Raise `UsageFault` for an invalid outcome, and for an outcome or an opponent of no bot."""
    if search.outcome not in (None, *OUTCOMES):
        raise UsageFault(f"outcome is {search.outcome!r}: it is {list_choices(OUTCOMES)}")
    for name in ("opponent", "outcome"):
        if search.bot is None and (said := getattr(search, name)) is not None:
            raise UsageFault(f"{name} is {said!r}, but no bot is named: name the bot whose {name} it is as bot")


def _find_newest(connection: Connection, query: str, given: dict[str, Any], fitting: int | None) -> list[int]:
    """Return the numbers of the newest matches that fit. Search a window of recent matches first; if too few of these
    fit, search all. `fitting` is the number of all matches that fit; None if unknown.
    """
    least = given["least"]
    if fitting:
        window = max(_MIN_WINDOW_MATCHES, _WINDOW_FACTOR * given["limit"] * given["before"] // fitting)
        given["least"] = max(least, given["before"] - window)
    numbers = list(execute(connection, query, given).scalars())
    if len(numbers) < given["limit"] and given["least"] > least:
        numbers = list(execute(connection, query, given | {"least": least}).scalars())
    return numbers


def _parameters(connection: Connection, search: Search, before: int) -> dict[str, Any] | None:
    """Return the parameters of a search's statements. Return None if no match fits because a bot is unknown."""
    since = _ALL_TIME_BOUNDS[0] if search.since is None else parse_time_bound(search.since, "since", days=0)
    until = _ALL_TIME_BOUNDS[1] if search.until is None else parse_time_bound(search.until, "until", days=1)
    since_bounds = _NO_SINCE_BOUNDS if search.since is None else _SINCE_BOUNDS
    bounds = f"SELECT {since_bounds}, {_NO_UNTIL_BOUNDS if search.until is None else _UNTIL_BOUNDS}"
    least, early, last, late = tuple(execute(connection, bounds, {"since": since, "until": until}).one())
    given = {
        **{name: getattr(search, name) for name in ("game", "pool", "reason", "outcome")},
        "scope": search.tournament or "",
        "since": since,
        "until": until,
        "least": BEYOND_ALL_MATCHES if least is None else least,
        "before": min(before, (last or 0) + 1),
        "early": early or 0,
        "late": BEYOND_ALL_MATCHES if late is None else late,
    }
    for key in ("bot", "opponent"):
        if (name := getattr(search, key)) is not None:
            given[key] = find_bot_id(connection, name)
            if given[key] is None:
                return None
    return given


def _queries(search: Search) -> tuple[str, str | None]:
    """Return the statement that finds match numbers, and the statement that counts them. The second is None if the
    search has an opponent as well as a bot, because the table `tallies` does not count matches by opponent.
    """
    index, further = _choose_index(search)
    chosen = ["tournament = :scope"]
    if search.game is not None:
        chosen.append(_GAME_CONDITION)
    chosen += [f"{key} = :{key}" for key in ("pool", "reason", "outcome") if getattr(search, key) is not None]
    plain = len(chosen) == 1 and search.tournament is None and search.opponent is None
    if search.bot is not None:
        chosen.append("bot = :bot")
    parts = {**index._asdict(), "chosen": " AND ".join(chosen), "further": further}
    counting = "SELECT coalesce(sum(matches), 0) FROM {summary} WHERE {chosen}".format(**parts)
    if plain:
        parts |= (_ALL_MATCHES_INDEX if search.bot is None else _SEATS_INDEX)._asdict()
    query = (_NEWEST_UNGROUPED_SQL if plain else _NEWEST_BY_GROUP_SQL).format(**parts)
    return query, counting if search.opponent is None else None


def _choose_index(search: Search) -> tuple[_Index, str]:
    """Return the index to search, and the SQL conditions to test on each of its rows."""
    further = ""
    if search.bot is None:
        index = _MATCHES_INDEX if search.tournament is None else _TOURNAMENT_INDEX
    elif search.tournament is not None:
        index = _BOT_IN_TOURNAMENT_INDEX
        further = _OPPONENT_CONDITION if search.opponent is not None else ""
    else:
        index = _BOT_INDEX if search.opponent is None else _PAIR_INDEX
    if search.since is not None or search.until is not None:
        further += _IN_TIME_CONDITION.format(number=index.number)
    return index, further


def parse_time_bound(text: str, name: str, *, days: int) -> str:
    """Parse a time or a day, and return a text to compare with stored times. For a time, the text has the format of
    stored times. For a day, it is the date `days` days later. As text, a date comes before all times of that day. Raise
    `UsageFault` if `text` is neither a time nor a day.
    """
    try:
        if "W" in text:  # a week, as ISO 8601 writes it, is more than a day
            raise ValueError
        moment = datetime.fromisoformat(text)
        if len(text) <= len("2026-01-31"):  # a day with hyphens or without: a time is longer
            return (moment.date() + timedelta(days=days)).isoformat()
        return format_timestamp(moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC))
    except (ValueError, OverflowError):
        raise UsageFault(f"{name} is {text!r}: it is a day, 2026-01-31, or a time, 2026-01-31T12:00Z") from None
