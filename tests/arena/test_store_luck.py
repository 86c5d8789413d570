"""What luck gave in matches, kept in the store: with the result or later, and never of a match that can have none."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec import json

from arena.store.finish import finish_matches
from arena.store.integrity_check import check_database
from arena.store.luck_value import MatchLuck
from arena.store.match_luck import luck_of_tournament, save_luck
from arena.store.rating_rebuild import rebuild_ratings
from arena.store.store import Store
from arena.store.tournament_state import open_tournament
from arena.store.tournaments import tournament_leaders, tournament_table
from databases import EVERY_DATABASE
from protocol.reasons import VOID
from referee.result import Result
from seasons import result
from stored_matches import storable

pytestmark = EVERY_DATABASE


def finish(store: Store, done: Result, luck: MatchLuck | None = None) -> None:
    store.write(finish_matches, [storable(done, luck=luck)])


def test_luck_that_comes_with_a_result_is_kept_with_it(store: Store) -> None:
    finish(store, result("m1", tournament="t1", place=0), MatchLuck("exact", 0.41))
    finish(store, result("m2", tournament="t1", place=1), MatchLuck("exact", 0.0))
    finish(store, result("m3", tournament="t1", place=2))
    finish(store, result("m4", tournament="t2", place=0), MatchLuck("exact", -0.2))
    assert store.read(luck_of_tournament, "t1") == {"m1": MatchLuck("exact", 0.41), "m2": MatchLuck("exact", 0.0)}
    assert store.read(luck_of_tournament, "t3") == {}
    assert list(store.iterate(check_database)) == []


def test_a_match_that_is_stored_already_keeps_its_luck(store: Store) -> None:
    for points in (0.41, -0.3):
        finish(store, result("m1", tournament="t1", place=0), MatchLuck("exact", points))
    assert store.read(luck_of_tournament, "t1") == {"m1": MatchLuck("exact", 0.41)}


def test_luck_that_is_worked_out_later_replaces_what_there_was(store: Store) -> None:
    finish(store, result("m1", tournament="t1", place=0), MatchLuck("features-1", 0.3))
    finish(store, result("m2", tournament="t1", place=1))
    store.write(
        save_luck, {"m1": MatchLuck("exact", 0.41), "m2": MatchLuck("exact", -0.1), "gone": MatchLuck("exact", 0.1)}
    )
    store.write(save_luck, {})
    assert store.read(luck_of_tournament, "t1") == {"m1": MatchLuck("exact", 0.41), "m2": MatchLuck("exact", -0.1)}


WON = [((1, 2), 0.9), ((2, 1), -0.9)]
"""By the first bot of the two in both seats, by luck alone."""
AGAINST_LUCK = [((1, 2), -0.6), ((2, 1), 0.6)]
DRAWN: list[tuple[tuple[int, int], float | None]] = [((1, 1), 0.0), ((1, 1), 0.05)]
BY_NONE = [(ranks, MatchLuck("none", 0.0)) for ranks, _ in [*WON, *DRAWN, *DRAWN]]
"""As a tournament of a game without chance keeps them."""
BY_TWO = [(ranks, MatchLuck(("exact", "features-1")[at % 2], luck)) for at, (ranks, luck) in enumerate([*WON, *WON])]
Luck = float | MatchLuck | None
"""A number is luck by the exact value."""
LEADERS: dict[str, tuple[bool, Sequence[tuple[tuple[int, int], Luck]], list[str], bool]] = {
    "less luck": (True, [*WON, *DRAWN, *DRAWN], ["bob"], True),
    "of one start nothing is known": (True, [*WON], ["ann"], False),
    "each match is a start": (False, [*WON], ["bob"], True),
    "not known of all": (True, [*WON, *DRAWN, ((1, 1), None), ((1, 1), 0.0)], ["ann"], False),
    "of none": (True, [((1, 2), None), ((2, 1), None), *DRAWN], ["ann"], False),
    "there are no dice": (False, BY_NONE, ["ann"], False),
    "measured by two values": (False, BY_TWO, ["ann"], False),
    "a mean beyond 1 is 1": (True, [*DRAWN, *AGAINST_LUCK, *AGAINST_LUCK], ["ann", "bob"], True),
}


@pytest.mark.parametrize(("paired", "played", "first", "is_by_luck"), LEADERS.values(), ids=LEADERS)
def test_who_leads_a_tournament_is_who_is_first_in_its_table(
    store: Store, played: Sequence[tuple[tuple[int, int], Luck]], first: list[str], *, paired: bool, is_by_luck: bool
) -> None:
    bots = ["ann", "bob", "cid"]
    arguments = {"bots": bots, "config": {}, "format": "round-robin", "game": "nim", "paired": paired, "rounds": 1}
    tournament = store.write(open_tournament, json.encode(arguments, order="sorted").decode(), "1")[0]
    seats = [("ann", "bob"), ("bob", "ann"), ("bob", "cid"), ("cid", "bob"), ("ann", "cid"), ("cid", "ann")]
    for place, (pair, (ranks, luck)) in enumerate(zip(seats, played, strict=False)):
        known = MatchLuck("exact", luck) if isinstance(luck, float) else luck
        finish(store, result(f"m{place}", pair, ranks, rated=False, tournament=tournament, place=place), known)
    void = result("void", ("ann", "bob"), (1, 1), reason=VOID, rated=False, tournament=tournament, place=6)
    finish(store, void)
    shown = store.read(tournament_table, tournament, {})
    assert shown is not None
    assert sorted(row.bot for row in shown.table if row.rank == 1) == first
    assert (shown.ranked_by, shown.value) == (("adjusted", "exact") if is_by_luck else ("score", shown.value))
    assert store.read(tournament_leaders, [tournament]) == {tournament: first}


def test_ratings_computed_again_leave_luck_as_it_is(store: Store) -> None:
    finish(store, result("m1", tournament="t1", place=0), MatchLuck("exact", 0.41))
    assert store.write(rebuild_ratings) == 0
    assert store.read(luck_of_tournament, "t1") == {"m1": MatchLuck("exact", 0.41)}


def test_luck_of_a_match_that_was_called_off_or_has_more_seats_is_a_complaint(store: Store) -> None:
    luck = MatchLuck("exact", 0.41)
    finish(store, result("m1", ranks=(1, 1), rated=False, reason="void"), luck)
    finish(store, result("m2", ("ann", "bob", "cid"), (1, 2, 3)), luck)
    told = "it has luck, but only matches of two seats that are not void may have luck"
    assert list(store.iterate(check_database)) == [f"match m1: {told}", f"match m2: {told}"]


def test_luck_of_more_than_two_seats_is_not_kept_as_if_it_were_of_two(store: Store) -> None:
    luck = MatchLuck("fitted-1", 0.3, (0.3, -0.1, -0.2))
    assert (luck.by_seat, MatchLuck("exact", 0.3).by_seat) == ((0.3, -0.1, -0.2), (0.3, -0.3))
    finish(store, result("m1", ("ann", "bob", "cid"), (1, 2, 3), tournament="t1", place=0), luck)
    store.write(save_luck, {"m1": luck})
    assert store.read(luck_of_tournament, "t1") == {}
    assert list(store.iterate(check_database)) == []
