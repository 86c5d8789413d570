"""What is still to be published: bounded by bytes, so that a broker that is away costs no more than that."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

TURN_BYTES = 4 * 1024 * 1024
LASTING_BYTES = 64 * 1024 * 1024
OVERHEAD = 200  # what a queued message costs beside its payload, roughly


class Message(NamedTuple):
    """One publication. Those of QoS 1 are worth keeping while the broker is away."""

    topic: str
    payload: bytes
    qos: int = 0
    retain: bool = False


class Outbox:
    """What is still to be published, in order, bounded by bytes: turns and lasting messages apart."""

    def __init__(self, turn_bytes: int = TURN_BYTES, lasting_bytes: int = LASTING_BYTES) -> None:
        self._turns = _Lane(turn_bytes)
        self._lasting = _Lane(lasting_bytes)
        self._count = 0

    def add(self, message: Message) -> None:
        """Queue a message; the oldest of its kind make room for it."""
        self._count += 1
        self._lane(message).append((self._count, message))

    def take(self, most: int) -> list[tuple[int, Message]]:
        """The next messages, oldest first, with their numbers; they leave the outbox."""
        taken: list[tuple[int, Message]] = []
        while len(taken) < most and (lanes := [lane for lane in (self._turns, self._lasting) if lane.queue]):
            taken.append(min(lanes, key=lambda lane: lane.queue[0][0]).popleft())
        return taken

    def put_back(self, taken: Sequence[tuple[int, Message]]) -> None:
        """Return what could not be published to where it was; turns are stale by then and stay away."""
        self._lasting.extendleft([numbered for numbered in reversed(taken) if numbered[1].qos])

    def _lane(self, message: Message) -> _Lane:
        return self._lasting if message.qos else self._turns

    @property
    def bytes(self) -> int:
        """The size of all that waits."""
        return self._turns.bytes + self._lasting.bytes

    def __len__(self) -> int:
        return len(self._turns.queue) + len(self._lasting.queue)


class _Lane:
    """A queue that forgets its oldest entries beyond a number of bytes."""

    def __init__(self, limit: int) -> None:
        self.queue: deque[tuple[int, Message]] = deque()
        self.bytes = 0
        self.limit = limit

    def append(self, numbered: tuple[int, Message]) -> None:
        self.queue.append(numbered)
        self.bytes += _size(numbered)
        self._trim()

    def extendleft(self, newest_first: Sequence[tuple[int, Message]]) -> None:
        self.queue.extendleft(newest_first)
        self.bytes += sum(map(_size, newest_first))
        self._trim()

    def popleft(self) -> tuple[int, Message]:
        numbered = self.queue.popleft()
        self.bytes -= _size(numbered)
        return numbered

    def _trim(self) -> None:
        while self.bytes > self.limit:
            self.popleft()


def _size(numbered: tuple[int, Message]) -> int:
    message = numbered[1]
    return OVERHEAD + len(message.topic) + len(message.payload)
