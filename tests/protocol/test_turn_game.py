"""A game that is its rules and nothing else keeps the whole contract of a game, and what it lacks is said in a line."""

from __future__ import annotations

import pickle
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import pytest
from msgspec import Meta

from example_games import CONNECT_FOUR, EXAMPLES, ONE_CARD, PIG, TWENTY_ONE
from protocol.dice import Dice
from protocol.errors import BadConfig, IllegalMove, MalformedMove
from protocol.games.base import NO_DICE, Game
from protocol.games.turn_game import CHANCE, RulesError, TurnGame, choice, integer
from protocol.messages import Event
from referee.contract import ContractBroken, ContractChecker


def load(rules_class: type[TurnGame[Any, Any]], **config: Any) -> Game[Any, Any]:
    return rules_class.rules(config)


@pytest.mark.parametrize("rules_class", [CONNECT_FOUR, PIG, ONE_CARD, TWENTY_ONE])
def test_every_example_keeps_the_contract(rules_class: type[TurnGame[Any, Any]]) -> None:
    checker = ContractChecker(load(rules_class))
    checker.check_refusals()
    for seed in range(10):
        checker.check_game(seed)


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.py")), ids=lambda file: file.stem)
def test_an_example_has_less_than_80_lines(file: Path) -> None:
    assert len(file.read_text("utf-8").splitlines()) < 80


def play(game: Game[Any, Any], *moves: Any, deals: bytes = b"") -> Any:
    """The state after some moves; chance events before and after them are drawn by `deals`."""
    state = game.initial(Dice(deals, 0))[0]
    for move in moves:
        state = game.apply(state, move, Dice(deals, game.ply(state)))[0]
        while game.to_move(state) == CHANCE:
            state = game.apply_chance(state, Dice(deals, game.ply(state)))[0]
    return state


def test_a_state_travels_by_its_fields_and_a_move_by_its_value() -> None:
    game = load(CONNECT_FOUR, width=4, height=4)
    state = play(game, 2, 3)
    assert game.encode_state(state) == {"columns": ("", "X", "O", ""), "last": 3, "to_move": 0, "ply": 2}
    assert game.encode_move(2) == {"move": 2}
    assert game.decode_move({"move": 2}) == 2


def test_a_move_that_is_not_legal_is_refused_with_those_that_are() -> None:
    game = load(CONNECT_FOUR, width=4, height=4)
    full = play(game, 1, 1, 1, 1)
    with pytest.raises(IllegalMove, match=r"^'1' is not a legal move now: one of 2, 3, 4$"):
        game.apply(full, 1, Dice(b"", 4))


@pytest.mark.parametrize(
    ("wire", "said"),
    [
        ({"column": 1}, r'a move looks like {"move": 1}; this one has column'),
        ({"move": "1"}, r'Expected `int`, got `str`: a move looks like {"move": 1}'),
        (7, r'a move looks like {"move": 1}; this one has 7'),
    ],
)
def test_a_move_of_another_form_is_refused_with_an_example(wire: Any, said: str) -> None:
    with pytest.raises(MalformedMove, match=f"^{re.escape(said)}$".replace("\\\\", "\\")):
        load(CONNECT_FOUR).decode_move(wire)


def test_a_listed_move_of_another_type_is_not_refused_with_itself_as_the_example() -> None:
    texts = type("Texts", (CONNECT_FOUR,), {"name": "texts", "moves": lambda self, state: ["1", "2"]})
    with pytest.raises(
        MalformedMove, match=r"^Expected `int`, got `str`: moves returns it, but TurnGame\[State, Move\]"
    ):
        load(texts).decode_move({"move": "1"})


def test_settings_become_attributes_and_their_bounds_refuse() -> None:
    assert load(CONNECT_FOUR, width=5).config == {"width": 5, "height": 6}
    assert CONNECT_FOUR(width=5).width == 5  # type: ignore[attr-defined]
    with pytest.raises(BadConfig, match="connect4: width is 3: it must be an integer from 4 to 12"):
        load(CONNECT_FOUR, width=3)
    with pytest.raises(BadConfig, match="connect4 has no config key 'depth': one of width, height"):
        CONNECT_FOUR(depth=3)


def test_a_grid_is_the_drawing_of_a_game_without_one() -> None:
    assert load(CONNECT_FOUR, width=4, height=4).draw_board(play(load(CONNECT_FOUR, width=4, height=4), 2, 2)).split(
        "\n"
    ) == [
        ". . . .",
        ". . . .",
        ". O . .",
        ". X . .",
    ]


def test_chance_draws_an_outcome_by_its_weight() -> None:
    class Urn(TurnGame[str, Literal["done"]]):
        """A ball is drawn from an urn with one white ball and three black ones."""

        name = "urn"

        def start(self) -> str:
            return ""

        def turn(self, state: str) -> int | None:
            return CHANCE if not state else None if state == "end" else 0

        def chances(self, state: str) -> list[tuple[int, str]]:
            return [(1, "white"), (3, "black")]

        def moves(self, state: str) -> list[Literal["done"]]:
            return ["done"]

        def play(self, state: str, move: Literal["done"]) -> str:
            return "end"

        def winner(self, state: str) -> int:
            return 0

        def draw(self, state: str) -> str:
            return state or "nothing"

    game = load(Urn)
    assert {after.state: probability for probability, after in game.chance_outcomes(game.state_before_deal())} == {
        "white": 1 / 4,
        "black": 3 / 4,
    }
    rng = random.Random(1)
    drawn = [game.initial(Dice(rng.randbytes(32), 0)) for _ in range(400)]
    assert 60 < sum(state.state == "white" for state, _ in drawn) < 140
    state, event = drawn[0]
    assert event == Event(ply=0, seat=CHANCE, move={"outcome": ["white", "black"].index(state.state), "of": [1, 3]})


def test_both_matches_of_a_pair_have_the_same_opening() -> None:
    class Dealt(PIG):  # type: ignore[misc, valid-type]
        name = "dealt"

        def start(self) -> Any:
            return super().start()._replace(is_rolling=True)

    game = load(Dealt)
    assert game.config["opening"] is None
    paired = load(Dealt, **game.config_of_deal(Dice(b"", 0)))
    state, event = paired.initial(Dice(b"other", 0))
    assert event is None
    assert state.state == game.initial(Dice(b"", 0))[0].state
    assert paired.pools == game.pools
    with pytest.raises(BadConfig, match="dealt: opening is 6: it must be an integer from 0 to 5"):
        load(Dealt, opening=6)


def test_a_seat_is_shown_its_own_card_and_no_other() -> None:
    game = load(ONE_CARD)
    state, deal = game.initial(Dice(b"", 0))
    wire = game.encode_state(state)
    first, second = wire["cards"]
    assert [game.view(wire, seat)["cards"] for seat in (0, 1, None)] == [(first, None), (None, second), (None, None)]
    assert deal is not None
    assert game.view_event(deal, 0).move == {"outcome": None, "of": None}


def test_payoffs_are_the_result_of_a_game_with_returns() -> None:
    game = load(ONE_CARD)
    state = play(game, "bet", "fold")
    assert game.returns(state) == (1, -1)
    assert game.ranks(state) == (1, 2)
    assert game.count_rounds(state) == (1, 0)


def test_chance_plays_for_a_seat_that_left_and_it_ranks_behind_all_others() -> None:
    game = load(TWENTY_ONE, last=10)
    state = game.remove_seat(play(game, 1), 1)
    assert game.to_move(state) == CHANCE
    assert sorted(after.state.number for _, after in game.chance_outcomes(state)) == [2, 3, 4]
    state, event = game.apply_chance(state, Dice(b"", 1))
    assert event.move is not None
    assert event.move["of"] == 3
    assert game.ranks(state) == (1, 3, 1)
    assert game.decode_state(game.encode_state(state)) == state
    ended = state._replace(state=state.state._replace(number=10, seat=1))
    assert game.ranks(ended) == (2, 3, 1), "seat 0 said the last number"


def test_a_class_without_what_a_game_needs_is_refused_in_a_line() -> None:
    def define(bases: tuple[type, ...] = (PIG,), **attributes: Any) -> Callable[[], type]:
        return lambda: type("Wrong", bases, {"name": "wrong", **attributes})

    def untyped() -> None:
        class Untyped(TurnGame):  # type: ignore[type-arg]
            name = "untyped"

    def incomplete() -> None:
        class Incomplete(TurnGame[int, int]):
            name = "incomplete"

            def start(self) -> int:
                return 0

    def mistyped() -> None:
        class Mistyped(TurnGame[int, int]):
            name = "mistyped"
            start = turn = moves = play = winner = gridd = lambda self, *given: 0  # type: ignore[assignment]

    def any_text() -> None:
        class AnyText(TurnGame[int, str]):
            name = "text"
            start = turn = moves = play = winner = draw = lambda self, *given: 0  # type: ignore[assignment]

    def taken() -> None:
        class Ply(NamedTuple):
            ply: int

        class Taken(TurnGame[Ply, Annotated[int, Meta(ge=0)]]):
            name = "taken"
            start = turn = moves = play = winner = draw = lambda self, *given: 0  # type: ignore[assignment]

    for definition, said in (
        (define(name="Big Name"), "Wrong: name is 'Big Name': it has up to 40 lower-case letters"),
        (define(hidden=True), "Wrong: hidden is True, but the method seen is missing"),
        (define(presets={}), "Wrong: presets is empty"),
        (define(leave=integer(1, minimum=1, maximum=2)), "Wrong: the setting 'leave' has a name that is taken"),
        (untyped, r"Untyped: the types of a state and of a move are missing: write class NAME\(TurnGame"),
        (incomplete, "Incomplete: the method turn is missing: Return the seat to move"),
        (mistyped, "Mistyped: the drawing is missing: write the method draw or grid; perhaps gridd should be grid$"),
        (any_text, "AnyText: the type of a move is str, so anything would be one: write Literal"),
        (taken, "Taken: the state's field ply has a name that messages use"),
    ):
        with pytest.raises(RulesError, match=said):
            definition()


def wrong(**methods: Any) -> ContractChecker:
    """The checks of Connect Four with other methods."""
    changed = type("Wrong", (CONNECT_FOUR,), {"name": "wrong", **methods})
    return ContractChecker(load(changed, width=4, height=4), max_plies=100)


@pytest.mark.parametrize(
    ("methods", "method", "said"),
    [
        ({"moves": lambda self, state: []}, "legal_moves", "seat 0 is to move, but there is no legal move"),
        ({"moves": lambda self, state: [1, 1]}, "legal_moves", "a legal move is listed twice"),
        ({"turn": lambda self, state: 7}, "to_move", "the seat to move is 7: seats are 0 to 1"),
        ({"draw": lambda self, state: "x" * 81}, "draw_board", "a line has 81 columns: at most 80"),
        ({"draw": lambda self, state: ""}, "draw_board", "the drawing is empty"),
        ({"notation": lambda self, move: "?"}, "parse_move", r"'\?' is not read as a move"),
        ({"notation": lambda self, move: "a\nb"}, "notation", r"the notation of .* is empty or unprintable"),
        (
            {"turn": lambda self, state: 0, "play": lambda self, state, move: state},
            "to_move",
            "has not ended after 100",
        ),
    ],
)
def test_rules_that_break_the_contract_are_found(methods: dict[str, Any], method: str, said: str) -> None:
    checker = wrong(**methods)
    with pytest.raises(ContractBroken, match=said) as broken:
        checker.check_game(0)
    assert broken.value.method == method


def test_moves_that_tell_a_hidden_card_are_found() -> None:
    leaky = type(
        "Leaky",
        (ONE_CARD,),
        {"name": "leaky", "moves": lambda self, state: ("check", "bet") if state.cards[1] == 2 else ("bet", "check")},
    )
    checker = ContractChecker(load(leaky))
    with pytest.raises(ContractBroken, match="seat 0 can tell hidden things from its legal moves"):
        [checker.check_game(seed) for seed in range(50)]


def test_a_choice_is_one_of_its_values() -> None:
    game = type("Chosen", (PIG,), {"name": "chosen", "target": choice(20, 50)})
    assert load(game).config == {"target": 20}
    with pytest.raises(BadConfig, match="chosen: target is 30: one of 20, 50"):
        load(game, target=30)


def test_rules_are_pickled_by_name_and_config() -> None:
    with pytest.raises(Exception, match="there is no game 'pig'"):
        pickle.loads(pickle.dumps(load(PIG, target=20)))


def test_a_state_without_fields_travels_as_one_value_and_a_move_with_fields_by_them() -> None:
    class Step(NamedTuple):
        by: int
        times: int

    class Walk(TurnGame[int, Step]):
        """The first seat walks until it has gone ten steps."""

        name = "walk"

        def start(self) -> int:
            return 0

        def turn(self, state: int) -> int | None:
            return None if state >= 10 else 0

        def moves(self, state: int) -> list[Step]:
            return [Step(1, 2), Step(3, 1)]

        def play(self, state: int, move: Step) -> int:
            return state + move.by * move.times

        def winner(self, state: int) -> int:
            return 0

        def draw(self, state: int) -> str:
            return f"{state} of 10"

    game = load(Walk)
    assert game.encode_state(play(game, Step(3, 1))) == {"state": 3, "to_move": 0, "ply": 1}
    assert game.encode_move(Step(3, 1)) == {"by": 3, "times": 1}
    assert game.parse_move("3 1") == game.decode_move({"by": 3, "times": 1}) == Step(3, 1)
    with pytest.raises(MalformedMove, match="'3' is not a move here: write it like 1 2"):
        game.parse_move("3")
    assert (game.max_seats, Walk.title) == (2, "Walk")


def test_no_move_is_played_when_the_game_is_over_or_chance_comes_next() -> None:
    game = load(PIG, target=5)
    state = game.initial(Dice(b"", 0))[0]
    rolling = game.apply(state, "roll", Dice(b"", 0))[0]
    with pytest.raises(IllegalMove, match="chance comes next: no seat is to move"):
        game.apply(rolling, "roll", Dice(b"", 1))
    over = state._replace(state=state.state._replace(scores=(5, 0)))
    with pytest.raises(IllegalMove, match="the game is over"):
        game.apply(over, "roll", Dice(b"", 0))
    assert game.legal_moves(over) == game.legal_moves(rolling) == ()


def test_hidden_cards_are_guessed_among_those_that_a_seat_does_not_see() -> None:
    game = load(ONE_CARD)
    state = game.initial(Dice(b"", 0))[0]
    guessed = [
        game.sample_state(state, seat, random.Random(number).randrange) for seat in (0, 1) for number in range(9)
    ]
    assert {one.state.cards[0] for one in guessed[:9]} == {state.state.cards[0]}
    assert {one.state.cards[1] for one in guessed[:9]} == {0, 1, 2} - {state.state.cards[0]}
    assert {one.state.cards[1] for one in guessed[9:]} == {state.state.cards[1]}
    assert game.information_set(guessed[0], 0) == game.information_set(state, 0)
    assert load(PIG).sample_state("any", 0, random.randrange) == "any"
    assert (game.least_payoffs, game.count_rounds(state)) == ((-2, -2), (0, 1))


def test_a_secret_move_is_shown_to_nobody_else() -> None:
    secret = type(
        "Secret", (ONE_CARD,), {"name": "secret", "may_see_move": lambda self, move, mover, seat: seat == mover}
    )
    game = load(secret)
    event = Event(ply=1, seat=0, move={"move": "bet"})
    seen = [game.view_event(event, seat).move for seat in (0, 1, None)]
    assert seen == [{"move": "bet"}, {}, {}]
    assert [game.notation_of_event(move or {}) for move in seen] == ["bet", "a hidden move", "a hidden move"]


def test_chance_is_told_by_the_number_of_its_outcome() -> None:
    pig, card = load(PIG), load(ONE_CARD)
    rolled = pig.apply_chance(pig.apply(pig.first_turn, "roll", NO_DICE)[0], Dice(b"key", 1))[1]
    assert rolled.move is not None
    assert pig.describe_event(rolled) == f"outcome {rolled.move['outcome'] + 1} of 6"
    weighed = Event(ply=0, seat=CHANCE, move={"outcome": 1, "of": [3, 1]})
    assert pig.describe_event(weighed) == "outcome 2 of 2"
    dealt = card.initial(Dice(b"key", 0))[1]
    assert dealt is not None
    assert card.describe_event(card.view_event(dealt, 0)) == "a hidden outcome"
    assert card.describe_event(Event(ply=1, seat=0, move={"move": "bet"})) == ""


def test_a_state_whose_ply_is_no_number_is_refused() -> None:
    game = load(CONNECT_FOUR)
    with pytest.raises(TypeError, match="ply is 'x': it is an integer"):
        game.decode_state({"columns": ["", "", "", "", "", "", ""], "last": None, "to_move": 0, "ply": "x"})


def test_a_refusal_that_is_no_refusal_is_found() -> None:
    checker = wrong(notation=lambda self, move: str(move))
    broken = type("Broken", (type(checker.game),), {"decode_move": lambda self, wire: wire["move"]})
    with pytest.raises(ContractBroken, match="the move None raises TypeError: raise MalformedMove"):
        ContractChecker(broken({})).check_refusals()
    lenient = type("Lenient", (type(checker.game),), {"decode_move": lambda self, wire: 1})
    with pytest.raises(ContractBroken, match="the move None is accepted: raise MalformedMove"):
        ContractChecker(lenient({})).check_refusals()
