"""What a tie costs the store's only thread: how many rows are computed for it."""

from __future__ import annotations

from typing import Any

import pytest

from arena.ratings import rating_system, trueskill_update
from arena.ratings.rating_system import RatingStanding

NEW = RatingStanding()
OTHER = RatingStanding(30.0, 4.0, 20)


@pytest.mark.parametrize(
    ("standings", "ranks", "rows"),
    [
        ([NEW] * 6, [1, 2, 3, 4, 5, 6], 1),
        ([NEW] * 6, [1] * 6, 1),
        ([NEW] * 6, [1, 1, 1, 2, 2, 3], 1),
        ([OTHER, *[NEW] * 5], [1] * 6, 6),
        ([OTHER, OTHER, *[NEW] * 4], [1] * 6, 15),
        ([RatingStanding(20.0 + seat, 4.0, 20) for seat in range(4)], [1] * 4, 24),
    ],
)
def test_a_tie_is_computed_once_for_each_order_of_the_ratings_in_it(
    standings: list[RatingStanding], ranks: list[int], rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed = []
    update = trueskill_update.update
    monkeypatch.setattr(trueskill_update, "update", lambda row, *given: computed.append(row) or update(row, *given))
    versions: list[Any] = [""] * len(ranks)
    rating_system.rate("risk-campaign", standings, versions, ranks)
    assert len(computed) == rows
