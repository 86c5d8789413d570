"""How the bots of a tournament fared: intervals over starts, luck taken out, two bots beside each other."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from arena.ratings.standings import MatchSample, head_to_heads, score_table
from measuring.elo import elo_of
from measuring.share_intervals import share_interval
from referee.result import Result, SeatResult
from seasons import result


def met(one: str, other: str, points: float, luck: float | None, start: int | None, reason: str = "win") -> MatchSample:
    """A match that `one`, at seat 0, won, lost or drew."""
    ranks = {1.0: (1, 2), 0.5: (1, 1), 0.0: (2, 1)}[points]
    seats = tuple(
        SeatResult(bot=bot, version="", rank=rank, reason=reason) for bot, rank in zip((one, other), ranks, strict=True)
    )
    made = Result(
        match="m", game="risk-duel", config={}, rated=True, seats=seats, reason=reason,
        plies=1, digest="", started="", finished="",
    )  # fmt: skip
    return MatchSample(made, luck, start)


def paired(
    starts: int, one: str = "a", other: str = "b", edge: float = 0.0, seat: float = 0.4
) -> Iterator[MatchSample]:
    """Both seat orders of each start: seat 0 is ahead by `seat`, `one` by `edge`, and dice decide the rest."""
    chance = random.Random(f"{one}{other}")
    for start in range(starts):
        for first, second, expected in ((one, other, 0.5 + seat + edge), (other, one, 0.5 + seat - edge)):
            points = float(chance.random() < expected)
            yield met(first, second, points, points - expected + chance.gauss(0, 0.03), start)


def test_the_interval_is_over_starts_and_narrower_than_wilsons_where_the_seat_decides_much() -> None:
    (row, _) = score_table(["a", "b"], list(paired(100)))
    by_counts = share_interval(row.score, row.played)
    low, high = by_counts.low, by_counts.high
    assert row.low < row.score < row.high
    assert row.high - row.low < 0.8 * (high - low)


def test_luck_is_what_seat_0_had_and_its_opponent_had_not() -> None:
    one, other = sorted(score_table(["a", "b"], list(paired(50, edge=0.05))), key=lambda row: row.bot)
    assert one.adjusted is not None
    assert other.adjusted is not None
    assert 0.53 < one.adjusted.low < one.adjusted.score < one.adjusted.high < 0.57
    assert other.adjusted.score == pytest.approx(1 - one.adjusted.score)
    assert one.worth is not None
    assert one.worth > 1000


def test_bots_rank_by_scores_less_luck_where_these_are_known_unless_raw_ones_are_asked_for() -> None:
    lucky = [met("a", "b", 1.0, 0.6, start) for start in range(30)] + [met("b", "a", 0.5, -0.1, 30)]
    known = score_table("ab", lucky)
    assert [(row.bot, row.rank, row.score > 0.5) for row in known] == [("b", 1, False), ("a", 2, True)]
    raw = score_table("ab", lucky, raw=True)
    assert [(row.bot, row.rank, row.adjusted is not None) for row in raw] == [("a", 1, True), ("b", 2, True)]
    unknown = score_table("ab", [*lucky, met("a", "b", 1.0, None, 31)])
    assert [(row.bot, row.rank) for row in unknown] == [("a", 1), ("b", 2)]


def test_what_opponents_differ_by_is_in_no_interval() -> None:
    with_c = (one._replace(start=50 + (one.start or 0)) for one in paired(50, "a", "c", -0.08, 0))
    against = [*paired(50, "a", "b", 0.08, 0), *with_c]
    apart = {row.bot: row for row in score_table("abc", against)}["a"]
    assert apart.adjusted is not None
    assert apart.adjusted.high - apart.adjusted.low < 0.02


def test_void_matches_count_nowhere() -> None:
    void = met("a", "b", 0.5, None, 0, reason="void")
    played = list(paired(10))
    assert score_table("ab", [*played, void]) == score_table("ab", played)
    assert head_to_heads("ab", [*played, void]) == head_to_heads("ab", played)
    assert head_to_heads("ab", [void]) == {"a": {}, "b": {}}


def test_two_bots_beside_each_other_have_score_elo_and_the_likelihood_to_be_better() -> None:
    found = head_to_heads("abc", [*paired(40, "a", "b", 0.05), *paired(3, "c", "a")])
    assert {bot: set(others) for bot, others in found.items()} == {"a": {"b", "c"}, "b": {"a"}, "c": {"a"}}
    ours, theirs = found["a"]["b"], found["b"]["a"]
    assert (ours.matches, ours.score.score) == (80, pytest.approx(1 - theirs.score.score))
    assert ours.adjusted is not None
    assert theirs.adjusted is not None
    assert ours.adjusted.elo.elo == elo_of(ours.adjusted.score)
    assert ours.adjusted.superiority > 0.999
    assert theirs.adjusted.superiority < 0.001


def test_of_more_than_two_seats_the_mean_place_and_the_share_of_first_places_are_told() -> None:
    ranks = [(1, 2, 3), (1, 3, 2), (1, 1, 3), (1, 1, 1)]
    played = [MatchSample(result("m", "abc", these), None, start) for start, these in enumerate(ranks)]
    one, _, third = sorted(score_table("abc", played), key=lambda row: row.bot)
    assert one.place is not None
    assert (one.place.place, 1 + 2 * (1 - one.score)) == (pytest.approx(1.375), pytest.approx(1.375))
    assert one.place.low == pytest.approx(1 + 2 * (1 - one.high))
    assert one.place.low < one.place.place < one.place.high
    assert one.first is not None
    assert one.first.score == pytest.approx((1 + 1 + 1 / 2 + 1 / 3) / 4)
    assert third.place is not None
    assert third.first is not None
    assert (third.place.place, third.first.score) == (pytest.approx(2.5), pytest.approx(1 / 12))


def test_of_matches_of_two_no_places_are_told() -> None:
    assert {(row.place, row.first) for row in score_table("ab", list(paired(10)))} == {(None, None)}


def test_without_the_luck_of_a_match_nothing_is_less_luck() -> None:
    played = [*paired(10), *paired(1, "c", "b")]
    some = [played[0]._replace(luck=None), *played[1:]]
    without = {row.bot: row.adjusted for row in score_table("abc", some)}
    assert (without["a"], without["b"]) == (None, None)
    assert without["c"] is None  # of one start
    assert head_to_heads("abc", some)["a"]["b"].adjusted is None
