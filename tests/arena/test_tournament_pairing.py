"""Who plays whom: schedules of tournaments."""

from __future__ import annotations

import itertools
from collections import Counter
from random import Random

import pytest

from arena.ratings.tournament_pairing import Pairing, count_byes, count_matches, gauntlet, round_robin, swiss
from protocol.errors import UsageFault

BOTS = ["ann", "bob", "cid", "dan", "eve"]


def meetings(schedule: list[Pairing]) -> Counter[frozenset[str]]:
    return Counter(frozenset(pairing.seats) for pairing in schedule)


def firsts(schedule: list[Pairing]) -> Counter[str]:
    return Counter(pairing.seats[0] for pairing in schedule)


def test_in_a_round_robin_every_pair_meets_once_a_round() -> None:
    schedule = round_robin(BOTS, 3, Random(1))
    for number in range(3):
        assert set(meetings([p for p in schedule if p.round == number]).values()) == {1}
    assert len(schedule) == 3 * 10
    assert set(meetings(schedule).values()) == {3}


def test_places_number_a_schedule_from_zero_in_order() -> None:
    for paired in (False, True):
        schedule = round_robin(BOTS, 2, Random(1), paired=paired)
        assert [pairing.place for pairing in schedule] == list(range(len(schedule)))


def test_seats_are_swapped_from_round_to_round() -> None:
    schedule = round_robin(BOTS, 2, Random(1))
    assert len({pairing.seats for pairing in schedule}) == len(schedule)


def test_in_a_round_robin_every_bot_begins_equally_often() -> None:
    assert set(firsts(round_robin(BOTS, 4, Random(5))).values()) == {8}
    one_round = firsts(round_robin(BOTS, 1, Random(5)))
    assert max(one_round.values()) - min(one_round.get(bot, 0) for bot in BOTS) <= 1


def test_paired_matches_share_a_start_and_swap_seats() -> None:
    schedule = round_robin(BOTS, 2, Random(1), paired=True)
    starts = {start: list(group) for start, group in itertools.groupby(schedule, key=lambda p: p.start)}
    assert len(starts) == 2 * 10
    for one, other in starts.values():
        assert one.seats == other.seats[::-1]


def test_unpaired_matches_share_no_start() -> None:
    schedule = round_robin(BOTS, 2, Random(1))
    assert len({pairing.start for pairing in schedule}) == len(schedule)


def test_the_same_chance_gives_the_same_schedule() -> None:
    assert round_robin(BOTS, 3, Random(7)) == round_robin(BOTS, 3, Random(7))
    assert round_robin(BOTS, 3, Random(7)) != round_robin(BOTS, 3, Random(8))


def test_a_round_robin_of_three_seats_turns_the_seats() -> None:
    schedule = round_robin(BOTS, 3, Random(1), seats=3)
    assert set(meetings(schedule).values()) == {3}
    assert len({pairing.seats for pairing in schedule}) == len(schedule)
    assert len(round_robin(BOTS, 1, Random(1), seats=3, paired=True)) == 3 * 10


def test_with_more_than_two_seats_nobody_always_follows_the_same() -> None:
    schedule = round_robin(BOTS[:3], 30, Random(1), seats=3, paired=True)
    after_ann = Counter(pairing.seats[(pairing.seats.index("ann") + 1) % 3] for pairing in schedule)
    assert min(after_ann["bob"], after_ann["cid"]) > 20
    assert set(firsts(schedule).values()) == {30}
    assert set(firsts(round_robin(BOTS[:3], 30, Random(1), seats=3)).values()) == {10}


def test_in_a_gauntlet_the_first_bot_meets_every_other() -> None:
    schedule = gauntlet(BOTS, 2, Random(1))
    assert meetings(schedule) == Counter({frozenset(("ann", other)): 2 for other in BOTS[1:]})
    assert firsts(schedule)["ann"] == 4


def test_a_tournament_with_too_few_bots_is_refused_in_words() -> None:
    with pytest.raises(UsageFault, match="a round robin with 2 seats a match needs 2 bots: 1 given"):
        round_robin(["ann"], 1, Random(1))
    with pytest.raises(UsageFault, match="a gauntlet with 3 seats"):
        gauntlet(["ann", "bob"], 1, Random(1), seats=3)
    with pytest.raises(UsageFault, match="a swiss tournament"):
        swiss(["ann"], [], {}, Random(1))


def swiss_tournament(bots: list[str], rounds: int, *, paired: bool = False) -> list[Pairing]:
    """Every match is won by the later name; a bye is a point."""
    played: list[Pairing] = []
    scores = dict.fromkeys(bots, 0.0)
    for number in range(rounds):
        drawn = swiss(bots, played, scores, Random(number), paired=paired)
        for pairing in drawn:
            scores[max(pairing.seats)] += 1
        played += drawn
        for bot in set(bots) - {bot for pairing in drawn for bot in pairing.seats}:
            scores[bot] += 1
    return played


@pytest.mark.parametrize("count", [2, 4, 7, 16, 40])
def test_a_swiss_tournament_avoids_rematches(count: int) -> None:
    bots = [f"b{i:02}" for i in range(count)]
    rounds = min(count - 1, 6)
    played = swiss_tournament(bots, rounds)
    assert set(meetings(played).values()) == {1}
    assert len(played) == rounds * (count // 2)
    assert [pairing.place for pairing in played] == list(range(len(played)))


def test_a_swiss_round_that_cannot_avoid_a_rematch_is_played_all_the_same() -> None:
    assert set(meetings(swiss_tournament(["ann", "bob"], 3)).values()) == {3}


def test_equal_scores_meet_in_a_swiss_round() -> None:
    scores = {"ann": 2.0, "bob": 0.0, "cid": 2.0, "dan": 0.0}
    drawn = swiss(["ann", "bob", "cid", "dan"], [], scores, Random(3))
    assert set(meetings(drawn)) == {frozenset(("ann", "cid")), frozenset(("bob", "dan"))}


def test_half_points_count_in_a_swiss_round() -> None:
    scores = {"ann": 1.0, "bob": 0.5, "cid": 0.5, "dan": 0.0}
    met = [Pairing(0, 0, ("ann", "dan"), 0)]
    assert frozenset(("ann", "dan")) not in meetings(swiss(["ann", "bob", "cid", "dan"], met, scores, Random(3)))


def test_byes_go_round_before_anyone_has_a_second() -> None:
    played = swiss_tournament(BOTS, 5)
    assert count_byes(BOTS, played) == Counter(dict.fromkeys(BOTS, 1))


def test_the_first_bye_goes_to_the_lowest_score() -> None:
    scores = {"ann": 1.0, "bob": 1.0, "cid": 0.0}
    drawn = swiss(["ann", "bob", "cid"], [], scores, Random(1))
    assert meetings(drawn) == Counter([frozenset(("ann", "bob"))])


def test_seats_are_balanced_in_a_swiss_tournament() -> None:
    began = firsts(swiss_tournament([f"b{i:02}" for i in range(16)], 6))
    assert all(1 <= began[f"b{i:02}"] <= 5 for i in range(16))


def test_paired_swiss_matches_share_a_start() -> None:
    played = swiss_tournament(["ann", "bob", "cid", "dan"], 2, paired=True)
    assert Counter(pairing.start for pairing in played) == Counter(dict.fromkeys(range(4), 2))


@pytest.mark.parametrize(("seats", "paired"), [(2, False), (2, True), (3, False), (4, True)])
def test_the_number_of_matches_is_known_before_the_schedule(seats: int, paired: bool) -> None:
    for form, everyone in (("round-robin", round_robin), ("gauntlet", gauntlet)):
        schedule = everyone(BOTS, 3, Random(1), seats=seats, paired=paired)
        assert count_matches(form, len(BOTS), 3, seats=seats, paired=paired) == len(schedule)
