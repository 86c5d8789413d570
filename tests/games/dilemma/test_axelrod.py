"""The referee and the reference bots beside the library axelrod: the same strategies get the same totals and table."""

from __future__ import annotations

import sys
from itertools import combinations_with_replacement
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from bots import play
from bots.client.loading import load_bot
from bots.commands.piped_bot import PipedBot
from bots.playing.matches import Played
from games.dilemma.bots import Extort, Generous
from games.dilemma.rules import Dilemma
from protocol.messages import Clock

STRATEGIES = Path(__file__).parents[2] / "rivals" / "axelrod_strategies.py"
PROGRAM = STRATEGIES.with_name("axelrod_program.py")
OURS = {
    "always-cooperate": "Cooperator",
    "always-defect": "Defector",
    "grim": "Grudger",
    "pavlov": "WinStayLoseShift",
    "tit-for-tat": "TitForTat",
}
"""Reference bots, and what axelrod calls the same strategies."""
ROUNDS = 80
FEW_ROUNDS = 20
TOTALS = {
    **dict.fromkeys(combinations_with_replacement(OURS, 2), (60, 60)),
    ("always-cooperate", "always-defect"): (0, 100),
    ("always-defect", "always-defect"): (20, 20),
    ("always-defect", "grim"): (24, 19),
    ("always-defect", "pavlov"): (60, 10),
    ("always-defect", "tit-for-tat"): (24, 19),
}
"""What axelrod has two of these strategies get in a match of few rounds."""
EXTORT = [8 / 9, 1 / 2, 1 / 3, 0]
GENEROUS = [1, 1 / 3, 1, 1 / 3]
"""The chances to cooperate that axelrod has after CC, CD, DC and DD."""
PATIENT = Clock(bank_ms=600_000, increment_ms=0)
"""A program begins to import when it is started, and is asked at once."""


@pytest.fixture(scope="module")
def axelrod() -> ModuleType:
    """The library, which takes three seconds to import."""
    from rivals import axelrod_strategies

    return axelrod_strategies.axelrod


def names() -> tuple[str, ...]:
    from rivals.axelrod_strategies import NAMES

    return NAMES


def their_totals(axelrod: ModuleType, one: str, two: str, rounds: int = ROUNDS) -> tuple[int, int]:
    match = axelrod.Match([getattr(axelrod, one)(), getattr(axelrod, two)()], turns=rounds)
    match.play()
    first, second = match.final_score()
    return int(first), int(second)


def totals(played: Played) -> tuple[int, int]:
    found: tuple[int, int] = played.states[-1].payoffs
    return found


def theirs(strategy: str) -> Any:
    return load_bot(STRATEGIES, strategy, strategy, {}, {})


@pytest.mark.nightly
def test_fifteen_strategies_of_axelrod_get_the_same_totals_here_each_against_each(axelrod: ModuleType) -> None:
    bots = {name: theirs(name) for name in names()}
    assert len(bots) == 15
    pairs = list(combinations_with_replacement(names(), 2))
    here, there = {}, {}
    for number, (one, two) in enumerate(pairs):
        if number % 2:
            one, two = two, one
        here[one, two] = totals(play([bots[one], bots[two]], "dilemma", config={"rounds": ROUNDS}, raises=True))
        there[one, two] = their_totals(axelrod, one, two)
    assert len(here) == 120
    assert here == there
    assert len({total for pair in here.values() for total in pair}) > 60, "they are hardly told apart"


@pytest.mark.ci
@pytest.mark.parametrize("ours", OURS)
def test_a_reference_bot_plays_as_axelrod_has_its_strategy_against_all_fifteen(axelrod: ModuleType, ours: str) -> None:
    for name in names():
        here = totals(play([ours, theirs(name)], "dilemma", config={"rounds": ROUNDS}, raises=True))
        assert here == their_totals(axelrod, OURS[ours], name), name


@pytest.mark.ci
def test_the_totals_that_are_expected_here_are_those_of_axelrod(axelrod: ModuleType) -> None:
    for (one, two), expected in TOTALS.items():
        assert their_totals(axelrod, OURS[one], OURS[two], FEW_ROUNDS) == expected, (one, two)


@pytest.mark.ci
def test_the_chances_that_are_expected_here_are_those_of_axelrod(axelrod: ModuleType) -> None:
    for strategy, expected in ((axelrod.ZDExtort2(), EXTORT), (axelrod.GTFT(), GENEROUS)):
        assert [chance for _, chance in sorted(strategy._four_vector.items())] == pytest.approx(expected)


def test_reference_bots_get_the_totals_that_axelrods_strategies_get() -> None:
    assert len(TOTALS) == 15
    for pair, expected in TOTALS.items():
        for seated, paid in ((pair, expected), (pair[::-1], expected[::-1])):
            assert totals(play(list(seated), "dilemma", config={"rounds": FEW_ROUNDS}, raises=True)) == paid, pair


def test_extort_and_generous_have_the_chances_of_axelrods_strategies() -> None:
    for bot, expected in ((Extort("e"), EXTORT), (Generous("g"), GENEROUS)):
        assert [float(chance) for chance in bot.strategy(Dilemma({}), 0).after] == pytest.approx(expected)


@pytest.mark.nightly
def test_strategies_play_through_the_pipe_as_in_axelrod(axelrod: ModuleType) -> None:
    piped = PipedBot("piped", [sys.executable, str(PROGRAM), "Gradual"])
    try:
        for other in ("Alternator", "BackStabber"):
            seated = [piped, theirs(other)]
            played = play(seated, "dilemma", config={"rounds": ROUNDS}, clock=PATIENT, raises=True)
            assert totals(played) == their_totals(axelrod, "Gradual", other)
    finally:
        piped.close()
