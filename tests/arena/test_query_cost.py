"""What every start, `hello` and end of a match asks of the database costs the same however many matches there are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from arena.store import summaries
from arena.store.finish import finish_matches
from arena.store.registry import (
    Incident,
    add_bots,
    claim_person,
    find_registered_bot,
    is_known_bot,
    log_incident,
    register_bot,
    update_last_seen,
)
from arena.store.result_queries import leaderboard_of, load_ladder_bot, rated_pools, result_of
from arena.store.store import Store
from arena.store.thinning import RecordsOfBot
from machine.timestamps import utc_now
from referee.result import Result, SeatResult
from stored_matches import storable

FEW, MANY = 200, 2_000
"""Matches, of which half are a tournament's; none is younger than `OLD` days."""
OLD = 30
STEP = 20
"""Instructions of SQLite that are counted together."""
HASHES = {"ann": "a" * 64, "bob": "b" * 64, "eve": "e" * 64}
POOL = "nim/classic"
_MATCHES = f"""INSERT INTO matches (number, id, game, config, reason, plies, digest, started, finished, tournament,
    place, pool)
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :most)
SELECT i, 'old-' || i, 'nim', '{{}}', 'win', 7, 'd', :at, :at, iif(i % 2, NULL, 't'), iif(i % 2, NULL, i), '{POOL}'
FROM n"""
_SEATS = f"""INSERT INTO seats (match, seat, bot, version, rank, reason, pool, outcome, tournament, played, mu_after,
    sigma_after)
SELECT number, seat, seat + 1, '1', seat + 1, 'win', '{POOL}', 'won', tournament, number, 25, 8
FROM matches, (SELECT 0 AS seat UNION ALL SELECT 1)"""
_names = count()


def result(match: str) -> Result:
    seats = [SeatResult(bot=bot, version="1", rank=rank, reason="win") for rank, bot in enumerate(("ann", "bob"), 1)]
    return Result(
        match=match,
        game="nim",
        config={},
        rated=True,
        pool=POOL,
        seats=tuple(seats),
        reason="win",
        plies=7,
        digest="d",
        started=utc_now(),
        finished=utc_now(),
    )


def finish(connection: Connection) -> None:
    finish_matches(connection, [storable(result(f"new-{next(_names)}"))])


@contextmanager
def store_of(file: Path, matches: int) -> Iterator[Store]:
    """A store in which `ann` and `bob` played so many matches long ago, and one today."""

    def fill(connection: Connection) -> None:
        add_bots(connection, HASHES)
        connection.exec_driver_sql(_MATCHES, {"most": matches, "at": utc_now(days_ago=OLD)})
        connection.exec_driver_sql(_SEATS)
        summaries.add_matches(connection, 1, matches)
        finish(connection)

    with closing(Store.open(file)) as store:
        store.write(fill)
        yield store


def steps(store: Store, ask: Callable[[Connection], Any]) -> int:
    taken = 0

    def step() -> int:
        nonlocal taken
        taken += STEP
        return 0

    def counted(connection: Connection) -> None:
        raw: Any = connection.connection.dbapi_connection
        raw.set_progress_handler(step, STEP)
        ask(connection)
        raw.set_progress_handler(None, 0)

    store.write(counted)
    return taken


ASKED: dict[str, Callable[[Connection], Any]] = {
    "start: the token of a house bot": lambda connection: find_registered_bot(connection, "ann"),
    "start: whether a match of the journal is stored": lambda connection: result_of(connection, "old-7"),
    "start: the leaderboards": lambda connection: [
        leaderboard_of(connection, pool) for pool in rated_pools(connection)
    ],
    "hello: what is known of a bot": lambda connection: load_ladder_bot(connection, "ann", history=True),
    "hello: a new name": lambda connection: register_bot(connection, f"new{next(_names)}", "c" * 64, utc_now()),
    "hello: a name that may be free": lambda connection: register_bot(connection, "zoe", "c" * 64, utc_now()),
    "hello: when it was seen": lambda connection: update_last_seen(connection, {"ann": utc_now()}),
    "hello: a name of a person": lambda connection: claim_person(connection, "ann", person=True),
    "seek: whether a name is known": lambda connection: is_known_bot(connection, "ann"),
    "end: results, ratings and summaries": finish,
    "end: what went wrong": lambda connection: log_incident(
        connection, "ann", Incident(at=utc_now(), code="1", text="it left")
    ),
}


def test_no_start_hello_or_end_costs_more_where_more_was_played(tmp_path: Path) -> None:
    with store_of(tmp_path / "few.db", FEW) as few, store_of(tmp_path / "many.db", MANY) as many:
        costs = {what: (steps(few, ask), steps(many, ask)) for what, ask in ASKED.items()}
    dear = {what: cost for what, cost in costs.items() if cost[1] > 1.5 * cost[0] + 200}
    assert not dear


def test_the_last_records_of_a_bot_cost_what_the_first_did(tmp_path: Path) -> None:
    with store_of(tmp_path / "many.db", MANY) as store:
        store.write(lambda connection: connection.exec_driver_sql("UPDATE matches SET record_bytes = 1"))
        of_ann = RecordsOfBot("ann")
        costs = [steps(store, of_ann.remove) for _ in range(50)]
    assert max(costs) < 1.5 * costs[0]
