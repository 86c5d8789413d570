"""Schedules the answers of a site, and limits the memory held for long ones."""

from __future__ import annotations

from collections.abc import Callable

from arena.web.turns import FairTaskQueue

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
    """The memory held for one answer, and the callback that cuts it off."""

    def __init__(self, held: int, cut: Callable[[], object]) -> None:
        self.held, self.cut_off, self.was_cut = held, cut, False


class AnswerScheduler:
    """The queues for quick and long answers of a site, and the memory held for long ones."""

    def __init__(self) -> None:
        self.quick = FairTaskQueue(QUICK_THREADS, 1000, 1000)  # the server accepts no more than 1000 connections
        self.long = FairTaskQueue(LONG_THREADS, MAX_LONG_PER_ADDRESS, MAX_LONG)
        self._places: dict[str, list[HeldAnswer]] = {}
        self._held = 0

    def enter(self, address: str, held: int, cut: Callable[[], object]) -> HeldAnswer:
        """Count the memory that is held for a new answer. The scheduler calls `cut` if it cuts the answer off.

        While all answers together hold more than `MAX_HELD_BYTES`, cut off the oldest answer of the address that holds
        most, but never the new one.
        """
        place = HeldAnswer(max(held, MIN_HELD_BYTES), cut)
        self._places.setdefault(address, []).append(place)
        self._held += place.held
        while self._held > MAX_HELD_BYTES:
            most = max(self._places, key=lambda one: sum(place.held for place in self._places[one]))
            oldest = self._places[most][0]
            if oldest is place:
                break
            self.leave(most, oldest)
            oldest.was_cut = True
            oldest.cut_off()
        return place

    def leave(self, address: str, answer: HeldAnswer) -> None:
        """Stop counting the memory of an answer. A second call has no effect."""
        places = self._places.get(address, [])
        if answer in places:
            places.remove(answer)
            self._held -= answer.held
            if not places:
                del self._places[address]
