"""Guards a match against the rules of its game: whatever they raise, or return in a wrong form, becomes a `RulesFault`.

Built-in games are tested and need no guard. Games of files and of installed packages get one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FunctionType, ModuleType
from typing import Any

from protocol.display import escape_unprintable, truncate
from protocol.errors import Fault, IllegalMove, MalformedMove, RulesFault
from protocol.games.answer_checks import (
    check_event,
    check_legal,
    check_moves,
    check_ranks,
    check_readable,
    check_returns,
    check_to_move,
    check_unchanged,
    check_view,
    pack_answer,
    refused_move,
)
from protocol.games.base import Game
from protocol.games.turn_game import RulesError, TurnGame, TurnRules
from protocol.messages import CHANCE

CallRules = Callable[..., Any]
"""The type of a function `call(method, function, *arguments)` that calls `function`, which the method `method` of a
`Game` is, and returns its result.
"""

GUARDED_METHODS = (
    "initial",
    "apply",
    "apply_chance",
    "check_move",
    "resolve_round",
    "remove_seat",
    "legal_moves_for_turn",
    "legal_moves_of",
    "ranks",
    "reason",
    "returns",
    "count_rounds",
    "view",
    "view_event",
    "decode_move",
    "encode_move",
)
"""The methods that a referee calls, besides `encode_state`."""
_STEPS = frozenset({"apply", "apply_chance", "check_move", "resolve_round", "remove_seat"})
"""The methods by which a match goes on from a state, their first argument."""
_REFUSING_METHODS = frozenset({"apply", "check_move", "decode_move"})
"""The methods that may refuse a move."""
_MAX_REASON_CHARS = 200
"""Maximum number of characters of the text of an exception in a `RulesFault`."""


@contextmanager
def locate_rules_faults(game: str, room: ModuleType) -> Iterator[None]:
    """Turn an exception of rules in the block into a `RulesFault`. `room` is the module of the rules."""
    try:
        yield
    except Fault:
        raise
    except (Exception, SystemExit) as exc:
        raise make_rules_fault(game, room, exc) from exc


def make_rules_fault(game: str, room: ModuleType, exc: BaseException) -> RulesFault:
    """Return the fault for an exception of rules, with the last line of the module `room` that led to it."""
    text = truncate(escape_unprintable(" ".join(str(exc).split())), _MAX_REASON_CHARS)
    kind = "" if isinstance(exc, RulesError) else f"{type(exc).__name__}: "
    place = find_place(room, exc) or f"{_base_name(room.__file__ or room.__name__)}: "
    return RulesFault(game, f"{place}{kind}{text}".removesuffix(": "))


def guard_rules(game: Game[Any, Any], room: ModuleType, call: CallRules | None = None) -> Game[Any, Any]:
    """Return a copy of a game for one match, whose methods raise `RulesFault` instead of any other exception, except
    that a move may be refused. The referee's calls of rules go through `call`.
    """
    guard = _Guard(game, room, call or _call_directly)
    guarded = object.__new__(type(game))
    methods = {name: guard.wrap(name) for name in GUARDED_METHODS if hasattr(game, name)}
    own = {"encode_state": guard.encode_state, "check_turn": guard.check_turn}
    guarded.__dict__.update(vars(game), **methods, **own)
    return guarded


def _call_directly(method: str, function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)


class _Guard:
    def __init__(self, game: Game[Any, Any], room: ModuleType, call: CallRules) -> None:
        self._game = game
        self._room = room
        self._call = call
        self._shown: tuple[Any, Mapping[str, Any]] | None = None
        """The last state that was encoded, and the result, by which a later change of the state is noticed."""
        self._legal: Sequence[Any] = ()
        """The encoded legal moves that were asked for last."""
        self._legal_in: Sequence[Any] = ()
        """The state in which these are legal. In a simultaneous round, the seat, too."""
        self._decoded: tuple[Any, Any] = None, None
        """The last move that was decoded, and its encoded form."""

    def wrap(self, method: str) -> Callable[..., Any]:
        """Return the guarded form of a method of the game."""
        function, call = getattr(self._game, method), self._call
        is_step, may_refuse = method in _STEPS, method in _REFUSING_METHODS
        check = _ANSWER_CHECKS.get(method)

        def run(*arguments: Any) -> Any:
            try:
                if is_step:
                    self._check_unchanged(arguments[0])
                result = call(method, function, *arguments)
                if is_step:
                    self._check_unchanged(arguments[0])
                    self._check_event(method, arguments[0], result)
                if check is not None:
                    check(self, arguments, result)
                return result
            except (Exception, SystemExit) as exc:
                fault: BaseException | None = exc
                if may_refuse and isinstance(exc, (IllegalMove, MalformedMove)) and not self._is_of_author(method, exc):
                    fault = self._find_wrong_refusal(method, arguments, exc)
                if fault is None:
                    raise
                raise make_rules_fault(self._game.name, self._room, fault) from exc

        return run

    def encode_state(self, state: Any) -> dict[str, Any]:
        """Return an encoded state with which a referee can work, and which a bot can read."""
        game = self._game
        try:
            wire: dict[str, Any] = self._call("encode_state", game.encode_state, state)
            check_to_move(game, wire)
            if isinstance(game, TurnRules):  # other rules may need long to read a state
                check_readable(game, state, wire)
        except (Exception, SystemExit) as exc:
            raise make_rules_fault(game.name, self._room, exc) from exc
        self._shown = state, wire
        return wire

    def check_turn(self, state: Any) -> None:
        """Raise `RulesFault` if a bot that knows the rules can't play on from a state."""
        game, call = self._game, self._call
        try:
            wire = call("encode_state", game.encode_state, state)
            call("decode_state", check_readable, game, state, wire)
            for seat in range(game.seats):
                check_view(game, call("view", game.view, wire, seat), seat)
            if type(wire["to_move"]) is int and wire["to_move"] != CHANCE:
                check_moves(game, state, call)
        except (Exception, SystemExit) as exc:
            raise make_rules_fault(game.name, self._room, exc) from exc

    def _check_unchanged(self, state: Any) -> None:
        """Raise `RulesError` if a state is not what it was when its match encoded it."""
        if self._shown is not None and self._shown[0] is state:
            check_unchanged(self._shown[1], self._call("encode_state", self._game.encode_state, state))

    def _check_event(self, method: str, state: Any, result: Any) -> None:
        """Raise `RulesError` if a match does not go on from a state by the event of a step."""
        if self._shown is not None and self._shown[0] is state and method in ("apply", "apply_chance", "resolve_round"):
            check_event(method, self._shown[1], result[1])

    def _note_legal(self, given: Sequence[Any], legal: Sequence[Any], options: Any = None) -> None:
        check_legal(legal, options)
        self._legal, self._legal_in = legal, given

    def _note_legal_of_seat(self, given: Sequence[Any], moves: Sequence[Any]) -> None:
        self._note_legal(given, [self._game.encode_move(move) for move in moves])

    def _note_decoded(self, wire: Any, move: Any) -> None:
        self._decoded = move, wire

    def _find_wrong_refusal(
        self, method: str, arguments: Sequence[Any], refusal: IllegalMove | MalformedMove
    ) -> RulesError | None:
        """Return the fault of rules that refuse a move which they list; None if the bot is at fault."""
        if method == "decode_move":
            return refused_move(arguments[0], self._legal, refusal)
        move, wire = self._decoded
        if move is not arguments[-1 if method == "check_move" else 1]:
            return None
        return refused_move(wire, self._legal_for(method, arguments), refusal)

    def _legal_for(self, method: str, arguments: Sequence[Any]) -> Sequence[Any]:
        """Return the encoded legal moves of the seat whose move the method `method` got with these arguments."""
        game: Any = self._game
        asked = arguments[:2] if method == "check_move" else arguments[:1]
        if asked == self._legal_in:
            return self._legal
        if method == "check_move":  # another seat was asked last
            return [game.encode_move(move) for move in self._call("legal_moves_of", game.legal_moves_of, *asked)]
        legal: Sequence[Any] = self._call("legal_moves_for_turn", game.legal_moves_for_turn, *asked)[0]
        return legal  # another match was asked last

    def _is_of_author(self, method: str, exc: BaseException) -> bool:
        """Return whether the author of a `TurnGame` refused a move. `TurnRules` refuses illegal moves itself, unless
        the author overrides its method.
        """
        is_own = getattr(type(self._game), method) is not getattr(TurnRules, method, None)
        return not is_own and bool(find_place(self._room, exc))


_ANSWER_CHECKS: Mapping[str, Callable[[_Guard, Sequence[Any], Any], None]] = {
    "ranks": lambda guard, given, ranks: check_ranks(guard._game, ranks),
    "returns": lambda guard, given, payoffs: check_returns(guard._game, payoffs),
    "view": lambda guard, given, seen: check_view(guard._game, seen, given[1]),
    "view_event": lambda guard, given, event: _check_sendable(event),
    "legal_moves_for_turn": lambda guard, given, answer: guard._note_legal(given, *answer),
    "legal_moves_of": lambda guard, given, moves: guard._note_legal_of_seat(given, moves),
    "decode_move": lambda guard, given, move: guard._note_decoded(given[0], move),
}
"""The checks of what methods answer, each with the arguments of the call."""


def _check_sendable(event: Any) -> None:
    pack_answer(event, "what a seat sees of an event")


def find_place(room: ModuleType, exc: BaseException) -> str:
    """Return the file and the line of a module, or of a module below it, in which an exception or its cause was raised,
    with a colon behind them; else the file and the line of the method that a `RulesError` names; else "".
    """
    for raised in (exc, exc.__cause__):
        place, trace = "", None if raised is None else raised.__traceback__
        while trace is not None:
            frame = trace.tb_frame
            name, file = str(frame.f_globals.get("__name__")), frame.f_code.co_filename
            is_of_room = name == room.__name__ or name.startswith(f"{room.__name__}.")
            if is_of_room and not file.startswith("<"):  # generated code, such as that of a dataclass, has no line
                place = f"{_base_name(file)}, line {trace.tb_lineno}: "
            trace = trace.tb_next
        if place:
            return place
    return _find_method(room, exc.method) if isinstance(exc, RulesError) else ""


def _find_method(room: ModuleType, method: str) -> str:
    """Return the file and the line in which a game of a module defines a method, in the form of `find_place`."""
    for kind in vars(room).values():
        is_game = isinstance(kind, type) and issubclass(kind, TurnGame) and kind.__module__ == room.__name__
        function = vars(kind).get(method) if is_game else None
        if isinstance(function, FunctionType):
            return f"{_base_name(function.__code__.co_filename)}, line {function.__code__.co_firstlineno}: "
    return ""


def _base_name(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]
