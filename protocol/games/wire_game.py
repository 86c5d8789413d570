"""A game whose rules are not on this machine, as a client knows it: states and moves have the form of messages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar, NoReturn

from protocol.display import short_repr
from protocol.errors import MalformedMove, RulesUnavailable
from protocol.games import is_known_game, load_game, rules_spec
from protocol.games.base import Game
from protocol.messages import Start

MAX_STATE_LINE_CHARS = 78
"""Maximum number of characters of a line of a drawn state."""


def load_client_game(name: str, config: Mapping[str, Any], seats: int = 2, digest: str = "") -> Game[Any, Any]:
    """Return a game under a config, a `WireGame` if this machine does not have its rules, or has rules of another
    digest than the given one. Raise `BadConfig` if the rules refuse the config.
    """
    if not is_known_game(name) or (digest and rules_spec(name, digest).digest != digest):
        return WireGame(name, config, seats)
    return load_game(name, config, digest)


def load_started_game(start: Start) -> Game[Any, Any]:
    """Return the game of a match that the arena has started, as `load_client_game` does."""
    digest = "" if start.rules is None else start.rules.digest
    return load_client_game(start.game, start.config, len(start.seats), digest)


class WireState(dict[str, Any]):
    """A state as messages carry it. Code that expects a state of the rules learns that they are missing."""

    def __init__(self, game: str, wire: Mapping[str, Any]) -> None:
        super().__init__(wire)
        self._game = game

    def __getattr__(self, name: str) -> NoReturn:
        _refuse(self, self.__dict__.get("_game"), "turn.position", name)


class _RulesOnly:
    """An attribute of a game that only the rules know. Reading it raises `RulesUnavailable`."""

    def __set_name__(self, owner: type[WireGame], name: str) -> None:
        self._name = name

    def __get__(self, game: WireGame | None, owner: type[WireGame]) -> _RulesOnly:
        if game is not None:
            _refuse(game, game.name, "turn.rules", self._name)
        return self


class WireGame(Game[WireState, Mapping[str, Any]]):
    """A game without rules. It reads and writes states and moves, and draws a state as text. Everything else raises
    `RulesUnavailable`. A legal move is one that the arena lists in a turn.
    """

    name: str  # type: ignore[misc]
    about = ""
    presets: Mapping[str, Mapping[str, Any]] = {}  # type: ignore[misc]

    initial: Any = _RulesOnly()
    key: Any = _RulesOnly()
    legal_moves: Any = _RulesOnly()
    apply: Any = _RulesOnly()
    apply_chance: Any = _RulesOnly()
    chance_outcomes: Any = _RulesOnly()
    state_before_deal: Any = _RulesOnly()
    sample_state: Any = _RulesOnly()
    outcome_cost: Any = _RulesOnly()
    ranks: Any = _RulesOnly()
    returns: Any = _RulesOnly()
    count_rounds: Any = _RulesOnly()
    least_payoffs: Any = _RulesOnly()
    remove_seat: Any = _RulesOnly()
    check_turn: Any = _RulesOnly()
    config_of_deal: Any = _RulesOnly()
    hidden: Any = _RulesOnly()
    zero_sum: Any = _RulesOnly()
    payoff_unit: ClassVar[Any] = _RulesOnly()
    max_seats: ClassVar[Any] = _RulesOnly()
    draw_probability: ClassVar[Any] = _RulesOnly()
    version: ClassVar[Any] = _RulesOnly()
    pool_of: Any = _RulesOnly()

    def __init__(self, name: str, config: Mapping[str, Any], seats: int = 2) -> None:
        self.name = name
        self.title = name  # type: ignore[misc]
        self.config = dict(config)
        self.seats = seats

    def __getattr__(self, name: str) -> NoReturn:
        _refuse(self, self.__dict__.get("name"), "turn.rules", name)

    def to_move(self, state: WireState) -> int | None:
        to_move = state["to_move"]
        seat: int | None = next(iter(to_move), None) if isinstance(to_move, list) else to_move
        return seat

    def ply(self, state: WireState) -> int:
        ply: int = state["ply"]
        return ply

    def encode_state(self, state: WireState) -> dict[str, Any]:
        return dict(state)

    def decode_state(self, wire: Mapping[str, Any]) -> WireState:
        return WireState(self.name, wire)

    def encode_move(self, move: Mapping[str, Any]) -> dict[str, Any]:
        return dict(move)

    def decode_move(self, wire: Any) -> Mapping[str, Any]:
        if not isinstance(wire, Mapping):
            raise MalformedMove(f"a move is a map like those in turn.legal, not {short_repr(wire)}")
        return wire

    def draw_board(self, state: WireState) -> str:
        """Return the fields of the state, one on a line. A list of lists or texts has a line for each of its items."""
        return "\n".join(
            line[:MAX_STATE_LINE_CHARS]
            for key, value in state.items()
            if key not in ("to_move", "ply")
            for line in _draw_field(key, value)
        )

    def notation(self, move: Mapping[str, Any]) -> str:
        """Return a move as its values, each after its key. The only key `move`, as of a `TurnGame`, is left out."""
        if any(isinstance(value, Mapping) for value in move.values()):
            return json.dumps(dict(move))
        if move.keys() == {"move"}:
            return _write(move["move"])
        return " ".join(f"{key} {_write(value)}" for key, value in move.items())

    def parse_move(self, text: str) -> NoReturn:
        raise MalformedMove(f"{short_repr(text)} is not one of the listed moves")


def _draw_field(key: str, value: Any) -> list[str]:
    if isinstance(value, (list, tuple)) and value and all(isinstance(row, (list, tuple, str)) for row in value):
        return [f"{key}:", *(f"  {_write(row) or '.'}" for row in value)]
    return [f"{key}: {_write(value)}"]


def _write(value: Any) -> str:
    """Return a value of a message as people write it: a list of simple values without brackets, else JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)) and not any(isinstance(one, (list, tuple, dict)) for one in value):
        return " ".join("-" if one is None else str(one) for one in value)
    return json.dumps(value)


def _refuse(owner: object, game: str | None, place: str, name: str) -> NoReturn:
    if name.startswith("_") or game is None:  # Python asks for such names itself, to copy or pickle an object
        raise AttributeError(name, name=name, obj=owner)
    raise RulesUnavailable(game, f"{place}.{name}")
