"""Schedules the answers of a site, and limits the memory held for long ones."""

from __future__ import annotations

import asyncio
from typing import Any

from arena.web.turns import FairTaskQueue
from machine.keyed_items import KeyedItems

QUICK_THREADS = 4
"""Number of quick answers that are produced at the same time."""
LONG_THREADS = 1
"""Number of long answers that are produced at the same time. More would not be faster, because Python runs only one
thread at a time.
"""
MAX_LONG_PER_ADDRESS, MAX_LONG = 64, 512
"""`MAX_LONG` is the maximum number of long answers that wait to be produced, `MAX_LONG_PER_ADDRESS` the maximum for one
address. A class of students behind one router counts as one address.
"""
MAX_HELD_BYTES = 64 * 1024 * 1024
"""Maximum memory in bytes held for long answers. Beyond it, an older answer is cut off in favour of the newest."""
MIN_HELD_BYTES = 1024 * 1024
"""The minimum number of bytes that a long answer counts as held memory. A smaller answer takes memory too, for its task
and buffers.
"""


class AnswerScheduler:
    """The queues for quick and long answers of a site, and the memory held for long ones."""

    def __init__(self) -> None:
        self.quick = FairTaskQueue(QUICK_THREADS, 1000, 1000)  # the server accepts no more than 1000 connections
        self.long = FairTaskQueue(LONG_THREADS, MAX_LONG_PER_ADDRESS, MAX_LONG)
        self._held: KeyedItems[str, asyncio.Future[Any]] = KeyedItems()
        """The tasks of long answers by address. The weight of each is the memory that is held for it, in bytes."""

    def enter(self, address: str, held_bytes: int, answer: asyncio.Future[Any]) -> None:
        """Count the memory that is held for a new answer, which is given by its task.

        While all answers together hold more than `MAX_HELD_BYTES`, cancel the oldest answer of the address that holds
        most, but never the new one.
        """
        self._held.add(address, answer, max(held_bytes, MIN_HELD_BYTES))
        while self._held.total_weight > MAX_HELD_BYTES:
            oldest = self._held.oldest(self._held.heaviest_key())
            if oldest is answer:
                break
            self._held.discard(oldest)
            oldest.cancel()

    def leave(self, answer: asyncio.Future[Any]) -> bool:
        """Stop counting the memory of an answer. Return False if it does not count, because it was cancelled here."""
        return self._held.discard(answer)
