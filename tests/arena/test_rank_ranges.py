"""The ranks that chance leaves open in a tournament: wide where it may have put bots in order, narrow elsewhere."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence

from arena.ratings.rank_ranges import ScoredMatch, rank_ranges
from arena.ratings.standings import MatchSample, score_table
from seasons import result
from volumes import IS_NIGHTLY

ALIKE = {"a": (1, 2), "b": (1, 2)}
APART = {"a": (1, 1), "b": (2, 2)}


def season(strengths: Mapping[str, float], rounds: int, seed: int, *, paired: bool = True) -> list[ScoredMatch]:
    """Round robins: a bot wins by half the difference in strength above one half."""
    chance, matches = random.Random(seed), []
    for number in range(rounds):
        for one, other in itertools.combinations(strengths, 2):
            for seats in ((one, other), (other, one)):
                won = float(chance.random() < 0.5 + (strengths[seats[0]] - strengths[seats[1]]) / 2)
                matches.append(ScoredMatch(seats, (won, 1 - won), (number, one, other) if paired else None))
    return matches


def ordered(matches: Sequence[ScoredMatch]) -> list[str]:
    points: dict[str, float] = {}
    for match in matches:
        for bot, won in zip(match.seats, match.points, strict=True):
            points[bot] = points.get(bot, 0.0) + won
    return sorted(points, key=lambda bot: -points[bot])


def test_equal_bots_may_have_any_rank_in_most_tournaments() -> None:
    equal = {f"bot-{number}": 0.0 for number in range(9)}
    seeds, most = (60, 7) if IS_NIGHTLY else (20, 3)
    apart = 0
    for seed in range(seeds):
        matches = season(equal, 6, seed)
        apart += set(rank_ranges(ordered(matches), matches).values()) != {(1, 9)}
    assert apart <= most  # a twentieth is expected, more than that once in fifty times


def test_bots_that_are_clearly_apart_are_ranked_one_after_another() -> None:
    matches = season({"a": 0.9, "b": 0.45, "c": 0.0}, 60, 1)
    assert rank_ranges("abc", matches) == {"a": (1, 1), "b": (2, 2), "c": (3, 3)}


def with_luck(matches: Sequence[ScoredMatch], spread: float, seed: int) -> list[ScoredMatch]:
    """The same after chance has decided nearly all: what is left less luck is as wide as told, around what it was."""
    chance, found = random.Random(seed), []
    for match in matches:
        left = 0.5 + (match.points[0] - 0.5) / 20 + chance.uniform(-spread, spread)
        won = float(chance.random() < left)
        found.append(match._replace(points=(won, 1 - won), luck=won - left))
    return found


def test_less_luck_bots_are_told_apart_that_results_do_not_tell() -> None:
    matches = with_luck(season({"a": 0.9, "b": 0.45, "c": 0.0}, 150, 1), 0.05, 4)
    assert set(rank_ranges("abc", matches).values()) == {(1, 3)}
    assert rank_ranges("abc", matches, adjusted=True) == {"a": (1, 1), "b": (2, 2), "c": (3, 3)}


def test_less_luck_too_equal_bots_may_have_any_rank_in_most_tournaments() -> None:
    equal = {f"bot-{number}": 0.0 for number in range(6)}
    apart = 0
    for seed in range(100):
        matches = with_luck(season(equal, 6, seed), 0.2, seed)
        order = ordered([match.without_luck for match in matches])
        apart += set(rank_ranges(order, matches, adjusted=True).values()) != {(1, 6)}
    assert apart <= 11  # 5 are expected, more than 11 once in two hundred times


def test_of_starts_that_are_all_alike_less_luck_a_few_tell_nothing_and_many_do() -> None:
    for starts, told in ((2, ALIKE), (300, APART)):
        matches = [
            ScoredMatch(seats, points, start, luck=0.5 - (0.02 if seats[0] == "a" else -0.02))
            for start in range(starts)
            for seats, points in ((("a", "b"), (1.0, 0.0)), (("b", "a"), (1.0, 0.0)))
        ]
        assert rank_ranges("ab", matches, adjusted=True) == told


def test_the_best_may_be_told_from_the_last_alone() -> None:
    matches = season({"a": 0.2, "b": 0.1, "c": 0.0}, 100, 2)
    assert rank_ranges("abc", matches) == {"a": (1, 2), "b": (1, 3), "c": (2, 3)}


def test_what_the_start_decides_is_in_no_doubt_where_both_orders_are_played() -> None:
    first, second = (1.0, 0.0), (0.0, 1.0)
    matches = [
        ScoredMatch(seats, points, start)
        for start in range(100)
        for seats, points in ((("a", "b"), first), (("b", "a"), second if start < 10 else first))
    ]
    turned = [match._replace(points=match.points[::-1]) if (match.start or 0) >= 55 else match for match in matches]
    assert rank_ranges("ab", turned) == APART
    assert rank_ranges("ab", [match._replace(start=None) for match in turned]) == ALIKE


def test_few_matches_tell_nobody_apart_however_they_end() -> None:
    won = [ScoredMatch(("a", "b"), (1.0, 0.0), start) for start in range(2)]
    assert rank_ranges("ab", won) == ALIKE
    assert rank_ranges("ab", [won[0]._replace(start=start) for start in range(8)]) == APART
    assert rank_ranges("ab", []) == ALIKE


def test_a_bot_of_which_no_match_counts_may_have_any_rank() -> None:
    matches = season({"a": 0.9, "b": 0.0}, 50, 3)
    assert rank_ranges("abc", matches) == {"a": (1, 2), "b": (2, 3), "c": (1, 3)}


def test_of_six_seats_a_bot_that_is_always_first_is_certainly_first() -> None:
    names, chance, matches = "abcdef", random.Random(4), []
    for start in range(60):
        seats = tuple(chance.sample(names, 6))
        points = chance.sample([0.0, 0.2, 0.4, 0.6, 0.8], 5)
        matches.append(ScoredMatch(seats, [1.0 if bot == "a" else points.pop() for bot in seats], start))
    found = rank_ranges(names, matches)
    assert found.pop("a") == (1, 1)
    assert set(found.values()) == {(2, 6)}


def test_the_ranges_of_all_bots_hold_their_true_ranks_in_most_tournaments() -> None:
    strengths = {f"bot-{number}": number / 12 for number in range(12)}
    missed = 0
    for seed in range(30):
        matches = season(strengths, 3, seed)
        found = rank_ranges(ordered(matches), matches)
        missed += any(not found[f"bot-{n}"].best <= 12 - n <= found[f"bot-{n}"].worst for n in range(12))
    assert missed <= 4  # at most a twentieth is expected, more than 4 at most once in sixty times


def test_bots_of_equal_scores_share_one_range_and_ranges_are_in_the_order_of_the_table() -> None:
    widened = 0
    for seed in range(5):
        strengths = {f"bot-{number:02}": number / 12 for number in range(12)}
        matches = season(strengths, 2, seed, paired=False)
        alone = rank_ranges(list(strengths), matches)
        met = [MatchSample(result("m", one.seats, (1, 2) if one.points[0] else (2, 1)), None, None) for one in matches]
        table = score_table(list(strengths), met)
        for row in table:
            assert (row.best_rank or 0) <= alone[row.bot].best <= (row.rank or 0)
            assert (row.rank or 0) <= alone[row.bot].worst <= (row.worst_rank or 0)
            widened += (row.best_rank, row.worst_rank) != alone[row.bot]
        for above, row in itertools.pairwise(table):
            if above.rank == row.rank:
                assert (above.best_rank, above.worst_rank) == (row.best_rank, row.worst_rank)
            assert (above.best_rank or 0) <= (row.best_rank or 0)
            assert (above.worst_rank or 0) <= (row.worst_rank or 0)
    assert widened, "what the matches tell of no bot is out of order"


def test_a_bot_with_few_matches_widens_the_ranges_of_no_other() -> None:
    ranks = [("ann", "bob", 40), ("bob", "cid", 40), ("ann", "cid", 39), ("cid", "ann", 1), ("bob", "new", 1)]
    met = [MatchSample(result("m", (one, other)), None, None) for one, other, times in ranks for _ in range(times)]
    table = score_table(["ann", "bob", "cid", "new"], met)
    assert [(row.bot, row.best_rank) for row in table] == [("ann", 1), ("bob", 2), ("cid", 3), ("new", 1)]
