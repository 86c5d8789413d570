"""What a tie costs the store's only thread."""

from __future__ import annotations

import time

from arena.ratings import ladder
from arena.ratings.ladder import Standing


def processor_time(ranks: list[int]) -> float:
    """Seconds that a match of newcomers takes to be rated, at best."""
    seconds = []
    for _ in range(5):
        start = time.process_time()
        ladder.rate("risk-campaign", [Standing()] * len(ranks), [""] * len(ranks), ranks)
        seconds.append(time.process_time() - start)
    return min(seconds)


def test_a_tie_of_six_newcomers_takes_hardly_longer_than_a_match_that_was_decided() -> None:
    assert processor_time([1] * 6) < 20 * processor_time([1, 2, 3, 4, 5, 6])
