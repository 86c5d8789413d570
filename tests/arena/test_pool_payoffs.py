"""Where payoffs are the result: leaderboards by the mean over opponents, through all that can happen to matches."""

from __future__ import annotations

import itertools
import math
import random
import re
import statistics
from collections import defaultdict

import pytest

from arena.commands.bot_record import show_bot
from arena.commands.leaderboard import leaderboard
from arena.store.annulment import annul_matches
from arena.store.integrity_check import check_database
from arena.store.leaderboards import find_profile, leaderboard_page, leaders_of_games, opponents_page
from arena.store.rating_rebuild import rebuild_ratings
from arena.store.result_queries import leaderboard_of, result_of
from arena.store.seasons import season_leaderboards, start_season
from arena.store.store import Store
from commands import on_terminal
from databases import EVERY_DATABASE, asked
from measuring.payoffs import MAX_WEIGHT_ROUNDS, TotalPayoff, mean_of_rounds, mean_payoff, pair_payoffs
from referee.result import Result
from seasons import finish, paid

pytestmark = EVERY_DATABASE

POOL = "dilemma/axelrod"


def autumn(store: Store, count: int = 40) -> list[Result]:
    """A season of four bots, drawn at random."""
    chance = random.Random(7)
    results = []
    for number in range(count):
        bots = chance.sample(["ann", "bob", "cid", "dan"], 2)
        payoffs = [chance.randrange(0, 1001) / 200 for _ in bots]
        results.append(paid(f"m{number}", bots, payoffs, tournament="t1" if number % 2 else None, place=number))
    finish(store, *results)
    return results


def board(store: Store) -> list[tuple[str, float | None]]:
    return [(row.bot, row.payoff and row.payoff.mean) for row in store.read(leaderboard_of, POOL)]


def test_a_bot_that_beats_nobody_leads_where_it_is_paid_most(store: Store) -> None:
    finish(store, paid("m1", ("nice", "kind"), (3.0, 3.0)), paid("m2", ("nice", "kind"), (3.0, 3.0)))
    finish(store, paid("m3", ("nice", "nasty"), (0.9, 1.1)), paid("m4", ("nasty", "kind"), (1.1, 0.8)))
    assert board(store) == [("nice", 1.95), ("kind", 1.9), ("nasty", 1.1)]
    scores = {row.bot: row.score for row in store.read(leaderboard_of, POOL)}
    assert max(scores, key=lambda bot: scores[bot]) == "nasty"
    page = store.read(leaderboard_page, POOL)
    assert [(row.rank, row.bot) for row in page.rows] == [(1, "nice"), (2, "kind"), (3, "nasty")]
    (game,) = store.read(leaders_of_games, 2)
    assert [(row.rank, row.bot, row.payoff) for row in game.leaders] == [
        (1, "nice", 1.95),
        (2, "kind", 1.9),
    ]
    profile = store.read(find_profile, "nasty")
    assert profile is not None
    assert profile.standings[0].rank == 3


def test_opponents_weigh_by_rounds_up_to_a_limit(store: Store) -> None:
    finish(store, *(paid(f"m{number}", ("ann", "bob"), (1.0, 2.0)) for number in range(9)))
    finish(store, paid("last", ("ann", "cid"), (4.0, 0.0), rounds=50))
    assert dict(board(store))["ann"] == 1.6
    rows = store.read(opponents_page, "ann", POOL).rows
    assert [(row.opponent, row.payoff) for row in rows] == [("bob", 1.0), ("cid", 4.0)]


def honest(store: Store) -> None:
    """Four bots of equal strength that have all met."""
    for number, bots in enumerate(itertools.combinations(["ann", "bob", "cid", "dan"], 2)):
        finish(store, *(paid(f"h{number}-{at}", bots, (1.0, 1.1)[:: 1 - 2 * at]) for at in (0, 1)))


def everywhere(store: Store) -> list[tuple[int, str]]:
    """The ranks of the leaderboard, after seeing that the start page, profiles and the view say the same."""
    page = store.read(leaderboard_page, POOL)
    ranks = [(row.rank, row.bot) for row in page.rows]
    rows = store.read(leaderboard_of, POOL)
    assert [row.bot for row in rows] == [bot for _, bot in ranks]
    (game,) = store.read(leaders_of_games, 20)
    paid_for = {row.bot for row in rows if row.payoff is not None}
    assert [(row.rank, row.bot) for row in game.leaders] == [(rank, bot) for rank, bot in ranks if bot in paid_for]
    for rank, bot in ranks:
        profile = store.read(find_profile, bot)
        assert profile is not None
        assert profile.standings[0].rank == rank
    viewed = asked(store.database, "SELECT bot FROM ladder ORDER BY place")
    assert [row["bot"] for row in viewed] == [bot for _, bot in ranks]
    cursor, paged = None, []
    while True:
        part = store.read(leaderboard_page, POOL, after=cursor, limit=2)
        paged += [row.bot for row in part.rows]
        if (cursor := part.next) is None:
            break
    assert paged == [bot for _, bot in ranks]
    return ranks


def test_throw_away_names_that_leave_after_a_round_hardly_move_who_stays(store: Store) -> None:
    honest(store)
    before = dict(board(store))
    finish(store, *(paid(f"g{number}", ("ann", f"grief{number}"), (-7.0, 7.0), rounds=1) for number in range(4)))
    after = dict(board(store))
    assert before["ann"] is not None
    assert after["ann"] == pytest.approx((before["ann"] * 600 - 28) / 604)
    assert {bot for rank, bot in everywhere(store)[:4]} == {"ann", "bob", "cid", "dan"}


def test_a_friend_makes_no_king_nor_do_names_that_leave_at_once(store: Store) -> None:
    honest(store)
    finish(store, *(paid(f"k{number}", ("king", "puppet"), (5.0, 0.0)) for number in range(10)))
    assert everywhere(store)[4] == (5, "king")
    finish(store, *(paid(f"l{number}", ("king", f"left{number}"), (5.0, 0.0), rounds=1) for number in range(3)))
    assert everywhere(store)[4] == (5, "king")
    (row,) = [row for row in store.read(leaderboard_of, POOL) if row.bot == "king"]
    assert row.payoff is not None
    assert (row.payoff.opponents, row.payoff.rounds, row.payoff.ranked, row.few) == (4, 2003, False, True)
    assert re.search(r"^5 +king .*\*$", shown(store), re.MULTILINE)


def test_a_rank_asks_for_rounds_and_opponents(store: Store) -> None:
    honest(store)
    finish(store, *(paid(f"r{number}", ("new", f"left{number}"), (5.0, 0.0), rounds=199) for number in range(3)))
    assert everywhere(store)[4] == (5, "new")
    finish(store, paid("r3", ("new", "left0"), (5.0, 0.0), rounds=3))
    assert everywhere(store)[0] == (1, "new")


def test_bots_without_enough_are_in_order_among_themselves_and_above_the_unpaid(store: Store) -> None:
    finish(store, paid("m1", ("ann", "bob"), (1.0, 3.0)), paid("m2", ("cid", "bob"), (None, 3.0)))
    assert everywhere(store) == [(1, "bob"), (2, "ann"), (3, "cid")]


def shown(store: Store) -> str:
    return on_terminal(lambda: leaderboard(str(store.database), None, None, people=False, to_json=False, to_csv=False))


def test_the_mean_and_its_interval_are_those_of_the_single_matches(store: Store) -> None:
    results = autumn(store)
    rows = store.read(leaderboard_of, POOL)
    assert len(rows) == 4
    for row in rows:
        met: dict[str, list[float]] = defaultdict(list)
        for done in results:
            for seat, other in (done.seats, done.seats[::-1]):
                if seat.bot == row.bot:
                    met[other.bot].append(seat.payoff)
        right = mean_payoff(pair_payoffs(payoffs, 200 * len(payoffs)) for payoffs in met.values())
        assert right is not None
        assert row.payoff is not None
        assert row.payoff.opponents == right.opponents == 3
        assert (row.payoff.mean, row.payoff.low, row.payoff.high) == pytest.approx((right.mean, right.low, right.high))
        weights = [min(200 * len(payoffs), MAX_WEIGHT_ROUNDS) for payoffs in met.values()]
        errors = [
            (weight / sum(weights)) ** 2 * statistics.variance(payoffs) / len(payoffs)
            for weight, payoffs in zip(weights, met.values(), strict=True)
        ]
        reach = (right.high - right.low) / 2
        assert 1.96 < reach / math.sqrt(sum(errors)) < 4.5


def test_a_seat_without_a_payoff_is_not_counted_and_a_bot_without_any_is_last(store: Store) -> None:
    finish(store, paid("m1", ("ann", "bob"), (None, 0.0)), paid("m2", ("cid", "bob"), (1.0, 2.0)))
    assert board(store) == [("bob", 1.0), ("cid", 1.0), ("ann", None)]
    page = store.read(leaderboard_page, POOL)
    assert page.rows[-1].bot == "ann"
    assert page.rows[-1].rank == 3


def test_annulled_matches_are_taken_away_and_come_back(store: Store) -> None:
    autumn(store)
    before = store.read(leaderboard_of, POOL)
    store.write(annul_matches, ["m3", "m4"])
    after = store.read(leaderboard_of, POOL)
    assert after != before
    assert list(store.iterate(check_database)) == []
    store.write(annul_matches, ["m3", "m4"], undo=True)
    assert store.read(leaderboard_of, POOL) == before
    assert list(store.iterate(check_database)) == []


def test_a_rebuild_gives_the_same(store: Store) -> None:
    autumn(store)
    before = store.read(leaderboard_of, POOL)
    assert store.write(rebuild_ratings) == 0
    store.write(lambda connection: connection.exec_driver_sql("UPDATE payoffs SET total = total + 1"))
    (complaint,) = [line for line in store.iterate(check_database) if "payoffs" in line]
    assert "do not follow from the results: run `arena db rebuild-ratings`" in complaint
    assert store.write(rebuild_ratings) > 0
    assert store.read(leaderboard_of, POOL) == before


def test_a_season_begins_without_payoffs_and_the_last_keeps_its_own(store: Store) -> None:
    autumn(store)
    before = store.read(leaderboard_of, POOL)
    store.write(start_season, "second")
    assert board(store) == []
    finish(store, paid("new", ("ann", "bob"), (5.0, 0.0)))
    assert board(store) == [("ann", 5.0), ("bob", 0.0)]
    assert store.read(season_leaderboards, "first")[POOL] == before
    page = store.read(leaderboard_page, POOL, season="first")
    assert [(row.bot, row.payoff) for row in page.rows] == [(row.bot, row.payoff) for row in before]
    assert list(store.iterate(check_database)) == []


@pytest.mark.parametrize("payoff", [1_000_000.0, -999_999.9999, 999_999.5, -0.0001])
def test_the_largest_payoffs_are_summed_up_exactly(store: Store, payoff: float) -> None:
    finish(store, *(paid(f"m{number}", ("ann", "bob"), (payoff, -payoff), rounds=10_000) for number in range(50)))
    rows = {row.bot: row.payoff for row in store.read(leaderboard_of, POOL)}
    found = rows["ann"]
    assert found is not None
    assert found.mean == found.low == found.high == payoff


def test_results_keep_payoffs_and_rounds(store: Store) -> None:
    finish(store, paid("m1", ("ann", "bob"), (1 / 3, 0.1)))
    kept = store.read(result_of, "m1")
    assert kept is not None
    assert [(seat.payoff, seat.rounds) for seat in kept.seats] == [(1 / 3, 200), (0.1, 200)]


def test_the_view_for_others_is_in_the_order_of_payoffs(store: Store) -> None:
    autumn(store)
    rows = asked(store.database, "SELECT bot, payoff FROM ladder ORDER BY place")
    assert [row["bot"] for row in rows] == [bot for bot, _ in board(store)]
    assert [row["payoff"] for row in rows] == pytest.approx([payoff for _, payoff in board(store)])


def test_the_leaderboard_keeps_to_80_columns_and_tells_payoffs_with_intervals(store: Store) -> None:
    long = "a-bot-of-thirty-two-letters-long"
    finish(store, *(paid(f"m{number}", (long, "bob"), (-10.0, -0.25)) for number in range(3)))
    out = on_terminal(lambda: leaderboard(str(store.database), None, None, people=False, to_json=False, to_csv=False))
    assert max(map(len, out.splitlines())) <= 80
    assert "dilemma/axelrod, by the mean payoff a round, opponents weighing by their rounds" in out
    assert re.search(r"^1 +bob +-0\.250 +-0\.250 to -0\.250 +1 ", out, re.MULTILINE)
    shown = on_terminal(lambda: show_bot(str(store.database), "bob", to_json=False))
    assert max(map(len, shown.splitlines())) <= 80
    assert re.search(r"^dilemma/axelrod +-0\.250 +-0\.250 to -0\.250 +1  1   2$", shown, re.MULTILINE)


def test_a_round_weighs_the_same_however_long_its_match_was(store: Store) -> None:
    finish(
        store,
        paid("long", ("ann", "bob"), (1.0, 1.0), rounds=900),
        paid("short", ("ann", "bob"), (5.0, 0.0), rounds=100),
    )
    found = {row.bot: row.payoff for row in store.read(leaderboard_of, POOL)}["ann"]
    right = mean_payoff([pair_payoffs(mean_of_rounds([TotalPayoff(900, 900), TotalPayoff(500, 100)]), 1000)])
    assert found is not None
    assert right is not None
    assert found.mean == right.mean == 1.4
    assert (found.low, found.high) == pytest.approx((right.low, right.high))
    assert store.read(opponents_page, "ann", POOL).rows[0].payoff == 1.4
