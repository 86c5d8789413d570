"""The luck of games that pay: without bias over all that can happen, and most of what tells equal players apart."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from statistics import pvariance
from typing import Any

import pytest

from games.dilemma.rules import Dilemma, DilemmaState
from games.dilemma.values import PAYOFFS_UNIT
from games.poker.kuhn import Kuhn
from games.poker.leduc import Leduc
from games.poker.rules import Poker, PokerState
from games.poker.strategies import equilibrium_of, knowledge_of
from games.poker.values import CHIPS_UNIT
from measuring.luck import Luck, luck_along, luck_of
from measuring.value_registry import default_value_names, load_value, value_names
from protocol.games.base import NO_DICE
from protocol.messages import CHANCE
from referee.effects import MoveReceived
from referee.record import Ply
from referee.state import Phase
from referee_table import Table as RefereesTable

Plies = list[tuple[Any, Any, Any]]
Strategy = Callable[[Poker, PokerState], list[Fraction]]
Ways = list[tuple[Fraction, Any, Plies]]


def arbitrary(game: Poker, state: PokerState) -> list[Fraction]:
    """Chances that follow from all that there is, the other's card too."""
    lots = random.Random(repr(state))
    weights = [lots.randint(0, 5) for _ in game.legal_moves(state)]
    weights[0] += sum(weights) == 0
    return [Fraction(weight, sum(weights)) for weight in weights]


def in_equilibrium(game: Poker, state: PokerState) -> list[Fraction]:
    return [Fraction(chance) for chance in equilibrium_of(game.name)[knowledge_of(game, state)]]


def hands(game: Poker, state: PokerState, strategy: Strategy, chance: Fraction = Fraction(1)) -> Iterator[Any]:
    """Every way that a match may take, with its probability, its end and its plies."""
    seat = game.to_move(state)
    if seat is None:
        yield chance, state, []
        return
    after: list[tuple[Fraction, str | None, PokerState]]
    if seat == CHANCE:
        after = [(share, None, to) for share, to in game.chance_outcomes(state)]
    else:
        moves = zip(strategy(game, state), game.legal_moves(state), strict=True)
        after = [(share, move, game.apply(state, move, NO_DICE)[0]) for share, move in moves if share]
    for share, move, to in after:
        for likely, end, plies in hands(game, to, strategy, chance * share):
            yield likely, end, [(state, move, to), *plies]


def rounds(game: Dilemma, state: DilemmaState, chance: Fraction = Fraction(1)) -> Iterator[Any]:
    if state.over:
        yield chance, state, []
        return
    moves = {seat: (state.at + seat + sum(state.last or (0, 1))) % len(game.choices[seat]) for seat in (0, 1)}
    for share, to in game.round_outcomes(state, moves):
        for likely, end, plies in rounds(game, to, chance * share):
            yield likely, end, [(state, moves, to), *plies]


def luck_in(game: Any, plies: Plies) -> Luck:
    return luck_along(game, load_value(game), plies)


@pytest.mark.parametrize("strategy", [arbitrary, in_equilibrium])
@pytest.mark.parametrize("count", [1, 2])
def test_over_all_deals_of_kuhn_the_luck_of_whatever_strategies_comes_to_nothing(
    count: int, strategy: Strategy
) -> None:
    game = Kuhn({"hands": count})
    ways: Ways = list(hands(game, game.state_before_deal(), strategy))
    assert sum(chance for chance, _, _ in ways) == 1
    lucks = [(float(chance), luck_in(game, plies)) for chance, _, plies in ways]
    assert all(len(luck.events) == count and sum(luck.total) == 0 for _, luck in lucks)
    assert sum(chance * luck.total[0] for chance, luck in lucks) == pytest.approx(0, abs=1e-12)
    assert max(luck.total[0] for _, luck in lucks) > 1


def spread(game: Poker, strategy: Strategy) -> tuple[float, float]:
    """The variances of a hand's chips, as they came out and less luck."""
    ways: Ways = list(hands(game, game.state_before_deal(), strategy))
    found = []
    for less in (0, 1):
        results = [(float(chance), end.chips[0] - less * luck_in(game, plies).total[0]) for chance, end, plies in ways]
        mean = sum(chance * result for chance, result in results)
        found.append(sum(chance * (result - mean) ** 2 for chance, result in results))
    return found[0], found[1]


def test_between_players_in_equilibrium_most_of_kuhns_spread_is_the_deal() -> None:
    as_it_came, less_luck = spread(Kuhn({"hands": 1}), in_equilibrium)
    assert less_luck < 0.35 * as_it_came


@pytest.mark.no_cover
def test_the_public_card_of_leduc_is_dealt_luck_too() -> None:
    game = Leduc({"hands": 1})
    lots = random.Random(3)
    results, adjusted, lucks, deals = [], [], [], set()
    for _ in range(600):
        state, plies = game.state_before_deal(), []
        while (seat := game.to_move(state)) is not None:
            if seat == CHANCE:
                move, to = None, lots.choice(game.chance_outcomes(state))[1]
            else:
                move = lots.choices(game.legal_moves(state), list(map(float, in_equilibrium(game, state))))[0]
                to = game.apply(state, move, NO_DICE)[0]
            plies.append((state, move, to))
            state = to
        luck = luck_in(game, plies)
        deals.add(len(luck.events))
        lucks.append(luck.total[0])
        results.append(state.chips[0])
        adjusted.append(state.chips[0] - luck.total[0])
    assert deals == {1, 2}
    assert abs(sum(lucks) / len(lucks)) < 4 * (pvariance(lucks) / len(lucks)) ** 0.5
    assert pvariance(adjusted) < 0.5 * pvariance(results)


@pytest.mark.parametrize(
    "config",
    [
        {"rounds": 3, "noise": "0.05"},
        {"rounds": 4, "go_on": "0.9"},
        {"rounds": 3, "go_on": "0.75", "noise": "0.2"},
        {"preset": "rock-paper-scissors", "rounds": 2, "noise": "0.1", "go_on": "0.5"},
    ],
    ids=str,
)
def test_over_all_coins_of_a_dilemma_the_luck_of_each_seat_comes_to_nothing(config: dict[str, Any]) -> None:
    preset = Dilemma.presets[config.pop("preset")] if "preset" in config else {}
    game = Dilemma({**preset, **config})
    ways: Ways = list(rounds(game, DilemmaState(0, (0, 0), None, over=False)))
    assert sum(chance for chance, _, _ in ways) == 1
    lucks = [(float(chance), luck_in(game, plies)) for chance, _, plies in ways]
    for seat in (0, 1):
        assert sum(chance * luck.total[seat] for chance, luck in lucks) == pytest.approx(0, abs=1e-12)
        assert any(abs(luck.total[seat]) > 0.1 for _, luck in lucks)
    assert {event.seat for _, luck in lucks for event in luck.events} == {CHANCE}


def test_how_long_a_match_lasted_is_all_luck_where_every_round_pays_the_same() -> None:
    game = Dilemma({"rounds": 30, "go_on": "0.8"})
    for last in (1, 7, 30):
        state, plies = DilemmaState(0, (0, 0), None, over=False), []
        while not state.over:
            goes_on = state.at + 1 < last
            to = next(to for _, to in game.round_outcomes(state, {0: 0, 1: 0}) if to.over != goes_on)
            plies.append((state, {0: 0, 1: 0}, to))
            state = to
        expected = 3 * (1 - 0.8**30) / 0.2
        assert state.payoffs[0] - luck_in(game, plies).total[0] == pytest.approx(expected)


def test_without_coins_the_dilemma_has_no_luck() -> None:
    assert value_names(Dilemma({})) == ("none",)


def test_luck_in_payoffs_is_taken_from_no_result_in_points() -> None:
    assert value_names(Kuhn({})) == ("equilibrium", "none")
    assert default_value_names(Kuhn({})) == ("none",)


def match(game: str, config: dict[str, Any]) -> RefereesTable:
    table, lots = RefereesTable(game, config).begin(), random.Random(1)
    while table.match.standing.phase is Phase.PLAYING:
        course = table.match.standing.current_course
        for seat in course.awaited_seats:
            table.send(MoveReceived(seat, table.ply, lots.choice(course.legal_moves(seat)[0])))
    return table


@pytest.mark.parametrize(
    ("game", "config", "unit"),
    [
        ("kuhn", {"hands": 9}, CHIPS_UNIT),
        ("leduc", {"hands": 9}, CHIPS_UNIT),
        ("dilemma", {"rounds": 9, "noise": "0.3"}, PAYOFFS_UNIT),
        ("dilemma", {"rounds": 90, "go_on": "0.8"}, PAYOFFS_UNIT),
    ],
    ids=str,
)
def test_a_record_has_the_luck_of_all_its_deals_and_coins(game: str, config: dict[str, Any], unit: str) -> None:
    record = match(game, config).record()
    luck = luck_of(record)
    plies = [line.event for line in record.lines if isinstance(line, Ply)]
    assert [event.ply for event in luck.events] == [event.ply for event in plies if event.seat == CHANCE]
    assert luck.unit == unit
    assert any(event.luck[0] for event in luck.events)
