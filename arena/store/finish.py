"""Storing finished matches in the caller's transaction, each once. They are rated in the order given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection

from arena.ratings import rating_system
from arena.ratings.rating_system import RatingStanding
from arena.store import match_log, result_queries, summaries, tournament_state
from arena.store.dialect import execute, insert_into, is_postgresql, list_parameter, replace_nul
from arena.store.luck_value import MatchLuck
from arena.store.match_numbers import last_match_number
from arena.store.nodes import end_matches
from arena.store.result_queries import outcome_of, pool_or_unrated
from arena.store.rows import read_row
from arena.store.schema import metadata
from arena.store.stored_match import StoredMatch
from arena.transparency_log.signed_log import LogEntry
from machine.timestamps import utc_now
from protocol.digest import encode_canonical
from protocol.names import fold_name
from referee.footer import ClosedMatch, UnratedRecord
from referee.result import Ratings, Result, SeatRating


class StorableMatch(NamedTuple):
    """A finished match to store. `failures` has the reasons why programs failed, by seat."""

    result: Result
    record: UnratedRecord
    luck: MatchLuck | None = None
    failures: Mapping[int, str] = {}


class Tally(NamedTuple):
    """A bot's rating in a pool, with its numbers of rated wins, draws and losses there."""

    standing: RatingStanding = RatingStanding()
    wins: int = 0
    draws: int = 0
    losses: int = 0


_STANDINGS_BEFORE = """
SELECT stood.*, newest.mu_after AS mu, newest.sigma_after AS sigma,
    coalesce((
        SELECT version FROM seats AS named WHERE named.bot = stood.bot AND named.pool = stood.pool
            AND named.played IS NOT NULL AND named.match < :number AND named.version <> ''
        ORDER BY named.played DESC LIMIT 1
    ), '') AS version
FROM (
    SELECT bot, pool, max(match) AS last, count(*) AS matches, count(*) FILTER (WHERE outcome = 'won') AS wins,
        count(*) FILTER (WHERE outcome = 'drawn') AS draws, count(*) FILTER (WHERE outcome = 'lost') AS losses
    FROM seats WHERE played IS NOT NULL AND match < :number GROUP BY bot, pool
) AS stood JOIN seats AS newest ON newest.match = stood.last AND newest.bot = stood.bot
"""
"""The query for the tallies that bots had in this season before a match."""
_SELECT_BOTS_BY_KEY = "SELECT key, id FROM bots WHERE key IN (SELECT value FROM {each:keys} AS told)"
_SELECT_TALLIES = "SELECT * FROM ratings"
_SELECT_TALLIES_OF_BOTS = f"{_SELECT_TALLIES} WHERE bot IN (SELECT CAST(value AS integer) FROM {{each:bots}} AS told)"
_FILLED_TABLES = ("matches", "seats", "records", "failures")
_RATING_COLUMNS = metadata.tables["ratings"].columns
_SAVE_TALLY = f"""{insert_into("ratings", _RATING_COLUMNS.keys())} ON CONFLICT (bot, pool) DO UPDATE SET {
    ", ".join(f"{column.name} = excluded.{column.name}" for column in _RATING_COLUMNS if not column.primary_key)
}"""
Tallies = MutableMapping[tuple[int, str], Tally]
"""The `Tally` of each bot in each pool. A key is a bot's row id and a pool."""


def prepare_match(
    closed: ClosedMatch, luck: MatchLuck | None = None, failures: Mapping[int, str] | None = None
) -> StorableMatch:
    """Return a closed match as `finish_matches` stores it. Its own failures are stored, unless others are given."""
    noted = closed.failures if failures is None else failures
    return StorableMatch(closed.result, UnratedRecord(closed.lines, closed.footer), luck, noted)


def finish_matches(connection: Connection, batch: Sequence[StorableMatch], node: int = 0) -> list[StoredMatch]:
    """Store a batch of matches that were played on a `node` (0: the only server). Matches that are already stored stay
    unchanged. Return the outcome of each match.
    """
    known = {
        match: StoredMatch(rated)
        for match, rated in result_queries.ratings_of(connection, [one.result.match for one in batch]).items()
    }
    new = [finished.result for finished in batch if finished.result.match not in known]
    rows = _ensure_bot_rows(connection, [seat.bot for result in new for seat in result.seats])
    tallies = load_tallies(connection, list(rows.values()))
    before = dict(tallies)
    number = last_match_number(connection)
    stored: dict[str, list[dict[str, Any]]] = {table: [] for table in _FILLED_TABLES}
    entered: list[LogEntry] = []
    for result, unrated, luck, failed in batch:
        if result.match in known:
            continue
        ids = [rows[fold_name(seat.bot)] for seat in result.seats]
        rated = None if result.pool is None else rate_match(tallies, result.pool, result, ids)
        record = unrated.pack(rated)
        number += 1
        entered.append(
            LogEntry(
                number=number, match=result.match, digest=result.digest, finished=result.finished, pool=result.pool
            )
        )
        stored["matches"].append(_match_row(number, result, luck, len(record), node))
        stored["seats"] += _seat_rows(number, result, rated, ids, tallies)
        stored["records"].append({"match": number, "data": record})
        stored["failures"] += [
            {"match": number, "seat": seat, "text": replace_nul(text)} for seat, text in failed.items()
        ]
        known[result.match] = StoredMatch(rated, len(record))
    for table, new_rows in stored.items():
        if new_rows:
            execute(connection, insert_into(table, tuple(new_rows[0])), new_rows)
    if stored["matches"]:
        handed_in = [row["id"] for row in stored["matches"] if row["tournament"] is not None]
        if handed_in:
            tournament_state.drop_pending(connection, handed_in)
        summaries.add_matches(connection, stored["matches"][0]["number"], number)
        match_log.append(connection, entered)
    if is_postgresql(connection):
        end_matches(connection, [finished.result.match for finished in batch])
    save_tallies(connection, {place: tally for place, tally in tallies.items() if before.get(place) != tally})
    return [known[finished.result.match] for finished in batch]


def rate_match(tallies: Tallies, pool: str, result: Result, ids: Sequence[int]) -> Ratings:
    """Return a match's ratings in a pool, and update the tallies of its bots. `ids` are the bots' row ids by seat."""
    places = [(bot, pool) for bot in ids]
    before = [tallies.get(place, Tally()) for place in places]
    ranks = [seat.rank for seat in result.seats]
    rated = rating_system.rate(pool, [tally.standing for tally in before], [s.version for s in result.seats], ranks)
    for place, tally, seat, rating in zip(places, before, result.seats, rated.seats, strict=True):
        shared = ranks.count(seat.rank) > 1
        played, version = tally.standing.matches + 1, seat.version or tally.standing.version
        tallies[place] = Tally(
            RatingStanding(rating.mu_after, rating.sigma_after, played, version),
            tally.wins + (seat.rank == 1 and not shared),
            tally.draws + (seat.rank == 1 and shared),
            tally.losses + (seat.rank != 1),
        )
    return rated


def save_tallies(connection: Connection, tallies: Tallies) -> None:
    """Insert or update tallies."""
    if not tallies:
        return
    rows = [
        {"bot": bot, "pool": pool, **standing._asdict(), "wins": wins, "draws": draws, "losses": losses}
        for (bot, pool), (standing, wins, draws, losses) in tallies.items()
    ]
    execute(connection, _SAVE_TALLY, rows)


def load_tallies(connection: Connection, ids: Sequence[int] | None = None) -> Tallies:
    """Load the tallies of the bots with these row ids, or of all bots, in every pool."""
    if ids is None:
        return _tallies(execute(connection, _SELECT_TALLIES))
    return _tallies(execute(connection, _SELECT_TALLIES_OF_BOTS, list_parameter("bots", ids)))


def load_tallies_before(connection: Connection, number: int) -> Tallies:
    """Load the tallies that bots had in this season just before the match with this number."""
    return _tallies(execute(connection, _STANDINGS_BEFORE, {"number": number}))


def _tallies(rows: Iterable[Any]) -> Tallies:
    return {(row.bot, row.pool): Tally(read_row(RatingStanding, row), row.wins, row.draws, row.losses) for row in rows}


def _ensure_bot_rows(connection: Connection, names: Iterable[str]) -> dict[str, int]:
    """Return the row ids of bots by folded name. A bot that the database does not know gets a row without a token."""
    wanted = {fold_name(name): name for name in names}
    asked = list_parameter("keys", wanted)
    found = {row.key: row.id for row in execute(connection, _SELECT_BOTS_BY_KEY, asked)}
    missing = [
        {"name": name, "key": key, "revoked": False, "created": utc_now()}
        for key, name in wanted.items()
        if key not in found
    ]
    if missing:
        execute(connection, insert_into("bots", tuple(missing[0])), missing)
        found = {row.key: row.id for row in execute(connection, _SELECT_BOTS_BY_KEY, asked)}
    return found


def _match_row(number: int, result: Result, luck: MatchLuck | None, record_bytes: int, node: int) -> dict[str, Any]:
    return {
        "number": number,
        "id": result.match,
        "game": result.game,
        "config": encode_canonical(result.config).decode(),
        "reason": result.reason,
        "plies": result.plies,
        "digest": result.digest,
        "started": result.started,
        "finished": result.finished,
        "tournament": result.tournament,
        "place": result.place,
        "pool": result.pool,
        "luck": luck.points if luck and not luck.every else None,
        "luck_by": luck.value if luck and not luck.every else None,
        "record_bytes": record_bytes,
        "node": node or None,
    }


def _seat_rows(
    number: int, result: Result, match_ratings: Ratings | None, ids: Sequence[int], tallies: Tallies
) -> list[dict[str, Any]]:
    """Return the database rows of a match's seats. `ids` are the row ids of its bots. If the match is rated, `tallies`
    already include it.
    """
    ratings = match_ratings.seats if match_ratings else [None] * len(result.seats)
    return [
        {
            "match": number,
            "seat": place,
            "bot": bot,
            "version": seat.version,
            "rank": seat.rank,
            "reason": seat.reason,
            **{name: getattr(rating, name, None) for name in SeatRating.__struct_fields__},
            "moves": seat.moves,
            "thought_ms": seat.thought_ms,
            "pool": pool_or_unrated(result),
            "outcome": outcome_of(result, seat),
            "tournament": result.tournament,
            "payoff": seat.payoff,
            "rounds": seat.rounds,
            "played": tallies[bot, match_ratings.pool].standing.matches if match_ratings else None,
        }
        for place, (bot, seat, rating) in enumerate(zip(ids, result.seats, ratings, strict=True))
    ]
