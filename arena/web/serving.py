"""Schedules the answers of a site, and limits the memory held for long ones."""

from __future__ import annotations

from collections.abc import Callable

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


class HeldAnswer:
    """An answer for which memory is held, and the callback that cuts it off."""

    def __init__(self, cut: Callable[[], object]) -> None:
        self.cut_off, self.was_cut = cut, False


class AnswerScheduler:
    """The queues for quick and long answers of a site, and the memory held for long ones."""

    def __init__(self) -> None:
        self.quick = FairTaskQueue(QUICK_THREADS, 1000, 1000)  # the server accepts no more than 1000 connections
        self.long = FairTaskQueue(LONG_THREADS, MAX_LONG_PER_ADDRESS, MAX_LONG)
        self._held: KeyedItems[str, HeldAnswer] = KeyedItems()
        """The answers by address. The weight of each is the memory that is held for it, in bytes."""

    def enter(self, address: str, held: int, cut: Callable[[], object]) -> HeldAnswer:
        """Count the memory that is held for a new answer. The scheduler calls `cut` if it cuts the answer off.

        While all answers together hold more than `MAX_HELD_BYTES`, cut off the oldest answer of the address that holds
        most, but never the new one.
        """
        answer = HeldAnswer(cut)
        self._held.add(address, answer, max(held, MIN_HELD_BYTES))
        while self._held.total_weight > MAX_HELD_BYTES:
            oldest = self._held.oldest(self._held.heaviest_key())
            if oldest is answer:
                break
            self.leave(oldest)
            oldest.was_cut = True
            oldest.cut_off()
        return answer

    def leave(self, answer: HeldAnswer) -> None:
        """Stop counting the memory of an answer. A second call has no effect."""
        self._held.discard(answer)
