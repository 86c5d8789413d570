"""The store as pages read it, beside a server or without: it never writes, and answers from any thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection, Engine, select

from arena.ratings import rating_system
from arena.store import (
    database,
    export_rows,
    incidents,
    leaderboards,
    match_search,
    result_queries,
    seasons,
    tournaments,
)
from arena.store.export_rows import Batch
from arena.store.incidents import Incident
from arena.store.schema import counts, matches, records
from arena.store.schema import tournaments as played_in
from arena.store.seasons import Season
from arena.store.view_models import (
    UNRATED,
    BoardRow,
    BotRow,
    Ending,
    HistoryPoint,
    OpponentRow,
    Page,
    Profile,
    Search,
    SeatRow,
    TournamentRow,
    TournamentTable,
    VersionRow,
)
from protocol.errors import UsageFault
from referee.result import Result

T = TypeVar("T")
P = ParamSpec("P")
MOST_ROWS = 500
"""Of a page."""


class Reader:
    """An open database, read only. Every method may raise `StoreError`; cursors and orders that are none `UsageFault`.

    A bot is named in any case. Where a bot's `pool` is asked for, `GAME/unrated` are its matches in none. `limit` is
    1 to `MOST_ROWS`.
    """

    def __init__(self, file: Path, engine: Engine) -> None:
        self.file = file
        self._engine = engine
        self._standings: tournaments.Standings = {}

    @classmethod
    def open(cls, where: str | Path) -> Reader:
        """The store in a file or at a `sqlite:///` URL; its folder may be read-only.

        Raises `DatabaseNotFound`, `UnrecognizedDatabase`, `SchemaMismatch` or `StoreError`.
        """
        file = database.database_path(where)
        database.check_current(file, database.reading)
        return cls(file, database.reading(file))

    def close(self) -> None:
        """Give the file up."""
        self._engine.dispose()

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with database.failures(self.file), self._engine.connect() as connection:
            yield connection

    def seasons(self) -> list[Season]:
        """All seasons, the first one first, the one that goes on last."""
        with self._reading() as connection:
            return seasons.list_seasons(connection)

    def pools(self, game: str | None = None, season: str | None = None) -> list[str]:
        """The pools with rated matches, or those of a game, ever or in a season. Raises `UsageFault` for none."""
        if season is not None:
            with self._reading() as connection:
                found = seasons.pools(connection, seasons.match_range_of(connection, season))
            return [pool for pool in found if game in (None, rating_system.game_of(pool))]
        with self._reading() as connection:
            query = select(counts.c.pool).where(counts.c.tournament == "").distinct().order_by(counts.c.pool)
            found = [pool for pool in connection.execute(query).scalars() if not pool.endswith(f"/{UNRATED}")]
        return [pool for pool in found if game in (None, rating_system.game_of(pool))]

    def board(
        self,
        pool: str,
        *,
        sort: str = "score",
        descending: bool = True,
        search: str | None = None,
        after: str | None = None,
        limit: int = 50,
        season: str | None = None,
    ) -> Page[BoardRow]:
        """A page of a pool's leaderboard, in one of the orders `SORTS`; with `search`, of names that hold it.

        With `season`, that of its end.
        """
        _check(limit)
        with self._reading() as connection:
            return leaderboards.board(
                connection, pool, sort, search, after, limit, descending=descending, season=season
            )

    def bots(self, *, search: str | None = None, after: str | None = None, limit: int = 50) -> Page[BotRow]:
        """A page of the bots that are known, by name; with `search`, of names that hold it."""
        _check(limit)
        with self._reading() as connection:
            return leaderboards.bots(connection, search, after, limit)

    def has_bot(self, name: str) -> bool:
        """Whether a bot of this name was ever registered or played."""
        with self._reading() as connection:
            return leaderboards.find_bot(connection, name) is not None

    def profile(self, name: str) -> Profile | None:
        """What is known of a bot; None for one that was never registered and never played."""
        with self._reading() as connection:
            return leaderboards.profile(connection, name)

    def incidents(self, name: str) -> list[Incident]:
        """What went wrong with a bot of late, the newest first."""
        with self._reading() as connection:
            return incidents.latest(connection, name)

    def history(self, name: str, pool: str) -> list[HistoryPoint]:
        """A bot's rating in a pool over time: its first and last match there, and at most some 300 in all."""
        return self._of_bot([], leaderboards.history, name, pool)

    def opponents(self, name: str, pool: str, *, after: str | None = None, limit: int = 50) -> Page[OpponentRow]:
        """How a bot fared against each other one, those that it met most often first."""
        _check(limit)
        return self._of_bot(Page(rows=[], total=0), leaderboards.opponents, name, pool, after, limit)

    def by_seat(self, name: str, pool: str) -> list[SeatRow]:
        """How a bot fared in each seat."""
        return self._of_bot([], leaderboards.by_seat, name, pool)

    def by_version(self, name: str, pool: str, *, after: str | None = None, limit: int = 50) -> Page[VersionRow]:
        """How each version of a bot fared, the one that played last first."""
        _check(limit)
        return self._of_bot(Page(rows=[], total=0), leaderboards.by_version, name, pool, after, limit)

    def endings(self, name: str, pool: str) -> list[Ending]:
        """How a bot's matches ended for it, by outcome and reason, with the latest of each."""
        return self._of_bot([], leaderboards.endings, name, pool)

    def search(self, search: Search, *, after: str | None = None, limit: int = 50) -> Page[Result]:
        """A page of the matches that fit, those that were stored last first."""
        _check(limit)
        with self._reading() as connection:
            return match_search.search(connection, search, after, limit)

    def iter_matches(self, search: Search, limit: int | None = None) -> Iterator[Result]:
        """All matches that fit, or the first `limit` of them, those that were stored last first, as they are read."""
        after = None
        left = limit
        while left is None or left > 0:
            page = self.search(search, after=after, limit=MOST_ROWS if left is None else min(left, MOST_ROWS))
            yield from page.rows
            after = page.next
            if after is None:
                break
            left = None if left is None else left - len(page.rows)

    def export(self, search: Search, *, newest_first: bool = False, records: bool = False) -> Iterator[Batch]:
        """The rows of all matches that fit, as they were at one moment, in the order in which they were stored.

        `newest_first` turns that around; with `records` theirs come along.
        """
        with self._reading() as connection:
            numbers = match_search.numbers(connection, search)
            yield from export_rows.batches(connection, numbers[::-1] if newest_first else numbers, records=records)

    def match(self, match: str) -> Result | None:
        """A finished match; None if there is none of this id."""
        chosen = select(matches.c.number).where(matches.c.id == match)
        with self._reading() as connection:
            return next((result for _, result, _ in result_queries.iter_results_with_seats(connection, chosen)), None)

    def record(self, match: str) -> bytes | None:
        """A match's record as it was closed, gzip; None if there is no such match."""
        query = select(records.c.data).join(matches, matches.c.number == records.c.match)
        with self._reading() as connection:
            return connection.execute(query.where(matches.c.id == match)).scalar_one_or_none()

    def tournaments(self, *, after: str | None = None, limit: int = 50) -> Page[TournamentRow]:
        """A page of the tournaments, those that began last first."""
        _check(limit)
        with self._reading() as connection:
            return tournaments.tournaments(connection, after, limit)

    def has_tournament(self, tournament: str) -> bool:
        """Whether there is a tournament of this id."""
        with self._reading() as connection:
            return connection.execute(select(played_in.c.id).where(played_in.c.id == tournament)).first() is not None

    def tournament(self, tournament: str) -> TournamentTable | None:
        """A tournament with its table; None if there is none of this id."""
        with self._reading() as connection:
            return tournaments.tournament(connection, tournament, self._standings)

    def _of_bot(
        self,
        otherwise: T,
        query: Callable[Concatenate[Connection, int, P], T],
        name: str,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """What is asked of a bot, or `otherwise` where there is none of this name."""
        with self._reading() as connection:
            bot = leaderboards.find_bot(connection, name)
            return otherwise if bot is None else query(connection, bot.id, *args, **kwargs)


def _check(limit: int) -> None:
    if not 1 <= limit <= MOST_ROWS:
        raise UsageFault(f"limit is {limit}: it is 1 to {MOST_ROWS}")
