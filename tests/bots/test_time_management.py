"""What a move may cost, over whole matches: the clock outlasts them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bots.client.bot import Turn
from bots.reference.search_bots import MAX_KERNEL_SEARCH_S, MAX_SEARCH_S, NODES_PER_MS, make_limit
from bots.search.kernels import Kernel
from games.risk.rules.duel import Duel
from games.risk.search.duel_search import DuelSearch
from protocol.games import load_game
from protocol.games.base import NO_DICE
from turns import turn as turn_of

NIM = load_game("nim")
KERNEL: Kernel = DuelSearch(Duel({}))
SENDING = 0.001
"""Seconds that a move costs beside its thought."""
BUSY = 0.00085
"""The same in the mean over a match, where both cores are busy: of the worst of 62 matches of `raider`, 1+0, grid."""


def turn(bank: float, increment: float = 0.0) -> Turn:
    asked = turn_of(NIM, NIM.initial(NO_DICE)[0], bank_ms=int(bank * 1000), received=100.0)
    return replace(asked, increment_ms=int(increment * 1000))


def allowed(bank: float, increment: float = 0.0, *, kernel: Kernel | None = KERNEL) -> float:
    """Seconds of thought; 0 where the move is to be made at once."""
    deadline = make_limit(turn(bank, increment), nodes=None, search=kernel).deadline
    return 0.0 if deadline is None else deadline - 100.0


@pytest.mark.parametrize(("bank", "increment"), [(1, 0), (1, 0.01), (3, 0.1), (10, 0.1), (60, 0.5), (300, 0)])
def test_a_clock_outlasts_three_hundred_moves(bank: float, increment: float) -> None:
    left = float(bank)
    for _ in range(300):
        left -= allowed(left, increment) + SENDING
        assert left > 0.05, "a stutter of the machine costs no match"
        left += increment


def test_a_long_clock_is_used_where_there_is_a_kernel_and_hardly_elsewhere() -> None:
    assert allowed(300) == pytest.approx(MAX_KERNEL_SEARCH_S)
    assert allowed(300, kernel=None) == pytest.approx(MAX_SEARCH_S)


def test_an_increment_larger_than_what_is_left_is_not_spent_before_it_is_there() -> None:
    assert 0 < allowed(0.45, 10) < 0.45


def test_a_short_clock_is_kept_for_making_moves_at_once() -> None:
    limits = [make_limit(turn(bank), nodes=None, search=KERNEL) for bank in (0.6, 0.3, 0.15, 0.0)]
    assert all(limit.deadline is None for limit in limits)
    at_once = KERNEL.nodes_per_ms
    assert [limit.nodes_left for limit in limits] == [at_once, at_once // 2, at_once // 4, 1]


def test_a_second_is_enough_for_the_500_moves_of_a_campaign_on_a_busy_machine() -> None:
    left = 1.0
    for _ in range(500):
        limit = make_limit(turn(left), nodes=None, search=KERNEL)
        spent = allowed(left) if limit.nodes_left is None else 0.001 * limit.nodes_left / KERNEL.nodes_per_ms
        left -= spent + BUSY
    assert left > 0


def test_what_a_move_made_at_once_costs_dwindles_with_the_clock_so_that_a_thousand_can_be_made() -> None:
    left = 0.6
    for _ in range(1000):
        nodes = make_limit(turn(left), nodes=None).nodes_left
        assert nodes is not None
        left -= 0.002 * nodes / NODES_PER_MS
    assert left > 0


def test_nodes_or_depth_go_before_the_clock() -> None:
    assert make_limit(turn(0.3), nodes=77).nodes_left == 77
    unbounded = make_limit(turn(0.3), nodes=None, bounded=True)
    assert unbounded.nodes_left is None
    assert unbounded.deadline is None
