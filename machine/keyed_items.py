"""Items by key, such as the waiting tasks of each address: whose turn it is, and who makes room for others."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T", bound=Hashable)


class KeyedItems(Generic[K, T]):
    """Items by key, oldest first. Keys take turns, so a key with many items delays only itself. Items have weights."""

    def __init__(self) -> None:
        self._keys: dict[T, K] = {}
        self._weights: dict[K, dict[T, int]] = {}
        """The weights of the items of each key. The key whose turn is next comes first."""

    def __len__(self) -> int:
        return len(self._keys)

    def key_of(self, item: T) -> K | None:
        return self._keys.get(item)

    def items(self, key: K) -> Collection[T]:
        return self._weights.get(key, ())

    def weight(self, key: K) -> int:
        return sum(self._weights.get(key, {}).values())

    @property
    def total_weight(self) -> int:
        return sum(map(self.weight, self._weights))

    def add(self, key: K, item: T, weight: int = 1) -> None:
        """Add an item behind the other items of its key, unless it is there. If the key had none, it becomes the last.

        An item of another key is moved.
        """
        if self._keys.get(item, key) != key:
            self.discard(item)
        self._keys[item] = key
        self._weights.setdefault(key, {})[item] = weight

    def discard(self, item: T) -> bool:
        """Remove an item. Return False if it is not there."""
        if item not in self._keys:
            return False
        key = self._keys.pop(item)
        del self._weights[key][item]
        if not self._weights[key]:
            del self._weights[key]
        return True

    def take(self) -> T | None:
        """Remove and return the next item, and move its key to the end. Return None if there is none."""
        for key in self._weights:
            item = self.oldest(key)
            self.discard(item)
            if key in self._weights:
                self._weights[key] = self._weights.pop(key)
            return item
        return None

    def oldest(self, key: K) -> T:
        return next(iter(self._weights[key]))

    def heaviest_key(self) -> K:
        """Return the key whose items weigh most together."""
        return max(self._weights, key=self.weight)
