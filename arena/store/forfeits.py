"""The bots of a tournament whose programs could not play, each in one line for the operator."""

from __future__ import annotations

from sqlalchemy import Connection

from arena.store.dialect import execute
from protocol.reasons import NO_SHOW

_SELECT_UNABLE = """SELECT bots.name, count(*) AS played, count(failures.text) AS failed, min(failures.text) AS why
FROM matches JOIN seats ON seats.match = matches.number JOIN bots ON bots.id = seats.bot
LEFT JOIN failures ON failures.match = seats.match AND failures.seat = seats.seat
WHERE matches.tournament = :tournament GROUP BY bots.name
HAVING count(failures.text) > 0 AND sum(seats.moves) = 0
    OR sum(CASE WHEN seats.reason = :no_show AND failures.text IS NOT NULL THEN 1 ELSE 0 END) > 0
ORDER BY bots.name"""
"""The query for the bots that failed in a tournament without a single move, or could not be started for a match."""


def describe_forfeits(connection: Connection, tournament: str) -> list[str]:
    """Return a line about each bot that could not play in a tournament: the matches so far, why, and what to do."""
    rows = execute(connection, _SELECT_UNABLE, {"tournament": tournament, "no_show": NO_SHOW}).all()
    return [
        f"{row.name} forfeited {row.failed} of its {row.played} matches: {row.why}; install what it needs where the "
        "tournament is played, or plan it again with a --bot for each of the others"
        for row in rows
    ]
