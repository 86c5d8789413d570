"""Guards a match against the rules of its game: whatever they raise, or return in a wrong form, becomes a `RulesFault`.

Built-in games are tested and need no guard. Games of files and of installed packages get one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FunctionType, ModuleType
from typing import Any

from protocol.display import escape_unprintable, short_repr, truncate
from protocol.errors import Fault, IllegalMove, MalformedMove, RulesFault
from protocol.games.base import Game
from protocol.games.turn_game import RulesError, TurnGame, TurnRules
from protocol.messages import CHANCE

CallRules = Callable[..., Any]
"""The type of a function `call(method, function, *arguments)` that calls `function`, which the method `method` of a
`Game` is, and returns its result.
"""

CHANGED_STATE_REASON = "a state changed after it was returned: make a new state instead"
"""The reason of a fault of rules that change a state in place."""
_GUARDED_METHODS = (
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
    place = _find_place(room, exc) or f"{_base_name(room.__file__ or room.__name__)}: "
    return RulesFault(game, f"{place}{kind}{text}".removesuffix(": "))


def guard_rules(game: Game[Any, Any], room: ModuleType, call: CallRules | None = None) -> Game[Any, Any]:
    """Return a copy of a game for one match, whose methods raise `RulesFault` instead of any other exception, except
    that a move may be refused. The referee's calls of rules go through `call`.
    """
    guard = _Guard(game, room, call or _call_directly)
    guarded = object.__new__(type(game))
    methods = {name: guard.wrap(name) for name in _GUARDED_METHODS if hasattr(game, name)}
    guarded.__dict__.update(vars(game), **methods, encode_state=guard.encode_state)
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

    def wrap(self, method: str) -> Callable[..., Any]:
        """Return the guarded form of a method of the game."""
        function, call = getattr(self._game, method), self._call
        is_step, may_refuse = method in _STEPS, method in _REFUSING_METHODS

        def run(*arguments: Any) -> Any:
            try:
                if is_step:
                    self._check_unchanged(arguments[0])
                result = call(method, function, *arguments)
                if is_step:
                    self._check_unchanged(arguments[0])
                if method == "ranks":
                    self._check_ranks(result)
                elif method == "returns":
                    self._check_returns(result)
                return result
            except (Exception, SystemExit) as exc:
                if may_refuse and isinstance(exc, (IllegalMove, MalformedMove)) and not self._is_of_author(exc):
                    raise
                raise make_rules_fault(self._game.name, self._room, exc) from exc

        return run

    def encode_state(self, state: Any) -> dict[str, Any]:
        """Return an encoded state whose keys `to_move` and `ply` have values that a referee can work with."""
        try:
            wire: dict[str, Any] = self._call("encode_state", self._game.encode_state, state)
            self._check_to_move(wire["to_move"])
            if type(wire["ply"]) is not int or wire["ply"] < 0:
                raise RulesError(f"ply is {short_repr(wire['ply'])}: it is a whole number from 0")
        except (Exception, SystemExit) as exc:
            raise make_rules_fault(self._game.name, self._room, exc) from exc
        self._shown = state, wire
        return wire

    def _check_to_move(self, to_move: Any) -> None:
        seats = range(self._game.seats)
        if type(to_move) is list:
            is_right = bool(to_move) and all(type(seat) is int and seat in seats for seat in to_move)
        else:
            is_right = to_move is None or (type(to_move) is int and (to_move in seats or to_move == CHANCE))
        if not is_right:
            raise RulesError(
                f"the seat to move is {short_repr(to_move)}: it is a number from 0 to {len(seats) - 1}, CHANCE, or "
                "None once the game is over",
                "turn",
            )

    def _check_ranks(self, ranks: Any) -> None:
        seats = self._game.seats
        if len(ranks) != seats or any(type(rank) is not int or not 1 <= rank <= seats for rank in ranks):
            raise RulesError(
                f"the ranks are {short_repr(ranks)}: each seat has one, a number from 1 to {seats}", "ranks"
            )

    def _check_returns(self, payoffs: Any) -> None:
        if payoffs is None and not self._game.payoff_unit:
            return
        if len(payoffs) != self._game.seats or any(type(payoff) is not int for payoff in payoffs):
            raise RulesError(f"the payoffs are {short_repr(payoffs)}: each seat has one, a whole number", "returns")

    def _check_unchanged(self, state: Any) -> None:
        """Raise `RulesError` if a state is not what it was when its match encoded it."""
        if self._shown is not None and self._shown[0] is state:
            now = self._call("encode_state", self._game.encode_state, state)
            if now != self._shown[1]:
                raise RulesError(CHANGED_STATE_REASON)

    def _is_of_author(self, exc: BaseException) -> bool:
        """Return whether the author of a `TurnGame` refused a move. `TurnRules` refuses illegal moves itself."""
        return isinstance(self._game, TurnRules) and bool(_find_place(self._room, exc))


def _find_place(room: ModuleType, exc: BaseException) -> str:
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
    """Return the file and the line in which a game of a module defines a method, in the form of `_find_place`."""
    for kind in vars(room).values():
        is_game = isinstance(kind, type) and issubclass(kind, TurnGame) and kind.__module__ == room.__name__
        function = vars(kind).get(method) if is_game else None
        if isinstance(function, FunctionType):
            return f"{_base_name(function.__code__.co_filename)}, line {function.__code__.co_firstlineno}: "
    return ""


def _base_name(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]
