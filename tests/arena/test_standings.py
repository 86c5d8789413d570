"""The table of a tournament: points, ranks, intervals, forfeits, head to head."""

from __future__ import annotations

import pytest

import seasons
from arena.ratings.standings import head_to_head_shares, score_rows, uncontested_losses
from referee.result import Result, match_points


def result(*seats: tuple[str, int], reason: str = "win", loser: str = "win") -> Result:
    """A match of these bots with these ranks; the worst seat's reason is `loser`."""
    bots, ranks = zip(*seats, strict=True)
    return seasons.result(
        "m", bots, ranks, reason=reason, reasons=[loser if rank == max(ranks) else reason for rank in ranks]
    )


def test_a_win_is_a_point_and_a_draw_half_of_one() -> None:
    assert match_points(result(("a", 1), ("b", 2))) == [1, 0]
    assert match_points(result(("a", 1), ("b", 1))) == [0.5, 0.5]


def test_points_among_many_are_the_share_of_others_left_behind() -> None:
    assert match_points(result(("a", 1), ("b", 2), ("c", 2), ("d", 4))) == pytest.approx([1, 0.5, 0.5, 0])


def test_the_table_is_by_share_equals_share_a_rank_and_who_has_not_played_has_none() -> None:
    results = [result(("a", 1), ("b", 2)), result(("c", 1), ("b", 2)), result(("a", 1), ("c", 1))]
    rows = score_rows(["b", "d", "c", "a"], results)
    assert [(row.rank, row.bot, row.won, row.drawn, row.lost, row.score) for row in rows] == [
        (1, "a", 1, 1, 0, 0.75),
        (1, "c", 1, 1, 0, 0.75),
        (3, "b", 0, 0, 2, 0.0),
        (None, "d", 0, 0, 0, 0.0),
    ]


def test_equal_shares_share_a_rank_whichever_thirds_they_were_added_from() -> None:
    """2/3 + 2/3 + 1 is less than 1 + 1 + 1/3 to a computer."""
    results = [
        result(("a", 2), ("b", 1), ("c", 3), ("d", 4)),
        result(("a", 2), ("b", 1), ("c", 3), ("d", 4)),
        result(("a", 1), ("b", 3), ("c", 2), ("d", 4)),
    ]
    rows = score_rows(["a", "b", "c", "d"], results)
    assert [(row.rank, row.bot) for row in rows] == [(1, "a"), (1, "b"), (3, "c"), (4, "d")]


@pytest.mark.parametrize("reason", ["timeout", "illegal", "disconnected", "no_show"])
def test_what_a_bot_lost_by_its_own_fault_is_a_forfeit(reason: str) -> None:
    rows = {row.bot: row for row in score_rows(["a", "b"], [result(("a", 1), ("b", 2), loser=reason)])}
    assert (rows["a"].forfeits, rows["b"].forfeits) == (0, 1)


def test_a_resignation_is_no_forfeit() -> None:
    assert [row.forfeits for row in score_rows(["a", "b"], [result(("a", 1), ("b", 2), loser="resigned")])] == [0, 0]


def test_a_void_match_does_not_count() -> None:
    void = [result(("a", 1), ("b", 1), reason="void", loser="void")]
    assert [(row.played, row.score, row.low, row.high) for row in score_rows(["a", "b"], void)] == [
        (0, 0.0, 0.0, 1.0)
    ] * 2
    assert head_to_head_shares(["a", "b"], void) == {"a": {"b": None}, "b": {"a": None}}


def test_head_to_head_is_the_share_against_each_other_bot() -> None:
    results = [result(("a", 1), ("b", 2)), result(("b", 1), ("a", 1)), result(("c", 1), ("a", 2))]
    assert head_to_head_shares(["a", "b", "c"], results) == {
        "a": {"b": 0.75, "c": 0.0},
        "b": {"a": 0.25, "c": None},
        "c": {"a": 1.0, "b": None},
    }


def test_lost_without_being_beaten_is_what_a_bot_gave_away_not_what_was_won_against_it() -> None:
    lost = [result(("a", 1), ("b", 2), loser=why) for why in ("win", "illegal", "resigned", "illegal", "round_limit")]
    assert uncontested_losses("ab", lost) == {"a": {}, "b": {"illegal": 2, "resigned": 1}}
