"""Schedules the answers of a site, and limits the memory held for long ones."""

from __future__ import annotations

from collections.abc import Callable

from arena.web.turns import FairTaskQueue

QUICK_THREADS = 4
LONG_THREADS = 1
"""Threads for long answers. One, because Python runs one thread at a time."""
MAX_LONG_PER_ADDRESS, MAX_LONG = 64, 512
"""Maximum long answers that wait for a turn, per address (such as a class behind one router) and in all."""
MAX_HELD_BYTES = 64 * 1024 * 1024
"""Maximum memory held for long answers; beyond it, an older one is cut off in favour of the newest."""
MIN_HELD_BYTES = 1024 * 1024
"""The minimum that an answer counts, for its state and buffers."""


class HeldAnswer:
    """The memory held for one answer, and the callback that cuts it off."""

    def __init__(self, held: int, cut: Callable[[], object]) -> None:
        self.held, self.cut_off, self.was_cut = held, cut, False


class AnswerScheduler:
    """The queues for quick and long answers of a site, and the memory held for long ones."""

    def __init__(self) -> None:
        self.quick = FairTaskQueue(QUICK_THREADS, 1000, 1000)  # the server accepts no more connections
        self.long = FairTaskQueue(LONG_THREADS, MAX_LONG_PER_ADDRESS, MAX_LONG)
        self._places: dict[str, list[HeldAnswer]] = {}
        self._held = 0

    def enter(self, address: str, held: int, cut: Callable[[], object]) -> HeldAnswer:
        """Count the memory held for an answer. Over the limit, cut off the oldest of the address that holds most."""
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
        """Release the memory of an answer. May be called twice."""
        places = self._places.get(address, [])
        if answer in places:
            places.remove(answer)
            self._held -= answer.held
            if not places:
                del self._places[address]
