"""Rules that run elsewhere: `IsolatedGame`, which the referee gets, and `answer`, which runs where the rules are.

The referee calls rules like functions, but an answer takes time to come. So an `IsolatedGame` only knows answers that
it was given. If one is missing, it raises `RulesWanted` with the question. The referee's host then fetches the answers,
and lets the referee handle the event again. Answers come in bundles: after a move, the next legal
moves come unasked. So most plies need one question.

A state is its encoded form, packed. A move is what the seat sent. So nothing has to be kept between questions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

import msgspec

from protocol.dice import Dice
from protocol.display import short_repr
from protocol.errors import BadConfig, BotFault, Fault, IllegalMove, MalformedMove, RulesFault
from protocol.games.answer_checks import CHANGED_STATE_REASON
from protocol.games.base import Game
from protocol.games.simultaneous import SimultaneousGame
from protocol.messages import CHANCE, Event

MAX_ANSWERS = 64
"""Number of answers from which a match forgets its older ones when new ones come."""

Answers = Mapping[bytes, Any]
"""The type of answers by their packed questions. An answer is a pair: "ok" and the value, or the kind of a fault and
its text.
"""

_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder().decode
_unpack_event = msgspec.msgpack.Decoder(Event).decode
_FAULTS: Mapping[str, Callable[[str], BotFault]] = {
    "illegal": IllegalMove,
    "malformed": MalformedMove,
    "config": BadConfig,
}
"""The refusals that rules may answer with, by their names in answers."""
_STEPS = ("initial", "apply", "apply_chance", "resolve_round", "remove_seat")
"""The methods of `Game` that return a new state."""
_CLASS_ATTRIBUTES = ("name", "version", "max_seats", "presets", "draw_probability", "payoff_unit", "late_keys")
"""The attributes of a game's class that an `IsolatedGame` takes over."""


class RulesWanted(BaseException):
    """An `IsolatedGame` lacks the answer to a question. This is no failure, and code that handles failures must not
    catch it.
    """

    def __init__(self, question: bytes) -> None:
        super().__init__(question)
        self.question = question


def load_question(config: Mapping[str, Any]) -> bytes:
    """Return the question for the facts of a game under a config, which `IsolatedGame` is made of."""
    return _pack(("load", dict(config)))


def is_load_question(question: bytes) -> bool:
    """Return whether a question was made by `load_question`."""
    return method_of(question) == "load"


def method_of(question: bytes) -> str:
    """Return the method of `Game` that a question is about."""
    return str(_unpack(question)[0])


def value_of(game: str, answer: Sequence[Any]) -> Any:
    """Return the value of an answer. Raise the refusal, or the `RulesFault`, that it has instead."""
    kind, value = answer
    if kind == "ok":
        return value
    raise _FAULTS[kind](value) if kind in _FAULTS else RulesFault(game, value)


class GameFacts(msgspec.Struct, frozen=True):
    """The facts about a game under a config that the answer to `load_question` has."""

    config: dict[str, Any]
    seats: int
    hidden: bool
    zero_sum: bool
    preset: str | None
    pools: list[str]
    least_payoffs: tuple[int, ...]


class IsolatedGame(SimultaneousGame[bytes, Any]):
    """A game whose rules run elsewhere. `rules` is its class here, of which only attributes are read. `facts` is the
    value of the answer to `load_question`. Raise `RulesFault` if it has another form.
    """

    pools: Any = ()
    least_payoffs: Any = ()

    def __init__(self, rules: type[Game[Any, Any]], facts: Any) -> None:
        for attribute in _CLASS_ATTRIBUTES:
            self.__dict__[attribute] = getattr(rules, attribute)
        try:
            self.__dict__.update(msgspec.structs.asdict(msgspec.convert(facts, GameFacts)))
        except msgspec.ValidationError as exc:
            raise RulesFault(rules.name, f"the facts of the game have another form: {exc}") from exc
        self.answers: dict[bytes, Any] = {}
        self.used: set[bytes] = set()
        """The questions that were answered since answers were added last."""
        self.encoded: dict[bytes, dict[str, Any]] = {}
        """Moves as the rules encode them, by what a seat sent, packed."""
        self.fetch: Callable[[bytes], Answers] | None = None
        """A function that fetches answers while its caller waits; None if `RulesWanted` is to be raised."""

    def for_match(self) -> IsolatedGame:
        """Return a copy for one match, with answers of its own."""
        made = object.__new__(IsolatedGame)
        made.__dict__.update(self.__dict__, answers={}, used=set(), encoded={})
        return made

    def add_answers(self, answers: Answers) -> None:
        """Keep answers. If there are many, forget older ones that were not used since answers were added last: the
        event that wanted these is handled again from its beginning, however many deals it has.
        """
        if len(self.answers) > MAX_ANSWERS:
            self.answers = {question: self.answers[question] for question in self.used}
        self.used.clear()
        self.answers.update(answers)

    def _ask(self, *question: Any) -> Any:
        packed = _pack(question)
        answer = self.answers.get(packed)
        if answer is None:
            if self.fetch is None:
                raise RulesWanted(packed)
            self.add_answers(self.fetch(packed))
            answer = self.answers[packed]
        self.used.add(packed)
        return value_of(self.name, answer)

    def _ask_step(self, *question: Any) -> tuple[bytes, Any]:
        state, event = self._ask(*question)
        return state, None if event is None else _unpack_event(event)

    def check_cost(self) -> None:
        """Do nothing: the cost was checked when the facts were asked for."""

    def initial(self, dice: Dice) -> tuple[bytes, Event | None]:
        return self._ask_step("initial", *dice.identity)

    def apply(self, state: bytes, move: Any, dice: Dice) -> tuple[bytes, Event]:  # type: ignore[override]
        after, event = self._ask_step("apply", state, move, *dice.identity)
        self._note_encoded(move, event.move or move)
        return after, event

    def apply_chance(self, state: bytes, dice: Dice) -> tuple[bytes, Event]:
        return self._ask_step("apply_chance", state, *dice.identity)

    def resolve_round(self, state: bytes, moves: Mapping[int, Any], dice: Dice) -> tuple[bytes, Event]:
        return self._ask_step("resolve_round", state, dict(moves), *dice.identity)

    def remove_seat(self, state: bytes, seat: int) -> bytes:
        return self._ask_step("remove_seat", state, seat)[0]

    def check_move(self, state: bytes, seat: int, move: Any) -> None:
        self._note_encoded(move, self._ask("check_move", state, seat, move))

    def check_turn(self, state: bytes) -> None:
        self._ask("check_turn", state)

    def legal_moves_for_turn(self, state: bytes) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
        moves, options = self._ask("legal_moves_for_turn", state)
        return moves, options

    def legal_moves_of(self, state: bytes, seat: int) -> Sequence[Any]:
        moves: list[Any] = self._ask("legal_moves_of", state, seat)
        return moves

    def legal_moves(self, state: bytes) -> Sequence[Any]:
        return self.legal_moves_for_turn(state)[0]

    def ranks(self, state: bytes) -> tuple[int, ...]:
        return tuple(self._ask("ranks", state))

    def reason(self, state: bytes) -> str:
        return str(self._ask("reason", state))

    def returns(self, state: bytes) -> tuple[int, ...] | None:
        return tuple(self._ask("returns", state)) if self.payoff_unit else None

    def count_rounds(self, state: bytes) -> tuple[int, int]:
        complete, to_come = self._ask("count_rounds", state)
        return complete, to_come

    def view(self, wire: dict[str, Any], seat: int | None) -> dict[str, Any]:
        if not self.hidden:
            return wire
        seen: dict[str, Any] = self._ask("view", _pack(wire), seat)
        return seen

    def view_event(self, event: Event, seat: int | None) -> Event:
        return _unpack_event(self._ask("view_event", _pack(event), seat)) if self.hidden else event

    def encode_state(self, state: bytes) -> dict[str, Any]:
        wire: dict[str, Any] = _unpack(state)
        return wire

    def decode_state(self, wire: Mapping[str, Any]) -> bytes:
        return _pack(wire)

    def encode_move(self, move: Any) -> dict[str, Any]:
        encoded: dict[str, Any] = self.encoded.get(_pack(move), move)
        return encoded

    def _note_encoded(self, move: Any, encoded: dict[str, Any]) -> None:
        if len(self.encoded) > MAX_ANSWERS:
            self.encoded.clear()
        if encoded != move:  # it had the move's name, too
            self.encoded[_pack(move)] = encoded

    def decode_move(self, wire: Any) -> Any:
        """Return the move unchanged: `apply` and `check_move` refuse it if it is malformed. Refuse here what can't
        be asked about.
        """
        try:
            _pack(wire)
        except (OverflowError, TypeError, ValueError, RecursionError):
            raise MalformedMove(f"{short_repr(wire)} is not a move of {self.name}") from None
        return wire

    def movers(self, state: bytes) -> tuple[int, ...]:
        to_move = self.encode_state(state)["to_move"]
        return tuple(to_move) if isinstance(to_move, list) else () if to_move in (None, CHANCE) else (to_move,)

    def ply(self, state: bytes) -> int:
        return int(self.encode_state(state)["ply"])

    def key(self, state: Any) -> NoReturn:
        raise TypeError(f"{self.name} runs elsewhere: it can only be refereed here")

    def draw_board(self, state: bytes) -> NoReturn:
        self.key(state)

    def notation(self, move: Any) -> NoReturn:
        self.key(move)


def answer(game: Game[Any, Any], question: bytes, states: dict[bytes, Any]) -> Answers:
    """Return the answers to a question about the rules of a guarded game, and to those that a referee asks next.
    `states` has decoded states, by their packed form; new ones are added.
    """
    method, *arguments = _unpack(question)
    answer_question = _answer_step if method in _STEPS else _answer_query
    try:
        return dict(answer_question(game, question, method, arguments, states))
    except Fault as fault:
        return {question: _refuse(fault)}


def answer_load(load: Callable[[Mapping[str, Any]], Game[Any, Any]], question: bytes) -> Answers:
    """Return the answer to `load_question`, which `GameFacts` describes. `load` makes the game of a config."""
    try:
        game = load(_unpack(question)[1])
        game.check_cost()
        facts = GameFacts(
            game.config,
            game.seats,
            game.hidden,
            game.zero_sum,
            game.preset,
            game.pools,
            game.least_payoffs if game.payoff_unit else (),
        )
    except Fault as fault:
        return {question: _refuse(fault)}
    return {question: ("ok", msgspec.to_builtins(facts))}


def _refuse(fault: Fault) -> tuple[str, str]:
    for kind, fault_class in _FAULTS.items():
        if isinstance(fault, fault_class):  # type: ignore[arg-type]
            return kind, str(fault)
    return "fault", fault.reason if isinstance(fault, RulesFault) else str(fault)


def _decode(game: Game[Any, Any], packed: bytes, states: Mapping[bytes, Any]) -> Any:
    return states[packed] if packed in states else game.decode_state(_unpack(packed))


def _take_state(game: Game[Any, Any], packed: bytes, states: dict[bytes, Any]) -> Any:
    """Return a state to go on from. Another match in an equal state gets one of its own, should rules change it."""
    state = states.pop(packed, None)
    if state is None:
        return game.decode_state(_unpack(packed))
    if _pack(game.encode_state(state)) != packed:
        raise RulesFault(game.name, CHANGED_STATE_REASON)
    return state


def _bundle(
    game: Game[Any, Any], question: bytes, state: Any, event: Event | None, states: dict[bytes, Any]
) -> Iterator[tuple[bytes, Any]]:
    """Yield the answer to a question for the next state, and what a referee asks about that state."""
    wire = game.encode_state(state)
    packed = _pack(wire)
    states[packed] = state
    yield question, ("ok", (packed, None if event is None else _pack(event)))
    to_move = wire["to_move"]
    if to_move is None:
        methods = ("ranks", "reason", *(("returns", "count_rounds") if game.payoff_unit else ()))
        for method in methods:
            yield _pack((method, packed)), ("ok", getattr(game, method)(state))
    elif type(to_move) is int and to_move != CHANCE:
        yield _pack(("legal_moves_for_turn", packed)), ("ok", game.legal_moves_for_turn(state))
    if game.hidden:
        for seat in (*range(game.seats), None):
            yield _pack(("view", packed, seat)), ("ok", game.view(wire, seat))
            if event is not None:
                seen = _pack(game.view_event(event, seat))
                yield _pack(("view_event", _pack(event), seat)), ("ok", seen)


def _answer_step(
    game: Any, question: bytes, method: str, arguments: list[Any], states: dict[bytes, Any]
) -> Iterator[tuple[bytes, Any]]:
    event: Event | None = None
    if method == "initial":
        state, event = game.initial(Dice(*arguments))
        yield from _bundle(game, question, state, event, states)
        return
    before = _take_state(game, arguments[0], states)
    if method == "apply":
        state, event = game.apply(before, game.decode_move(arguments[1]), Dice(*arguments[2:]))
    elif method == "apply_chance":
        state, event = game.apply_chance(before, Dice(*arguments[1:]))
    elif method == "resolve_round":
        moves = {seat: game.decode_move(move) for seat, move in arguments[1].items()}
        state, event = game.resolve_round(before, moves, Dice(*arguments[2:]))
    else:
        state = game.remove_seat(before, arguments[1])
    yield from _bundle(game, question, state, event, states)


def _answer_query(
    game: Any, question: bytes, method: str, arguments: list[Any], states: dict[bytes, Any]
) -> Iterator[tuple[bytes, Any]]:
    if method == "view":
        value: Any = game.view(_unpack(arguments[0]), arguments[1])
    elif method == "view_event":
        value = _pack(game.view_event(_unpack_event(arguments[0]), arguments[1]))
    else:
        state = _decode(game, arguments[0], states)
        if method == "check_move":
            move = game.decode_move(arguments[2])
            game.check_move(state, arguments[1], move)
            value = game.encode_move(move)
        elif method == "legal_moves_of":
            value = [game.encode_move(move) for move in game.legal_moves_of(state, arguments[1])]
        else:
            value = getattr(game, method)(state)
    yield question, ("ok", value)
