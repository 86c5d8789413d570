"""How strong an opponent is, in a word, on the page where people play."""

from __future__ import annotations

import pytest

from arena.store.leaderboards import RatedBot
from arena.web.strengths import StrengthScale, scale_of, strength_of, strengths
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


def test_a_bot_of_few_matches_is_little_known_and_one_that_plays_exactly_is_perfect() -> None:
    assert strength_of(rated("ann", 40.0, played=2)) == "little known"
    assert strength_of(rated("perfect", 30.0)) == "perfect"


def test_of_every_pool_the_weakest_are_told_first_and_the_perfect_ones_last(visitor: Visitor) -> None:
    for number in range(12):
        finish(visitor.store, result(f"m{number}", ("perfect", "ann")), result(f"n{number}", ("bob", "ann")))
        finish(visitor.store, result(f"o{number}", ("bob", "perfect")))
    finish(visitor.store, result("p", ("cid", "dan"), pool="grundy/large"))
    found = strengths(visitor.store)
    assert [bot for bot, _ in found["nim/classic"]] == ["ann", "bob", "perfect"]
    assert [word for _, word in found["nim/classic"]][1:] == ["expert", "perfect"]
    assert found["grundy/large"] == [("dan", "little known"), ("cid", "little known")]


@pytest.mark.parametrize("weakest", ["random", "level-1"])
def test_who_moves_at_random_is_a_beginner_also_where_luck_keeps_all_ratings_near_each_other(weakest: str) -> None:
    mus = {weakest: 23.0, "ga": 24.2, "greedy": 25.1, "alphabeta": 26.0, "uct": 26.9}
    bots = [rated(bot, mu) for bot, mu in mus.items()]
    words = [strength_of(bot, scale_of(bots)) for bot in bots]
    assert words == ["beginner", "easy", "medium", "strong", "expert"]


def test_a_word_is_never_less_than_the_ratings_tell_nor_more_than_they_say_by_themselves() -> None:
    alike = [rated("random", 24.9), rated("greedy", 25.1)]
    assert [strength_of(bot, scale_of(alike)) for bot in alike] == ["beginner", "beginner"]
    apart = [rated("random", 0.0), rated("greedy", 40.0)]
    assert scale_of(apart) == StrengthScale(0.0, 5.0)
    assert scale_of([rated("random", 10.0, played=2), rated("greedy", 40.0)]) == StrengthScale(15.0, 5.0)
    assert scale_of([rated("greedy", 40.0)]) == StrengthScale(15.0, 5.0)


def test_no_word_is_above_that_of_a_better_rating() -> None:
    mus = [12.0, 20.5, 23.0, 24.0, 25.0, 29.0]
    bots = [rated("random" if mu == 20.5 else f"b{mu}", mu) for mu in mus]
    order = ["beginner", "easy", "medium", "strong", "expert"]
    places = [order.index(strength_of(bot, scale_of(bots))) for bot in bots]
    assert places == sorted(places)
    assert places[:2] == [0, 0]
