"""How strong an opponent is, in a word, on the page where people play."""

from __future__ import annotations

import pytest

from arena.store.leaderboards import RatedBot
from arena.web.strengths import strength_of, strengths
from seasons import finish, result
from web_client import Visitor


def rated(bot: str, mu: float, played: int = 50) -> RatedBot:
    return RatedBot(pool="nim/classic", bot=bot, mu=mu, played=played)


@pytest.mark.parametrize(
    ("mu", "word"),
    [(10.0, "beginner"), (18.0, "easy"), (25.0, "medium"), (28.0, "strong"), (40.0, "expert")],
)
def test_the_word_goes_by_the_rating(mu: float, word: str) -> None:
    assert strength_of(rated("ann", mu)) == word


def test_a_bot_of_few_matches_is_new_and_one_that_plays_exactly_is_perfect() -> None:
    assert strength_of(rated("ann", 40.0, played=2)) == "new"
    assert strength_of(rated("perfect", 30.0)) == "perfect"


def test_of_every_pool_the_weakest_are_told_first_and_the_perfect_ones_last(visitor: Visitor) -> None:
    for number in range(12):
        finish(visitor.store, result(f"m{number}", ("perfect", "ann")), result(f"n{number}", ("bob", "ann")))
        finish(visitor.store, result(f"o{number}", ("bob", "perfect")))
    finish(visitor.store, result("p", ("cid", "dan"), pool="grundy/large"))
    found = strengths(visitor.store)
    assert [bot for bot, _ in found["nim/classic"]] == ["ann", "bob", "perfect"]
    assert [word for _, word in found["nim/classic"]][1:] == ["expert", "perfect"]
    assert found["grundy/large"] == [("dan", "new"), ("cid", "new")]
