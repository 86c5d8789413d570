"""Matches of a tournament that wait in the store for their turn to be rated."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from arena.store.finish import StorableMatch, finish_matches, prepare_match
from arena.store.luck_value import MatchLuck
from arena.store.result_queries import bot_failures, iter_results, tournament_results
from arena.store.store import Store
from arena.store.tournament_state import PendingResult, finish_tournament, pending_of_tournament, save_pending
from commands import call
from databases import EVERY_DATABASE, alter
from referee.effects import Resignation
from referee.footer import ClosedMatch
from referee.record import is_public, write_line
from referee_table import Table, header

pytestmark = EVERY_DATABASE


def over(place: int) -> PendingResult:
    """A match of the tournament `t1` that was refereed to its end, with luck and a failure."""
    placed = replace(header("nim", match=f"t1-{place:05d}", rated=True), tournament="t1", place=place)
    table = Table(header=placed).begin()
    table.send(Resignation(0))
    result = table.match.result("2026-01-01T00:01:00.000Z")
    lines = tuple(line for line in map(write_line, table.lines) if is_public(line))
    closed = ClosedMatch(result, lines, table.match.footer(result, None))
    return PendingResult(closed, MatchLuck("exact", 0.5), {1: "ended with exit code 3"})


def finished(one: PendingResult) -> StorableMatch:
    return prepare_match(one.closed, one.luck, one.failures)


def test_a_match_waits_as_it_was_handed_in_until_it_is_rated(store: Store) -> None:
    store.write(save_pending, [over(2), over(1)])
    assert store.read(pending_of_tournament, "t1") == [over(1), over(2)]
    assert store.read(pending_of_tournament, "t2") == list(store.iterate(iter_results)) == []
    store.write(finish_matches, [finished(over(0)), finished(over(1))])
    assert store.read(pending_of_tournament, "t1") == [over(2)]
    assert [one.place for one in store.read(tournament_results, "t1")] == [0, 1]
    assert store.read(bot_failures, "t1") == {name: {1: "ended with exit code 3"} for name in ("t1-00000", "t1-00001")}


def test_a_match_is_kept_once_and_not_once_it_is_rated(store: Store) -> None:
    store.write(finish_matches, [finished(over(0))])
    store.write(save_pending, [over(0), over(1)])
    store.write(save_pending, [replace(over(1), failures={})])
    assert store.read(pending_of_tournament, "t1") == [over(1)]


def test_what_waits_of_a_finished_tournament_was_not_needed(store: Store) -> None:
    store.write(save_pending, [over(5)])
    store.write(finish_tournament, "t1")
    assert store.read(pending_of_tournament, "t1") == []


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        ("data = substr(data, 1, 1)", "match t1-00001, which waits to be rated: it can't be read: "),
        ("place = 4", "match t1-00001, which waits to be rated: its stored data says t1-00001, place 1 of t1"),
        ("match = 't1-00000'", "match t1-00000: it waits to be rated, but is rated"),
    ],
)
def test_a_match_that_waits_is_checked_like_others(store: Store, tmp_path: Path, damage: str, complaint: str) -> None:
    store.write(finish_matches, [finished(over(0))])
    store.write(save_pending, [over(1)])
    folder = str(tmp_path)
    assert call("arena", "db", "check", "--data", folder).code == 0
    alter(store.database, f"UPDATE awaiting SET {damage}")
    assert complaint in call("arena", "db", "check", "--data", folder).out
