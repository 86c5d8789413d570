"""Who meets whom on the ladder: what teaches most, everybody in time, and nobody waits for ever."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from random import Random

from arena.lobby.ladder_pairing import (
    MAX_WAIT_S,
    MEAN_MAX_WAIT_S,
    Seeker,
    draw_opponents,
    group_seekers,
    information_gain,
)


def seeker(bot: str, mu: float = 25.0, sigma: float = 1.0, since: float = 0.0, **met: int) -> Seeker:
    return Seeker(bot, mu, sigma, since, f"{bot}/{since}", met, sum(met.values()))


def bots_of(groups: list[tuple[Seeker, ...]]) -> list[tuple[str, ...]]:
    return [tuple(one.bot for one in group) for group in groups]


def test_close_ratings_are_paired() -> None:
    seekers = [seeker("ann", 10), seeker("bob", 30), seeker("cid", 11), seeker("dan", 31)]
    assert {frozenset(pair) for pair in bots_of(group_seekers(seekers, now=0.1))} == {
        frozenset(("ann", "cid")),
        frozenset(("bob", "dan")),
    }


def test_a_bot_never_meets_itself() -> None:
    assert group_seekers([seeker("ann", since=0), seeker("ann", since=1)], now=99) == []


def test_two_who_are_alone_meet_at_once_however_far_apart_and_however_often_they_met() -> None:
    assert bots_of(group_seekers([seeker("ann", 5, bob=900), seeker("bob", 45, ann=900)], now=0.0)) == [("ann", "bob")]


def test_who_met_often_waits_for_somebody_who_plays_and_then_takes_who_is_there() -> None:
    seekers = [seeker("ann", bob=20, cid=2), seeker("bob", ann=20, cid=2)]
    playing = [seeker("cid", ann=2, bob=2)]
    assert group_seekers(seekers, now=0.1, playing=playing) == []
    assert bots_of(group_seekers(seekers, now=MEAN_MAX_WAIT_S * 2, playing=playing)) == [("ann", "bob")]


def test_who_plays_and_teaches_no_more_is_not_waited_for() -> None:
    seekers, playing = [seeker("ann", bob=2, cid=2), seeker("bob", ann=2, cid=2)], [seeker("cid", ann=2, bob=2)]
    assert len(group_seekers(seekers, now=0.0, playing=playing)) == 1


def test_newcomers_are_met_first() -> None:
    seekers = [seeker("ann", since=0), seeker("bob", since=1), seeker("new", 25, 8, since=2)]
    assert bots_of(group_seekers(seekers, now=2)) == [("ann", "new")]


def test_who_is_ahead_of_the_others_waits_longer_but_not_for_ever() -> None:
    ahead, behind = seeker("ann", cid=300, dan=300, eve=10), [seeker(bot) for bot in ("dan", "eve")]
    assert group_seekers([ahead, seeker("cid", ann=300)], now=MEAN_MAX_WAIT_S, playing=behind) == []
    assert bots_of(group_seekers([ahead, seeker("cid", since=9, ann=300)], now=MAX_WAIT_S, playing=behind)) == [
        ("ann", "cid")
    ]


def test_in_time_every_pair_meets_and_those_who_teach_more_meet_more() -> None:
    mus = {f"b{number}": 4.0 * number for number in range(8)}
    met = {bot: Counter[str]() for bot in mus}
    for now in range(200):
        seekers = [Seeker(bot, mu, 2.0, now, None, met[bot], met[bot].total()) for bot, mu in mus.items()]
        for one, other in group_seekers(seekers, now=now):
            met[one.bot][other.bot] += 1
            met[other.bot][one.bot] += 1
    assert min(met[one][other] for one, other in itertools.permutations(mus, 2)) >= 5
    assert met["b3"]["b4"] > 2 * met["b3"]["b7"]
    assert min(one.total() for one in met.values()) > 0.5 * max(one.total() for one in met.values())


def test_a_match_teaches_less_the_more_there_were_and_the_surer_its_result() -> None:
    ann = seeker("ann", bob=3)
    assert information_gain(ann, seeker("new")) == 4 * information_gain(ann, seeker("bob"))
    assert (
        information_gain(ann, seeker("cid", 26))
        > information_gain(ann, seeker("dan", 33))
        > information_gain(ann, seeker("eve", 90))
        > 0
    )
    assert information_gain(ann, seeker("fay", 25, 3)) > information_gain(ann, seeker("gus", 25, 1))


def test_a_match_of_three_seats_takes_the_two_that_are_closest() -> None:
    ratings = {"ann": 25, "bob": 26, "cid": 40, "dan": 24}
    seekers = [seeker(bot, mu, since=i) for i, (bot, mu) in enumerate(ratings.items())]
    assert [set(group) for group in bots_of(group_seekers(seekers, now=99, seats=3))] == [{"ann", "bob", "dan"}]


def test_a_match_of_three_seats_waits_for_a_third_bot() -> None:
    seekers = [seeker(bot, since=i) for i, bot in enumerate(("ann", "bob", "ann", "bob"))]
    assert group_seekers(seekers, now=99, seats=3) == []


def test_the_longest_waiting_is_served_first() -> None:
    seekers = [seeker("new", since=9.0), seeker("mid", since=5.0), seeker("old", since=1.0)]
    assert bots_of(group_seekers(seekers, now=9.5)) == [("old", "mid")]


def test_a_bot_with_many_seeks_does_not_hide_the_others() -> None:
    seekers = [seeker("ann", since=i) for i in range(64)] + [seeker(f"b{i}", 40 + i, since=70) for i in range(3)]
    assert len(group_seekers(seekers, now=100)) == 3


def test_a_thousand_seekers_all_find_a_match_and_each_seek_only_one() -> None:
    chance = Random(4)
    seekers = [seeker(f"b{i % 300}", chance.uniform(0, 50), chance.uniform(1, 8), i / 100) for i in range(1000)]
    pairs = group_seekers(seekers, now=100)
    used = [side.key for pair in pairs for side in pair]
    assert len(used) == len(set(used)) == 1000
    assert all(a.bot != b.bot for a, b in pairs)


def test_of_open_bots_the_near_ones_are_drawn_more_often_and_all_now_and_then() -> None:
    others = [seeker("near", 26.0), seeker("far", 35.0), seeker("farthest", 60.0)]
    chance = Random(1)
    found = Counter(draw_opponents(seeker("ann"), others, 1, chance)[0].bot for _ in range(2000))
    assert found["near"] > 2 * found["far"] > 2 * found["farthest"] > 0


def test_as_many_open_bots_are_drawn_as_are_lacking_each_once_and_spent_ones_last() -> None:
    others = [seeker(bot) for bot in ("a", "b", "c", "d")]
    ann = replace(seeker("ann"), avoided=("a", "b"))
    for number in range(20):
        names = [one.bot for one in draw_opponents(ann, others, 3, Random(number))]
        assert sorted(names[:2]) == ["c", "d"]
        assert names[2] in ("a", "b")
    assert len(draw_opponents(ann, others, 9, Random(1))) == 4
