"""The short contract of a game in turns: `TurnGame`, which an author writes, and `TurnRules`, the `Game` made of it.

A `TurnGame` has only what makes the game: the first state, the seat to move, the legal moves, the state after a move,
the result and a drawing. Wire forms, refusals, notation, views and chance follow from these and from the types of a
state and of a move.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from fractions import Fraction
from functools import cached_property
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR, CO_VARARGS
from types import FunctionType, UnionType
from typing import Annotated, Any, ClassVar, Generic, NamedTuple, TypeVar, Union, get_args, get_origin

import msgspec

from protocol.dice import Dice
from protocol.display import list_choices, list_first, short_repr
from protocol.errors import BadConfig, MalformedMove
from protocol.errors import RulesError as RulesError
from protocol.games.base import PROBABILITY_ONE, Game
from protocol.games.parsing import parse_integer, raise_illegal, read_config
from protocol.games.turn_chance import check_chances, draw_number
from protocol.games.turn_settings import ChoiceSetting, IntegerSetting
from protocol.games.turn_settings import choice as choice
from protocol.games.turn_settings import integer as integer
from protocol.games.turn_wire import convert, field_names
from protocol.messages import CHANCE as CHANCE  # authors import it from here
from protocol.messages import Event
from protocol.pools import FIRST_VERSION, VERSION_DESCRIPTION, is_rules_version

S = TypeVar("S", bound=Hashable)
M = TypeVar("M", bound=Hashable)

GAME_NAME_PATTERN = r"[a-z0-9][a-z0-9_-]{0,39}"
"""The pattern of the name of a `TurnGame`."""
MAX_SHOWN_MOVE_CHARS = 40
"""Maximum number of characters of a refused move in the message that refuses it."""
OPENING_KEY = "opening"
"""The config key with the number of the outcome of the first chance event; null if the dice decide."""


class TurnGame(Generic[S, M]):
    """The rules of a game in which one seat moves at a time: `class ConnectFour(TurnGame[Grid, int])`.

    `S` is the type of a state and `M` that of a move. Both are immutable, hashable and known to msgspec: numbers,
    texts, tuples, enums, and NamedTuples, frozen dataclasses or frozen structs of these. Seats count from 0.

    A game writes `name`, `start`, `turn`, `moves`, `play`, one of `winner`, `ranks` and `returns`, and `grid` or
    `draw`. All else is optional. A class that lacks something raises `RulesError` when it is defined.

    What matches may set is a class attribute that `integer` or `choice` makes. Its name is a key of configs, and an
    instance has the value.
    """

    name: ClassVar[str]
    """The name in configs, commands and addresses: lower-case letters, digits, `-` and `_`."""
    title: ClassVar[str]
    """The name in texts for people. Without it, it is `name`, capitalised."""
    about: ClassVar[str] = ""
    """One sentence on what players do in the game."""
    version: ClassVar[str] = FIRST_VERSION
    """The version of the rules. Matches of two versions have different ratings."""
    seats: int = 2
    """The number of seats. A game for different numbers of players writes `seats = integer(…)`."""
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"classic": {}}
    """The configs that have a name and a rating pool, the default first. A key that is left out has its default."""
    draw_probability: ClassVar[float] = 0.1
    """The probability that a match of equal players is drawn, which ratings assume."""
    hidden: ClassVar[bool] = False
    """True if a seat may not see all of a state. The game then has `seen`."""
    zero_sum: ClassVar[bool] = True
    """True if one player's gain is the other's loss."""
    least_return: ClassVar[int] = 0
    """The payoff of a seat that leaves the match, in a game with `returns`."""
    marks: ClassVar[Sequence[str]] = ()
    """The marks that `grid` may have in a cell; those of the seats first, in seat order."""
    row_labels: Sequence[str] = ()
    """The names of the grid's rows from the top, which pages show beside it; more than there are rows do no harm."""
    column_labels: Sequence[str] = ()
    """The names of the grid's columns from the left, such as "abcdefgh"."""
    checkered: ClassVar[bool] = False
    """True if pages show the cells of the grid in two colours, as those of a chessboard."""
    rotates_board: ClassVar[bool] = False
    """True if pages show the grid to the second seat from the other side."""

    settings: ClassVar[Mapping[str, IntegerSetting | ChoiceSetting]] = {}
    """The settings of this class, by name."""
    rules: ClassVar[type[TurnRules[Any, Any]]]
    """The `Game` that is made of this class."""

    def __init__(self, **settings: Any) -> None:
        """Set every setting as an attribute. Raise `BadConfig` if a value is not allowed."""
        for key in settings:
            if key not in self.settings:
                raise BadConfig(f"{self.name} has no config key {short_repr(key)}: {list_choices(self.settings)}")
        for key, setting in self.settings.items():
            setattr(self, key, setting.parse(self.name, key, settings.get(key, setting.default)))

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" in cls.__dict__:
            own = {key: value for key, value in vars(cls).items() if isinstance(value, (IntegerSetting, ChoiceSetting))}
            cls.settings = {**cls.settings, **own}
            _check_class(cls)
            cls.rules = _make_rules(cls)

    def start(self) -> S:
        """Return the first state."""
        raise NotImplementedError

    def turn(self, state: S) -> int | None:
        """Return the seat to move; `CHANCE` if `chances` come next; None once the game is over."""
        raise NotImplementedError

    def moves(self, state: S) -> Sequence[M]:
        """Return every legal move of the seat to move, at least one, in a fixed order."""
        raise NotImplementedError

    def play(self, state: S, move: M) -> S:
        """Return the state after a legal move. It must not change `state`."""
        raise NotImplementedError

    def winner(self, state: S) -> int | None:
        """Return the seat that has won a finished game; None if it is drawn."""
        raise NotImplementedError

    def ranks(self, state: S) -> Sequence[int]:
        """Return the rank of every seat in a finished game: 1 is best, and equal ranks are a tie."""
        winner = self.winner(state)
        if isinstance(winner, bool) or (winner is not None and winner not in range(self.seats)):
            raise RulesError(
                f"the winner is {short_repr(winner)}: it is a seat from 0 to {self.seats - 1}, or None", "winner"
            )
        return [1 if winner in (None, seat) else 2 for seat in range(self.seats)]

    def returns(self, state: S) -> Sequence[int]:
        """Return the payoff of every seat so far. If a game has this method, payoffs are its result."""
        raise NotImplementedError

    def draw(self, state: S) -> str:
        """Return a drawing of the state for a terminal, at most 80 columns wide."""
        grid = self.grid(state)
        check_grid(grid)
        assert grid is not None
        widest = max((len(mark) for row in grid for mark in row), default=1)
        return "\n".join(" ".join((mark or ".").rjust(widest) for mark in row) for row in grid)

    def chances(self, state: S) -> Sequence[tuple[int, S]]:
        """Return the outcomes of the chance event that comes next. Each has a weight, a whole number from 1, and the
        state after it.
        """
        raise RulesError("turn returns CHANCE, but the method chances is missing", "turn")

    def seen(self, state: S, seat: int | None) -> S:
        """Return the state with None for what a seat, or a spectator (None), may not see."""
        return state

    def guess(self, state: S, seat: int, draw_below: Callable[[int], int]) -> S:
        """Return `state`, as a seat has `seen` it, with all that is hidden drawn at random. `draw_below(n)` draws a
        number from 0 to n − 1. Tree searches of a game with hidden information need this method.
        """
        raise NotImplementedError

    def may_see_move(self, move: M, mover: int, seat: int | None) -> bool:
        """Return whether a seat, or a spectator (None), may see a move of the seat `mover`."""
        return True

    def leave(self, state: S, seat: int) -> S:
        """Return the state after a seat left a match of three or more. If it is the seat's turn after that, chance
        plays for it: all legal moves are equally likely.
        """
        return state

    def grid(self, state: S) -> Sequence[Sequence[str]] | None:
        """Return the board row by row, with a short mark in each cell and "" in an empty one; None without a board."""
        return None

    def cells(self, move: M) -> Sequence[tuple[int | None, int | None]]:
        """Return the one or two cells of the grid, (row, column), that a person presses one after the other to make a
        move. None stands for any row or column. Return nothing for a move that has a button instead.
        """
        return ()

    def highlights(self, state: S) -> Sequence[tuple[int, int]]:
        """Return the cells of the grid, (row, column), that people should not overlook: a king in check, four in a row.
        Pages mark the cells that the last move changed without this.
        """
        return ()

    def seat_of_mark(self, mark: str) -> int | None:
        """Return the seat whose colour a mark of the grid has; None for a mark of no seat."""
        return list(self.marks).index(mark) if mark in self.marks[: self.seats] else None

    def every_move(self) -> Sequence[M]:
        """Return every move that can ever be legal, in a fixed order: the actions of learners."""
        return self.moves(self._first_turn())

    def _first_turn(self) -> S:
        """Return a state in which the first seat is to move; the first outcome of every chance event before it is
        taken.
        """
        state = self.start()
        while self.turn(state) == CHANCE:
            state = self.chances(state)[0][1]
        return state

    def evaluate(self, state: S, seat: int) -> float:
        """Return how good an unfinished state is for a seat: more than −1, which is lost, and less than 1, which is
        won. The searches `alphabeta`, `minimax` and `greedy` look only some moves ahead, and count every unfinished
        state as a draw without this method. `uct` does not need it.
        """
        raise NotImplementedError

    def features(self, state: S, seat: int) -> Sequence[float]:
        """Return the state, as a seat has `seen` it, in numbers from 0 to 1 for learners: always as many. A game with a
        `grid` and `marks` needs no features.
        """
        raise NotImplementedError

    def notation(self, move: M) -> str:
        """Return a short notation of a move. People write moves in the same form."""
        return " ".join(map(str, move)) if isinstance(move, tuple) else str(move)


class TurnState(NamedTuple):
    """A state of a `TurnGame`, with the number of its ply, and the seats that left the match, in order."""

    state: Any
    ply: int
    left: tuple[int, ...] = ()


class TurnRules(Game[TurnState, M], Generic[S, M]):
    """A `TurnGame` as the `Game` that the referee, searches, learners and pages know. `rules_class` is its class."""

    rules_class: ClassVar[type[TurnGame[Any, Any]]]
    max_seats = 2

    def __init__(self, config: Mapping[str, Any]) -> None:
        settings = self.rules_class.settings
        defaults = {key: setting.default for key, setting in settings.items()}
        self.config = read_config(type(self), config, {**defaults, OPENING_KEY: None})
        opening = self.config.pop(OPENING_KEY)
        self.turn_game: TurnGame[S, M] = self.rules_class(**self.config)
        """The game under this config, as its author wrote it."""
        self.seats = self.turn_game.seats
        first = self._check_state(self.turn_game.start(), "start")
        self._opening = None
        if self.turn_game.turn(first) == CHANCE and not self.hidden:
            if opening is not None:
                outcomes = len(check_chances(self.turn_game.chances(first)))
                self._opening = parse_integer(self.name, OPENING_KEY, opening, 0, outcomes - 1)
            self.config[OPENING_KEY] = self._opening
        elif opening is not None:
            raise BadConfig(
                f"{self.name}: {OPENING_KEY} must be left out, because no open chance event begins the game"
            )

    def __reduce__(self) -> Any:
        from protocol.games import load_game  # rules of a file can be pickled by their name only

        return load_game, (self.name, self.config)

    # The course of the game.

    def initial(self, dice: Dice) -> tuple[TurnState, Event | None]:
        first = TurnState(self.turn_game.start(), 0)
        if self._opening is not None:
            return TurnState(self.turn_game.chances(first.state)[self._opening][1], 0), None
        return self.apply_chance(first, dice) if self.to_move(first) == CHANCE else (first, None)

    def state_before_deal(self) -> TurnState | None:
        first = TurnState(self.turn_game.start(), 0)
        return first if self.to_move(first) == CHANCE and self._opening is None else None

    def config_of_deal(self, dice: Dice) -> Mapping[str, Any]:
        if self.config.get(OPENING_KEY, 0) is not None:
            return self.config
        outcomes = self._weighted_states(TurnState(self.turn_game.start(), 0))
        return {**self.config, OPENING_KEY: draw_number(dice, [weight for weight, _ in outcomes])}

    def to_move(self, state: TurnState) -> int | None:
        seat = self.turn_game.turn(state.state)
        return CHANCE if seat in state.left else seat

    def ply(self, state: TurnState) -> int:
        return state.ply

    def key(self, state: TurnState) -> Hashable:
        return (state.state, state.left) if state.left else state.state

    def legal_moves(self, state: TurnState) -> Sequence[M]:
        return () if self.to_move(state) in (None, CHANCE) else self._moves(state.state)

    def apply(self, state: TurnState, move: M, dice: Dice) -> tuple[TurnState, Event]:
        seat = self.to_move(state)
        if seat is None or seat == CHANCE:
            raise_illegal("the game is over" if seat is None else "chance comes next: no seat is to move")
        legal = self._moves(state.state)
        if move not in legal:
            refused = short_repr(self.notation(move), MAX_SHOWN_MOVE_CHARS)
            raise_illegal(f"{refused} is not a legal move now: one of {list_first(map(self.notation, legal))}")
        event = Event(ply=state.ply, seat=seat, move=self.encode_move(move))
        return self._after(state, self.turn_game.play(state.state, move)), event

    def outcomes(self, state: TurnState, move: M) -> Sequence[tuple[Fraction, TurnState]]:
        return ((PROBABILITY_ONE, self._after(state, self.turn_game.play(state.state, move))),)

    def sample_state(self, state: TurnState, seat: int, draw_below: Callable[[int], int]) -> TurnState:
        if not self.hidden:
            return state
        seen = self.turn_game.seen(state.state, seat)
        return state._replace(state=self.turn_game.guess(seen, seat, draw_below))

    def apply_chance(self, state: TurnState, dice: Dice) -> tuple[TurnState, Event]:
        outcomes = self._weighted_states(state)
        weights = [weight for weight, _ in outcomes]
        drawn = draw_number(dice, weights)
        among = len(weights) if set(weights) == {1} else weights
        event = Event(ply=state.ply, seat=CHANCE, move={"outcome": drawn, "of": among})
        return self._after(state, outcomes[drawn][1], "chances"), event

    def chance_outcomes(self, state: TurnState) -> Sequence[tuple[Fraction, TurnState]]:
        outcomes = self._weighted_states(state)
        total = sum(weight for weight, _ in outcomes)
        summed: dict[Any, int] = {}
        for weight, after in outcomes:
            summed[after] = summed.get(after, 0) + weight
        return [(Fraction(weight, total), self._after(state, after)) for after, weight in summed.items()]

    def _weighted_states(self, state: TurnState) -> Sequence[tuple[int, Any]]:
        """Return the outcomes of a chance event, or of the turn of a seat that left, each with its weight."""
        if self.turn_game.turn(state.state) == CHANCE:
            return check_chances(self.turn_game.chances(state.state))
        return [(1, self.turn_game.play(state.state, move)) for move in self._moves(state.state)]

    def _moves(self, state: Any) -> Sequence[M]:
        moves = self.turn_game.moves(state)
        if moves is None:
            raise RulesError("moves returns None: it returns a list of moves", "moves")
        return moves

    def _after(self, before: TurnState, state: Any, method: str = "play") -> TurnState:
        return TurnState(self._check_state(state, method), before.ply + 1, before.left)

    def _check_state(self, state: Any, method: str) -> Any:
        """Return a state that a method of the author returned. Raise `RulesError` if it has another type."""
        if state is None or not isinstance(state, self._state_class):
            kind = getattr(self._state_type, "__name__", "a state")
            raise RulesError(f"{method} returns {short_repr(state)}: it returns {kind}, the type of a state", method)
        return state

    def remove_seat(self, state: TurnState, seat: int) -> TurnState:
        left = self._check_state(self.turn_game.leave(state.state, seat), "leave")
        return TurnState(left, state.ply, (*state.left, seat))

    # The result.

    def ranks(self, state: TurnState) -> tuple[int, ...]:
        over = self.turn_game.turn(state.state) is None
        own = self._final_ranks(state.state) if over else [1] * self.seats
        ahead = [own[seat] for seat in range(self.seats) if seat not in state.left]
        behind = {seat: self.seats - at for at, seat in enumerate(state.left)}
        return tuple(behind.get(seat) or 1 + sum(rank < own[seat] for rank in ahead) for seat in range(self.seats))

    def _final_ranks(self, state: Any) -> Sequence[int]:
        if not self.payoff_unit:
            return self.turn_game.ranks(state)
        paid = self.turn_game.returns(state)
        return [1 + sum(other > own for other in paid) for own in paid]

    def returns(self, state: TurnState) -> tuple[int, ...] | None:
        return tuple(self.turn_game.returns(state.state)) if self.payoff_unit else None

    def count_rounds(self, state: TurnState) -> tuple[int, int]:
        return (1, 0) if self.turn_game.turn(state.state) is None else (0, 1)

    @property
    def least_payoffs(self) -> tuple[int, ...]:
        return (self.turn_game.least_return,) * self.seats

    # What a seat may see.

    def information_set(self, state: TurnState, seat: int) -> Hashable:
        return (self.turn_game.seen(state.state, seat), state.left) if self.hidden else self.key(state)

    def view(self, wire: dict[str, Any], seat: int | None) -> dict[str, Any]:
        if not self.hidden:
            return wire
        return {**wire, **self._encode(self.turn_game.seen(self.decode_state(wire).state, seat))}

    def view_event(self, event: Event, seat: int | None) -> Event:
        if not self.hidden or event.move is None:
            return event
        if event.seat == CHANCE:
            return Event(ply=event.ply, seat=CHANCE, move={"outcome": None, "of": None})
        if self.turn_game.may_see_move(self.decode_move(event.move), event.seat, seat):
            return event
        return Event(ply=event.ply, seat=event.seat, move={})

    # How states and moves travel.

    def encode_state(self, state: TurnState) -> dict[str, Any]:
        wire = {**self._encode(state.state), "to_move": self.to_move(state), "ply": state.ply}
        return {**wire, "left": list(state.left)} if self.seats > 2 else wire

    def _encode(self, state: Any) -> dict[str, Any]:
        fields = field_names(self._state_type)
        if fields is None:
            return {"state": msgspec.to_builtins(state, order="deterministic")}
        return {field: msgspec.to_builtins(getattr(state, field), order="deterministic") for field in fields}

    def decode_state(self, wire: Mapping[str, Any]) -> TurnState:
        state = convert(self._state_type, wire, "state")
        left = wire["left"] if self.seats > 2 else ()
        if type(wire["ply"]) is not int:
            raise TypeError(f"ply is {short_repr(wire['ply'])}: it is an integer")
        return TurnState(state, wire["ply"], msgspec.convert(left, tuple[int, ...]))

    def encode_move(self, move: M) -> dict[str, Any]:
        fields = field_names(self._move_type)
        if fields is None:
            return {"move": msgspec.to_builtins(move)}
        return {field: msgspec.to_builtins(getattr(move, field)) for field in fields}

    def decode_move(self, wire: Any) -> M:
        names = field_names(self._move_type) or ("move",)
        if type(wire) is not dict or wire.keys() != set(names):
            given = short_repr(wire) if type(wire) is not dict else ", ".join(sorted(map(str, wire)))[:80] or "nothing"
            shown = given if given.isprintable() else repr(given)
            raise MalformedMove(f"a move looks like {self._example}; this one has {shown}")
        try:
            move: M = convert(self._move_type, wire, "move")
        except ValueError as exc:
            reason = str(exc) if str(exc).isprintable() else repr(str(exc))
            raise MalformedMove(f"{reason[:80]}: {self._move_hint(wire)}") from exc
        return move

    def _move_hint(self, wire: Any) -> str:
        """Return what would be a move instead of a refused one. The rules may list the refused one themselves."""
        if wire == self.encode_move(self._first_move):
            return "moves returns it, but TurnGame[State, Move] declares another type of a move"
        return f"a move looks like {self._example}"

    # How states and moves are shown.

    def draw_board(self, state: TurnState) -> str:
        drawing = self.turn_game.draw(state.state)
        if not isinstance(drawing, str):
            raise RulesError(f"draw returns {short_repr(drawing)}: it returns a text", "draw")
        return drawing

    def describe_event(self, event: Event) -> str:
        if event.seat != CHANCE or event.move is None:
            return ""
        outcome, among = event.move["outcome"], event.move["of"]
        if outcome is None:
            return "a hidden outcome"
        return f"outcome {outcome + 1} of {among if isinstance(among, int) else len(among)}"

    def notation(self, move: M) -> str:
        text = self.turn_game.notation(move)
        if not isinstance(text, str):
            raise RulesError(f"notation returns {short_repr(text)}: it returns a text", "notation")
        return text

    @property
    def move_syntax(self) -> str:  # type: ignore[override]
        return self.notation(self._first_move)

    def parse_move(self, text: str) -> M:
        for written in (text, text.lower()):
            try:
                return self._read_move(written.split())
            except ValueError:
                continue
        raise MalformedMove(f"{short_repr(text)} is not a move here: write it like {self.move_syntax}")

    def _read_move(self, words: list[str]) -> M:
        """Return the move that consists of these words. Raise `ValueError` if there is none."""
        fields = field_names(self._move_type)
        if fields is not None:
            value: dict[str, Any] = dict(zip(fields, words, strict=True))
        else:
            value = {"move": words if get_origin(self._move_type) is tuple else " ".join(words)}
        move: M = convert(self._move_type, value, "move", strict=False)
        return move

    @property
    def first_turn(self) -> TurnState:
        """A state in which the first seat is to move, at ply 0 whatever chance comes before it."""
        return TurnState(self.turn_game._first_turn(), 0)

    @cached_property
    def _first_move(self) -> M:
        return self.turn_game.moves(self.first_turn.state)[0]

    @cached_property
    def _example(self) -> str:
        """A move as messages carry it, in JSON."""
        return json.dumps(self.encode_move(self._first_move))

    @cached_property
    def _state_type(self) -> Any:
        return self._types[0]

    @cached_property
    def _state_class(self) -> type[Any]:
        """The class of a state, if it has fields; else any class."""
        return self._state_type if isinstance(self._state_type, type) and field_names(self._state_type) else object

    @cached_property
    def _move_type(self) -> Any:
        return self._types[1]

    @cached_property
    def _types(self) -> tuple[Any, Any]:
        types = _types(self.rules_class)
        assert types is not None  # checked when the class was defined
        return types


def evaluate_state(rules: Game[Any, Any], state: TurnState, seat: int) -> float:
    """Return the author's evaluation of an unfinished state of a `TurnGame` for a seat."""
    assert isinstance(rules, TurnRules)
    return rules.turn_game.evaluate(state.state, seat)


def check_grid(grid: Any) -> None:
    """Raise `RulesError` if a grid does not have rows of marks, all with as many cells."""
    rows = grid if isinstance(grid, (list, tuple)) else ()
    has_marks = all(isinstance(row, (list, tuple, str)) and all(isinstance(mark, str) for mark in row) for row in rows)
    if not rows or not has_marks or len({len(row) for row in rows}) != 1:
        raise RulesError(
            f"grid returns {short_repr(grid)}: it returns rows with a text for each cell, all rows with as many", "grid"
        )


def _types(rules_class: type[TurnGame[Any, Any]]) -> tuple[Any, Any] | None:
    """Return the types of a state and of a move that a class names in brackets; None if it names none."""
    for cls in rules_class.__mro__:
        for base in cls.__dict__.get("__orig_bases__", ()):
            origin, types = get_origin(base), get_args(base)
            if isinstance(origin, type) and issubclass(origin, TurnGame) and len(types) == 2:
                return types
    return None


def _make_rules(cls: type[TurnGame[Any, Any]]) -> type[TurnRules[Any, Any]]:
    seats = cls.settings.get("seats")
    if isinstance(seats, IntegerSetting):
        max_seats = seats.maximum
    else:
        max_seats = cls.seats if seats is None else max(seats.values)
    attributes: dict[str, Any] = {
        "__module__": cls.__module__,
        "__doc__": cls.__doc__,
        "rules_class": cls,
        "name": cls.name,
        "version": cls.version,
        "title": cls.title,
        "about": cls.about,
        "presets": cls.presets,
        "preset_titles": {preset: preset for preset in cls.presets},
        "draw_probability": cls.draw_probability,
        "hidden": cls.hidden,
        "zero_sum": cls.zero_sum,
        "max_seats": max_seats,
        "payoff_unit": "round" if cls.returns is not TurnGame.returns else "",
    }
    if cls.hidden and cls.guess is TurnGame.guess:
        attributes["sample_state"] = Game.sample_state
    return type(cls.__name__, (TurnRules,), attributes)


_REQUIRED_METHODS = ("start", "turn", "moves", "play")
"""The methods that every `TurnGame` writes."""
_RESULT_METHODS = ("winner", "ranks", "returns")
"""The methods of which every `TurnGame` writes one."""
_RESERVED_FIELDS = frozenset({"to_move", "ply", "left"})
"""The names that a state's fields may not have, because messages have them beside the state."""


def _check_class(cls: type[TurnGame[Any, Any]]) -> None:
    """Raise `RulesError` if a class lacks something, or has something that the contract does not allow."""
    for problem in _problems(cls):
        raise RulesError(f"{cls.__name__}: {problem}")
    if "title" not in cls.__dict__:
        cls.title = cls.name.capitalize()


def _problems(cls: type[TurnGame[Any, Any]]) -> Iterable[str]:
    """Yield what is wrong with a class, each in a sentence that says what would be right."""
    if not isinstance(cls.name, str) or not re.fullmatch(GAME_NAME_PATTERN, cls.name):
        yield (
            f"name is {short_repr(cls.name)}: it has up to 40 lower-case letters, digits, - and _, and begins with a "
            "letter or a digit"
        )
    if not is_rules_version(cls.version):
        yield f"version is {short_repr(cls.version)}: it is a text of {VERSION_DESCRIPTION}"
    types = _types(cls)
    if types is None:
        yield "the types of a state and of a move are missing: write class NAME(TurnGame[State, Move])"
        return
    for method in _REQUIRED_METHODS:
        if getattr(cls, method) is getattr(TurnGame, method):
            yield f"the method {method} is missing: {_first_line(method)}{_near_name(cls, method)}"
    if all(getattr(cls, method) is getattr(TurnGame, method) for method in _RESULT_METHODS):
        near = _near_name(cls, *_RESULT_METHODS)
        yield f"the result is missing: write one of the methods {', '.join(_RESULT_METHODS)}{near}"
    if cls.draw is TurnGame.draw and cls.grid is TurnGame.grid:
        yield f"the drawing is missing: write the method draw or grid{_near_name(cls, 'draw', 'grid')}"
    if cls.hidden and cls.seen is TurnGame.seen:
        yield f"hidden is True, but the method seen is missing: {_first_line('seen')}{_near_name(cls, 'seen')}"
    for key in cls.settings:
        if key in ("preset", OPENING_KEY) or (hasattr(TurnGame, key) and key != "seats"):
            yield f"the setting {short_repr(key)} has a name that is taken: choose another"
    state, move = types
    yield from _wrong_attributes(cls)
    yield from _wrong_signatures(cls)
    for field in field_names(state) or ():
        if field in _RESERVED_FIELDS:
            yield f"the state's field {field} has a name that messages use: choose another"
    if move is str or move is Any or _is_optional(move):
        yield (
            f"the type of a move is {getattr(move, '__name__', move)}, so anything would be one: write "
            'Literal["roll", "hold"], or Annotated[str, Meta(pattern="^[a-h][1-8]$")] with Meta of msgspec'
        )
    for what, kind in (("state", state), ("move", move)):
        params = getattr(kind, "__dataclass_params__", None)
        if params is not None and not params.frozen:
            yield f"{kind.__name__} can change, but a {what} must not: write @dataclass(frozen=True)"
        if (get_origin(kind) or kind) in (dict, list, set):
            yield f"a {what} is a {(get_origin(kind) or kind).__name__}, which can change: use a NamedTuple or a tuple"
        try:
            msgspec.json.Decoder(kind)
        except TypeError as exc:
            yield f"the type of a {what} can't be sent: {exc}"


def _wrong_attributes(cls: type[TurnGame[Any, Any]]) -> Iterable[str]:
    """Yield what is wrong with the values of a class's attributes."""
    presets = cls.presets
    if not isinstance(presets, Mapping) or not all(isinstance(config, Mapping) for config in presets.values()):
        yield f'presets is {short_repr(presets)}: write a config for each name, such as {{"classic": {{}}}}'
    elif not presets:
        yield 'presets is empty: write at least one, such as {"classic": {}}'
    else:
        for preset, config in presets.items():
            for key in config.keys() - {*cls.settings, OPENING_KEY}:
                known = list_choices(cls.settings) if cls.settings else "the game has no settings"
                yield f"the preset {short_repr(preset)} sets {short_repr(key)}, which is no setting: {known}"
    for name in ("title", "about"):
        value = getattr(cls, name, "")
        if not isinstance(value, str):
            yield f"{name} is {short_repr(value)}: it is a text"
    if "seats" not in cls.settings and (type(cls.seats) is not int or cls.seats < 2):
        yield f"seats is {short_repr(cls.seats)}: it is a whole number from 2, or made by integer"
    if isinstance(cls.draw_probability, str) or not 0 <= cls.draw_probability < 1:
        yield f"draw_probability is {short_repr(cls.draw_probability)}: it is a number from 0 to less than 1"
    if type(cls.least_return) is not int:
        yield f"least_return is {short_repr(cls.least_return)}: it is a whole number"
    for name, setting in cls.settings.items():
        if isinstance(setting, IntegerSetting) and not setting.minimum <= setting.default <= setting.maximum:
            bounds = f"{setting.minimum} to {setting.maximum}"
            yield f"the setting {name} is {short_repr(setting.default)} by default, which is not within {bounds}"


def _wrong_signatures(cls: type[TurnGame[Any, Any]]) -> Iterable[str]:
    """Yield which methods of a class can't be called as the contract calls them."""
    for name, function in vars(cls).items():
        contract = vars(TurnGame).get(name)
        if not isinstance(function, FunctionType) or not isinstance(contract, FunctionType) or name.startswith("_"):
            continue
        code, wanted = function.__code__, contract.__code__.co_varnames[: contract.__code__.co_argcount]
        given, least = code.co_varnames[: code.co_argcount], code.co_argcount - len(function.__defaults__ or ())
        takes_all = bool(code.co_flags & CO_VARARGS)
        fits = least <= len(wanted) and (takes_all or len(wanted) <= code.co_argcount)
        if not fits or (set(given) == set(wanted) and given != wanted):
            yield f"write {name}({', '.join(wanted)}), not {name}({', '.join(given)})"
        if code.co_flags & (CO_COROUTINE | CO_GENERATOR | CO_ASYNC_GENERATOR):
            yield f"{name} must return its result at once: it can't be async, and has no yield"


def _first_line(method: str) -> str:
    return " ".join((getattr(TurnGame, method).__doc__ or "").split("\n\n")[0].split())


def _near_name(cls: type[TurnGame[Any, Any]], *methods: str) -> str:
    """Return which name of a class may be one of the methods that it lacks, as the end of a message; else nothing."""
    own = [name for kind in cls.__mro__ for name in vars(kind) if not hasattr(TurnGame, name)]
    found = ((name, method) for method in methods for name in get_close_matches(method, own, n=1))
    return next((f"; perhaps {name} should be {method}" for name, method in found), "")


def _is_optional(kind: Any) -> bool:
    origin = get_origin(kind)
    if origin is Annotated:
        return _is_optional(get_args(kind)[0])
    return origin in (Union, UnionType) and type(None) in get_args(kind)
