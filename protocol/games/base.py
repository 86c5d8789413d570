"""The contract of a game: pure functions over immutable, hashable states, under one config."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar, Generic, NoReturn, TypeVar

from protocol.dice import Dice
from protocol.errors import MalformedMove
from protocol.messages import Event
from protocol.pools import people_pool
from protocol.reasons import DRAW, WIN

S = TypeVar("S")
M = TypeVar("M")

PROBABILITY_ONE = Fraction(1)
"""The probability of an outcome without chance."""


class Game(ABC, Generic[S, M]):
    """One game under one config. `S` is a state and `M` a move; both are immutable and hashable. Seats count from 0. A
    subclass reads `config` in `__init__` and raises `BadConfig` for a config that it cannot play.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    """The name of the game for people."""
    about: ClassVar[str]
    """One sentence on what players do in the game."""
    config: dict[str, Any]
    """The whole config, normalised, as messages carry it: all keys except `late_keys` at their defaults."""
    seats: int = 2
    max_seats: ClassVar[int] = 2
    """The largest number of seats of a match under any config."""
    presets: ClassVar[Mapping[str, Mapping[str, Any]]]
    """The named configs of the game, each with a rating pool. The first is the default."""
    preset_for_people: ClassVar[str | None] = None
    """The preset that people are offered first. Its matches last some minutes. None stands for the first preset."""
    preset_titles: ClassVar[Mapping[str, str]]
    """The names of presets as people read them, after the game's title: `Nim, classic`."""
    late_keys: ClassVar[Mapping[str, Any]] = {}
    """Config keys that are newer than the oldest records, with their defaults. A config omits such a key at its
    default, so digests of old records stay valid.
    """
    tutorial: ClassVar[Mapping[str, Any] | None] = None
    """The config of the game's tutorial; None if the game has no tutorial."""
    draw_probability: ClassVar[float]
    """The draw probability of equal players, by which all rating pools of the game compute."""
    payoff_unit: ClassVar[str] = ""
    """The unit of payoffs, `round` or `hand`, if they are the result; empty if `returns` is None."""
    zero_sum: bool = True
    """One player's gain is the other's loss. Only then does a lead in a match mean better play."""
    hidden: bool = False
    """States or events have parts that a seat may not see. Each seat gets its `view`, and digests are salted."""

    @abstractmethod
    def __init__(self, config: Mapping[str, Any]) -> None: ...

    def check_cost(self) -> None:
        """Raise `BadConfig` if a deal or a move could take so long that other matches would have to wait. It is called
        for new matches only: records of old ones can always be replayed.
        """

    @abstractmethod
    def initial(self, dice: Dice) -> tuple[S, Event | None]:
        """Return the first state, and the event of the deal that made it, if there is a deal. `dice` are the dice of
        ply 0.
        """

    def state_before_deal(self) -> S | None:
        """Return the state before the first deal, if that deal counts as luck and is among the `chance_outcomes`.
        Return None if there is no deal, or if both seat orders of a paired match get one deal.
        """
        return None

    @abstractmethod
    def to_move(self, state: S) -> int | None:
        """Return the seat to move; `CHANCE` if `apply_chance` comes first; None once the game is over."""

    @abstractmethod
    def ply(self, state: S) -> int:
        """Return the number of the ply: 0 at the start (1 after a deal), plus 1 for every move."""

    @abstractmethod
    def key(self, state: S) -> Hashable:
        """Return the state's key in a search table: everything except the ply."""

    @abstractmethod
    def legal_moves(self, state: S) -> Sequence[M]:
        """Return every legal move in a fixed order; empty only once the game is over. If there are too many to list,
        return those that `legal_moves_for_turn` lists.
        """

    def sample_move(self, state: S, draw_below: Callable[[int], int]) -> M:
        """Return a uniformly random legal move, listed or not. `draw_below(n)` draws a number from 0 to n − 1."""
        moves = self.legal_moves(state)
        return moves[draw_below(len(moves))]

    @abstractmethod
    def apply(self, state: S, move: M, dice: Dice) -> tuple[S, Event]:
        """Return the state after `move`, and the event. Raises `IllegalMove`, with what would be legal."""

    def apply_chance(self, state: S, dice: Dice) -> tuple[S, Event]:
        """Return the state after the chance event that is due, and the event."""
        raise ValueError(f"{self.name} has no deals after the start")

    def chance_outcomes(self, state: S) -> Sequence[tuple[Fraction, S]]:
        """Return every possible state after `apply_chance`, with its exact probability; they sum to 1."""
        raise ValueError(f"{self.name} has no deals after the start")

    def information_set(self, state: S, seat: int) -> Hashable:
        """Return the information set of a state for a seat: equal for states that it cannot distinguish."""
        return self.key(state)

    def outcomes(self, state: S, move: M) -> Sequence[tuple[Fraction, S]]:
        """Return every possible state after a legal `move`, with its exact probability; they sum to 1."""
        return ((PROBABILITY_ONE, self.apply(state, move, NO_DICE)[0]),)

    def outcome_cost(self, state: S, move: M) -> int:
        """Return roughly how many states `outcomes` enumerates for a move, for callers that must limit their time."""
        return 1

    @abstractmethod
    def ranks(self, state: S) -> tuple[int, ...]:
        """Return the rank of every seat: 1 is best, equal numbers are a tie. With more than two seats it is called
        during the game, too: seats still in the game share rank 1, seats that are out have the ranks after them.
        """

    def returns(self, state: S) -> tuple[int, ...] | None:
        """Return the payoff of each seat so far; None in a game that is won, drawn or lost."""
        return None

    def count_rounds(self, state: S) -> tuple[int, int]:
        """Return the number of complete rounds and the number of rounds to come, in a game with payoffs. If chance ends
        the match, the number to come is the expected one.
        """
        raise ValueError(f"{self.name} has no payoffs")

    @property
    def least_payoffs(self) -> tuple[int, ...]:
        """The least payoff of each seat in a round, in a game with payoffs. A seat that left gets it every round."""
        raise ValueError(f"{self.name} has no payoffs")

    def reason(self, state: S) -> str:
        """Return why the finished game is over: `win`, `draw`, `ply_limit` or `round_limit`."""
        return DRAW if len(set(self.ranks(state))) == 1 else WIN

    def remove_seat(self, state: S, seat: int) -> S:
        """Return the state after `seat` left a match that goes on. Called only with more than two seats."""
        raise ValueError(f"{self.name} can't continue without seat {seat}")

    def config_of_deal(self, dice: Dice) -> Mapping[str, Any]:
        """Return a config that starts with the deal of these dice, which a paired match plays in both seat orders."""
        return self.config

    # What a seat may see.

    def view(self, wire: dict[str, Any], seat: int | None) -> dict[str, Any]:
        """Return what a seat, or a spectator (None), may see of an encoded state during the game, encoded likewise."""
        return wire

    def view_event(self, event: Event, seat: int | None) -> Event:
        """Return what a seat, or a spectator (None), may see of an event during the game."""
        return event

    # How states and moves travel.

    @abstractmethod
    def encode_state(self, state: S) -> dict[str, Any]:
        """Return the state as messages carry it, with `to_move` (null once the game is over) and `ply`."""

    @abstractmethod
    def decode_state(self, wire: Mapping[str, Any]) -> S:
        """Invert `encode_state`. Raises `KeyError`, `TypeError` or `ValueError` for other values."""

    @abstractmethod
    def encode_move(self, move: M) -> dict[str, Any]:
        """Return the move as messages carry it."""

    @abstractmethod
    def decode_move(self, wire: Any) -> M:
        """Parse a move from a message. Raises `MalformedMove`, with the right form."""

    def legal_moves_for_turn(self, state: S) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
        """Return the legal moves for a `turn` message, encoded. If the list is incomplete, also return the message's
        `options`.
        """
        return [self.encode_move(move) for move in self.legal_moves(state)], None

    # How states, moves and events are shown to people.

    @abstractmethod
    def draw_board(self, state: S) -> str:
        """Draw the state for a terminal, at most 80 columns wide."""

    def describe(self, state: S) -> str:
        """Describe the state in words, for readers who see no drawing, such as speech programs and language models."""
        return self.draw_board(state)

    @abstractmethod
    def notation(self, move: M) -> str:
        """Return a short notation of the move, for tables and replays."""

    move_syntax: ClassVar[str] = ""
    """Examples of moves as people write them."""

    def parse_move(self, text: str) -> M:
        """Parse a move that a person wrote, as `notation` writes it or shorter. Raises `MalformedMove` with
        examples.
        """
        raise MalformedMove(f"moves of {type(self).__name__} can only be written in JSON")

    def describe_changes(self, before: S, after: S) -> str:
        """Describe the differences between two states. If there are many, draw the whole second state instead."""
        return self.draw_board(after)

    def summarise(self, state: S) -> str:
        """Summarise in one line what each seat holds. Return an empty text if the drawn board shows everything."""
        return ""

    def describe_event(self, event: Event) -> str:
        """Describe the result of dice or a deal in a few words. Return an empty text if the move alone says
        everything.
        """
        return " ".join(",".join(map(str, row)) for row in event.dice or ())

    # The rating pools.

    @functools.cached_property
    def preset(self) -> str | None:
        """The name of the preset with this config; None if there is none."""
        return self.preset_of(self.config)

    @classmethod
    def preset_of(cls, config: Mapping[str, Any]) -> str | None:
        """Return the name of the preset with this whole config; None if there is none."""
        return next((name for name, (known, _) in _presets(cls).items() if known == config), None)

    @property
    def pool(self) -> str | None:
        """The rating pool of this config, `game/preset`; None if the config is no preset."""
        preset = self.preset
        return None if preset is None else f"{self.name}/{preset}"

    @property
    def pools(self) -> list[str]:
        """The pools that may rate a match under this config: its own pool, or else the pools of all presets that can
        deal this config. Then come the pools for matches with people under the same presets.
        """
        found = self._pools_that_deal() if self.pool is None else [self.pool]
        return [*found, *map(people_pool, found)]

    def _pools_that_deal(self) -> list[str]:
        """Return the pools of the presets that can deal this config."""
        return [
            f"{self.name}/{name}"
            for name, (config, drawn) in _presets(type(self)).items()
            if drawn and {**self.config, **{key: config[key] for key in drawn}} == config
        ]


@functools.cache
def _presets(game: type[Game[Any, Any]]) -> dict[str, tuple[dict[str, Any], frozenset[str]]]:
    """Return the presets of a game, each with its whole config and the keys that a deal changes."""
    found = {}
    for name, preset in game.presets.items():
        made = game(preset)
        config_of_deal = made.config_of_deal(Dice(b"", 0))
        found[name] = made.config, frozenset(key for key in made.config if config_of_deal[key] != made.config[key])
    return found


class _NoDice(Dice):
    """Dice for moves without chance: a roll is a bug in the rules."""

    def __init__(self) -> None:
        super().__init__(b"", 0)

    def _stream(self, purpose: str) -> NoReturn:
        raise AssertionError(f"a roll for {purpose!r}, but the rules have no chance")


NO_DICE = _NoDice()
"""The dice to pass for moves without chance."""
