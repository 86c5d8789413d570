"""Refusal of rules that changed although their version did not: their matches would be rated with those of before."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection

from arena.store.match_search import Search, search_matches
from arena.store.result_queries import RecordRemoved, rated_pools, record_of
from protocol.errors import UsageFault
from protocol.messages import RulesStamp
from protocol.pools import version_of
from referee.record import describe_rules, stamp_of
from referee.record_reader import read_record


def check_rules(connection: Connection, games: Iterable[str]) -> None:
    """Compare the rules of games with those of their newest rated matches of this season that have the same version.
    Raise `UsageFault` if they are others, and `UnknownGame` for an unknown game.
    """
    for game in games:
        here = stamp_of(game)
        if here is None:
            continue
        for pool in rated_pools(connection, game):
            if version_of(pool) != here.version:
                continue
            before = _rules_of_newest(connection, pool)
            if before is not None and before.digest != here.digest:
                raise UsageFault(
                    f"{game}: its rules ({describe_rules(here)}) are others than those of its rated matches "
                    f"({describe_rules(before)}): write another version, such as version = {_next(here.version)!r}, "
                    "which gets ratings of its own, or begin a season with `arena season start`"
                )


def _rules_of_newest(connection: Connection, pool: str) -> RulesStamp | None:
    """Return the rules of the newest match in a pool; None if its record is gone or does not name them."""
    for result in search_matches(connection, Search(pool=pool), limit=1).rows:
        try:
            body = record_of(connection, result.match)
        except RecordRemoved:
            return None
        return None if body is None else read_record(body, result.match).header.rules
    return None


def _next(version: str) -> str:
    return str(int(version) + 1) if version.isdecimal() else f"{version}.1"
