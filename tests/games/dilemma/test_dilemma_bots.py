"""The reference bots of matrix games and of poker play as the literature has them, and say where they can't."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from bots import play as play_match
from bots.client.bot import Bot
from bots.client.installed import find_installed
from bots.playing.matches import Played
from bots.reference.perfect import Perfect
from games.dilemma.bots import Equilibrium, Extort, Generous
from games.dilemma.memory_one import memory_one, scores
from games.dilemma.rules import Dilemma, DilemmaState
from games.poker.rules import ANTE, PokerState
from games.poker.strategies import equilibrium_of, knowledge_of
from machine.exact.matrix_equilibrium import equilibria, equilibrium, expected_payoffs
from protocol.dice import Dice
from protocol.errors import UsageFault
from protocol.games import load_game
from turns import move_of, play, turn
from volumes import examples

C, D = 0, 1
MEMORY_ONE = ["tit-for-tat", "pavlov", "generous", "extort", "always-cooperate", "always-defect"]
TEMPTING = [[[3, 3], [0, 5]], [[5, 0], [1, 1]]]
LOPSIDED = [[[4, 5], [-2, 6]], [[7, -1], [1, 2]]]
"""A dilemma whose payoffs are not the same for both."""


def bot(name: str) -> Any:
    return find_installed()[name].load()(name)


def choices(played: Played, seat: int) -> str:
    """What a seat meant to play, a letter a round."""
    rounds = [line.event for line in played.record.lines if getattr(line, "event", None) and line.event.moves]
    return "".join("CD"[event.moves[seat]["choose"]] for event in rounds)


class Scripted(Bot):
    """Chooses as written, then cooperates."""

    games = ("dilemma",)
    script = "CDCDDCDCCDDDC"

    def choose(self, turn: Any) -> dict[str, int]:
        return {"choose": D if self.script[turn.ply : turn.ply + 1] == "D" else C}


@pytest.mark.parametrize(
    ("name", "plays"),
    [
        ("tit-for-tat", "CCDCDDCDCCDDD"),
        ("grim", "CCDDDDDDDDDDD"),
        ("pavlov", "CCDDCDDCCCDCD"),
        ("always-cooperate", "CCCCCCCCCCCCC"),
        ("always-defect", "DDDDDDDDDDDDD"),
        ("equilibrium", "DDDDDDDDDDDDD"),
    ],
)
@pytest.mark.parametrize("seat", [0, 1])
def test_a_strategy_answers_a_script_as_its_definition_says(name: str, plays: str, seat: int) -> None:
    seated: list[Any] = [bot(name), Scripted("script")]
    played = play_match(seated if seat == 0 else seated[::-1], "dilemma", config={"rounds": 13}, raises=True)
    assert choices(played, 1 - seat) == Scripted.script
    assert choices(played, seat) == plays


def test_with_noise_it_is_what_was_played_that_is_answered_and_not_what_was_meant() -> None:
    played = play_match(["tit-for-tat", "grim"], "dilemma", config={"noise": "0.2", "rounds": 100}, seed=4)
    lasts = [state.last for state in played.states[1:]]
    meant = choices(played, 0), choices(played, 1)
    assert meant[0][1:] == "".join("CD"[last[1]] for last in lasts[:-1])
    first = next(at for at, last in enumerate(lasts) if last[0] == D)
    assert meant[1] == "C" * (first + 1) + "D" * (99 - first)
    assert "".join("CD"[last[0]] for last in lasts) != meant[0], "nothing was flipped"


def test_grim_remembers_a_defection_that_came_between_two_of_its_turns() -> None:
    rules = load_game("dilemma")
    first = rules.resolve_round(rules.initial(Dice(b"", 0))[0], {0: C, 1: D}, Dice(b"", 0))
    then = rules.resolve_round(first[0], {0: C, 1: C}, Dice(b"", 1))
    told = turn(rules, then[0], seat=0, events=[first[1], then[1]])
    assert move_of(bot("grim").choose(told)) == {"choose": D}


def test_the_literatures_numbers_come_out_of_axelrods_payoffs() -> None:
    rules = Dilemma({"payoffs": TEMPTING})
    assert Extort("e").strategy(rules, 0) == memory_one(1, Fraction(8, 9), Fraction(1, 2), Fraction(1, 3), 0)
    assert Generous("g").strategy(rules, 0).after[1] == Generous("g").strategy(rules, 1).after[3] == Fraction(1, 3)
    assert Generous("g").strategy(Dilemma({"preset": "prison"}), 0).after[1] == Fraction(3, 5)


@pytest.mark.parametrize("payoffs", [TEMPTING, LOPSIDED])
@pytest.mark.parametrize("seat", [0, 1])
def test_extort_gains_twice_what_the_other_gains_over_defection_whatever_that_plays(payoffs: Any, seat: int) -> None:
    rules = Dilemma({"payoffs": payoffs})
    extort = Extort("e").strategy(rules, seat)
    for numbers in ((9, 2, 7, 3), (1, 8, 5, 9), (5, 5, 5, 5)):
        other = memory_one(1, *(Fraction(number, 10) for number in numbers))
        got = scores(*((extort, other) if seat == 0 else (other, extort)), rules.payoffs)
        gains = [got[each] - payoffs[D][D][each] for each in (seat, 1 - seat)]
        assert gains[0] == 2 * gains[1]


@pytest.mark.parametrize("payoffs", [TEMPTING, LOPSIDED, [[[-2, -2], [-10, 0]], [[0, -10], [-5, -5]]]])
@pytest.mark.parametrize("seat", [0, 1])
def test_who_is_forgiven_gains_nothing_by_defecting_for_ever(payoffs: Any, seat: int) -> None:
    forgives = Generous("g").strategy(Dilemma({"payoffs": payoffs}), seat).after[1]
    cells = [payoffs[D][D], payoffs[C][D] if seat == 0 else payoffs[D][C]]
    defecting = (1 - forgives) * cells[0][1 - seat] + forgives * cells[1][1 - seat]
    assert 0 < forgives < 1
    assert defecting <= payoffs[C][C][1 - seat]


def test_a_mixed_choice_comes_as_often_as_its_chance_says() -> None:
    rules = load_game("dilemma")
    after = DilemmaState(1, (0, 5), (C, D), over=False)
    for name, least, most in (("extort", 420, 580), ("generous", 260, 410)):
        strategy = bot(name)
        turns = (turn(rules, after, seed=str(at), seat=0) for at in range(1000))
        assert least < sum(move_of(strategy.choose(each)) == {"choose": C} for each in turns) < most


def test_rock_paper_scissors_is_mixed_in_thirds_and_chicken_swerves_nine_times_in_ten() -> None:
    third = (Fraction(1, 3),) * 3
    assert equilibrium(Dilemma({"preset": "rock-paper-scissors"}).payoffs) == (third, third)
    swerve = (Fraction(9, 10), Fraction(1, 10))
    rules = Dilemma({"preset": "chicken"})
    assert equilibrium(rules.payoffs) == (swerve, swerve)
    start = rules.initial(Dice(b"", 0))[0]
    drawn = Counter(
        move_of(Equilibrium("e").choose(turn(rules, start, seed=str(at), seat=1)))["choose"] for at in range(2000)
    )
    assert 1750 < drawn[0] < 1850


def matrices() -> list[tuple[tuple[tuple[int, int], ...], ...]]:
    """Drawn matrices of 2 to 5 choices, half of them with so few payoffs that many are equal."""
    chance = random.Random(7)
    found = []
    for number in range(examples(24, nightly=60)):
        rows, columns, most = chance.randint(2, 5), chance.randint(2, 5), 2 if number % 2 else 100
        drawn = tuple(
            tuple((chance.randint(0, most), chance.randint(0, most)) for _ in range(columns)) for _ in range(rows)
        )
        found.append(drawn)
    return found


def test_nobody_gains_by_leaving_an_equilibrium_of_any_matrix() -> None:
    for payoffs in matrices():
        one, two = equilibrium(payoffs)
        assert sum(one) == sum(two) == 1
        assert min(*one, *two) >= 0
        got = expected_payoffs(payoffs, one, two)
        for row in range(len(one)):
            assert expected_payoffs(payoffs, tuple(Fraction(row == at) for at in range(len(one))), two)[0] <= got[0]
        for column in range(len(two)):
            assert expected_payoffs(payoffs, one, tuple(Fraction(column == at) for at in range(len(two))))[1] <= got[1]


def test_of_equilibria_that_lie_between_others_none_is_listed() -> None:
    """Against the last column both rows get the same, so any mix of them is one."""
    found = equilibria((((0, 0), (0, 1), (0, 1)), ((2, 2), (0, 1), (0, 2))))
    assert [(one.index(1), two.index(1)) for one, two in found] == [(0, 1), (0, 2), (1, 0), (1, 2)]


def test_all_equilibria_of_a_zero_sum_matrix_are_worth_the_same() -> None:
    for payoffs in matrices()[: examples(12, nightly=30)]:
        zero_sum = tuple(tuple((one, -one) for one, _ in row) for row in payoffs)
        assert len({expected_payoffs(zero_sum, *pair) for pair in equilibria(zero_sum)}) == 1


@pytest.mark.parametrize("name", [*MEMORY_ONE, "grim"])
def test_a_strategy_of_two_choices_refuses_a_larger_matrix_in_a_line(name: str) -> None:
    with pytest.raises(UsageFault) as caught:
        play_match([name, "random"], "dilemma", config={"preset": "rock-paper-scissors"})
    says = (
        "plays with 2 choices for each seat, to cooperate and to defect, not with 3 and 3: equilibrium plays any number"
    )
    assert str(caught.value) == f"{name} {says}"


@pytest.mark.parametrize("name", ["extort", "generous"])
def test_what_follows_from_a_dilemmas_payoffs_refuses_what_is_none_in_a_line(name: str) -> None:
    with pytest.raises(UsageFault) as caught:
        play_match([name, "random"], "dilemma", config={"preset": "stag-hunt"})
    assert str(caught.value) == (
        f"{name} plays prisoner's dilemmas: temptation > reward > punishment > sucker, which for seat 0 are 3, 4, 3 "
        "and 0; tit-for-tat, grim and pavlov play any two choices"
    )


def test_extort_refuses_payoffs_by_which_nobody_can_be_extorted() -> None:
    with pytest.raises(UsageFault, match="extort can't hold seat 1 to half of its own gain"):
        play_match(["extort", "random"], "dilemma", config={"payoffs": [[[90, 3], [0, 5]], [[95, 0], [1, 1]]]})


@pytest.mark.parametrize("name", ["greedy", "minimax", "alphabeta", "ga", "raider", "oracle"])
@pytest.mark.parametrize("game", ["dilemma", "kuhn", "leduc"])
def test_a_search_refuses_the_game_in_a_line_that_says_who_plays_it(name: str, game: str) -> None:
    with pytest.raises(UsageFault) as caught:
        play_match([name, "random"], game)
    said = str(caught.value)
    assert said.startswith(f"{name} does not play {game}: it plays ")
    assert "\n" not in said
    there = said.partition(f"; for {game} there are ")[2].split(", ")
    assert {"human", "random", "perfect" if game != "dilemma" else "tit-for-tat"} <= set(there)
    assert name not in there


def test_every_one_of_them_plays_from_both_seats_to_the_end_whatever_comes() -> None:
    names = [*MEMORY_ONE, "grim", "equilibrium", "random"]
    for name, config in product(names, ({}, {"noise": "0.1"}, {"payoffs": LOPSIDED})):
        for pair in ([name, "random"], ["random", name]):
            played = play_match(pair, "dilemma", config={"rounds": 12, **config}, seed=1, raises=True)
            assert len(played.states) == 13


@pytest.mark.parametrize("game", ["kuhn", "leduc"])
def test_perfect_plays_poker_from_either_seat_as_often_as_the_equilibrium_says(game: str) -> None:
    rules = load_game(game, {"hands": 2})
    for hand in (0, 1):
        cards = (0, len(rules.ranks_of_cards) * rules.cards_per_rank - 1)  # type: ignore[attr-defined]
        dealt = PokerState(1, hand, (0, 0), cards if hand == 0 else cards[::-1], None, ("",), (ANTE, ANTE), hand)
        first = knowledge_of(rules, dealt)
        assert first == (0, (0, None, ("",)))
        bets = sum(
            move_of(Perfect("p").choose(turn(rules, dealt, seed=str(at)))) == {"do": "bet"} for at in range(2000)
        )
        assert bets == pytest.approx(2000 * float(equilibrium_of(game)[first][1]), abs=70)


def test_perfect_says_nothing_of_what_its_hand_is_worth() -> None:
    rules = load_game("kuhn")
    chosen = Perfect("p").choose(turn(rules, rules.initial(Dice(b"", 0))[0]))
    assert (chosen.value, chosen.depth, chosen.nodes, chosen.note) == (None, None, None, None)


def test_perfect_takes_chips_from_random_moves_over_many_hands() -> None:
    for game in ("kuhn", "leduc"):
        rules = load_game(game, {"hands": examples(1000, nightly=3000)})
        state, _ = play(rules, [Perfect("p"), bot("random")], rules.initial(Dice(b"x", 0))[0], key=b"x")
        assert rules.returns(state)[0] > rules.config["hands"] / 10  # type: ignore[index]
