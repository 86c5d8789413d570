"""Make up a large store with skewed data: a built-in bot plays in three of ten matches.

There are tournaments, and matches that ended for every reason. Rows go straight into the store's tables. Ratings are a
random walk, and records are empty.
Usage: python benchmarks/pages/data.py DIR [--matches 1000000] [--bots 1000]
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from sqlalchemy import Connection

from arena.store import summaries
from arena.store.database_url import open_database_url
from arena.store.schema import matches, seats, tournament_id
from machine.timestamps import format_timestamp
from protocol.digest import encode_canonical
from protocol.games import game_class, game_names, load_game

SEED = 20_261_122
"""The seed of the made-up data."""
BUILTIN_SHARE = 0.3
"""The share of matches in which the built-in bot plays."""
BATCH_SIZE = 20_000
"""The number of matches that are inserted into the database at a time."""
START_TIME, DURATION_DAYS = datetime(2025, 1, 1, tzinfo=UTC), 600
"""The made-up matches begin at `START_TIME` and are spread over `DURATION_DAYS` days."""
UNRATED_SHARE, TOURNAMENT_SHARE = 0.1, 0.3
"""`UNRATED_SHARE` is the share of unrated matches, `TOURNAMENT_SHARE` the share of matches in tournaments."""
REASON_WEIGHTS = {"win": 70, "resigned": 9, "timeout": 8, "disconnected": 5, "illegal": 4, "no_show": 3, "void": 1}
"""The relative frequency of each reason for the end of a match."""
DRAW_SHARE = 0.5
"""The share of completed tic-tac-toe matches that are drawn."""
VERSION_COUNT = 30
"""The number of versions that each bot has, one after the other."""


class Pool(NamedTuple):
    """A rating pool with its game, its config as canonical JSON, and its number of seats."""

    game: str
    name: str
    config: str
    seats: int


class SyntheticStanding(NamedTuple):
    """A bot's rating in a pool, and its numbers of matches played, won and drawn."""

    mu: float = 25.0
    sigma: float = 25 / 3
    played: int = 0
    won: int = 0
    drawn: int = 0


class SyntheticSeason:
    """A made-up history of matches. The same numbers of matches and bots always give the same history. `standings` is
    complete once all rows of `matches` have been read.
    """

    def __init__(self, count: int, number_of_bots: int) -> None:
        self._rng = Random(SEED)
        self._count = count
        self.bots = number_of_bots
        self._likely = list(itertools.accumulate(1 / (2 + bot) for bot in range(number_of_bots - 1)))
        self._pools = [
            Pool(game, f"{game}/{preset}", encode_canonical(rules.config).decode(), rules.seats)
            for game in game_names()
            for preset in game_class(game).presets
            for rules in [load_game(game, {"preset": preset})]
        ]
        self._entrants: dict[str, list[int]] = {}
        self.tournaments = [self._tournament(number) for number in range(max(1, count // 5000))]
        self._places = itertools.count()
        self.standings: dict[tuple[int, str], SyntheticStanding] = {}

    def _tournament(self, number: int) -> dict[str, Any]:
        pool = self._pools[number % len(self._pools)]
        entrants = sorted(self._rng.sample(range(self.bots), min(self.bots, 24)))
        arguments = {
            "bots": [f"bot-{bot}" for bot in entrants],
            "game": pool.game,
            "config": json.loads(pool.config),
            "format": "round-robin",
            "rounds": 5,
            "paired": False,
            "settings": {},
            "clock": "60+0.5",
        }
        text, seed = encode_canonical(arguments).decode(), str(number)
        name = tournament_id(text, seed)
        self._entrants[name] = [1 + bot for bot in entrants]
        began = format_timestamp(START_TIME + timedelta(days=DURATION_DAYS * number * 5000 / self._count))
        return {"id": name, "arguments": text, "seed": seed, "started": began, "finished": began}

    def matches(self) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
        """Yield the database row of each match with the rows of its seats."""
        chance = self._rng
        reasons, weights = list(REASON_WEIGHTS), list(itertools.accumulate(REASON_WEIGHTS.values()))
        for number in range(1, self._count + 1):
            reason = chance.choices(reasons, cum_weights=weights)[0]
            tournament = None
            pool = self._pools[min(int(chance.expovariate(0.3)), len(self._pools) - 1)]
            if chance.random() < TOURNAMENT_SHARE:
                at = min(number // 5000, len(self.tournaments) - 1)
                tournament = self.tournaments[at]["id"]
                pool = self._pools[at % len(self._pools)]
            if reason == "win" and pool.game == "tictactoe" and chance.random() < DRAW_SHARE:
                reason = "draw"
            rated = reason != "void" and (tournament is not None or chance.random() >= UNRATED_SHARE)
            ended = START_TIME + timedelta(days=DURATION_DAYS * number / self._count, seconds=chance.uniform(-600, 0))
            finished = format_timestamp(ended)
            yield (
                {
                    "number": number,
                    "id": f"{number:016x}",
                    "game": pool.game,
                    "config": pool.config,
                    "reason": reason,
                    "plies": chance.randint(5, 200),
                    "digest": "ab" * 32,
                    "started": finished,
                    "finished": finished,
                    "tournament": tournament,
                    "place": None if tournament is None else next(self._places),
                    "pool": pool.name if rated else None,
                },
                self._seats(number, pool, reason, tournament, rated=rated),
            )

    def _seats(
        self, number: int, pool: Pool, reason: str, tournament: str | None, *, rated: bool
    ) -> list[dict[str, Any]]:
        chance = self._rng
        sat = [1] if tournament is None and chance.random() < BUILTIN_SHARE / (1 - TOURNAMENT_SHARE) else []
        if tournament is not None:
            sat = chance.sample(self._entrants[tournament], pool.seats)
        while len(sat) < pool.seats:
            bot = 2 + chance.choices(range(self.bots - 1), cum_weights=self._likely)[0]
            if bot not in sat:
                sat.append(bot)
        chance.shuffle(sat)
        level = {"void": "void", "draw": "drawn"}.get(reason)
        ranks = [1] * len(sat) if level else chance.sample(range(1, len(sat) + 1), len(sat))
        rows = []
        for seat, (bot, rank) in enumerate(zip(sat, ranks, strict=True)):
            outcome = level or ("won" if rank == 1 else "lost")
            before = self.standings.get((bot, pool.name), SyntheticStanding())
            after = before
            if rated:
                after = SyntheticStanding(
                    before.mu + chance.gauss(0.3 if rank == 1 else -0.3, 0.2),
                    max(0.8, before.sigma * 0.99),
                    before.played + 1,
                    before.won + (outcome == "won"),
                    before.drawn + (outcome == "drawn"),
                )
                self.standings[bot, pool.name] = after
            rows.append(
                {
                    "match": number,
                    "seat": seat,
                    "bot": bot,
                    "version": f"1.{VERSION_COUNT * number // self._count}",
                    "rank": rank,
                    "reason": "win" if outcome == "won" else reason,
                    "mu_before": before.mu if rated else None,
                    "sigma_before": before.sigma if rated else None,
                    "mu_after": after.mu if rated else None,
                    "sigma_after": after.sigma if rated else None,
                    "moves": chance.randint(2, 100),
                    "thought_ms": chance.randint(0, 60_000),
                    "pool": pool.name if rated else f"{pool.game}/unrated",
                    "outcome": outcome,
                    "tournament": tournament,
                    "played": after.played if rated else None,
                }
            )
        return rows


def make_database(file: Path, count: int, number_of_bots: int) -> None:
    """Create the database file, which must not exist yet."""
    season = SyntheticSeason(count, number_of_bots)
    created = format_timestamp(START_TIME)
    open_database_url(file).create()
    engine = open_database_url(file).connect()
    indexes = [index for table in (matches, seats) for index in table.indexes]
    with engine.execution_options(begin="BEGIN IMMEDIATE").begin() as connection:
        for index in indexes:
            index.drop(connection)
        names = [{"id": 1 + bot, "name": f"bot-{bot}", "key": f"bot-{bot}"} for bot in range(number_of_bots)]
        _insert(connection, "bots", [row | {"revoked": False, "created": created} for row in names])
        _insert(connection, "tournaments", season.tournaments)
        played = season.matches()
        while batch := list(itertools.islice(played, BATCH_SIZE)):
            _insert(connection, "matches", [match for match, _ in batch])
            _insert(connection, "seats", [seat for _, sat in batch for seat in sat])
            _insert(connection, "records", [{"match": match["number"], "data": b""} for match, _ in batch])
        _insert(connection, "ratings", [_make_rating(*place, one) for place, one in season.standings.items()])
        for index in indexes:
            index.create(connection)
        summaries.add_matches(connection, 1, count)
    engine.dispose()


def _make_rating(bot: int, pool: str, standing: SyntheticStanding) -> dict[str, Any]:
    return {
        "bot": bot,
        "pool": pool,
        "mu": standing.mu,
        "sigma": standing.sigma,
        "matches": standing.played,
        "wins": standing.won,
        "draws": standing.drawn,
        "losses": standing.played - standing.won - standing.drawn,
        "version": f"1.{VERSION_COUNT - 1}",
    }


def _insert(connection: Connection, table: str, rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows without SQLAlchemy, which would take longer than SQLite itself."""
    names = ", ".join(rows[0])
    values = ", ".join(f":{name}" for name in rows[0])
    raw = connection.connection.driver_connection
    assert raw is not None
    raw.executemany(f"INSERT INTO {table} ({names}) VALUES ({values})", rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--matches", type=int, default=1_000_000)
    parser.add_argument("--bots", type=int, default=1000)
    options = parser.parse_args()
    make_database(options.folder / "arena.db", options.matches, options.bots)


if __name__ == "__main__":
    main()
