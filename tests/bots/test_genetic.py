"""The genetic algorithm: the report's numbers, what follows from the seed, who breeds, and that it gets somewhere."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations
from statistics import median
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bots.tuning.genetic import (
    Gene,
    Generation,
    Method,
    ScheduledGame,
    breed_genes,
    compute_fitness,
    draw_first_genes,
    fittest_index,
    schedule_games,
)
from protocol.errors import UsageFault

REPORT = Method()
SMALL = Method(genes=12, tournaments=3, best=2, children=3, mutants=2)
TARGET = (9.0, 1.0, 8.0, 2.0)


def closer(one: Gene, other: Gene) -> float:
    """The score of a made-up game, which the gene nearer to the target wins."""
    mine, theirs = distance(one), distance(other)
    return 0.5 if mine == theirs else float(mine < theirs)


def distance(gene: Gene) -> float:
    return sum((weight - right) ** 2 for weight, right in zip(gene, TARGET, strict=True))


def played(method: Method, seed: str, number: int, genes: tuple[Gene, ...]) -> Generation:
    meetings = schedule_games(method, seed, number)
    scores = [closer(genes[meeting.first], genes[meeting.second]) for meeting in meetings]
    return Generation(number, genes, compute_fitness(method, meetings, scores))


def evolved(method: Method, seed: str) -> list[Generation]:
    generations = [played(method, seed, 1, draw_first_genes(method, seed))]
    for number in range(2, method.generations + 1):
        generations.append(played(method, seed, number, breed_genes(method, seed, generations[-1])))
    return generations


def tournaments(meetings: tuple[ScheduledGame, ...], genes: int) -> set[frozenset[int]]:
    """Who met whom, each with itself."""
    met = {gene: {gene} for gene in range(genes)}
    for meeting in meetings:
        met[meeting.first].add(meeting.second)
        met[meeting.second].add(meeting.first)
    return {frozenset(others) for others in met.values()}


@st.composite
def methods(draw: st.DrawFn) -> Method:
    """Any that `check` accepts, of a size that tests can play."""
    count, each = draw(st.integers(1, 4)), draw(st.integers(2, 6))
    best = draw(st.integers(1, each - 1))
    children = draw(st.integers(0, count * each)) if count * best > 1 else 0
    return Method(
        genes=count * each,
        tournaments=count,
        starts=draw(st.integers(1, 3)),
        seats=draw(st.sampled_from(["drawn", "both"])),
        best=best,
        children=children,
        mutants=draw(st.integers(0, count * each - children)),
        generations=draw(st.integers(1, 4)),
        highest=draw(st.integers(1, 20_000)) / 1000,
        step=draw(st.integers(1, 1000)) / 1000,
        fitness=draw(st.sampled_from(["results", "adjusted"])),
    )


seeds = st.text(max_size=4)


def test_the_numbers_are_those_of_the_report() -> None:
    REPORT.check()
    assert (REPORT.games, REPORT.total) == (450, 1800)
    meetings = schedule_games(REPORT, "s", 1)
    assert len(meetings) == 450
    assert Counter(gene for meeting in meetings for gene in meeting[:2]) == dict.fromkeys(range(100), 9)
    assert sorted(map(len, tournaments(meetings, 100))) == [10] * 10


def test_fifteen_new_genes_take_the_place_of_the_fifteen_least_fit() -> None:
    generation = played(REPORT, "s", 1, draw_first_genes(REPORT, "s"))
    following = breed_genes(REPORT, "s", generation)
    replaced = {i for i in range(100) if following[i] != generation.genes[i]}
    assert len(replaced) == 15
    assert max(generation.fitness[i] for i in replaced) <= min(
        generation.fitness[i] for i in set(range(100)) - replaced
    )


def test_children_and_mutants_come_from_the_three_best_of_each_tournament() -> None:
    generation = played(REPORT, "s", 1, draw_first_genes(REPORT, "s"))
    parents = {
        generation.genes[i]
        for members in tournaments(schedule_games(REPORT, "s", 1), 100)
        for i in sorted(members, key=lambda i: (-generation.fitness[i], i))[:3]
    }
    averages = {tuple(round((a + b) / 2, 3) for a, b in zip(*pair, strict=True)) for pair in combinations(parents, 2)}
    born = set(breed_genes(REPORT, "s", generation)) - set(generation.genes)
    children = born & averages
    assert (len(parents), len(children)) == (30, 12)
    for mutant in born - children:
        assert 3 in {sum(a == b for a, b in zip(mutant, parent, strict=True)) for parent in parents}


def test_mutants_come_nearer_to_their_parents_with_every_generation() -> None:
    method = replace(SMALL, children=0, mutants=8, best=3, step=0.5)
    genes = draw_first_genes(method, "s")
    farthest = []
    for number in (1, 3, 9):
        generation = Generation(number, genes, tuple(i / 20 for i in range(12)))
        born = [gene for gene in breed_genes(method, "s", generation) if gene not in genes]
        steps = [min(max(abs(a - b) for a, b in zip(one, parent, strict=True)) for parent in genes) for one in born]
        farthest.append(max(steps))
        assert all(step <= method.highest * 0.5 ** (number - 1) + 0.0005 for step in steps)
    assert farthest[0] > 10 * farthest[2] > 0


def test_of_equally_fit_genes_the_lower_index_is_the_fitter() -> None:
    method = replace(SMALL, children=0, mutants=5)
    generation = Generation(1, draw_first_genes(method, "s"), (0.5,) * 12)
    following = breed_genes(method, "s", generation)
    assert fittest_index(generation) == 0
    assert following[:7] == generation.genes[:7]
    assert not set(following[7:]) & set(generation.genes)


def test_fitness_is_the_share_of_games_won_a_draw_being_half() -> None:
    method = Method(genes=3, tournaments=1)
    meetings = (ScheduledGame(0, 1, "a"), ScheduledGame(1, 2, "b"), ScheduledGame(2, 0, "c"), ScheduledGame(0, 1, "d"))
    assert compute_fitness(method, meetings, [1.0, 0.5, 0.0, 1.0]) == (1.0, 0.166667, 0.25)
    assert fittest_index(Generation(1, draw_first_genes(method, "s"), (0.25, 0.5, 0.5))) == 1


def test_every_game_has_a_score() -> None:
    with pytest.raises(ValueError, match="shorter"):
        compute_fitness(SMALL, schedule_games(SMALL, "s", 1), [1.0])


def test_who_sits_where_is_drawn() -> None:
    first = sum(meeting.first < meeting.second for meeting in schedule_games(REPORT, "s", 1))
    assert 180 < first < 270


def test_with_both_seat_orders_a_pair_plays_every_start_twice() -> None:
    method = replace(SMALL, seats="both", starts=2)
    meetings = schedule_games(method, "s", 1)
    assert len(meetings) == method.games == 3 * 6 * 2 * 2
    by_start = Counter((frozenset(meeting[:2]), meeting.start) for meeting in meetings)
    assert set(by_start.values()) == {2}
    assert len({meeting.start for meeting in meetings}) == len(by_start)
    assert len(set(meetings)) == len(meetings)


def test_both_games_of_a_start_have_dice_of_their_own_where_luck_is_taken_out() -> None:
    method = replace(SMALL, seats="both", starts=2)
    freed = schedule_games(replace(method, fitness="adjusted"), "s", 1)
    assert [meeting[:3] for meeting in freed] == [meeting[:3] for meeting in schedule_games(method, "s", 1)]
    assert len({meeting.dice for meeting in freed}) == len(freed)
    assert {meeting.dice for meeting in schedule_games(method, "s", 1)} == {None}


def test_no_start_is_met_twice_in_a_seed_and_none_in_another() -> None:
    starts = [meeting.start for seed in "st" for number in (1, 2) for meeting in schedule_games(SMALL, seed, number)]
    assert len(set(starts)) == len(starts) == 4 * SMALL.games


def test_the_same_seed_gives_the_same_evolution_and_another_seed_another() -> None:
    again, other = evolved(SMALL, "s"), evolved(SMALL, "t")
    assert evolved(SMALL, "s") == again
    assert [schedule_games(SMALL, "s", number) for number in (1, 2)] == [
        schedule_games(SMALL, "s", number) for number in (1, 2)
    ]
    assert other[0].genes != again[0].genes
    assert [meeting[:2] for meeting in schedule_games(SMALL, "s", 1)] != [
        meeting[:2] for meeting in schedule_games(SMALL, "t", 1)
    ]


def test_what_is_drawn_is_the_same_on_every_machine() -> None:
    genes = draw_first_genes(SMALL, "s")
    assert genes[0] == (7.738, 7.707, 6.124, 2.783)
    assert schedule_games(SMALL, "s", 2)[:2] == (ScheduledGame(9, 2, "s/2/2-9/0"), ScheduledGame(10, 2, "s/2/2-10/0"))
    following = breed_genes(SMALL, "s", Generation(1, genes, tuple(i / 20 for i in range(12))))
    assert following[:5] == (
        (1.341, 2.288, 2.773, 3.649),
        (6.22, 4.662, 2.744, 5.949),
        (2.41, 2.765, 4.902, 7.089),
        (2.46, 2.825, 2.439, 2.398),
        (0.773, 4.268, 2.439, 2.398),
    )


def test_every_generation_has_tournaments_of_its_own() -> None:
    first, second = (tournaments(schedule_games(SMALL, "s", number), 12) for number in (1, 2))
    assert first != second


@pytest.mark.parametrize("seed", ["a", "b", "c", "d"])
def test_generations_come_nearer_to_what_wins(seed: str) -> None:
    distances = [median(map(distance, g.genes)) for g in evolved(replace(REPORT, generations=16), seed)]
    assert all(later < sooner for sooner, later in zip(distances[::5], distances[5::5], strict=False))
    assert distances[-1] < distances[0] / 3


@pytest.mark.parametrize("seed", ["a", "b", "c", "d"])
def test_the_fittest_of_the_last_generation_is_better_than_most_that_are_drawn(seed: str) -> None:
    last = evolved(REPORT, seed)[-1]
    drawn = sorted(map(distance, draw_first_genes(REPORT, "others")))
    assert distance(last.genes[fittest_index(last)]) < drawn[25]


@settings(max_examples=60)
@given(methods(), seeds)
def test_any_sound_method_plays_as_announced_and_keeps_its_genes_sound(method: Method, seed: str) -> None:
    method.check()
    generations = evolved(method, seed)
    for number, generation in enumerate(generations, 1):
        meetings = schedule_games(method, seed, number)
        assert len(meetings) == method.games
        assert len(tournaments(meetings, method.genes)) == method.tournaments
        assert len(generation.genes) == method.genes
        assert all(len(gene) == 4 and any(gene) for gene in generation.genes)
        assert all(0 <= w <= method.highest and w == round(w, 3) for gene in generation.genes for w in gene)
        assert sum(generation.fitness) == pytest.approx(method.genes / 2, abs=1e-4)


@settings(max_examples=20)
@given(methods(), seeds)
def test_the_fittest_survives_where_not_all_are_replaced(method: Method, seed: str) -> None:
    for generation in evolved(method, seed):
        if method.children + method.mutants < method.genes:
            best = fittest_index(generation)
            assert breed_genes(method, seed, generation)[best] == generation.genes[best]
            assert generation.fitness[best] == max(generation.fitness)


@pytest.mark.parametrize("seed", range(20))
def test_no_gene_is_all_zero_even_where_nearly_all_weights_are(seed: int) -> None:
    method = Method(genes=40, tournaments=4, children=10, mutants=30, highest=0.001)
    generation = Generation(1, draw_first_genes(method, str(seed)), (0.5,) * 40)
    assert all(any(gene) for gene in (*generation.genes, *breed_genes(method, str(seed), generation)))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"genes": 1}, "genes is 1: it must be an integer from 2 to 1000"),
        ({"genes": 1001}, "genes is 1001: it must be an integer from 2 to 1000"),
        ({"genes": "many"}, "genes is 'many': it must be an integer from 2 to 1000"),
        ({"genes": True}, "genes is True: it must be an integer from 2 to 1000"),
        ({"tournaments": 0}, "tournaments is 0: it must be an integer from 1 to 50 (at least two genes each)"),
        ({"tournaments": 51}, "tournaments is 51: it must be an integer from 1 to 50 (at least two genes each)"),
        ({"tournaments": 3}, "tournaments is 3: it must divide genes, 100"),
        ({"starts": 0}, "starts is 0: it must be an integer from 1 to 1000"),
        ({"seats": "fixed"}, "seats is 'fixed': one of drawn, both"),
        ({"best": 0}, "best is 0: it must be an integer from 1 to 9 (fewer than the genes of a tournament)"),
        ({"best": 10}, "best is 10: it must be an integer from 1 to 9 (fewer than the genes of a tournament)"),
        ({"children": -1}, "children is -1: it must be an integer from 0 to 100 (at most genes)"),
        ({"children": 101}, "children is 101: it must be an integer from 0 to 100 (at most genes)"),
        ({"children": 98}, "mutants is 3: it must be an integer from 0 to 2 (with the children at most genes)"),
        (
            {"tournaments": 1, "best": 1},
            "children is 12: it must be 0 if best and tournaments are 1: a child has two parents",
        ),
        ({"generations": 0}, "generations is 0: it must be an integer from 1 to 1000"),
        ({"highest": 0}, "highest is 0: it must be a number above 0, at most 1000, with at most 3 decimals"),
        (
            {"highest": float("nan")},
            "highest is nan: it must be a number above 0, at most 1000, with at most 3 decimals",
        ),
        ({"highest": 0.0005}, "highest is 0.0005: it must be a number above 0, at most 1000, with at most 3 decimals"),
        ({"highest": "10"}, "highest is '10': it must be a number above 0, at most 1000, with at most 3 decimals"),
        ({"step": 0}, "step is 0: it must be a number above 0, at most 1, with at most 3 decimals"),
        ({"step": 1.5}, "step is 1.5: it must be a number above 0, at most 1, with at most 3 decimals"),
        ({"fitness": "elo"}, "fitness is 'elo': one of results, adjusted"),
        (
            {"starts": 89, "fitness": "adjusted"},
            "40,050 games of a generation: at most 40,000; use fewer genes or starts",
        ),
        ({"starts": 223}, "100,350 games of a generation: at most 100,000; use fewer genes or starts"),
    ],
)
def test_what_cannot_be_is_refused_with_what_would_be_right(given: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageFault) as refused:
        replace(REPORT, **given).check()
    assert str(refused.value) == says
