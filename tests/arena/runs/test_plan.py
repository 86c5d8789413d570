"""A tournament's plan: what follows from its seed, round by round."""

from __future__ import annotations

import pytest

from arena.ratings.tournament_pairing import Pairing
from arena.runs.contestants import Contestant
from arena.runs.plan import RunTerms
from games.theory.heaps import nim_rule
from games.theory.impartial import outcome
from plans import plan
from protocol.games import load_game
from referee.result import Result
from seasons import result


def won_by_the_first(match: Pairing) -> Result:
    return result(f"t1-{match.place:05d}", match.seats, tournament="t1", place=match.place)


def test_everything_follows_from_the_seed_and_the_id() -> None:
    assert plan().schedule(()) == plan().schedule(())
    assert plan().schedule(()) != plan(seed="8").schedule(())
    assert plan().schedule(()) != plan(id="t2").schedule(())
    assert plan().derive("dice/1") != plan().derive("dice/2")


@pytest.mark.parametrize(
    ("form", "paired", "count"),
    [("round-robin", False, 12), ("round-robin", True, 24), ("gauntlet", False, 6), ("swiss", False, 4)],
)
def test_the_count_of_matches_is_known_beforehand(form: str, paired: bool, count: int) -> None:
    assert plan(format=form, paired=paired).match_count == count


def test_a_swiss_tournament_knows_the_next_round_when_a_round_is_over() -> None:
    swiss = plan(format="swiss", rounds=3)
    first = swiss.schedule(())
    assert len(first) == 2
    results = [won_by_the_first(match) for match in first]
    assert swiss.schedule(results[:1]) == first
    second = swiss.schedule(results)
    assert second[:2] == first
    winners = {match.seats[0] for match in first}
    assert [set(match.seats) for match in second[2:]] in (
        [winners, set("abcd") - winners],
        [set("abcd") - winners, winners],
    )


def test_a_swiss_round_with_a_hole_in_it_is_not_over() -> None:
    swiss = plan(format="swiss", rounds=3)
    first = swiss.schedule(())
    second = swiss.schedule([won_by_the_first(match) for match in first])
    with_a_hole = [won_by_the_first(match) for match in second[1:]]
    assert swiss.schedule(with_a_hole) == first


def test_a_bot_that_sits_out_of_a_swiss_round_has_its_point() -> None:
    swiss = plan("abc", format="swiss", rounds=2)
    (first,) = swiss.schedule(())
    (idle,) = set("abc") - set(first.seats)
    second = swiss.schedule([won_by_the_first(first)])[1]
    assert set(second.seats) == {idle, first.seats[0]}


def test_paired_matches_start_from_the_same_position_in_both_seat_orders() -> None:
    rules = load_game("nim", {"heaps": [9, 9, 9, 9], "start": "p-position"})
    paired = plan("ab", paired=True, rules=rules, rounds=5)
    matches = paired.schedule(())
    dealt = [tuple(paired.game_of(match).config["heaps"]) for match in matches]
    assert dealt[::2] == dealt[1::2]
    assert len(set(dealt)) > 1
    assert all(outcome(heaps, nim_rule(None)) == "P" for heaps in dealt)
    assert [match.seats for match in matches[::2]] == [match.seats[::-1] for match in matches[1::2]]
    assert plan("ab", rules=rules).game_of(paired.schedule(())[0]).config == rules.config


def test_paired_matches_of_a_preset_are_rated_although_their_deal_is_settled() -> None:
    paired = plan("ab", paired=True, rules=load_game("risk-campaign"))
    match, back = paired.schedule(())[:2]
    assert paired.game_of(match).config == paired.game_of(back).config
    assert paired.game_of(match).preset is None
    assert paired.pool == "risk-campaign/grid-fair"
    assert plan(rules=load_game("nim", {"heaps": [9]})).pool is None


def test_a_test_is_pairs_of_both_seat_orders_and_unrated() -> None:
    test = plan("ab", format="test", rounds=3, paired=True)
    matches = test.schedule(())
    assert [match.place for match in matches] == list(range(6)) == list(range(test.match_count))
    assert [match.start for match in matches] == [0, 0, 1, 1, 2, 2]
    assert [set(match.seats) for match in matches] == [{"a", "b"}] * 6
    assert [match.seats for match in matches[::2]] == [match.seats[::-1] for match in matches[1::2]]
    assert test.pool is None


def test_the_terms_that_identify_a_tournament_are_written_in_one_way_for_ever() -> None:
    terms = RunTerms(
        words=["ann", "bob=random:level=2"],
        contestants=(Contestant("ann", ()), Contestant("bob", ())),
        settings={"nodes": "200"},
        rules=load_game("nim", {"heaps": [3, 5]}),
        format="gauntlet",
        rounds=3,
        paired=True,
        clock="10+0.1",
        further={"afar": True, "rated": False},
    )
    game = '"format":"gauntlet","game":"nim"'
    config = '"config":{"heaps":[3,5],"misere":false,"start":"given","take":null}'
    assert terms.key == (
        f'{{"afar":true,"bots":["ann","bob=random:level=2"],"clock":"10+0.1",{config},{game},'
        '"paired":true,"rated":false,"rounds":3,"settings":{"nodes":"200"}}'
    )
    assert terms.randomness_key == f'{{{config},{game},"names":["ann","bob"],"paired":true}}'


def test_a_tournament_that_is_not_rated_has_no_pool() -> None:
    assert plan().pool == "nim/classic"
    assert plan(rated=False).pool is None
