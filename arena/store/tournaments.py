"""Tournaments as pages show them: how far they are, their tables, who beat whom."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import Connection

from arena.ratings import tournament_pairing
from arena.ratings.payoff_standings import PairMeans, Payoffs, paid
from arena.ratings.significant_ranks import ScoredMatch
from arena.ratings.standings import HeadToHeadShares, PlayedMatch, PlayedSeat, TableRow, head_to_head, standing, table
from arena.store.database import StoreError
from arena.store.dialect import execute
from arena.store.paging import Page, read_page
from protocol.bot_launch import bot_name_in
from protocol.errors import BotFault
from protocol.games import load
from protocol.names import folded
from protocol.reasons import VOID
from referee.result import points_of

_LIST = """
SELECT tournaments.*,
    (SELECT coalesce(sum(matches), 0) FROM counts WHERE counts.tournament = tournaments.id) AS played,
    (SELECT count(*) FROM tournaments) AS total
FROM tournaments {where} ORDER BY started DESC, id LIMIT :limit
"""
_NEXT = _LIST.format(where="WHERE :start OR started < :started OR (started = :started AND id > :id)")
_ONE = _LIST.format(where="WHERE id = :id")
_MATCHES = """
SELECT matches.number, matches.place, matches.reason, matches.luck, bots.name, seats.rank, seats.reason AS ended,
    seats.payoff, seats.rounds
FROM matches
JOIN seats ON seats.match = matches.number JOIN bots ON bots.id = seats.bot
WHERE matches.tournament = :id ORDER BY matches.number, seats.seat
"""
_LEADERS = """
SELECT tournament, name FROM (
    SELECT tournament, bot, rank() OVER (
        PARTITION BY tournament ORDER BY CAST(sum(2 * wins + draws) AS float) / sum(wins + draws + losses) DESC
    ) AS place
    FROM opponents WHERE tournament IN (SELECT value FROM json_each(:names) AS told)
    GROUP BY tournament, bot HAVING sum(wins + draws + losses) > 0
) AS ranked JOIN bots ON bots.id = bot WHERE place = 1 ORDER BY tournament, name
"""
_LEADERS_LESS_LUCK = """
SELECT tournament, name FROM (
    SELECT tournament, bot, min(known) OVER (PARTITION BY tournament) AS known, rank() OVER (
        PARTITION BY tournament
        ORDER BY round(CAST(CASE WHEN mean > 1 THEN 1 WHEN mean < 0 THEN 0 ELSE mean END AS numeric), 9) DESC
    ) AS place
    FROM (
        SELECT tournament, bot, avg(points - given) AS mean,
            CASE WHEN count(given) = count(*) AND count(DISTINCT start) > 1 THEN 1 ELSE 0 END AS known
        FROM (
            SELECT matches.tournament, seats.bot,
                CASE seats.outcome WHEN 'won' THEN 1.0 WHEN 'drawn' THEN 0.5 ELSE 0.0 END AS points,
                CASE seats.seat WHEN 0 THEN matches.luck ELSE -matches.luck END AS given,
                CASE WHEN instr(tournaments.arguments, '"paired":' || 'true') > 0 THEN matches.place / 2
                    ELSE matches.place END AS start
            FROM tournaments JOIN matches ON matches.tournament = tournaments.id
            JOIN seats ON seats.match = matches.number
            WHERE tournaments.id IN (SELECT value FROM json_each(:names) AS told) AND matches.reason <> 'void' AND (
                SELECT begun.luck FROM matches AS begun
                WHERE begun.tournament = tournaments.id AND begun.reason <> 'void' ORDER BY begun.place LIMIT 1
            ) IS NOT NULL
        ) AS played GROUP BY tournament, bot
    ) AS scored
) AS ranked JOIN bots ON bots.id = bot WHERE place = 1 AND known = 1 ORDER BY tournament, name
"""
"""Of tournaments whose first match has luck; only of two seats it is kept. As in a table, a bot's mean is taken as
within 0 to 1, and less luck nothing is known of a single start.
"""
_BEST_PAID = """
SELECT tournament, name FROM (
    SELECT tournament, bot,
        rank() OVER (PARTITION BY tournament ORDER BY round(CAST(avg(payoff) AS numeric), 9) DESC) AS place
    FROM (
        SELECT tournament, bot, CAST(sum(total) AS float) / CAST(sum(rounds) AS float) AS payoff FROM payoffs
        WHERE tournament IN (SELECT value FROM json_each(:names) AS told) GROUP BY tournament, bot, opponent
    ) AS paid GROUP BY tournament, bot
) AS ranked JOIN bots ON bots.id = bot WHERE place = 1 ORDER BY tournament, name
"""


class TournamentRow(Struct, frozen=True, kw_only=True):
    """A tournament: `played` of `planned` matches, None for a test of as many as it takes. `arguments` are those of the
    command, without the seed.
    """

    tournament: str
    seed: str
    arguments: dict[str, Any]
    game: str
    format: str
    started: str
    finished: str | None
    played: int
    planned: int | None


class TournamentTable(TournamentRow, frozen=True, kw_only=True):
    """The same with its table, and the share of points of each bot (first key) against each other one; where payoffs
    are the result, also what it was paid.
    """

    table: list[TableRow]
    head_to_head: dict[str, dict[str, float | None]]
    payoffs: PairMeans


def tournaments_page(connection: Connection, *, after: str | None = None, limit: int = 50) -> Page[TournamentRow]:
    """A page of them, those that began last first."""
    place = {"started": str, "id": str}
    return read_page(connection, _NEXT, {}, place, lambda row: TournamentRow(**_fields(row)), after=after, limit=limit)


def tournament_leaders(connection: Connection, names: Sequence[str]) -> dict[str, list[str]]:
    """By tournament the bots that are first in its table: by payoff where that is the result, else by points less luck
    where these are known, else by points; of one without a match that counts nothing.
    """
    found: dict[str, list[str]] = {}
    for query in (_LEADERS, _LEADERS_LESS_LUCK, _BEST_PAID):
        leaders: dict[str, list[str]] = {}
        for row in execute(connection, query, {"names": msgspec.json.encode(names).decode()}):
            leaders.setdefault(row.tournament, []).append(row.name)
        found |= leaders
    return found


def has_tournament(connection: Connection, name: str) -> bool:
    """Whether there is a tournament of this id."""
    return execute(connection, "SELECT 1 FROM tournaments WHERE id = :id", {"id": name}).first() is not None


Standings = dict[str, tuple[int, list[TableRow], HeadToHeadShares, PairMeans]]
"""By tournament, those asked for last: its matches so far, its table, who beat whom and was paid what. So matches are
looked at again only where some were added.
"""
MOST_KNOWN = 64


def tournament_table(connection: Connection, name: str, known: Standings) -> TournamentTable | None:
    """A tournament with its table, of all that take part; None if there is none of this id."""
    row = execute(connection, _ONE, {"id": name, "limit": 1}).one_or_none()
    if row is None:
        return None
    fields = _fields(row)
    told = known.pop(name, None)
    if told is None or told[0] != row.played:
        words = fields["arguments"]["bots"]
        planned = words if fields["arguments"].get("afar") else map(bot_name_in, words)
        matches = list(_matches(connection, name))
        # In one that is over all have played, be it under a name that they have no more.
        names = {folded(bot): bot for bot in planned} if row.finished is None else {}
        names |= {folded(seat.bot): seat.bot for match in matches for seat in match.seats}
        bots = list(names.values())
        paired = bool(fields["arguments"].get("paired"))
        scored = [_scored(match, paired=paired) for match in matches if match.reason != VOID]
        payoffs = Payoffs(bots, (paid(match, _start(match, paired=paired)) for match in matches))
        rows = payoffs.order(standing(table(bots, matches), scored))
        told = row.played, rows, head_to_head(bots, matches), payoffs.pairs
    known[name] = told
    if len(known) > MOST_KNOWN:
        known.pop(next(iter(known)), None)
    _, rows, cross, pairs = told
    return TournamentTable(**fields, table=rows, head_to_head=cross, payoffs=pairs)


def _matches(connection: Connection, name: str) -> Iterator[PlayedMatch]:
    for _, group in itertools.groupby(execute(connection, _MATCHES, {"id": name}), lambda row: row.number):
        sat = list(group)
        yield PlayedMatch(
            sat[0].place,
            sat[0].reason,
            tuple(PlayedSeat(row.name, row.rank, row.ended, row.payoff, row.rounds) for row in sat),
            sat[0].luck,
        )


def _scored(match: PlayedMatch, *, paired: bool) -> ScoredMatch:
    ranks = [seat.rank for seat in match.seats]
    return ScoredMatch(
        tuple(seat.bot for seat in match.seats), points_of(ranks), _start(match, paired=paired), match.luck
    )


def _start(match: PlayedMatch, *, paired: bool) -> int | None:
    return tournament_pairing.start_at(match.place, len(match.seats)) if paired else None


@functools.lru_cache(maxsize=1000)
def _planned(arguments: str) -> int | None:
    """How many matches a tournament has, if that is settled. The game is asked how many sit in one, which may take a
    while.
    """
    read = msgspec.json.decode(arguments)
    if read["rounds"] is None:
        return None
    seats = load(read["game"], read["config"]).seats
    return tournament_pairing.count(
        read["format"], len(read["bots"]), read["rounds"], seats=seats, paired=read["paired"]
    )


def _fields(row: Any) -> dict[str, Any]:
    try:
        arguments = msgspec.json.decode(row.arguments, type=dict[str, Any])
        planned = _planned(row.arguments)
    except (BotFault, KeyError, TypeError, ValueError) as exc:
        raise StoreError(f"tournament {row.id} is damaged: its arguments can't be read") from exc
    return {
        "tournament": row.id,
        "seed": row.seed,
        "arguments": arguments,
        "game": arguments["game"],
        "format": arguments["format"],
        "started": row.started,
        "finished": row.finished,
        "played": row.played,
        "planned": planned,
    }
