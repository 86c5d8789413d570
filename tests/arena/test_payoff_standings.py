"""Tournaments whose result is payoffs: the order of the table, who is told apart, what the units are."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from arena.commands.tournament_report import Report
from arena.ratings.payoff_standings import MatchPayoffs, PayoffSummary
from arena.ratings.standings import TableRow, score_rows
from arena.store.store import Store
from arena.store.tournament_state import open_tournament
from arena.store.tournaments import tournament_leaders, tournament_table
from commands import on_terminal
from measuring.payoffs import TotalPayoff
from plans import plan
from referee.result import Result
from seasons import finish, paid


def rows(names: Sequence[str]) -> list[TableRow]:
    return [replace(row, played=1) for row in score_rows(names, [])]


def of_ten(payoff: float | None) -> TotalPayoff | None:
    """What was paid in ten rounds, so much in each."""
    return None if payoff is None else TotalPayoff(10 * payoff, 10)


def of_two(
    one: str, other: str, *payoffs: tuple[float | None, float | None], paired: bool = False
) -> list[MatchPayoffs]:
    """Matches of these two; paired, each two that follow one another share a start."""
    return [
        MatchPayoffs(((one, of_ten(mine)), (other, of_ten(theirs))), f"{one}{other}{at // 2}" if paired else None)
        for at, (mine, theirs) in enumerate(payoffs)
    ]


def test_the_table_is_in_the_order_of_payoffs_and_who_has_none_is_last() -> None:
    met = [*of_two("ann", "bob", (1.0, 2.0)), *of_two("bob", "cid", (0.0, None))]
    found = PayoffSummary(["ann", "bob", "cid"], met).rank_rows(rows(["ann", "bob", "cid"]))
    assert [(row.rank, row.best_rank, row.worst_rank, row.bot, row.payoff and row.payoff.mean) for row in found] == [
        (1, 1, 3, "ann", 1.0),
        (1, 1, 3, "bob", 1.0),
        (3, 1, 3, "cid", None),
    ]


def test_without_payoffs_a_table_stays_as_it_is() -> None:
    met = of_two("ann", "bob", (None, None))
    payoffs = PayoffSummary(["ann", "bob"], met)
    assert payoffs.rank_rows(rows(["ann", "bob"])) == rows(["ann", "bob"])
    assert payoffs.pairs == {}


def test_matches_of_one_start_count_by_their_mean() -> None:
    swings = [(1.0, 3.0), (3.0, 1.0), (1.0, 3.0), (3.0, 1.0)]
    alone = PayoffSummary(["ann", "bob"], of_two("ann", "bob", *swings)).means["ann"]
    paired = PayoffSummary(["ann", "bob"], of_two("ann", "bob", *swings, paired=True)).means["ann"]
    assert alone is not None
    assert paired is not None
    assert alone.mean == paired.mean == 2.0
    assert alone.low is not None
    assert alone.low < 2.0
    assert paired.low == paired.high == 2.0


def test_bots_are_ranked_apart_where_what_they_were_paid_differs_for_certain() -> None:
    always = [(3.0, 1.0)] * 3
    found = PayoffSummary(["ann", "bob"], of_two("ann", "bob", *always)).rank_rows(rows(["bob", "ann"]))
    assert [(row.best_rank, row.worst_rank, row.bot) for row in found] == [(1, 1, "ann"), (2, 2, "bob")]


def test_what_both_of_two_get_in_the_same_rounds_tells_them_apart_however_rounds_vary() -> None:
    chance = random.Random(3)
    level = [chance.uniform(-50, 50) for _ in range(20)]
    together = [(each + 0.1 + chance.gauss(0, 0.01), each) for each in level]
    found = PayoffSummary(["ann", "bob"], of_two("ann", "bob", *together)).rank_rows(rows(["ann", "bob"]))
    assert [(row.best_rank, row.worst_rank) for row in found] == [(1, 1), (2, 2)]
    zero_sum = [(each, -each) for each in level]
    found = PayoffSummary(["ann", "bob"], of_two("ann", "bob", *zero_sum)).rank_rows(rows(["ann", "bob"]))
    assert [(row.best_rank, row.worst_rank) for row in found] == [(1, 2), (1, 2)]


@pytest.mark.parametrize("bots", [2, 5])
def test_of_equal_bots_some_are_told_apart_in_at_most_one_tournament_of_twenty(bots: int) -> None:
    chance = random.Random(5)
    names = list("abcde")[:bots]
    wrong = 0
    for _ in range(150):
        met = []
        for at, one in enumerate(names):
            for other in names[at + 1 :]:
                payoffs = [(chance.gauss(0, 1), chance.gauss(0, 3)) for _ in range(4)]
                met += of_two(one, other, *payoffs)
        wrong += any(
            (row.best_rank, row.worst_rank) != (1, bots) for row in PayoffSummary(names, met).rank_rows(rows(names))
        )
    assert wrong <= 14  # 5 % of 150 are 7.5; two and a half standard errors more


def results(names: Sequence[str], *, noisy: bool) -> list[Result]:
    """All matches of a paired round robin of the dilemma; the last of the names defects."""
    chance = random.Random(1)
    entered = plan(names, "dilemma", rounds=3, format="round-robin", paired=True)
    found = []
    for match in entered.schedule(()):
        nasty = [bot == names[-1] for bot in match.seats]
        payoffs = [1.1 if bad else 0.9 for bad in nasty] if any(nasty) else [3.0, 3.0]
        shaken = [payoff + chance.gauss(0, 0.1) if noisy else payoff for payoff in payoffs]
        found.append(paid(f"t1-{match.place:05d}", match.seats, shaken, tournament="t1", place=match.place))
    return found


LONG = [f"the-{number}-bot-of-thirty-two-letters"[:32] for number in range(8)]


@pytest.mark.parametrize("names", [["tft", "nasty"], ["tft", "grim", "nasty"], LONG[:2], LONG])
@pytest.mark.parametrize("noisy", [True, False])
def test_tables_keep_to_80_columns_and_cut_no_number(names: list[str], noisy: bool) -> None:
    entered = plan(names, "dilemma", rounds=3, format="round-robin", paired=True)
    out = on_terminal(lambda: Report(entered, results(names, noisy=noisy)).show(Path("data")))
    assert max(map(len, out.splitlines())) <= 80
    assert "…" not in out
    assert "a round" in out
    assert ("payoff a round, row against column" in out) == (len(names) > 2)


def test_who_defects_wins_every_match_and_comes_last(tmp_path: Path) -> None:
    names = ["tft", "grim", "nasty"]
    entered = plan(names, "dilemma", rounds=3, format="round-robin", paired=True)
    out = on_terminal(lambda: Report(entered, results(names, noisy=False)).show(Path("data")))
    lines = [line.split() for line in out.splitlines()]
    assert ["3", "3", "nasty", "1.100", "1.100-1.100", "12", "12", "0", "0", "0"] in lines
    assert ["1", "1-2", "tft", "1.950", "1.950-1.950", "12", "0", "6", "6", "0"] in lines


def test_the_store_has_the_same_table_and_leader(tmp_path: Path) -> None:
    names = ["tft", "grim", "nasty"]
    entered = plan(names, "dilemma", rounds=3, format="round-robin", paired=True)
    arguments = {"game": "dilemma", "config": {}, "format": "round-robin", "bots": names, "rounds": 3, "paired": True}
    store = Store.open(tmp_path / "arena.db")
    try:
        name, _ = store.write(open_tournament, json.dumps(arguments), None)
        met = [replace(one, tournament=name) for one in results(names, noisy=True)]
        finish(store, *met)
        shown = store.read(tournament_table, name, {})
        assert shown is not None
        by_report = Report(entered, met)._rows
        assert [(row.bot, row.rank) for row in shown.table] == [(row.bot, row.rank) for row in by_report]
        for row, other in zip(shown.table, by_report, strict=True):
            assert row.payoff is not None
            assert other.payoff is not None
            assert row.payoff.mean == pytest.approx(other.payoff.mean)
            assert row.payoff.low == pytest.approx(other.payoff.low)
        assert set(shown.payoffs["tft"]) == {"grim", "nasty"}
        assert store.read(tournament_leaders, [name]) == {name: [shown.table[0].bot]}
        assert shown.table[-1].bot == "nasty"
    finally:
        store.close()
