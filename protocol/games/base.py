"""The contract of a game: pure functions over immutable, hashable states, under one config. No clock, no sockets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar, Generic, NoReturn, TypeVar

from protocol.dice import Dice
from protocol.errors import BadConfig, IllegalMove, MalformedMove
from protocol.messages import Event

S = TypeVar("S")
M = TypeVar("M")

CERTAIN = Fraction(1)


class Game(ABC, Generic[S, M]):
    """The rules of one game under one config.

    `S` is a state and `M` a move; both are immutable and hashable. Seats count from 0. A subclass reads `config` in
    `__init__` and raises `BadConfig` for what it cannot play.
    """

    name: ClassVar[str]
    presets: ClassVar[Mapping[str, Mapping[str, Any]]]
    """The configs on which matches are rated."""
    draw_probability: ClassVar[float]
    """How often equal players draw; fixed for the game's rating pool."""

    config: dict[str, Any]
    """The whole config, normalised: every key present, ready for the wire."""
    seats: int = 2

    @abstractmethod
    def __init__(self, config: Mapping[str, Any]) -> None: ...

    @abstractmethod
    def initial(self, dice: Dice) -> tuple[S, Event | None]:
        """The first state, and the deal that made it where there is one. `dice` are those of ply 0."""

    @abstractmethod
    def to_move(self, state: S) -> int | None:
        """The seat whose turn it is; None when the game is over."""

    @abstractmethod
    def ply(self, state: S) -> int:
        """The number of the turn: 0 at the start (1 after a deal), one more with every move."""

    @abstractmethod
    def key(self, state: S) -> Hashable:
        """What identifies the state in a search table: all but the ply."""

    @abstractmethod
    def legal_moves(self, state: S) -> Sequence[M]:
        """Every legal move, or where listing is hopeless those that `offer` lists, in a fixed order; empty only when
        the game is over.
        """

    def sample(self, state: S, below: Callable[[int], int]) -> M:
        """A legal move, each as likely as any other, listed or not; `below(n)` draws a number from 0 to n − 1."""
        moves = self.legal_moves(state)
        return moves[below(len(moves))]

    @abstractmethod
    def apply(self, state: S, move: M, dice: Dice) -> tuple[S, Event]:
        """The state after `move` and the event to tell. Raises `IllegalMove`, saying what would be legal."""

    def outcomes(self, state: S, move: M) -> Sequence[tuple[Fraction, S]]:
        """Every result that chance may give to a legal `move`, with its exact probability; they sum to 1."""
        return ((CERTAIN, self.apply(state, move, NO_DICE)[0]),)

    @abstractmethod
    def ranks(self, state: S) -> tuple[int, ...]:
        """The rank of every seat: 1 is best, equal numbers are a tie.

        Of more than two seats it is also asked while they play: those still in the game share the first, those that
        are out have the rank that is left to them.
        """

    def reason(self, state: S) -> str:
        """Why the finished game is over: `win`, `draw`, `ply_limit` or `round_limit`."""
        return "draw" if len(set(self.ranks(state))) == 1 else "win"

    def drop(self, state: S, seat: int) -> S:
        """The state after `seat` left a match that goes on without it; only asked with more than two seats."""
        raise ValueError(f"{self.name} does not go on without seat {seat}")

    def dealt(self, dice: Dice) -> Mapping[str, Any]:
        """The config that starts as this one would with these dice: a paired match gives it to both seat orders."""
        return self.config

    @abstractmethod
    def encode_state(self, state: S) -> dict[str, Any]:
        """The state as it travels, with `to_move` (null when over) and `ply`."""

    @abstractmethod
    def decode_state(self, wire: Mapping[str, Any]) -> S:
        """The inverse of `encode_state`. Raises `KeyError`, `TypeError` or `ValueError` on what it did not make."""

    @abstractmethod
    def encode_move(self, move: M) -> dict[str, Any]:
        """The move as it travels."""

    @abstractmethod
    def decode_move(self, wire: Any) -> M:
        """A move from the wire. Raises `MalformedMove`, saying what the form is."""

    def offer(self, state: S) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
        """What a `turn` carries: moves that can be sent as they are and, where they are not all, `options`."""
        return [self.encode_move(move) for move in self.legal_moves(state)], None

    @abstractmethod
    def board(self, state: S) -> str:
        """The state drawn for a terminal, at most 80 columns wide."""

    @abstractmethod
    def notation(self, move: M) -> str:
        """The move in a few characters, for tables and replays."""

    def told(self, event: Event) -> str:
        """What dice made of a move, or what a deal gave, in a few words; empty where the move says it all."""
        return " ".join(",".join(map(str, row)) for row in event.dice or ())

    @property
    def preset(self) -> str | None:
        """The name of the preset that this config is, if it is one."""
        for name, preset in self.presets.items():
            if type(self)(preset).config == self.config:
                return name
        return None


class _NoDice(Dice):
    """For moves without chance: rolling is a mistake of the rules."""

    def __init__(self) -> None:
        super().__init__(b"", 0)

    def choice(self, purpose: str, among: int) -> NoReturn:
        raise AssertionError(f"a roll for {purpose!r} (1 in {among}) where the rules have no chance")


NO_DICE = _NoDice()


def read_config(game: type[Game[Any, Any]], config: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """`config` over its preset (if it names one) over `defaults`. Raises `BadConfig` for an unknown key or preset."""
    given = dict(config)
    base: Mapping[str, Any] = {}
    if "preset" in given:
        preset = given.pop("preset")
        if not isinstance(preset, str) or preset not in game.presets:
            raise BadConfig(f"{game.name} has no preset {shown(preset)}: {_among(game.presets)}")
        base = game.presets[preset]
    for key in given:
        if key not in defaults:
            raise BadConfig(f"{game.name} has no config key {shown(key)}: {_among((*defaults, 'preset'))}")
    return {**defaults, **base, **given}


def integers(game: str, key: str, value: Any, *, count: tuple[int, int], each: tuple[int, int]) -> tuple[int, ...]:
    """A config value that is a list of integers within bounds; a bare integer is a list of one. Raises `BadConfig`."""
    items = [value] if type(value) is int else value
    (fewest, most), (low, high) = count, each
    if not isinstance(items, (list, tuple)) or not fewest <= len(items) <= most:
        raise BadConfig(f"{game}: {key} is {shown(value)}: it is a list of {fewest} to {most} integers")
    for i, item in enumerate(items):
        if type(item) is not int or not low <= item <= high:
            raise BadConfig(f"{game}: {key}[{i}] is {shown(item)}: it is an integer from {low} to {high}")
    return tuple(items)


def integer(game: str, key: str, value: Any, low: int, high: int) -> int:
    """A config value that is an integer within bounds. Raises `BadConfig`."""
    if type(value) is not int or not low <= value <= high:
        raise BadConfig(f"{game}: {key} is {shown(value)}: it is an integer from {low} to {high}")
    return value


def one_of(game: str, key: str, value: Any, values: Sequence[Any]) -> Any:
    """A config value that is one of a few. Raises `BadConfig`."""
    for known in values:
        if type(value) is type(known) and value == known:
            return value
    raise BadConfig(f"{game}: {key} is {shown(value)}: {_among(values)}")


def move_fields(wire: Any, form: str, *names: str) -> tuple[int, ...]:
    """The integer fields of a move, exactly `names`. Raises `MalformedMove` with `form`, the move as it should look."""
    if type(wire) is dict and len(wire) == len(names):
        values: list[Any] = [wire.get(name) for name in names]
        if list(map(type, values)) == [int] * len(names):
            return tuple(values)
    raise MalformedMove(_misshapen(wire, form, names))


def move_kind(wire: Any, forms: Mapping[str, tuple[str, Sequence[str]]]) -> tuple[str, tuple[int, ...]]:
    """What a move with `do` does, and its integer fields. `forms` has, by kind, an example and the names of the fields.

    Raises `MalformedMove`.
    """
    do = wire.get("do") if isinstance(wire, Mapping) else None
    if not isinstance(do, str) or do not in forms:
        example, _ = next(iter(forms.values()))
        if not isinstance(wire, Mapping):
            raise MalformedMove(f"a move is a map like {example}, not {shown(wire)}")
        raise MalformedMove(f"do is {shown(do)}: it is {_among(forms)}, as in {example}")
    example, names = forms[do]
    if wire.keys() != {"do", *names}:
        raise MalformedMove(_misshapen(wire, example, ("do", *names)))
    return do, move_fields({key: value for key, value in wire.items() if key != "do"}, example, *names)


def _misshapen(wire: Any, form: str, names: Sequence[str]) -> str:
    if not isinstance(wire, Mapping):
        return f"a move is a map like {form}, not {shown(wire)}"
    if wire.keys() != set(names):
        fields = ", ".join(sorted(map(str, wire)))[:80]
        return (
            f"a move looks like {form}; this one has {(fields if fields.isprintable() else repr(fields)) or 'nothing'}"
        )
    name = next(name for name in names if type(wire[name]) is not int)
    return f"{name} is {shown(wire[name])}: it is an integer, as in {form}"


def illegal(reason: str) -> NoReturn:
    """Raise `IllegalMove`; an expression, for one-line rules."""
    raise IllegalMove(reason)


def shown(value: Any) -> str:
    """A value from outside, for a message: printable, and cut short."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a number of thousands of digits, lists in lists in lists
        return "something too long to show"
    return text if len(text) <= 40 else text[:37] + "..."


def few(items: Iterable[Any], most: int = 8, between: str = ", ") -> str:
    """The first of some items, and how many more there are."""
    listed = list(map(str, items))
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return (between.join(listed[:most]) + more) or "none"


def _among(values: Iterable[Any]) -> str:
    names = [str(value).lower() if isinstance(value, bool) else str(value) for value in values]
    return "one of " + ", ".join(names) if names else "nothing"
