"""What clients may have the arena do unasked: accounts on a clock that the test moves."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count

import pytest

from arena.network.fair_scheduler import IDLE_PER_BUSY_CLIENT, MAX_DEBT_S, CpuBudget, FairScheduler

WORK = 0.004


class Clockwork:
    """An event loop without sockets, whose time goes from timer to timer."""

    def __init__(self) -> None:
        self.now = 1000.0
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._number = count()

    def time(self) -> float:
        return self.now

    def call_soon(self, callback: Callable[[], None]) -> None:
        self.call_later(0, callback)

    def call_later(self, delay: float, callback: Callable[[], None]) -> None:
        heapq.heappush(self._due, (self.now + delay, next(self._number), callback))

    def run(self, until: float) -> None:
        while self._due and self._due[0][0] <= until:
            due, _, callback = heapq.heappop(self._due)
            self.now = max(self.now, due)
            callback()
        self.now = max(self.now, until)


class Worker:
    """Works whenever it is its turn, and asks for the next."""

    def __init__(self, loop: Clockwork, account: CpuBudget, done: list[str], name: str) -> None:
        self.loop, self.account, self.done, self.name = loop, account, done, name
        self.worked = 0.0
        account.request_turn(self.turn)

    def turn(self) -> None:
        self.loop.now += WORK
        self.worked += WORK
        self.done.append(self.name)
        self.account.charge(WORK, self.loop.now)
        self.account.request_turn(self.turn)


@pytest.fixture
def loop() -> Clockwork:
    return Clockwork()


@pytest.fixture
def budget(loop: Clockwork) -> FairScheduler:
    return FairScheduler(loop, loop.time)


def test_the_first_turn_is_given_at_once(budget: FairScheduler) -> None:
    done: list[str] = []
    budget.open_budget("a").request_turn(lambda: done.append("now"))
    assert done == ["now"]


def test_one_address_works_a_tenth_of_the_time(loop: Clockwork, budget: FairScheduler) -> None:
    worker = Worker(loop, budget.open_budget("a"), [], "a")
    loop.run(loop.now + 100)
    assert worker.worked == pytest.approx(100 / (1 + IDLE_PER_BUSY_CLIENT), rel=0.05)


def test_connections_of_one_address_share_its_tenth_and_are_served_in_order(
    loop: Clockwork, budget: FairScheduler
) -> None:
    done: list[str] = []
    workers = [Worker(loop, budget.open_budget("a"), done, name) for name in "abcd"]
    loop.run(loop.now + 100)
    assert sum(worker.worked for worker in workers) == pytest.approx(100 / (1 + IDLE_PER_BUSY_CLIENT), rel=0.05)
    rounds = [set(done[at : at + 4]) for at in range(0, len(done) - 4, 4)]
    assert all(served == set("abcd") for served in rounds)


def test_however_many_addresses_there_are_half_of_the_time_is_left(loop: Clockwork, budget: FairScheduler) -> None:
    workers = [Worker(loop, budget.open_budget(str(number)), [], "") for number in range(30)]
    loop.run(loop.now + 100)
    assert sum(worker.worked for worker in workers) == pytest.approx(50, rel=0.05)
    assert min(worker.worked for worker in workers) == pytest.approx(50 / 30, rel=0.05)


def test_rests_are_counted_by_whose_share_was_used_up(loop: Clockwork, budget: FairScheduler) -> None:
    account = budget.open_budget("a")
    account.request_turn(lambda: None)
    assert [rests.count for rests in budget.throttle_stats.values()] == [0, 0, 0]
    account.charge(0.05, loop.now)
    account.request_turn(lambda: None)
    loop.run(loop.now + 1)
    connection = budget.throttle_stats["connection"]
    assert (connection.count, connection.seconds) == (1, pytest.approx(0.05 * IDLE_PER_BUSY_CLIENT - 0.01))


def test_others_need_not_rest_for_what_nobody_worked(loop: Clockwork, budget: FairScheduler) -> None:
    budget.open_budget("a").charge(0.0, loop.now, fine_s=0.05)
    done: list[str] = []
    budget.open_budget("b").request_turn(lambda: done.append("b"))
    budget.open_budget("a").request_turn(lambda: done.append("a"))
    assert done == ["b"]
    loop.run(loop.now + 1)
    assert done == ["b", "a"]


def test_nobody_rests_for_ever(loop: Clockwork, budget: FairScheduler) -> None:
    account = budget.open_budget("a")
    account.charge(3600.0, loop.now)
    assert account.debt_s(loop.now) == MAX_DEBT_S


def test_a_turn_that_fails_does_not_keep_the_next_from_its_own(loop: Clockwork, budget: FairScheduler) -> None:
    account = budget.open_budget("a")
    done: list[str] = []

    def fail() -> None:
        account.request_turn(lambda: done.append("next"))
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        account.request_turn(fail)
    loop.run(loop.now + 1)
    assert done == ["next"]


def test_who_comes_back_has_still_to_rest(loop: Clockwork, budget: FairScheduler) -> None:
    budget.open_budget("a").charge(0.05, loop.now)
    budget.remove_connection("a")
    assert budget.open_budget("a").parent.throttled_until > loop.now  # type: ignore[union-attr]


def test_an_address_that_is_gone_and_rested_is_forgotten(loop: Clockwork, budget: FairScheduler) -> None:
    for _ in range(3):
        budget.open_budget("a").charge(0.05, loop.now)
        budget.remove_connection("a")
    assert budget._address_budgets
    loop.run(loop.now + 10)
    assert not budget._address_budgets


def test_a_connection_of_another_address_than_was_thought_counts_there_from_then_on(
    loop: Clockwork, budget: FairScheduler
) -> None:
    account = budget.open_budget("proxy")
    budget.change_address(account, "proxy", "a")
    account.charge(0.05, loop.now)
    assert budget.open_budget("a").parent.throttled_until > loop.now  # type: ignore[union-attr]
    assert budget.open_budget("proxy").parent.throttled_until <= loop.now  # type: ignore[union-attr]


def test_as_long_as_it_is_unknown_whose_a_connection_is_it_counts_for_itself_alone(
    loop: Clockwork, budget: FairScheduler
) -> None:
    first, second = budget.open_budget(""), budget.open_budget("")
    first.charge(0.05, loop.now, fine_s=0.05)
    loop.run(loop.now + 0.2)
    done: list[str] = []
    first.request_turn(lambda: done.append("first"))
    second.request_turn(lambda: done.append("second"))
    assert done == ["second"]
    budget.change_address(first, "", "a")
    budget.remove_connection("")
    budget.remove_connection("a")
