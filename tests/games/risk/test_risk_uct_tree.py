"""Simulations in portions, by the clock."""

from __future__ import annotations

from typing import Any

import pytest

from bots.search import SearchLimit
from games.risk.search import uct_tree
from games.risk.search.uct_tree import (
    DECISION,
    NODE_LENGTH,
    VISITS,
    find_or_add_child,
    most_visited_child,
    reset_tree,
    run_simulations,
    visit_lead,
)
from machine.compiled import zeros


class Worker:
    """Simulations that take 1 ms each by a clock of their own, and visit the root's children as told."""

    def __init__(self, shares: tuple[float, ...]) -> None:
        self.now, self.done, self.shares = 100.0, 0, shares
        self.tree, self.totals, self.work = zeros(NODE_LENGTH * 10), zeros(10, float), zeros(2)
        reset_tree(self.tree, self.work)
        self.children = [find_or_add_child(self.tree, self.totals, self.work, 0, 7 + i) for i in range(len(shares))]

    def monotonic(self) -> float:
        return self.now

    def simulate(self, sims: int) -> None:
        assert sims > 0
        self.done += sims
        self.now += 0.001 * sims
        for child, share in zip(self.children, self.shares, strict=True):
            self.tree[child + VISITS] = int(share * self.done)


def worked(monkeypatch: Any, shares: tuple[float, ...], limit: SearchLimit) -> Worker:
    worker = Worker(shares)
    monkeypatch.setattr(uct_tree, "time", worker)
    run_simulations(worker.simulate, worker.tree, limit)
    return worker


def test_time_is_used_to_the_end_and_not_beyond_while_moves_are_close(monkeypatch: Any) -> None:
    limit = SearchLimit(deadline=101.0)
    worker = worked(monkeypatch, (0.5, 0.5), limit)
    assert worker.now == pytest.approx(101.0, abs=0.005)
    assert limit.nodes_spent == worker.done


def test_a_search_ends_when_no_other_move_can_catch_up(monkeypatch: Any) -> None:
    worker = worked(monkeypatch, (0.1, 0.8, 0.1), SearchLimit(deadline=102.0))
    assert worker.done == pytest.approx(2000 / 1.7, abs=110)


def test_a_number_of_simulations_is_made_whatever_the_clock_says(monkeypatch: Any) -> None:
    assert worked(monkeypatch, (1.0,), SearchLimit(nodes=12_345)).done == 12_345


def test_a_deadline_that_is_past_allows_nothing(monkeypatch: Any) -> None:
    assert worked(monkeypatch, (1.0,), SearchLimit(deadline=99.0)).done == 0


def test_the_favourite_is_the_most_visited_and_of_equals_the_better() -> None:
    worker = Worker((0.4, 0.4, 0.2))
    worker.simulate(100)
    worker.totals[worker.children[0] // NODE_LENGTH] = 10.0
    worker.totals[worker.children[1] // NODE_LENGTH] = 20.0
    assert most_visited_child(worker.tree, worker.totals, 0) == worker.children[1]
    assert worker.tree[worker.children[1] + DECISION] == 8
    assert visit_lead(worker.tree) == 0
    assert most_visited_child(worker.tree, worker.totals, worker.children[0]) == 0


def test_a_tree_without_room_takes_no_more_children() -> None:
    worker = Worker((1.0,))
    worker.work[uct_tree.TREE_END] = worker.work[uct_tree.NEXT_NODE]
    assert find_or_add_child(worker.tree, worker.totals, worker.work, 0, 99) == 0
    assert find_or_add_child(worker.tree, worker.totals, worker.work, 0, 7) == worker.children[0]
