"""Tournaments as they go on: opened under a seed, what their dice follow from, and finished."""

from __future__ import annotations

import secrets

from sqlalchemy import Connection, select, update
from sqlalchemy.dialects.sqlite import insert

from arena.store import pending_results
from arena.store.schema import tournament_id, tournaments
from machine.timestamps import utc


def open_tournament(
    connection: Connection, arguments: str, seed: str | None, chance: str | None = None
) -> tuple[str, str]:
    """The id and seed of the tournament with these arguments (canonical JSON without the seed).

    With a seed: that one, finished or not. Without: the newest unfinished one, or a new one under a fresh seed.
    What is drawn in a new one follows from `chance` (canonical JSON too) and the seed, else from its id.
    """
    if seed is None:
        unfinished = connection.execute(
            select(tournaments.c.id, tournaments.c.seed)
            .where(tournaments.c.arguments == arguments, tournaments.c.finished.is_(None))
            .order_by(tournaments.c.started.desc())
        ).first()
        if unfinished is not None:
            return unfinished.id, unfinished.seed
        seed = secrets.token_hex(16)
    name = tournament_id(arguments, seed)
    row = {"id": name, "arguments": arguments, "seed": seed, "started": utc()}
    if chance is not None:
        stem = tournament_id(chance, seed)
        taken = connection.execute(select(tournaments.c.id).where(tournaments.c.prefix == stem)).first()
        row |= {"stem": stem, "prefix": stem if taken is None else name}
    connection.execute(insert(tournaments).values(row).on_conflict_do_nothing())
    return name, seed


def tournament_randomness(connection: Connection, tournament: str) -> tuple[str, str]:
    """What chance in a tournament follows from beside its seed; and what the ids of its matches begin with."""
    query = select(tournaments.c.stem, tournaments.c.prefix).where(tournaments.c.id == tournament)
    row = connection.execute(query).one()
    return row.stem or tournament, row.prefix or tournament


def latest_finished_seed(connection: Connection, arguments: str) -> str | None:
    """The seed of the newest finished tournament with these arguments (canonical JSON without the seed)."""
    return connection.execute(
        select(tournaments.c.seed)
        .where(tournaments.c.arguments == arguments, tournaments.c.finished.is_not(None))
        .order_by(tournaments.c.finished.desc())
    ).scalar()


def finish_tournament(connection: Connection, tournament: str) -> None:
    """Mark a tournament as played to its end. What still waits of it was not needed."""
    pending_results.delete_for_tournament(connection, tournament)
    connection.execute(update(tournaments).where(tournaments.c.id == tournament).values(finished=utc()))
