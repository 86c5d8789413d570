"""The store as pages read it, beside a server or without: it never writes, and answers from any thread."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from sqlalchemy import Connection, Engine, select

from arena.ratings import ladder, pairing
from arena.ratings.standings import head_to_head, table
from arena.referee.result import Result
from arena.store import database, reading
from arena.store.browsing import (
    DRAWN,
    LOST,
    OUTCOMES,
    UNRATED,
    VOIDED,
    WON,
    BoardRow,
    Ending,
    EndingMatch,
    HistoryPoint,
    OpponentRow,
    Page,
    PoolStanding,
    Profile,
    Search,
    SeatRow,
    TournamentRow,
    TournamentTable,
    UnratedStanding,
    VersionRow,
    group_of,
)
from arena.store.cursors import cursor, place_of
from arena.store.database import NoDatabase, WrongSchema
from arena.store.reading import LeaderboardRow
from arena.store.schema import REVISIONS, bots, matches, ratings, records, tournaments
from protocol.errors import UsageFault
from protocol.games import game_class
from protocol.names import folded
from protocol.reasons import VOID

T = TypeVar("T")
SORTS = ("score", "bot", "mu", "sigma", "played", "wins", "draws", "losses", "share")
MOST_ROWS = 500
CURVE = 20
LATEST = 5


class Reader:
    """An open database, read only. Every method may raise `StoreFailed`; cursors and orders that are none `UsageFault`.

    A bot is named in any case. Where a bot's `pool` is asked for, `GAME/unrated` are its matches in none. `limit` is
    1 to `MOST_ROWS`.
    """

    def __init__(self, file: Path, engine: Engine) -> None:
        self.file = file
        self._engine = engine

    @classmethod
    def open(cls, where: str | Path) -> Reader:
        """The store in a file or at a `sqlite:///` URL.

        Raises `NoDatabase`, `ForeignDatabase`, `WrongSchema` or `StoreFailed`.
        """
        file = database.file_of(where)
        revision = database.revision_of(file)
        if revision is None:
            raise NoDatabase(f"no arena data in {file}: start `arena serve` or `arena tournament` first")
        if revision != REVISIONS[-1]:
            raise WrongSchema(f"{file} has schema {revision}, older than this bot-arena's: run `arena db upgrade`")
        return cls(file, database.connect(file))

    def close(self) -> None:
        """Give the file up."""
        self._engine.dispose()

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with database.failures(self.file), self._engine.connect() as connection:
            yield connection

    def pools(self, game: str | None = None) -> list[str]:
        """The pools with rated matches, or those of a game."""
        with self._reading() as connection:
            found = connection.execute(select(ratings.c.pool).distinct().order_by(ratings.c.pool)).scalars()
            return [pool for pool in found if game in (None, ladder.game_of(pool))]

    def board(
        self,
        pool: str,
        *,
        sort: str = "score",
        descending: bool = True,
        search: str | None = None,
        after: str | None = None,
        limit: int = 50,
    ) -> Page[BoardRow]:
        """A page of a pool's leaderboard, in the order of one of `SORTS`; with `search`, of the names that hold it."""
        if sort not in SORTS:
            raise UsageFault(f"there is no order {sort!r} of a leaderboard: one of {', '.join(SORTS)}")
        with self._reading() as connection:
            rows = reading.leaderboard(connection, pool)
        best = sorted((row.score for row in rows), reverse=True)
        found = [row for row in rows if search is None or folded(search) in folded(row.bot)]
        found.sort(key=lambda row: folded(row.bot))
        found.sort(key=lambda row: _key(row, sort), reverse=descending)
        curves = self._curves(pool)
        made = [
            BoardRow(**msgspec.structs.asdict(row), rank=1 + best.index(row.score), curve=curves[folded(row.bot)])
            for row in found
        ]
        return _page(made, after, limit)

    def _curves(self, pool: str) -> dict[str, list[float]]:
        curves: dict[str, list[float]] = defaultdict(list)
        for _, result, rows in self._all():
            if result.pool == pool:
                for row in rows:
                    curves[folded(row.name)].append(row.mu_after)
        return {name: curve[-CURVE:] for name, curve in curves.items()}

    def _all(self) -> list[tuple[int, Result, list[Any]]]:
        with self._reading() as connection:
            return list(reading.with_seats(connection, None))

    def profile(self, name: str) -> Profile | None:
        """What is known of a bot; None for one that was never registered and never played."""
        with self._reading() as connection:
            bot = connection.execute(select(bots).where(bots.c.key == folded(name))).one_or_none()
        if bot is None:
            return None
        sat = list(self._sat(name, None))
        standings, unrated = [], []
        for pool in sorted({group_of(result) for result, _, _ in sat}):
            counts = Counter(_outcome(result, seat) for result, seat, _ in sat if group_of(result) == pool)
            tally: dict[str, Any] = {
                "pool": pool,
                "game": ladder.game_of(pool),
                "played": counts.total(),
                "wins": counts[WON],
                "draws": counts[DRAWN],
                "losses": counts[LOST],
                "ms_per_move": None,
            }
            if pool.endswith(f"/{UNRATED}"):
                unrated.append(UnratedStanding(**tally, void=counts[VOIDED]))
                continue
            board = self.board(pool, limit=MOST_ROWS).rows
            row = next(row for row in board if folded(row.bot) == folded(name))
            rating = {key: getattr(row, key) for key in ("rank", "mu", "sigma", "score", "few", "version")}
            standings.append(PoolStanding(**tally, **rating, bots=len(board)))
        versions = list(dict.fromkeys(result.seats[seat].version for result, seat, _ in reversed(sat)))
        return Profile(
            name=bot.name,
            created=bot.created,
            seen=bot.seen,
            approved=bot.approved,
            versions=versions,
            standings=standings,
            unrated=unrated,
        )

    def _sat(self, name: str, pool: str | None) -> Iterator[tuple[Result, int, Any]]:
        """The matches of a bot, oldest first: the result, its seat, and that seat's row."""
        for _, result, rows in self._all():
            if pool in (None, group_of(result)):
                for at, seat in enumerate(result.seats):
                    if folded(seat.bot) == folded(name):
                        yield result, at, rows[at]

    def history(self, name: str, pool: str) -> list[HistoryPoint]:
        """A bot's rating in a pool over time: its first and its last match there, and at most some 500 between."""
        return [
            HistoryPoint(
                played=played, mu=row.mu_after, sigma=row.sigma_after, finished=result.finished, match=result.match
            )
            for played, (result, _, row) in enumerate(self._sat(name, pool), 1)
        ]

    def opponents(self, name: str, pool: str, *, after: str | None = None, limit: int = 50) -> Page[OpponentRow]:
        """How a bot fared against each other one, those that it met most often first."""
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for result, at, _ in self._sat(name, pool):
            for other_at, other in enumerate(result.seats):
                if other_at != at and result.reason != VOID:
                    mine = result.seats[at].rank
                    counts[other.bot][WON if mine < other.rank else LOST if mine > other.rank else DRAWN] += 1
        rows = [
            OpponentRow(
                opponent=other,
                played=count.total(),
                wins=count[WON],
                draws=count[DRAWN],
                losses=count[LOST],
                share=(count[WON] + count[DRAWN] / 2) / count.total(),
            )
            for other, count in counts.items()
        ]
        return _page(sorted(rows, key=lambda row: (-row.played, folded(row.opponent))), after, limit)

    def by_seat(self, name: str, pool: str) -> list[SeatRow]:
        """How a bot fared in each seat."""
        counts: dict[int, Counter[str]] = defaultdict(Counter)
        for result, at, _ in self._sat(name, pool):
            counts[at][_outcome(result, at)] += 1
        return [
            SeatRow(
                seat=seat,
                played=count.total(),
                wins=count[WON],
                draws=count[DRAWN],
                losses=count[LOST],
                ms_per_move=None,
            )
            for seat, count in sorted(counts.items())
        ]

    def by_version(self, name: str, pool: str, *, after: str | None = None, limit: int = 50) -> Page[VersionRow]:
        """How each version of a bot fared, the one that played last first."""
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        last: dict[str, Result] = {}
        for result, at, _ in self._sat(name, pool):
            version = result.seats[at].version
            counts[version][_outcome(result, at)] += 1
            last.pop(version, None)
            last[version] = result
        rows = [
            VersionRow(
                version=version,
                played=counts[version].total(),
                wins=counts[version][WON],
                draws=counts[version][DRAWN],
                losses=counts[version][LOST],
                ms_per_move=None,
                match=result.match,
                finished=result.finished,
            )
            for version, result in reversed(last.items())
        ]
        return _page(rows, after, limit)

    def endings(self, name: str, pool: str) -> list[Ending]:
        """How a bot's matches ended for it, by outcome and reason, with the latest of each."""
        found: dict[tuple[str, str], list[Result]] = defaultdict(list)
        for result, at, _ in self._sat(name, pool):
            found[_outcome(result, at), result.seats[at].reason].append(result)
        endings = [
            Ending(
                outcome=outcome,
                reason=reason,
                played=len(results),
                latest=[
                    EndingMatch(match=result.match, plies=result.plies, finished=result.finished)
                    for result in reversed(results[-LATEST:])
                ],
            )
            for (outcome, reason), results in found.items()
        ]
        return sorted(endings, key=lambda ending: (OUTCOMES.index(ending.outcome), -ending.played, ending.reason))

    def search(self, search: Search, *, after: str | None = None, limit: int = 50) -> Page[Result]:
        """A page of the matches that fit, those that were stored last first."""
        fitting = [result for _, result, _ in reversed(self._all()) if _fits(result, search)]
        return _page(fitting, after, limit)

    def match(self, match: str) -> Result | None:
        """A finished match; None if there is none of this id."""
        with self._reading() as connection:
            chosen = select(matches.c.number).where(matches.c.id == match)
            return next((result for _, result, _ in reading.with_seats(connection, chosen)), None)

    def record(self, match: str) -> bytes | None:
        """A match's record as it was closed, gzip; None if there is no such match."""
        query = select(records.c.data).join(matches, matches.c.number == records.c.match)
        with self._reading() as connection:
            return connection.execute(query.where(matches.c.id == match)).scalar_one_or_none()

    def tournaments(self, *, after: str | None = None, limit: int = 50) -> Page[TournamentRow]:
        """A page of the tournaments, those that began last first."""
        with self._reading() as connection:
            found = connection.execute(select(tournaments).order_by(tournaments.c.started.desc())).all()
        played = Counter(result.tournament for _, result, _ in self._all())
        return _page([TournamentRow(**_tournament(row, played[row.id])) for row in found], after, limit)

    def tournament(self, tournament: str) -> TournamentTable | None:
        """A tournament with its table; None if there is none of this id."""
        with self._reading() as connection:
            query = select(tournaments).where(tournaments.c.id == tournament)
            row = connection.execute(query).one_or_none()
        if row is None:
            return None
        results = [result for _, result, _ in self._all() if result.tournament == tournament]
        names = list(dict.fromkeys(seat.bot for result in results for seat in result.seats))
        return TournamentTable(
            **_tournament(row, len(results)), table=table(names, results), head_to_head=head_to_head(names, results)
        )


def _outcome(result: Result, seat: int) -> str:
    ranks = [other.rank for other in result.seats]
    if result.reason == VOID:
        return VOIDED
    return LOST if ranks[seat] != 1 else WON if ranks.count(1) == 1 else DRAWN


def _key(row: LeaderboardRow, sort: str) -> Any:
    if sort == "bot":
        return folded(row.bot)
    if sort == "share":
        return (row.wins + row.draws / 2) / row.played
    return getattr(row, sort)


def _fits(result: Result, search: Search) -> bool:
    seats = [at for at, seat in enumerate(result.seats) if search.bot is None or folded(seat.bot) == folded(search.bot)]
    names = {folded(seat.bot) for seat in result.seats}
    reasons = [result.reason] if search.bot is None else [result.seats[at].reason for at in seats]
    until = search.until
    return (
        bool(seats)
        and (search.opponent is None or folded(search.opponent) in names)
        and search.game in (None, result.game)
        and search.pool in (None, group_of(result))
        and search.reason in (None, *reasons)
        and (search.outcome is None or search.outcome in [_outcome(result, at) for at in seats])
        and search.tournament in (None, result.tournament)
        and (search.since is None or result.finished >= search.since)
        and (until is None or result.finished < until or result.finished.startswith(until))
    )


def _tournament(row: Any, played: int) -> dict[str, Any]:
    arguments = msgspec.json.decode(row.arguments)
    seats = game_class(arguments["game"])(arguments["config"]).seats
    planned = pairing.count(
        arguments["format"], len(arguments["bots"]), arguments["rounds"], seats=seats, paired=arguments["paired"]
    )
    return {
        "tournament": row.id,
        "seed": row.seed,
        "arguments": arguments,
        "game": arguments["game"],
        "format": arguments["format"],
        "started": row.started,
        "finished": row.finished,
        "played": played,
        "planned": planned,
    }


def _page(rows: Sequence[T], after: str | None, limit: int) -> Page[T]:
    if not 1 <= limit <= MOST_ROWS:
        raise UsageFault(f"limit is {limit}: it is 1 to {MOST_ROWS}")
    at = 0 if after is None else place_of(after, tuple[int])[0]
    further = cursor((at + limit,)) if at + limit < len(rows) else None
    return Page(rows=list(rows[at : at + limit]), next=further, total=len(rows))
