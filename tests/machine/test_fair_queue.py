"""Whose turn it is among keys that wait, and who makes room."""

from __future__ import annotations

import pytest

from machine.fair_queue import FairQueue


@pytest.fixture
def queue() -> FairQueue[str, str]:
    queue: FairQueue[str, str] = FairQueue()
    for item in ("a1", "a2", "a3", "b1", "b2", "c1"):
        queue.add(item[0], item)
    return queue


def test_keys_take_turns_and_items_of_a_key_keep_their_order(queue: FairQueue[str, str]) -> None:
    assert [queue.discard("a2"), queue.discard("a2"), len(queue)] == [True, False, 5]
    assert [queue.take() for _ in range(2)] == ["a1", "b1"]
    queue.add("d", "d1")
    queue.add("b", "b2")  # is there already
    assert [queue.take() for _ in range(5)] == ["c1", "a3", "b2", "d1", None]
    assert len(queue) == 0


def test_the_oldest_item_of_the_key_with_the_most_makes_room(queue: FairQueue[str, str]) -> None:
    assert [queue.weight(key) for key in "abcd"] == [3, 2, 1, 0]
    assert queue.oldest(queue.heaviest_key()) == "a1"
    queue.add("c", "c2", 3)
    assert (queue.heaviest_key(), queue.weight("c"), queue.total_weight) == ("c", 4, 9)
    queue.discard("c1")
    assert (queue.oldest("c"), queue.key_of("c2"), queue.key_of("c1")) == ("c2", "c", None)
