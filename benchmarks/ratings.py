"""Measure the processor time of rating a match, in milliseconds: without ties, with some ties, with only ties."""

from __future__ import annotations

import time
from random import Random

from arena.ratings import rating_system
from arena.ratings.rating_system import RatingStanding

SEAT_COUNT = 6
"""The number of seats of all rated matches except the first, which has two seats."""
REPETITIONS = 5
"""The number of times that the rating of a match is measured. The shortest time is printed."""


def main() -> None:
    chooser = Random(1)
    newcomers = [RatingStanding()] * SEAT_COUNT
    different = [RatingStanding(chooser.uniform(10, 40), chooser.uniform(1, 8), 5) for _ in range(SEAT_COUNT)]
    apart = [RatingStanding(20 * seat, 1 + seat / 10, 50) for seat in range(SEAT_COUNT)]
    show("two seats, decided", newcomers[:2], [1, 2])
    show("six seats, decided", different, [1, 2, 3, 4, 5, 6])
    show("six newcomers, tied", newcomers, [1] * SEAT_COUNT)
    show("three pairs of equals, tied", [*different[:3], *different[:3]], [1] * SEAT_COUNT)
    show("five different ones, tied behind a winner", different, [1, 2, 2, 2, 2, 2])
    show("six different ones, tied", different, [1] * SEAT_COUNT)
    show("six different ones, settled and far apart, tied", apart, [1] * SEAT_COUNT)


def show(what: str, standings: list[RatingStanding], ranks: list[int]) -> None:
    seconds = []
    for _ in range(REPETITIONS):
        start = time.process_time()
        rating_system.rate("risk-campaign", standings, [""] * len(standings), ranks)
        seconds.append(time.process_time() - start)
    print(f"{what:48} {min(seconds) * 1000:8.2f}")


if __name__ == "__main__":
    main()
