"""What Risk is measured by: features kept up to date as a position changes, and coefficients that were fixed before."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from fractions import Fraction
from statistics import fmean, variance
from typing import Any

import pytest

from games.risk.measuring.features import FEATURE_NAMES, Features, PositionSums, measure_features
from games.risk.measuring.share_value import SHARE_NAMES, ShareValue
from games.risk.measuring.value_functions import Coefficients, Constants, FittedValue, read_coefficients
from games.risk.rules import maps
from games.risk.rules.campaign import Campaign
from games.risk.rules.duel import Duel, Position
from measuring.luck import luck_along
from measuring.value_registry import load_value, value_names
from protocol.dice import Dice
from protocol.games import load_game
from protocol.games.base import Game
from volumes import examples

DUEL = Duel({"max_troops": 5})
CROSSED = Position((0, 1, 0, 1), (4, 3, 2, 3), 0, 9)
TAKEN = Position((0, 0, 0, 1), (4, 1, 2, 3), 1, 10)
HELD = Position((0, 1, 0, 1), (1, 3, 2, 3), 1, 10)
OUTCOMES = ((Fraction(15, 36), TAKEN), (Fraction(21, 36), HELD))

games = pytest.mark.parametrize(
    "game",
    [
        load_game("risk-duel", {"map": "africa"}),
        load_game("risk-campaign", {"map": "europe", "deal": "17" * 16}),
        load_game("risk-campaign", {"map": "world", "draft": "classic", "deal": "0f" * 16}),
    ],
    ids=["duel", "europe", "world"],
)


def moves(game: Game[Any, Any], seed: int, most: int = 400) -> Iterator[tuple[Any, Any, Any]]:
    chance = random.Random(seed)
    state = game.initial(Dice(b"deal", seed))[0]
    for _ in range(most):
        if game.to_move(state) is None:
            return
        move = game.sample_move(state, chance.randrange)
        after = game.apply(state, move, Dice(str(seed).encode(), game.ply(state)))[0]
        yield state, move, after
        state = after


@games
def test_what_differs_little_is_measured_as_if_it_were_measured_anew(game: Game[Any, Any]) -> None:
    for before, move, _ in moves(game, 1, 150):
        survey = PositionSums(game, before)
        if not sum(before.troops):
            continue
        for _, come in game.outcomes(before, move):
            assert survey.seat_difference_after(come.owner, come.troops) == pytest.approx(
                PositionSums(game, come).seat_difference()
            )


@games
def test_seat_0_has_above_seat_1_what_the_evaluation_of_bots_measures(game: Game[Any, Any]) -> None:
    for _, _, after in moves(game, 2, 60):
        one, other = measure_features(game, after, 0), measure_features(game, after, 1)
        found = PositionSums(game, after).seat_difference()[:4]
        assert found == pytest.approx([a - b for a, b in zip(one, other, strict=True)])


def test_the_features_of_a_position_by_hand() -> None:
    above = PositionSums(DUEL, CROSSED).seat_difference()
    borders = [len(others) for others in DUEL.map.neighbours]
    assert above.territories == 0
    assert above.units == pytest.approx(0)
    assert above.reach == pytest.approx(
        (4 * borders[0] + 2 * borders[2] - 3 * borders[1] - 3 * borders[3]) / 5 / sum(borders)
    )
    own, other = (
        sum(troops for at, troops in enumerate(CROSSED.troops) if CROSSED.owner[at] == seat and faces(at))
        for seat in (0, 1)
    )
    assert above.front == pytest.approx((own - other) / 12)


def faces(at: int) -> bool:
    return any(CROSSED.owner[other] != CROSSED.owner[at] for other in DUEL.map.neighbours[at])


def test_a_fitted_value_weighs_the_luck_of_each_feature_by_what_was_known_before() -> None:
    held = Coefficients(
        name="trial-7",
        features={"units": Constants(0.5, 0.25, 2.0), "territories": Constants(0.125, odds=1.0)},
        turn=0.5,
    )
    before = PositionSums(DUEL, CROSSED).seat_difference()
    q = 1 / (1 + math.exp(-(2 * before.units + before.territories + 0.5)))
    points = [
        (0.5 + 0.25 * 4 * q * (1 - q)) * above.units + 0.125 * above.territories
        for above in (PositionSums(DUEL, TAKEN).seat_difference(), PositionSums(DUEL, HELD).seat_difference())
    ]
    value = FittedValue(DUEL, held)
    assert value.name == "trial-7"
    assert value.luck(CROSSED, OUTCOMES, TAKEN)[0] == pytest.approx(21 / 36 * (points[0] - points[1]))
    assert value.luck(CROSSED, OUTCOMES, HELD)[0] == pytest.approx(15 / 36 * (points[1] - points[0]))


def test_the_winner_has_all_that_features_as_they_are_divide() -> None:
    won = Position((0, 0, 0, 0), (4, 1, 2, 3), 1, 10)
    above = PositionSums(DUEL, won).seat_difference()
    assert sum(above[:4]) / 8 == pytest.approx(0.5)
    assert Features._fields == FEATURE_NAMES


def shipped() -> list[tuple[str, str]]:
    return [
        (game, name)
        for game in ("risk-duel", "risk-campaign")
        for name in maps.MAP_NAMES
        if read_coefficients(game, name)
    ]


@pytest.mark.parametrize(("game", "name"), shipped())
def test_coefficients_that_are_shipped_say_how_they_were_made_and_are_found(game: str, name: str) -> None:
    found = read_coefficients(game, name)
    assert found is not None
    assert set(found.features) <= set(FEATURE_NAMES)
    assert found.provenance["games"] >= 500
    assert found.name in value_names(load_game(game, {"map": name}))
    assert found.name in value_names(
        load_game(game, {"map": name, "max_rounds" if game == "risk-campaign" else "max_plies": 77})
    )
    assert load_value(load_game(game, {"map": name}), found.name).name == found.name


PINNED = [
    ("risk-duel", {"map": "south-america"}, "fitted-1", -0.5808724494802775),
    ("risk-duel", {"map": "south-america"}, "general-1", -0.5528151786342668),
    ("risk-duel", {"map": "south-america"}, "features-1", -0.6010033919194457),
    ("risk-duel", {"map": "africa"}, "fitted-1", 0.390783668124873),
    ("risk-campaign", {"map": "grid-6x6", "deal": "17" * 16}, "fitted-1", 0.12252914776436137),
    ("risk-campaign", {"map": "grid-6x6", "deal": "17" * 16}, "features-1", 0.019596951656435563),
    ("risk-campaign", {"map": "world", "deal": "17" * 16}, "fitted-1", -0.19911897387717398),
    ("risk-campaign", {"preset": "world", "deal": "17" * 16}, "fitted-1", -0.026023868055960405),
]


@pytest.mark.no_cover
@pytest.mark.parametrize(("game", "config", "name", "luck"), PINNED)
def test_a_value_never_changes_under_its_name(game: str, config: dict[str, Any], name: str, luck: float) -> None:
    rules = load_game(game, config)
    assert luck_along(rules, load_value(rules, name), moves(rules, 5, 120)).total[0] == pytest.approx(luck)


def test_a_map_of_ones_own_has_the_coefficients_of_another_and_more_seats_have_features_as_they_are() -> None:
    africa = maps.load_map("africa").encoded
    for own in ({**africa, "name": "mine"}, {**africa, "borders": [*africa["borders"], [0, 4]]}):
        assert value_names(load_game("risk-duel", {"map": own})) == ("general-1", "features-1", "none")
    assert value_names(load_game("risk-campaign", {"map": "africa"})) == ("features-1", "none")
    assert value_names(load_game("risk-campaign", {"map": "world", "players": 3})) == ("features-1", "none")


SIX = load_game("risk-campaign", {"preset": "world"})


def test_the_value_of_six_seats_is_the_maps_own() -> None:
    assert value_names(SIX) == ("fitted-1", "features-1", "none")
    found = read_coefficients("risk-campaign", "world-6")
    assert found is not None
    assert tuple(found.features) == SHARE_NAMES
    assert found.provenance["games"] >= 500


def test_of_more_seats_luck_is_that_of_shares_weighed_by_the_seats_in_the_game() -> None:
    rules = Campaign({"map": "south-america", "players": 3})
    before = held_by(rules, (0, 0, 1, 1), (4, 2, 3, 1))  # the third seat is out
    outcomes = [(Fraction(1, 4), before._replace(troops=(1, 2, 3, 1))), (Fraction(3, 4), before)]
    value = ShareValue("trial-1", rules, [(1.0, 1.0), (0.5, 0.75), (0.0, 0.0)])
    share = 3 / 7 - (0.25 * 3 / 7 + 0.75 * 6 / 10)  # of the troops, for the first seat
    weight = 0.5 + 0.75 * 2 / 3
    assert value.luck(before, outcomes, outcomes[0][1]) == pytest.approx((weight * share, -weight * share, 0))


def held_by(rules: Campaign, owner: tuple[int, ...], troops: tuple[int, ...]) -> Any:
    state = rules.initial(Dice(b"deal", 0))[0]
    return state._replace(owner=owner, troops=troops, phase="attack")


def test_the_value_of_six_seats_is_the_same_function_of_each() -> None:
    other = (3, 5, 0, 4, 2, 1)  # what each seat is called elsewhere
    value = load_value(SIX)
    for before, move, after in moves(SIX, 4, 60):
        outcomes = SIX.outcomes(before, move)
        if len(outcomes) > 1:
            luck = value.luck(before, outcomes, after)
            called = [(chance, _called(state, other)) for chance, state in outcomes]
            elsewhere = value.luck(_called(before, other), called, _called(after, other))
            assert [elsewhere[seat] for seat in other] == pytest.approx(luck)


def _called(state: Any, other: tuple[int, ...]) -> Any:
    return state._replace(owner=tuple(other[seat] for seat in state.owner), seat=other[state.seat])


def test_coefficients_are_general_on_every_map_and_the_maps_own_at_home() -> None:
    home = load_game("risk-duel", {"map": "africa"})
    plies = list(moves(home, 3))
    own, general = (luck_along(home, load_value(home, name), plies) for name in ("fitted-1", "general-1"))
    assert (own.events, own.total) == (general.events, general.total)
    assert (own.value, general.value) == ("fitted-1", "general-1")


@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("game", "config", "count", "factor"),
    [
        ("risk-duel", {"map": "africa"}, examples(30, nightly=150), 5.0),
        ("risk-campaign", {"map": "africa", "max_rounds": 30}, examples(20, nightly=60), 1.2),
    ],
)
def test_results_of_random_bots_vary_less_without_luck_by_every_value(
    game: str, config: dict[str, Any], count: int, factor: float
) -> None:
    results = []
    for seed in range(count):
        rules = load_game(game, {**config, "deal": f"{seed:032x}"} if game == "risk-campaign" else config)
        plies = list(moves(rules, seed, 5000))
        one, other = rules.ranks(plies[-1][2])
        results.append((rules, plies, 0.5 if one == other else float(one < other)))
    raw = variance(score for _, _, score in results)
    for name in value_names(results[0][0])[:-1]:
        adjusted = [
            score - luck_along(rules, load_value(rules, name), plies).total[0] for rules, plies, score in results
        ]
        assert raw / variance(adjusted) > factor
        error = math.sqrt(variance(a - s for a, (_, _, s) in zip(adjusted, results, strict=True)) / count)
        assert abs(fmean(adjusted) - fmean(score for _, _, score in results)) < 4 * error
