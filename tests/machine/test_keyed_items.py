"""Whose turn it is among keys that wait, and who makes room."""

from __future__ import annotations

import pytest

from machine.keyed_items import KeyedItems


@pytest.fixture
def items() -> KeyedItems[str, str]:
    items: KeyedItems[str, str] = KeyedItems()
    for item in ("a1", "a2", "a3", "b1", "b2", "c1"):
        items.add(item[0], item)
    return items


def test_keys_take_turns_and_items_of_a_key_keep_their_order(items: KeyedItems[str, str]) -> None:
    assert [items.discard("a2"), items.discard("a2"), len(items)] == [True, False, 5]
    assert [items.take() for _ in range(2)] == ["a1", "b1"]
    items.add("d", "d1")
    items.add("b", "b2")  # is there already
    assert [items.take() for _ in range(5)] == ["c1", "a3", "b2", "d1", None]
    assert len(items) == 0


def test_the_oldest_item_of_the_key_with_the_most_makes_room(items: KeyedItems[str, str]) -> None:
    assert [items.weight(key) for key in "abcd"] == [3, 2, 1, 0]
    assert items.oldest(items.heaviest_key()) == "a1"
    items.add("c", "c2", 3)
    assert (items.heaviest_key(), items.weight("c"), items.total_weight) == ("c", 4, 9)
    items.discard("c1")
    assert (items.oldest("c"), items.key_of("c2"), items.key_of("c1")) == ("c2", "c", None)


def test_an_item_that_gets_another_key_is_the_last_of_that(items: KeyedItems[str, str]) -> None:
    items.add("b", "a1")
    assert [list(items.items(key)) for key in "abd"] == [["a2", "a3"], ["b1", "b2", "a1"], []]
    assert (items.key_of("a1"), len(items)) == ("b", 6)
