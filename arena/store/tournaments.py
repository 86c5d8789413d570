"""Tournaments as pages show them: how far they are, their tables, who beat whom."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from typing import Any

import msgspec
from sqlalchemy import Connection, text

from arena.ratings import tournament_pairing
from arena.ratings.bot_results import standing
from arena.ratings.significant_ranks import ScoredMatch
from arena.ratings.standings import Score, TableRow, rows_of
from arena.store.cursors import check_limit, decode_cursor, make_page
from arena.store.database import StoreError
from arena.store.view_models import DRAWN, LOST, VOIDED, WON, Page, TournamentRow, TournamentTable
from protocol.bot_launch import bot_name_in
from protocol.errors import BotFault
from protocol.games import load
from protocol.names import folded
from protocol.reasons import FORFEITS
from referee.result import points_of

_LIST = """
SELECT tournaments.*,
    (SELECT coalesce(sum(matches), 0) FROM counts WHERE counts.tournament = tournaments.id) AS played,
    (SELECT count(*) FROM tournaments) AS total
FROM tournaments {where} ORDER BY started DESC, id LIMIT :limit
"""
_NEXT = text(_LIST.format(where="WHERE :start OR started < :started OR (started = :started AND id > :id)"))
_ONE = text(_LIST.format(where="WHERE id = :id"))
_FARED = text("""
SELECT bots.name, outcome, reason, sum(matches) AS matches FROM tallies JOIN bots ON bots.id = tallies.bot
WHERE tournament = :id GROUP BY bot, outcome, reason
""")
_SAT = text("""
SELECT matches.number, matches.place, bots.name, seats.rank FROM matches
JOIN seats ON seats.match = matches.number JOIN bots ON bots.id = seats.bot
WHERE matches.tournament = :id AND seats.outcome <> 'void' ORDER BY matches.number, seats.seat
""")
_MET = text("""
SELECT one.name AS bot, other.name AS opponent, sum(wins) AS wins, sum(draws) AS draws, sum(losses) AS losses
FROM opponents JOIN bots AS one ON one.id = opponents.bot JOIN bots AS other ON other.id = opponents.opponent
WHERE tournament = :id GROUP BY opponents.bot, opponents.opponent
""")


def tournaments_page(connection: Connection, *, after: str | None = None, limit: int = 50) -> Page[TournamentRow]:
    """A page of them, those that began last first."""
    check_limit(limit)
    started, name = ("", "") if after is None else decode_cursor(after, tuple[str, str])
    given = {"start": after is None, "started": started, "id": name, "limit": limit + 1}
    rows = connection.execute(_NEXT, given).all()
    shown = [TournamentRow(**_fields(row)) for row in rows[:limit]]
    return make_page(shown, rows, lambda row: (row.started, row.id))


def has_tournament(connection: Connection, name: str) -> bool:
    """Whether there is a tournament of this id."""
    return connection.execute(text("SELECT 1 FROM tournaments WHERE id = :id"), {"id": name}).first() is not None


Standings = dict[str, tuple[list[TableRow], list[TableRow]]]
"""Tables by tournament, as counted and as told, so that matches are looked at again only where some were added."""


def tournament_table(connection: Connection, name: str, known: Standings) -> TournamentTable | None:
    """A tournament with its table, of all that take part; None if there is none of this id."""
    row = connection.execute(_ONE, {"id": name, "limit": 1}).one_or_none()
    if row is None:
        return None
    fields = _fields(row)
    fared = connection.execute(_FARED, {"id": name}).all()
    met = connection.execute(_MET, {"id": name}).all()
    words = fields["arguments"]["bots"]
    planned = words if fields["arguments"].get("afar") else map(bot_name_in, words)
    names = {folded(bot): bot for bot in planned}
    names |= {folded(bot.name): bot.name for bot in fared}
    counts: dict[str, Counter[str]] = {bot: Counter() for bot in names.values()}
    for bot in fared:
        counts[bot.name][bot.outcome] += bot.matches
        if bot.outcome != VOIDED and bot.reason in FORFEITS:
            counts[bot.name]["forfeits"] += bot.matches
    halves: Counter[str] = Counter()
    of: Counter[str] = Counter()
    cross: dict[str, dict[str, float | None]] = {
        bot: {other: None for other in counts if other != bot} for bot in counts
    }
    for pair in met:
        times = pair.wins + pair.draws + pair.losses
        if times:
            halves[pair.bot] += 2 * pair.wins + pair.draws
            of[pair.bot] += 2 * times
            cross[pair.bot][pair.opponent] = (pair.wins + pair.draws / 2) / times
    scores = {
        bot: Score(
            won=count[WON],
            drawn=count[DRAWN],
            lost=count[LOST],
            share=halves[bot] / of[bot] if of[bot] else 0.0,
            forfeits=count["forfeits"],
        )
        for bot, count in counts.items()
    }
    listed = rows_of(scores)
    if name not in known or known[name][0] != listed:
        paired = bool(fields["arguments"].get("paired"))
        known[name] = listed, standing(listed, _scored(connection, name, paired=paired))
    return TournamentTable(**fields, table=known[name][1], head_to_head=cross)


def _scored(connection: Connection, name: str, *, paired: bool) -> list[ScoredMatch]:
    """The matches that count: paired ones share a start with those at the next places."""
    found = []
    for _, group in itertools.groupby(connection.execute(_SAT, {"id": name}), lambda row: row.number):
        sat = list(group)
        start = sat[0].place // len(sat) if paired else None
        found.append(ScoredMatch(tuple(row.name for row in sat), points_of([row.rank for row in sat]), start))
    return found


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
