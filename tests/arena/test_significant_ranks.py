"""Ranks of a tournament: shared by bots that chance may have put in order, apart where it did not."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence

from arena.ratings.significant_ranks import ScoredMatch, ranks
from volumes import IS_NIGHTLY


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


def test_equal_bots_share_the_first_rank_in_most_tournaments() -> None:
    equal = {f"bot-{number}": 0.0 for number in range(15)}
    seeds, most = (60, 7) if IS_NIGHTLY else (20, 3)
    apart = 0
    for seed in range(seeds):
        matches = season(equal, 6, seed)
        apart += set(ranks(ordered(matches), matches).values()) != {1}
    assert apart <= most  # a twentieth is expected, more than that once in fifty times


def test_bots_that_are_clearly_apart_are_ranked_one_after_another() -> None:
    matches = season({"a": 0.9, "b": 0.45, "c": 0.0}, 60, 1)
    assert ranks("abc", matches) == {"a": 1, "b": 2, "c": 3}


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
    assert ranks("abc", matches) == {"a": 1, "b": 1, "c": 1}
    assert ranks("abc", matches, adjusted=True) == {"a": 1, "b": 2, "c": 3}


def test_less_luck_too_equal_bots_share_the_first_rank_in_most_tournaments() -> None:
    equal = {f"bot-{number}": 0.0 for number in range(6)}
    apart = 0
    for seed in range(100):
        matches = with_luck(season(equal, 6, seed), 0.2, seed)
        order = ordered([match.freed for match in matches])
        apart += set(ranks(order, matches, adjusted=True).values()) != {1}
    assert apart <= 11  # 5 are expected, more than 11 once in two hundred times


def test_of_starts_that_are_all_alike_less_luck_a_few_tell_nothing_and_many_do() -> None:
    for starts, told in ((2, {"a": 1, "b": 1}), (300, {"a": 1, "b": 2})):
        matches = [
            ScoredMatch(seats, points, start, luck=0.5 - (0.02 if seats[0] == "a" else -0.02))
            for start in range(starts)
            for seats, points in ((("a", "b"), (1.0, 0.0)), (("b", "a"), (1.0, 0.0)))
        ]
        assert ranks("ab", matches, adjusted=True) == told


def test_the_best_may_be_told_from_the_last_alone() -> None:
    matches = season({"a": 0.2, "b": 0.1, "c": 0.0}, 100, 2)
    assert ranks("abc", matches) == {"a": 1, "b": 1, "c": 2}


def test_what_the_start_decides_is_in_no_doubt_where_both_orders_are_played() -> None:
    first, second = (1.0, 0.0), (0.0, 1.0)
    matches = [
        ScoredMatch(seats, points, start)
        for start in range(100)
        for seats, points in ((("a", "b"), first), (("b", "a"), second if start < 10 else first))
    ]
    turned = [match._replace(points=match.points[::-1]) if (match.start or 0) >= 55 else match for match in matches]
    assert ranks("ab", turned) == {"a": 1, "b": 2}
    assert ranks("ab", [match._replace(start=None) for match in turned]) == {"a": 1, "b": 1}


def test_few_matches_tell_nobody_apart_however_they_end() -> None:
    won = [ScoredMatch(("a", "b"), (1.0, 0.0), start) for start in range(2)]
    assert ranks("ab", won) == {"a": 1, "b": 1}
    assert ranks("ab", [won[0]._replace(start=start) for start in range(8)]) == {"a": 1, "b": 2}
    assert ranks("ab", []) == {"a": 1, "b": 1}


def test_nobody_ranks_before_a_bot_that_is_listed_above_it() -> None:
    matches = season({"a": 0.9, "b": 0.0}, 50, 3)
    assert ranks("abc", matches) == {"a": 1, "b": 2, "c": 2}


def test_of_six_seats_a_bot_that_is_always_first_ranks_before_all() -> None:
    names, chance, matches = "abcdef", random.Random(4), []
    for start in range(60):
        seats = tuple(chance.sample(names, 6))
        points = chance.sample([0.0, 0.2, 0.4, 0.6, 0.8], 5)
        matches.append(ScoredMatch(seats, [1.0 if bot == "a" else points.pop() for bot in seats], start))
    found = ranks(["a", *(bot for bot in ordered(matches) if bot != "a")], matches)
    assert found["a"] == 1
    assert {rank for bot, rank in found.items() if bot != "a"} == {2}
