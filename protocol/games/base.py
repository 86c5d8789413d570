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
from protocol.pools import FIRST_VERSION, people_pool, with_version
from protocol.reasons import DRAW, WIN

S = TypeVar("S")
M = TypeVar("M")

PROBABILITY_ONE = Fraction(1)
"""The probability of the only outcome of a move without chance."""


class Game(ABC, Generic[S, M]):
    """One game under one config. `S` is a state and `M` a move; both are immutable and hashable. Seats count from 0. A
    subclass reads `config` in `__init__` and raises `BadConfig` for a config that it cannot play.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    """The name of the game in texts for people."""
    about: ClassVar[str]
    """One sentence on what players do in the game."""
    version: ClassVar[str] = FIRST_VERSION
    """The version of the rules. Matches of two versions have different ratings."""
    config: dict[str, Any]
    """The config as messages carry it: all keys, including those at their defaults. Only `late_keys` at their defaults
    are left out.
    """
    seats: int = 2
    max_seats: ClassVar[int] = 2
    """The largest number of seats of a match under any config."""
    presets: ClassVar[Mapping[str, Mapping[str, Any]]]
    """The configs of the game that have a name and a rating pool. The first is the default."""
    preset_for_people: ClassVar[str | None] = None
    """The preset that people are offered first. Its matches last some minutes. None stands for the first preset."""
    preset_titles: ClassVar[Mapping[str, str]]
    """The names of presets as people read them, after the game's title: `Nim, classic`."""
    late_keys: ClassVar[Mapping[str, Any]] = {}
    """Config keys that were added after the first records, each with its default. A config omits a key with this value,
    so that digests of old records stay valid.
    """
    tutorial: ClassVar[Mapping[str, Any] | None] = None
    """The config of the game's tutorial; None if the game has no tutorial."""
    draw_probability: ClassVar[float]
    """The probability that a match of equal players is drawn. All rating pools of the game assume it."""
    payoff_unit: ClassVar[str] = ""
    """The period for which a payoff is given, `round` or `hand`. Empty if the result of the game is no payoff."""
    zero_sum: bool = True
    """True if one player's gain is the other's loss. Only then does a lead in a match mean better play."""
    hidden: bool = False
    """True if a seat may not see all of a state or an event. Each seat then gets its `view`, and digests are salted."""

    @abstractmethod
    def __init__(self, config: Mapping[str, Any]) -> None: ...

    def check_cost(self) -> None:
        """Raise `BadConfig` if a deal or a move could take so long that other matches would have to wait. It is called
        for new matches only: records of old ones can always be replayed.
        """

    @abstractmethod
    def initial(self, dice: Dice) -> tuple[S, Event | None]:
        """Return the first state, and the event of the deal, if there is one. `dice` are the dice of ply 0."""

    def state_before_deal(self) -> S | None:
        """Return the state before the first deal, if this deal counts as luck. The `chance_outcomes` of the state are
        then the possible deals. Return None if there is no deal, or if both matches of a pair get the same deal.
        """
        return None

    @abstractmethod
    def to_move(self, state: S) -> int | None:
        """Return the seat to move; `CHANCE` if a chance event comes next (see `apply_chance`); None once the game is
        over.
        """

    @abstractmethod
    def ply(self, state: S) -> int:
        """Return the number of the state's ply: 0 at the start (1 after a deal), plus 1 for every move."""

    @abstractmethod
    def key(self, state: S) -> Hashable:
        """Return the state's key in a search table: everything except the ply."""

    @abstractmethod
    def legal_moves(self, state: S) -> Sequence[M]:
        """Return every legal move, in a fixed order. There is at least one until the game is over. If there are too
        many to list, return those that `legal_moves_for_turn` lists.
        """

    def sample_move(self, state: S, draw_below: Callable[[int], int]) -> M:
        """Return a legal move, chosen uniformly at random. It may be one that `legal_moves` does not list.
        `draw_below(n)` draws a number from 0 to n − 1.
        """
        moves = self.legal_moves(state)
        return moves[draw_below(len(moves))]

    @abstractmethod
    def apply(self, state: S, move: M, dice: Dice) -> tuple[S, Event]:
        """Return the state after `move`, and the event. Raise `IllegalMove`, with a message that says which moves are
        legal, if the rules forbid the move.
        """

    def apply_chance(self, state: S, dice: Dice) -> tuple[S, Event]:
        """Return the state after the chance event that comes next, and the event."""
        raise ValueError(f"{self.name} has no deals after the start")

    def chance_outcomes(self, state: S) -> Sequence[tuple[Fraction, S]]:
        """Return every possible state after `apply_chance`, with its probability. The probabilities sum to 1."""
        raise ValueError(f"{self.name} has no deals after the start")

    def information_set(self, state: S, seat: int) -> Hashable:
        """Return a key of what a seat knows in a state (its information set). The key is equal for all states that the
        seat cannot distinguish.
        """
        return self.key(state)

    def sample_state(self, state: S, seat: int, draw_below: Callable[[int], int]) -> S:
        """Return a state that a seat can't distinguish from `state`, with all hidden information drawn at random.
        `state` may be decoded from the seat's view. `draw_below(n)` draws a number from 0 to n − 1. A game that hides
        something needs this method for tree searches.
        """
        if self.hidden:
            raise ValueError(f"{self.name} can't draw hidden information")
        return state

    def outcomes(self, state: S, move: M) -> Sequence[tuple[Fraction, S]]:
        """Return every possible state after a legal `move`, with its probability. The probabilities sum to 1."""
        return ((PROBABILITY_ONE, self.apply(state, move, NO_DICE)[0]),)

    def outcome_cost(self, state: S, move: M) -> int:
        """Estimate how many states `outcomes` returns for a move, for callers that must limit their time."""
        return 1

    @abstractmethod
    def ranks(self, state: S) -> tuple[int, ...]:
        """Return the rank of every seat: 1 is best, and equal ranks are a tie. With more than two seats, this also
        works before the game is over: seats still in the game share rank 1, and seats that are out have the ranks after
        them.
        """

    def returns(self, state: S) -> tuple[int, ...] | None:
        """Return the payoff of each seat so far; None in a game that is won, drawn or lost."""
        return None

    def count_rounds(self, state: S) -> tuple[int, int]:
        """Return two numbers of rounds in a game with payoffs: complete ones, and those to come. If chance ends the
        match, the second number is an expected value.
        """
        raise ValueError(f"{self.name} has no payoffs")

    @property
    def least_payoffs(self) -> tuple[int, ...]:
        """The least payoff of each seat in a round, in a game with payoffs. A seat that left the match gets this payoff
        in each later round.
        """
        raise ValueError(f"{self.name} has no payoffs")

    def reason(self, state: S) -> str:
        """Return why a finished game ended: `win`, `draw`, `ply_limit` or `round_limit`."""
        return DRAW if len(set(self.ranks(state))) == 1 else WIN

    def remove_seat(self, state: S, seat: int) -> S:
        """Return the state after `seat` left a match that goes on. Only games of more than two seats need this."""
        raise ValueError(f"{self.name} can't continue without seat {seat}")

    def config_of_deal(self, dice: Dice) -> Mapping[str, Any]:
        """Return this config with the deal that these dice make, so that the game begins with this deal. Both matches
        of a pair use the returned config, so they have the same deal.
        """
        return self.config

    # What a seat may see.

    def view(self, wire: dict[str, Any], seat: int | None) -> dict[str, Any]:
        """Return the part of an encoded state that a seat, or a spectator (None), may see during the game."""
        return wire

    def view_event(self, event: Event, seat: int | None) -> Event:
        """Return the part of an event that a seat, or a spectator (None), may see during the game."""
        return event

    # How states and moves travel.

    @abstractmethod
    def encode_state(self, state: S) -> dict[str, Any]:
        """Return a state as messages carry it, with the keys `to_move` (null once the game is over) and `ply`."""

    @abstractmethod
    def decode_state(self, wire: Mapping[str, Any]) -> S:
        """Return the state that `encode_state` encoded. Raise `KeyError`, `TypeError` or `ValueError` for another
        value.
        """

    @abstractmethod
    def encode_move(self, move: M) -> dict[str, Any]:
        """Return a move as messages carry it."""

    @abstractmethod
    def decode_move(self, wire: Any) -> M:
        """Parse a move from a message. Raise `MalformedMove`, with a text that shows the right form, if it is
        malformed.
        """

    def legal_moves_for_turn(self, state: S) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
        """Return two parts of a `turn` message: the encoded legal moves, and the `options`. The options are None if the
        list of moves is complete.
        """
        return [self.encode_move(move) for move in self.legal_moves(state)], None

    def check_turn(self, state: S) -> None:
        """Raise `RulesFault` if a bot that knows the rules can't play on from a state. A guarded game does; others are
        trusted.
        """

    # How states, moves and events are shown to people.

    @abstractmethod
    def draw_board(self, state: S) -> str:
        """Return a drawing of the state for a terminal, at most 80 columns wide."""

    def describe(self, state: S) -> str:
        """Describe the state in words, for readers who see no drawing, such as speech programs and language models."""
        return self.draw_board(state)

    @abstractmethod
    def notation(self, move: M) -> str:
        """Return a short notation of the move, for tables and replays."""

    def notation_of_event(self, move: Mapping[str, Any] | None) -> str:
        """Return a short notation of the encoded move of an event, which is empty if the reader may not see it. Raise
        `MalformedMove` if the move is malformed.
        """
        return self.notation(self.decode_move(move)) if move else "a hidden move"

    move_syntax: ClassVar[str] = ""
    """Examples of moves as a person writes them."""

    def parse_move(self, text: str) -> M:
        """Parse a move that a person wrote in the form of `notation` or in a shorter form. Raise `MalformedMove`, with
        a text that shows examples, if the move has another form.
        """
        raise MalformedMove(f"moves of {type(self).__name__} can only be written in JSON")

    def describe_changes(self, before: S, after: S) -> str:
        """Describe the differences between two states. If there are many, return a drawing of the second state."""
        return self.draw_board(after)

    def summarise(self, state: S) -> str:
        """Summarise in one line what each seat holds. Return an empty text if the drawn board shows everything."""
        return ""

    def describe_event(self, event: Event) -> str:
        """Describe the result of dice or a deal in a few words, or return "" if the move alone says everything."""
        return " ".join(",".join(map(str, row)) for row in event.dice or ())

    # The rating pools.

    @functools.cached_property
    def preset(self) -> str | None:
        """The name of the preset that has this config; None if no preset has it."""
        return self.preset_of(self.config)

    @classmethod
    def preset_of(cls, config: Mapping[str, Any]) -> str | None:
        """Return the name of the preset that has this whole config; None if no preset has it."""
        return next((name for name, (known, _) in _presets(cls).items() if known == config), None)

    @property
    def pool(self) -> str | None:
        """The name of the rating pool of this config, `game/preset`; None if the config is no preset."""
        preset = self.preset
        return None if preset is None else self.pool_of(preset)

    def pool_of(self, preset: str) -> str:
        """Return the name of the rating pool of a preset, for bots."""
        return with_version(f"{self.name}/{preset}", self.version)

    @property
    def pools(self) -> list[str]:
        """The rating pools that may rate a match under this config: first those for matches among bots, then their
        counterparts for matches with people.

        If the config is no preset, they are the pools of all presets that may become this config by a deal
        (`config_of_deal`).
        """
        found = self._pools_that_deal() if self.pool is None else [self.pool]
        return [*found, *map(people_pool, found)]

    def _pools_that_deal(self) -> list[str]:
        """Return the rating pools of the presets that may become this config by a deal."""
        return [
            self.pool_of(name)
            for name, (config, drawn) in _presets(type(self)).items()
            if drawn and {**self.config, **{key: config[key] for key in drawn}} == config
        ]


@functools.cache
def _presets(game: type[Game[Any, Any]]) -> dict[str, tuple[dict[str, Any], frozenset[str]]]:
    """Return the presets of a game by name, each with its whole config and the config keys that a deal sets."""
    found = {}
    for name, preset in game.presets.items():
        made = game(preset)
        config_of_deal = made.config_of_deal(Dice(b"", 0))
        found[name] = made.config, frozenset(key for key in made.config if config_of_deal[key] != made.config[key])
    return found


class _NoDice(Dice):
    """Dice for moves without chance. A roll raises an error, because it is a bug in the rules."""

    def __init__(self) -> None:
        super().__init__(b"", 0)

    def _stream(self, purpose: str) -> NoReturn:
        raise AssertionError(f"a roll for {purpose!r}, but the rules have no chance")


NO_DICE = _NoDice()
"""The dice to pass to `Game.apply` for moves without chance."""
