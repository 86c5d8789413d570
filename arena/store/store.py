"""Everything that is asked of the store: results in, a transaction a batch; bots, ratings, records and results out.

One thread writes. Reading is possible from any thread and from other processes beside it.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, Engine, select, update
from sqlalchemy.dialects.sqlite import insert

from arena.ratings import rating_system
from arena.ratings.rating_system import Standing
from arena.store import (
    annulment,
    database,
    finish,
    incidents,
    integrity_check,
    match_luck,
    pending_results,
    rating_rebuild,
    registry,
    result_queries,
    seasons,
    summaries,
)
from arena.store.annulment import Annulment
from arena.store.database import DatabaseNotFound, StoreUnavailable
from arena.store.finish import StorableMatch
from arena.store.incidents import Incident
from arena.store.integrity_check import RecordCheck
from arena.store.match_luck import MatchLuck
from arena.store.pending_results import PendingResult
from arena.store.registry import RegisteredBot
from arena.store.result_queries import LeaderboardRow
from arena.store.schema import bots, matches, ratings, records, tournament_id, tournaments
from arena.store.seasons import Season
from machine.timestamps import utc
from protocol.names import folded
from referee.result import Ratings, Result


class FileIdentity:
    """A database as it is now, and its write-ahead log as it is at the first `check`. Raises `StoreUnavailable`."""

    def __init__(self, file: Path) -> None:
        self._files = (file, file.with_name(f"{file.name}-wal"))
        self._seen = {file: _inode(file)}

    def check(self) -> None:
        """Raise `StoreUnavailable` if one of the files is another than before, or none. To be asked in a transaction,
        where both are there."""
        for path in self._files:
            found = _inode(path)
            if self._seen.setdefault(path, found) != found:
                raise _gone(path, "replaced")


def _inode(path: Path) -> tuple[int, int]:
    try:
        status = os.stat(path)
    except OSError:
        raise _gone(path, "removed") from None
    return status.st_dev, status.st_ino


def _gone(path: Path, what: str) -> StoreUnavailable:
    return StoreUnavailable(
        f"{path} was {what} while it was in use: move the one that was in use back, or stop the arena and start it anew"
    )


def upgrade(file: Path) -> tuple[str, str]:
    """Bring a file's schema up to date, and its ratings with it; the revisions before and after.

    Raises `DatabaseNotFound`, `UnrecognizedDatabase`, `SchemaMismatch` or `StoreError`; then nothing has changed.
    """
    return database.upgrade(file, _MADE_ANEW.get(database.revision_of(file), lambda connection: None))


_MADE_ANEW: dict[str | None, Callable[[Connection], object]] = {
    "0001": rating_rebuild.rebuild,
    "0002": summaries.rebuild,
}
"""What follows from the results otherwise than in these schemas."""


class Store:
    """An open database. Every method may raise `StoreError`; none leaves half a change behind."""

    def __init__(self, file: Path, engine: Engine) -> None:
        self.file = file
        self._engine = engine
        self._writer = database.writing(engine)
        self._presence = FileIdentity(file)

    @classmethod
    def open(cls, where: str | Path, *, create: bool = True, checkpoint: bool = True) -> Store:
        """The store in a file or at a `sqlite:///` URL; made if it is not there, unless `create` is off.

        Without `checkpoint` its writes stay out of the way of a server on the same file. Raises `DatabaseNotFound`,
        `UnrecognizedDatabase`, `SchemaMismatch` or `StoreError`.
        """
        file = database.database_path(where)
        try:
            database.check_current(file, database.connect)
        except DatabaseNotFound:
            if not create:
                raise
            database.create(file)
        return cls(file, database.connect(file, checkpoint=checkpoint))

    def close(self) -> None:
        """Give the file up."""
        self._engine.dispose()

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with database.failures(self.file), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with database.failures(self.file):
            with self._writer.begin() as connection:
                self._presence.check()
                yield connection
            self._presence.check()

    def finish(self, batch: Sequence[StorableMatch]) -> list[Ratings | None]:
        """Rate and store matches, in this order, in one transaction.

        A match whose id is stored already is left alone (its `close` is not called). Returns each match's ratings, None
        for an unrated one. Where `close` fails, those before it are stored, and theirs are the ratings that are
        returned; the error comes through if there are none.
        """
        with self._writing() as connection:
            return finish.finish(connection, batch)

    def save_pending(self, batch: Sequence[PendingResult]) -> None:
        """Keep matches of tournaments whose turn to be rated has not come, in one transaction, each once.

        `finish` has them wait no more.
        """
        with self._writing() as connection:
            pending_results.save(connection, batch)

    def pending_matches(self, tournament: str) -> list[PendingResult]:
        """The matches of a tournament that wait to be rated, by their place in the schedule."""
        with self._reading() as connection:
            return pending_results.load_for_tournament(connection, tournament)

    def bot(self, name: str) -> RegisteredBot | None:
        """The bot registered under a name, in any case; None also for one that only played in tournaments."""
        with self._reading() as connection:
            return registry.bot(connection, name)

    def bots(self) -> list[RegisteredBot]:
        """All bots, by name, with those that only played in tournaments."""
        with self._reading() as connection:
            return registry.all_bots(connection)

    def is_known_bot(self, name: str) -> bool:
        """Whether a bot of this name, in any case, was ever registered or played."""
        with self._reading() as connection:
            return registry.is_known(connection, name)

    def register(self, name: str, token_hash: str, unused_since: str | None = None) -> None:
        """Register a bot that came by itself. Raises `NameInUse`, also for a name that only played in tournaments.

        A name that came by itself too, under which no match was ever finished, and which was not seen since
        `unused_since`, is given to the new one.
        """
        with self._writing() as connection:
            registry.register(connection, name, token_hash, unused_since)
            incidents.forget(connection, name)

    def note(self, bot: str, incident: Incident) -> None:
        """Keep what went wrong with a bot, the last of it; of one that is not known nothing."""
        with self._writing() as connection:
            incidents.note(connection, bot, incident)

    def update_last_seen(self, times: Mapping[str, str]) -> None:
        """Note when bots were seen last, by their folded names."""
        with self._writing() as connection:
            registry.update_last_seen(connection, times)

    def add_bot(self, name: str, token_hash: str) -> None:
        """Register a bot by hand, approved. One known from tournaments keeps its ratings. Raises `NameInUse`."""
        self.add_bots({name: token_hash})

    def add_bots(self, hashes: Mapping[str, str]) -> None:
        """The same for many, with the hashes of their tokens: all of them or none."""
        with self._writing() as connection:
            registry.add(connection, hashes)

    def rotate_token(self, name: str, token_hash: str) -> None:
        """Give a bot a new token; the old one is worth nothing from now on. Raises `UsageFault` for an unknown name."""
        with self._writing() as connection:
            registry.change(connection, [name], token_hash=token_hash, revoked=False)

    def revoke(self, *names: str) -> None:
        """Let bots in no more, until `rotate`: all of these or none. Raises `UsageFault` for an unknown name."""
        with self._writing() as connection:
            registry.change(connection, names, token_hash=None, revoked=True)

    def approve(self, names: Sequence[str], *, approved: bool) -> None:
        """Approve bots, or no more: all of these or none. Raises `UsageFault` for an unknown name."""
        with self._writing() as connection:
            registry.change(connection, names, approved=approved)

    def approved(self, name: str) -> bool:
        """Whether the operator approved a bot."""
        with self._reading() as connection:
            return registry.is_approved(connection, name)

    def standings(self, bot: str) -> dict[str, Standing]:
        """A bot's place in every pool in which it has played."""
        query = select(ratings).join(bots, bots.c.id == ratings.c.bot).where(bots.c.key == folded(bot))
        with self._reading() as connection:
            rows = connection.execute(query).all()
        return {row.pool: Standing(row.mu, row.sigma, row.matches, row.version) for row in rows}

    def meetings(self, bot: str) -> list[tuple[str, str, str, str]]:
        """The rated matches of a bot in the last day, without tournaments: match, pool, another bot there, the end.

        Bots are named in lower case; a match of more than two seats is there for each of the others.
        """
        with self._reading() as connection:
            return result_queries.meetings(connection, bot, utc(days_ago=1))

    def met(self, bot: str) -> list[tuple[str, str, int]]:
        """How often a bot met others: pool (or GAME/unrated), another bot's name in lower case, matches."""
        with self._reading() as connection:
            return result_queries.met(connection, bot)

    def leaderboard(self, pool: str) -> list[LeaderboardRow]:
        """The bots of a pool, by mu − 3 sigma."""
        with self._reading() as connection:
            return result_queries.leaderboard(connection, pool)

    def pools(self, game: str | None = None) -> list[str]:
        """The pools with rated matches, or those of a game."""
        with self._reading() as connection:
            found = connection.execute(select(ratings.c.pool).distinct().order_by(ratings.c.pool)).scalars()
            return [pool for pool in found if game in (None, rating_system.game_of(pool))]

    def iter_results(
        self,
        bot: str | None = None,
        game: str | None = None,
        tournament: str | None = None,
        limit: int | None = None,
    ) -> Iterator[Result]:
        """The results that fit, newest first, as they are read: never all of them at once."""
        with self._reading() as connection:
            numbers = result_queries.chosen(bot, game, tournament, limit)
            for _, result, _ in result_queries.iter_results_with_seats(connection, numbers, newest_first=True):
                yield result

    def matches(
        self,
        bot: str | None = None,
        game: str | None = None,
        tournament: str | None = None,
        limit: int | None = None,
    ) -> list[Result]:
        """The same, all of them."""
        return list(self.iter_results(bot, game, tournament, limit))

    def record(self, match: str) -> bytes | None:
        """A match's record as it was closed, gzip; None if there is no such match."""
        query = select(records.c.data).join(matches, matches.c.number == records.c.match)
        with self._reading() as connection:
            return connection.execute(query.where(matches.c.id == match)).scalar_one_or_none()

    def open_tournament(self, arguments: str, seed: str | None, chance: str | None = None) -> tuple[str, str]:
        """The id and seed of the tournament with these arguments (canonical JSON without the seed).

        With a seed: that one, finished or not. Without: the newest unfinished one, or a new one under a fresh seed.
        What is drawn in a new one follows from `chance` (canonical JSON too) and the seed, else from its id.
        """
        with self._writing() as connection:
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

    def tournament_randomness(self, tournament: str) -> tuple[str, str]:
        """What chance in a tournament follows from beside its seed; and what the ids of its matches begin with."""
        query = select(tournaments.c.stem, tournaments.c.prefix).where(tournaments.c.id == tournament)
        with self._reading() as connection:
            row = connection.execute(query).one()
        return row.stem or tournament, row.prefix or tournament

    def latest_finished_seed(self, arguments: str) -> str | None:
        """The seed of the newest finished tournament with these arguments (canonical JSON without the seed)."""
        with self._reading() as connection:
            return connection.execute(
                select(tournaments.c.seed)
                .where(tournaments.c.arguments == arguments, tournaments.c.finished.is_not(None))
                .order_by(tournaments.c.finished.desc())
            ).scalar()

    def finish_tournament(self, tournament: str) -> None:
        """Mark a tournament as played to its end. What still waits of it was not needed."""
        with self._writing() as connection:
            pending_results.delete_for_tournament(connection, tournament)
            connection.execute(update(tournaments).where(tournaments.c.id == tournament).values(finished=utc()))

    def tournament_results(self, tournament: str) -> list[Result]:
        """The results of a tournament so far, by their place in the schedule."""
        with self._reading() as connection:
            found = result_queries.results(connection, result_queries.chosen(None, None, tournament, None))
            return sorted((result for _, result in found), key=lambda result: result.place or 0)

    def bot_failures(self, tournament: str) -> dict[str, dict[int, str]]:
        """Why the programs of bots failed in the matches of a tournament, by match and seat."""
        with self._reading() as connection:
            return result_queries.failures_of(connection, tournament)

    def tournament_luck(self, tournament: str) -> dict[str, MatchLuck]:
        """What luck gave in the matches of a tournament, by their ids: of those of which it was kept."""
        with self._reading() as connection:
            return match_luck.load_for_tournament(connection, tournament)

    def save_luck(self, lucks: Mapping[str, MatchLuck]) -> None:
        """Keep what luck gave in stored matches, by their ids, in place of what was kept; all of it or nothing."""
        with self._writing() as connection:
            match_luck.save(connection, lucks)

    def rebuild_ratings(self) -> int:
        """Compute all ratings again from the results, in the order they were rated. Returns how many rows differed."""
        with self._writing() as connection:
            return rating_rebuild.rebuild(connection)

    def annul(
        self, ids: Sequence[str] = (), bot: str | None = None, since: str | None = None, *, undo: bool = False
    ) -> Annulment:
        """Have matches count for no rating, though they were rated, and rate those after them anew; or `undo` that.

        These matches, and those of a bot that ended `since` then. Raises `UsageFault`, having changed nothing, for a
        match or bot that there is none of, and a match that was never rated.
        """
        with self._writing() as connection:
            return annulment.annul(connection, ids, bot, since, undo=undo)

    def annulled(self, match: str) -> str | None:
        """The pool in which a match was rated, until that was annulled; None for any other."""
        with self._reading() as connection:
            return connection.execute(select(matches.c.annulled).where(matches.c.id == match)).scalar()

    def start_season(self, name: str) -> None:
        """Begin ratings anew. Raises `UsageFault` for a name that is none, or was a season's."""
        with self._writing() as connection:
            seasons.start(connection, name)

    def seasons(self) -> list[Season]:
        """All seasons, the first one first, the one that goes on last."""
        with self._reading() as connection:
            return seasons.list_seasons(connection)

    def season_leaderboards(self, season: str, game: str | None = None) -> dict[str, list[LeaderboardRow]]:
        """The leaderboards of a season, by pool. Raises `UsageFault` for one that there is not."""
        with self._reading() as connection:
            span = seasons.match_range_of(connection, season)
            found = {pool: seasons.leaderboard(connection, pool, span) for pool in seasons.pools(connection, span)}
        return {pool: board for pool, board in found.items() if game in (None, rating_system.game_of(pool))}

    def check(
        self,
        look: RecordCheck = lambda result, ratings, match_luck, record, waits=False: (),
        progress: Callable[[int, int], None] = lambda done, of: None,
    ) -> list[str]:
        """What is wrong, a line each; `look` says what is with a result beside its record. Empty when all is well."""
        with self._reading() as connection:
            return list(integrity_check.find_problems(connection, look, progress))
