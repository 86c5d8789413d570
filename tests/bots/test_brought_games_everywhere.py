"""Games of files with everything that plays or grades games: what works for built-in games works for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from arena.replay.grading import can_estimate, grade_match
from arena.web.grading import ESTIMATE_METHOD, grading_method
from bots import play
from bots.agents.answers import describe_games
from bots.analysis.estimator import UctMoveEvaluator
from bots.client import turn_text
from bots.client.loading import find_entry_point, make_bot
from bots.commands.piped_lines import encode_turn, parse_answer
from bots.reference.human import format_turn, read_move
from bots.reference.level_bot import Level, find_mixture
from example_games import CONNECT_FOUR, EXAMPLES, ONE_CARD, PIG, TWENTY_ONE
from machine.exact.graders import unit_of
from machine.game_discovery import load_game_file
from protocol.bot_launch import MAX_LEVEL
from protocol.errors import UsageFault
from protocol.games import load_game
from protocol.games.base import NO_DICE
from protocol.messages import Player
from referee.in_process import MoveEvaluation
from registered_games import registered
from turns import play as played_out
from turns import turn

NAMES = [game.name for game in (CONNECT_FOUR, PIG, ONE_CARD, TWENTY_ONE)]


@pytest.fixture(autouse=True)
def brought() -> Iterator[None]:
    """Add the games of docs/examples/games."""
    with registered(*(spec for file in sorted(EXAMPLES.glob("*.py")) for spec in load_game_file(file))):
        yield


def made(word: str) -> Any:
    return make_bot(find_entry_point(word).load(), word, {}, {})


@pytest.mark.parametrize("name", NAMES)
def test_it_has_levels_from_random_moves_to_those_of_uct(name: str) -> None:
    found = find_mixture(name)
    assert found is not None
    assert found.bot == "uct:sims=100"
    rules = load_game(name)
    bots = [Level(f"level-{level}", level=level) for level in (1, MAX_LEVEL, MAX_LEVEL)][: rules.seats]
    for bot in bots:
        bot.check_game(rules)
    assert rules.to_move(played_out(rules, bots, rules.first_turn)[0]) is None  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", NAMES)
def test_every_bot_that_plays_it_chooses_a_legal_move_and_others_say_why_not(name: str) -> None:
    rules = load_game(name)
    state = rules.first_turn  # type: ignore[attr-defined]
    searches = ["greedy", "minimax", "alphabeta"]
    for word in ["random", "uct", "level", *([] if rules.hidden else searches)]:
        bot = made(word)
        bot.check_game(rules)
        chosen = bot.choose(turn(rules, state, bank_ms=700, received=0.0))
        assert getattr(chosen, "move", chosen) in turn(rules, state).legal
    for word in ["perfect", *(searches if rules.hidden else [])]:
        with pytest.raises(UsageFault, match=f"{word} does not play {name}: it plays nim, "):
            made(word).check_game(rules)


def worst(name: str, *moves: Any) -> MoveEvaluation:
    """Estimate the last of some moves from the first turn."""
    rules = load_game(name)
    state = rules.first_turn  # type: ignore[attr-defined]
    for move in moves[:-1]:
        state = rules.apply(state, move, NO_DICE)[0]
    return UctMoveEvaluator(rules, 400, "s").evaluate_move(state, moves[-1], rules.ply(state))


def test_a_move_that_misses_a_win_gives_something_away() -> None:
    """Seat 0 has three in a row, with an empty cell at either end."""
    missed = worst("connect4", 3, 3, 4, 4, 5, 5, 1)
    assert missed.best in (2, 6)
    assert missed.best_value == 1
    assert missed.value < 0.9
    assert missed.standard_error > 0


def test_a_move_is_judged_by_what_its_seat_could_see_and_in_payoffs() -> None:
    """Seat 0 has the queen and can't see that the other has the jack, so a call wins or loses two."""
    rules = load_game("onecard")
    queen = next(after for _, after in rules.chance_outcomes(rules.state_before_deal()) if after.state.cards == (1, 0))
    bet = rules.apply(rules.apply(queen, "check", NO_DICE)[0], "bet", NO_DICE)[0]
    found = UctMoveEvaluator(rules, 400, "s").evaluate_move(bet, "fold", 3)
    assert (found.best, found.best_value, found.value) == ("call", pytest.approx(0, abs=0.4), -1)
    assert unit_of(rules) == "points"


SMALL_CONFIGS = {"connect4": {"width": 4, "height": 4}, "pig": {"target": 10}, "onecard": {}, "twentyone": {"last": 10}}
"""A config of each game under which matches are short."""


@pytest.mark.parametrize(("name", "config"), SMALL_CONFIGS.items())
def test_a_match_of_it_is_graded_by_estimates(name: str, config: dict[str, int]) -> None:
    seats = load_game(name).seats
    record = play(["uct:sims=10", "random", "third=random"][:seats], name, seed=1, config=config).record
    assert can_estimate(name)
    assert grading_method(name, record.header.config) == ESTIMATE_METHOD
    grades = grade_match(record, sims=80, seat=0)
    assert grades.estimate == "uct, 80 simulations a move"
    assert grades.moves
    assert {move.seat for move in grades.moves} == {0}


def test_a_language_model_is_told_how_to_write_a_move_and_which_presets_there_are() -> None:
    told = {about.game: about for about in describe_games(NAMES).games}
    assert {name: about.how_to_move for name, about in told.items()} == {
        "connect4": "1",
        "pig": "roll",
        "onecard": "check",
        "twentyone": "1",
    }
    assert [(one.preset, one.seats) for one in told["twentyone"].presets] == [("classic", 3)]
    assert told["pig"].rules == "Roll as often as you dare; a one costs you the points of this turn."


@pytest.mark.parametrize("name", NAMES)
def test_a_person_and_a_program_get_its_turns(name: str) -> None:
    rules = load_game(name)
    asked = turn(rules, rules.first_turn)  # type: ignore[attr-defined]
    asked = replace(asked, players=[Player(bot=f"bot-{seat}") for seat in range(rules.seats)])
    assert rules.draw_board(asked.position) in format_turn(asked)
    for legal in asked.legal:
        assert read_move(asked, turn_text.format_move(rules, legal)) == legal
        answered = parse_answer(msgspec.json.encode(legal), asked)
        assert answered is not None
        assert answered.move == legal
    assert encode_turn(asked).startswith(b'{"type":"turn","legal":[{"move":')
