"""Annulling matches, and undoing it. Annulled matches stay stored but are not rated. Later matches are rated again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from sqlalchemy import Connection

from arena.ratings import rating_system
from arena.store import rating_rebuild, summaries
from arena.store.announcements import announce
from arena.store.dialect import execute, list_parameter
from arena.store.match_numbers import IN_NUMBERS_SQL, numbers_parameter
from arena.store.rating_decisions import decisions_version, record_decision
from arena.store.registry import find_bot_id
from arena.store.result_queries import UNRATED_SUFFIX
from protocol.display import format_count, list_first
from protocol.errors import UsageFault
from protocol.games import is_known_game, missing_rules_message
from protocol.pools import version_of

_SELECT_MATCHES = "SELECT number, id, pool, annulled FROM matches WHERE"
"""The query for matches and how they are rated, without its condition."""
_ANNUL_STATEMENTS = (
    f"UPDATE matches SET annulled = pool, pool = NULL WHERE number {IN_NUMBERS_SQL}",
    f"""UPDATE seats SET mu_before = NULL, sigma_before = NULL, mu_after = NULL, sigma_after = NULL, played = NULL,
    pool = (SELECT game FROM matches WHERE number = match) || '/{UNRATED_SUFFIX}' WHERE match {IN_NUMBERS_SQL}""",
)
_UNDO_STATEMENTS = (
    f"UPDATE matches SET pool = annulled, annulled = NULL WHERE number {IN_NUMBERS_SQL}",
    f"UPDATE seats SET pool = (SELECT pool FROM matches WHERE number = match) WHERE match {IN_NUMBERS_SQL}",
)


class AnnulmentOutcome(Struct, frozen=True, kw_only=True):
    """The outcome of annulling matches or of undoing it: the number of changed matches, and their rating pools."""

    matches: int
    pools: list[str] = []

    def describe(self, *, undo: bool) -> str:
        """Describe the outcome in one sentence."""
        if not self.matches:
            return "nothing to do: " + (
                "none of these matches is annulled" if undo else "none of these matches is rated"
            )
        one, more = ("match counts again", "matches count again") if undo else ("match annulled", "matches annulled")
        return f"{format_count(self.matches, one, more)}, and {', '.join(self.pools)} rated anew"


class AnnulmentPlan:
    """A plan to annul rated matches, or with `undo` to rate annulled matches again. It concerns the matches with these
    `ids`, and those of `bot` that ended at the time `since` or later.

    The plan computes new ratings without writing. Each `advance` includes matches that were stored meanwhile. `save`
    writes the ratings. It raises `RatingDecisionsChanged` if meanwhile other matches were annulled or a season began.
    The constructor raises `UsageFault` for an unknown match or bot, for a match that was never rated, and for a match
    of a game whose rules this arena does not have.
    """

    def __init__(
        self,
        connection: Connection,
        ids: Sequence[str] = (),
        bot: str | None = None,
        since: str | None = None,
        *,
        undo: bool = False,
    ) -> None:
        self._version = decisions_version(connection)
        found = [*_matches_by_id(connection, ids), *([] if bot is None else _matches_of_bot(connection, bot, since))]
        pools = {row.number: row.annulled if undo else row.pool for row in found}
        pools = {number: pool for number, pool in pools.items() if pool is not None}
        self.outcome = AnnulmentOutcome(matches=len(pools), pools=sorted(set(pools.values())))
        for pool in self.outcome.pools:
            if not rating_system.has_rules_of(pool):
                missing = missing_rules_message(rating_system.game_of(pool))
                version = f" in version {version_of(pool)}" if is_known_game(rating_system.game_of(pool)) else ""
                raise UsageFault(f"{missing}{version}, so its ratings cannot be computed again")
        self._undo = undo
        self._numbers = sorted(pools)
        will_be = pools if undo else dict.fromkeys(pools)
        self._rebuild = (
            rating_rebuild.RatingRebuild(connection, self._numbers[0], self.outcome.pools, will_be) if pools else None
        )

    def advance(self, connection: Connection) -> int:
        """Compute ratings up to the last stored match. Return how many match numbers the computation advanced."""
        return 0 if self._rebuild is None else self._rebuild.advance(connection)

    def save(self, connection: Connection) -> AnnulmentOutcome:
        """Write the annulment, or its undoing, and the new ratings. Raise `RatingDecisionsChanged` if other matches
        were annulled or a season began after the plan was made.
        """
        if self._rebuild is not None:
            record_decision(connection, self._version)
            summaries.remove_matches(connection, self._numbers)
            for statement in _UNDO_STATEMENTS if self._undo else _ANNUL_STATEMENTS:
                execute(connection, statement, numbers_parameter(self._numbers))
            summaries.add_again(connection, self._numbers)
            self._rebuild.save(connection)
            announce(connection, "ratings")
        return self.outcome


def annul_matches(
    connection: Connection,
    ids: Sequence[str] = (),
    bot: str | None = None,
    since: str | None = None,
    *,
    undo: bool = False,
) -> AnnulmentOutcome:
    """Annul matches, or with `undo` make them count again, in one long transaction. Use it only if no other client
    waits for the database.
    """
    return AnnulmentPlan(connection, ids, bot, since, undo=undo).save(connection)


def pool_of_annulled(connection: Connection, match: str) -> str | None:
    """Return the pool that rated a match before it was annulled; None for a match that is not annulled."""
    pool: str | None = execute(connection, "SELECT annulled FROM matches WHERE id = :match", {"match": match}).scalar()
    return pool


def _matches_by_id(connection: Connection, ids: Sequence[str]) -> list[Any]:
    query = f"{_SELECT_MATCHES} id IN (SELECT value FROM {{each:ids}} AS told)"
    found: list[Any] = list(execute(connection, query, list_parameter("ids", ids)))
    known = {row.id for row in found}
    if unknown := [match for match in ids if match not in known]:
        raise UsageFault(f"there is no match {list_first(map(repr, unknown))}: `arena matches` lists those there are")
    if unrated := [row.id for row in found if row.pool is None and row.annulled is None]:
        raise UsageFault(f"not rated, so there is nothing to annul: {list_first(unrated)}")
    return found


def _matches_of_bot(connection: Connection, name: str, since: str | None) -> list[Any]:
    bot = find_bot_id(connection, name)
    if bot is None:
        raise UsageFault(f"there is no bot called {name}: `arena bot list` names them")
    query = f"""{_SELECT_MATCHES} number IN (SELECT match FROM seats WHERE bot = :bot) AND finished >= :since
    AND coalesce(pool, annulled) IS NOT NULL"""
    return list(execute(connection, query, {"bot": bot, "since": since or ""}))
