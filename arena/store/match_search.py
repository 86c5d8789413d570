"""Searching matches: for any combination of criteria, an index yields the newest that fit.

Rows fall into groups by pool and ending, and the summaries list the groups with their counts. The query takes the
newest matches below a number from each group, then the newest of those. Hourly bounds turn times into match numbers,
and only matches near the bounds have their times compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Connection, select

from arena.store import result_queries
from arena.store.dialect import execute
from arena.store.paging import Page, check_limit, decode_cursor, encode_cursor
from arena.store.registry import bot_number
from arena.store.result_queries import OUTCOMES
from arena.store.schema import matches
from machine.timestamps import written
from protocol.errors import UsageFault
from referee.result import Result

_NEWEST = """
SELECT DISTINCT found.value FROM (SELECT DISTINCT {columns} FROM {summary} WHERE {chosen}) AS part, json_each((
    SELECT json_group_array(number) FROM (
        SELECT {number} AS number FROM {rows}
        WHERE {same} AND {number} < :before AND {number} >= :least {further}
        ORDER BY {number} DESC LIMIT :limit
    ) AS newest
)) AS found ORDER BY found.value DESC LIMIT :limit
"""
_PLAIN = """
SELECT DISTINCT {number} FROM {rows} WHERE {same} AND {number} < :before AND {number} >= :least {further}
ORDER BY 1 DESC LIMIT :limit
"""
_SINCE = """(SELECT min(first) FROM hours WHERE hour >= substr(CAST(:since AS text), 1, 13)),
    (SELECT max(last) FROM hours WHERE hour <= substr(CAST(:since AS text), 1, 13) AND hour || ':' < :since)"""
_UNTIL = """(SELECT max(last) FROM hours WHERE hour <= substr(CAST(:until AS text), 1, 13)),
    (SELECT min(first) FROM hours WHERE hour >= substr(CAST(:until AS text), 1, 13) AND hour || ':~' > :until)"""
_FROM_THE_FIRST, _TO_THE_LAST = "1, NULL", "(SELECT max(number) FROM matches), NULL"
"""Number bounds of a time: first, those that contain all its matches; second, those beyond which every match fits."""
_WITHIN = """ AND ({number} > :early AND {number} < :late
    OR (SELECT finished >= :since AND finished < :until FROM matches AS ended WHERE ended.number = {number}))"""
_TOGETHER = " AND EXISTS (SELECT 1 FROM seats AS other WHERE other.match = seats.match AND other.bot = :opponent)"
_OF_THE_GAME = "(pool = :game OR substr(pool, 1, length(CAST(:game AS text)) + 1) = CAST(:game AS text) || '/')"
_EVER = ("", "9999-12-31T23:59:59.999Z")
_NEVER = 2**62
_WINDOW, _SPARE = 1000, 4
"""The search window in match numbers: at least this many, and this many times the expected need."""


class Search(Struct, frozen=True, kw_only=True):
    """Criteria for matches; all that are given must hold.

    `reason` and `outcome` refer to `bot`'s seat; without a bot, `reason` is the match's. `pool` may be `GAME/unrated`.
    `since` and `until` bound the end of the match, as an ISO 8601 day or a time in UTC. `since` is inclusive, and so is
    a whole day given as `until`.
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
    """A set of indexed rows, and the summary that lists their groups."""

    rows: str
    same: str
    number: str = "match"
    columns: str = "pool, outcome, reason"
    summary: str = "tallies"


_SAME_SEAT = "bot = :bot AND pool = part.pool AND outcome = part.outcome AND reason = part.reason"
_SAME_MATCH = (
    "matches.game = part.game AND matches.pool IS nullif(part.pool, part.game || '/unrated')"
    " AND matches.reason = part.reason"
)
_ALL = _Index("matches", "true", "matches.number")
_EVERY_SEAT = _Index("seats INDEXED BY seats_by_bot", "bot = :bot")
_BOT = _Index("seats INDEXED BY seats_by_ending", _SAME_SEAT)
_BOT_THERE = _Index("seats INDEXED BY seats_by_tournament", f"tournament = :scope AND {_SAME_SEAT}")
_PAIR = _Index("encounters", f"opponent = :opponent AND {_SAME_SEAT}")
_MATCHES = _Index("matches INDEXED BY matches_by_ending", _SAME_MATCH, "matches.number", "game, pool, reason", "counts")
_TOURNAMENT = _MATCHES._replace(
    rows="matches INDEXED BY matches_by_tournament", same=f"tournament = :scope AND {_SAME_MATCH}"
)


def search_matches(
    connection: Connection, wanted: Search, *, after: str | None = None, limit: int = 50
) -> Page[Result]:
    """Return a page of the matches that fit, newest first. Raises `UsageFault` for an invalid cursor, time or word."""
    check_limit(limit)
    wanted = _checked(wanted)
    before = _NEVER if after is None else decode_cursor(after, tuple[int])[0]
    given = _given(connection, wanted, before)
    if given is None:
        return Page(rows=[], total=0)
    query, counting = _queries(wanted)
    total = None if counting is None else execute(connection, counting, given).scalar_one()
    numbers = _newest(connection, query, given | {"limit": limit + 1}, total)
    found = _results(connection, numbers[:limit]) if numbers else []
    further = encode_cursor((numbers[limit - 1],)) if len(numbers) > limit else None
    if after is None and further is None:
        total = len(found)
    elif wanted.since is not None or wanted.until is not None:
        total = None  # the count ignores the time bounds
    return Page(rows=found, next=further, total=total)


def _results(connection: Connection, numbers: Sequence[int]) -> list[Result]:
    chosen = select(matches.c.number).where(matches.c.number.in_(numbers))
    return [result for _, result, _ in result_queries.iter_results_with_seats(connection, chosen, newest_first=True)]


def match_numbers(connection: Connection, wanted: Search) -> list[int]:
    """Return the numbers of all matches that fit, in storage order. Raises `UsageFault` like `search_matches`."""
    wanted = _checked(wanted)
    given = _given(connection, wanted, _NEVER)
    if given is None:
        return []
    query, _ = _queries(wanted)
    return _newest(connection, query, given | {"limit": _NEVER}, None)[::-1]


def _checked(wanted: Search) -> Search:
    """Validate a search and swap in the opponent if only that is given. Raises `UsageFault`."""
    if wanted.bot is None and wanted.opponent is not None:
        wanted = replace(wanted, bot=wanted.opponent, opponent=None)
    if wanted.outcome is not None and (wanted.bot is None or wanted.outcome not in OUTCOMES):
        raise UsageFault(f"outcome is {wanted.outcome!r}: it is {', '.join(OUTCOMES)}, for the bot that is named")
    return wanted


def _newest(connection: Connection, query: str, given: dict[str, Any], fitting: int | None) -> list[int]:
    """Return the newest numbers: first from a window of recent matches that should suffice, else from all."""
    least = given["least"]
    if fitting:
        window = max(_WINDOW, _SPARE * given["limit"] * given["before"] // fitting)
        given["least"] = max(least, given["before"] - window)
    numbers = list(execute(connection, query, given).scalars())
    if len(numbers) < given["limit"] and given["least"] > least:
        numbers = list(execute(connection, query, given | {"least": least}).scalars())
    return numbers


def _given(connection: Connection, wanted: Search, before: int) -> dict[str, Any] | None:
    """Return the parameters of the statements; None if a bot is unknown, so that nothing fits."""
    since = _EVER[0] if wanted.since is None else parse_time_bound(wanted.since, "since", days=0)
    until = _EVER[1] if wanted.until is None else parse_time_bound(wanted.until, "until", days=1)
    since_bounds = _FROM_THE_FIRST if wanted.since is None else _SINCE
    bounds = f"SELECT {since_bounds}, {_TO_THE_LAST if wanted.until is None else _UNTIL}"
    least, early, last, late = tuple(execute(connection, bounds, {"since": since, "until": until}).one())
    given = {
        **{name: getattr(wanted, name) for name in ("game", "pool", "reason", "outcome")},
        "scope": wanted.tournament or "",
        "since": since,
        "until": until,
        "least": _NEVER if least is None else least,
        "before": min(before, (last or 0) + 1),
        "early": early or 0,
        "late": _NEVER if late is None else late,
    }
    for key in ("bot", "opponent"):
        if (name := getattr(wanted, key)) is not None:
            given[key] = bot_number(connection, name)
            if given[key] is None:
                return None
    return given


def _queries(wanted: Search) -> tuple[str, str | None]:
    """Return the statement that finds the numbers, and the one that counts them if the summaries can."""
    index, further = _index(wanted)
    chosen = ["tournament = :scope"]
    if wanted.game is not None:
        chosen.append(_OF_THE_GAME)
    chosen += [f"{key} = :{key}" for key in ("pool", "reason", "outcome") if getattr(wanted, key) is not None]
    plain = len(chosen) == 1 and wanted.tournament is None and wanted.opponent is None
    if wanted.bot is not None:
        chosen.append("bot = :bot")
    parts = {**index._asdict(), "chosen": " AND ".join(chosen), "further": further}
    counting = "SELECT coalesce(sum(matches), 0) FROM {summary} WHERE {chosen}".format(**parts)
    if plain:
        parts |= (_ALL if wanted.bot is None else _EVERY_SEAT)._asdict()
    query = (_PLAIN if plain else _NEWEST).format(**parts)
    return query, counting if wanted.opponent is None else None


def _index(wanted: Search) -> tuple[_Index, str]:
    """Return the index to search, and conditions to test on each row."""
    further = ""
    if wanted.bot is None:
        index = _MATCHES if wanted.tournament is None else _TOURNAMENT
    elif wanted.tournament is not None:
        index = _BOT_THERE
        further = _TOGETHER if wanted.opponent is not None else ""
    else:
        index = _BOT if wanted.opponent is None else _PAIR
    if wanted.since is not None or wanted.until is not None:
        further += _WITHIN.format(number=index.number)
    return index, further


def parse_time_bound(said: str, name: str, *, days: int) -> str:
    """Return a time as results have it: for a day, its start plus `days` days. Raises `UsageFault`."""
    try:
        if len(said) == len("2026-01-31"):
            return (date.fromisoformat(said) + timedelta(days=days)).isoformat()
        moment = datetime.fromisoformat(said)
        return written(moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC))
    except (ValueError, OverflowError):
        raise UsageFault(f"{name} is {said!r}: it is a day, 2026-01-31, or a time, 2026-01-31T12:00Z") from None
