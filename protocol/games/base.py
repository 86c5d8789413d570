"""The contract of a game: pure functions over immutable, hashable states, under one config. No clock, no sockets."""

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

CERTAIN = Fraction(1)


class Game(ABC, Generic[S, M]):
    """One game under one config.

    `S` is a state and `M` a move; both are immutable and hashable. Seats count from 0. A subclass reads `config` in
    `__init__` and raises `BadConfig` for what it cannot play.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    """What people call the game."""
    about: ClassVar[str]
    """What one does in it, in a sentence."""
    config: dict[str, Any]
    """The whole config, normalised, ready for the wire: every key present but `late_keys` at their defaults."""
    seats: int = 2
    max_seats: ClassVar[int] = 2
    """The most seats that any config gives a match."""
    presets: ClassVar[Mapping[str, Mapping[str, Any]]]
    """The configs on which matches are rated; the first is played where nobody names one."""
    preset_for_people: ClassVar[str | None] = None
    """The preset that people are offered first, a match of some minutes; None: the first of all."""
    preset_titles: ClassVar[Mapping[str, str]]
    """What people call the presets, as said after the game's title: `Nim, classic`."""
    late_keys: ClassVar[Mapping[str, Any]] = {}
    """Keys that came after records were made, with their defaults: left out there, so that digests stay the same."""
    tutorial: ClassVar[Mapping[str, Any] | None] = None
    """The config on which a tutorial teaches the game; None where there is no tutorial."""
    draw_probability: ClassVar[float]
    """How often equal players draw; fixed for the game's rating pools."""
    payoff_unit: ClassVar[str] = ""
    """What payoffs are counted by, `round` or `hand`, where those are the result; empty where `returns` is None."""
    zero_sum: bool = True
    """Whether what one of two gets, the other loses: only then who is ahead in a match is who plays better."""
    hidden: bool = False
    """Whether states or events hold what a seat may not see: each is told its `view`, and digests are salted."""

    @abstractmethod
    def __init__(self, config: Mapping[str, Any]) -> None: ...

    def check_cost(self) -> None:
        """Raises `BadConfig` where a deal or a move could take longer than others can be kept waiting: nobody may ask
        for such a match. One that was played once is played again all the same.
        """

    @abstractmethod
    def initial(self, dice: Dice) -> tuple[S, Event | None]:
        """The first state, and the deal that made it where there is one. `dice` are those of ply 0."""

    def undealt(self) -> S | None:
        """The state before the deal of the start, where that is among its `chance_outcomes`; None where it is not luck:
        where nothing is dealt, or both seat orders of a paired match are given the same deal.
        """
        return None

    @abstractmethod
    def to_move(self, state: S) -> int | None:
        """The seat whose turn it is; `CHANCE` where `apply_chance` draws something first; None when all is over."""

    @abstractmethod
    def ply(self, state: S) -> int:
        """The number of the turn: 0 at the start (1 after a deal), one more with every move."""

    @abstractmethod
    def key(self, state: S) -> Hashable:
        """What identifies the state in a search table: all but the ply."""

    @abstractmethod
    def legal_moves(self, state: S) -> Sequence[M]:
        """Every legal move, or where listing is hopeless those that `legal_moves_for_turn` lists, in a fixed order;
        empty only when the game is over.
        """

    def sample(self, state: S, below: Callable[[int], int]) -> M:
        """A legal move, each as likely as any other, listed or not; `below(n)` draws a number from 0 to n − 1."""
        moves = self.legal_moves(state)
        return moves[below(len(moves))]

    @abstractmethod
    def apply(self, state: S, move: M, dice: Dice) -> tuple[S, Event]:
        """The state after `move` and the event to tell. Raises `IllegalMove`, saying what would be legal."""

    def apply_chance(self, state: S, dice: Dice) -> tuple[S, Event]:
        """The state after what chance does by itself, where it is to move, and the event to tell."""
        raise ValueError(f"in {self.name} nothing is dealt once it has begun")

    def chance_outcomes(self, state: S) -> Sequence[tuple[Fraction, S]]:
        """Every result that `apply_chance` may have, with its exact probability; they sum to 1."""
        raise ValueError(f"in {self.name} nothing is dealt once it has begun")

    def information(self, state: S, seat: int) -> Hashable:
        """What a seat knows of a state, as far as it matters to it: the same where it can't tell states apart."""
        return self.key(state)

    def outcomes(self, state: S, move: M) -> Sequence[tuple[Fraction, S]]:
        """Every result that chance may give to a legal `move`, with its exact probability; they sum to 1."""
        return ((CERTAIN, self.apply(state, move, NO_DICE)[0]),)

    def cost(self, state: S, move: M) -> int:
        """About how many states `outcomes` goes through for a move, for who has to bound it before."""
        return 1

    @abstractmethod
    def ranks(self, state: S) -> tuple[int, ...]:
        """The rank of every seat: 1 is best, equal numbers are a tie.

        Of more than two seats it is also asked while they play: those still in the game share the first, those that
        are out have the rank that is left to them.
        """

    def returns(self, state: S) -> tuple[int, ...] | None:
        """What each seat has been paid so far, where that is what counts; None in a game that is won, drawn or lost."""
        return None

    def count_rounds(self, state: S) -> tuple[int, int]:
        """Where payoffs count: how many rounds are complete, and how many are still to come, or to be expected where
        chance ends the match.
        """
        raise ValueError(f"{self.name} has no payoffs")

    @property
    def least_payoffs(self) -> tuple[int, ...]:
        """Where payoffs count: the least that one round can pay each seat, and pays it once it has left."""
        raise ValueError(f"{self.name} has no payoffs")

    def reason(self, state: S) -> str:
        """Why the finished game is over: `win`, `draw`, `ply_limit` or `round_limit`."""
        return DRAW if len(set(self.ranks(state))) == 1 else WIN

    def remove_seat(self, state: S, seat: int) -> S:
        """The state after `seat` left a match that goes on without it; only asked with more than two seats."""
        raise ValueError(f"{self.name} does not go on without seat {seat}")

    def config_of_deal(self, dice: Dice) -> Mapping[str, Any]:
        """The config that starts as this one would with these dice: a paired match gives it to both seat orders."""
        return self.config

    # What a seat may see.

    def view(self, wire: dict[str, Any], seat: int | None) -> dict[str, Any]:
        """What a seat may see of a state that goes on, or a spectator (None): of the same form as all of it."""
        return wire

    def view_event(self, event: Event, seat: int | None) -> Event:
        """What a seat may hear of an event of a match that goes on, or a spectator (None)."""
        return event

    # How states and moves travel.

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

    def legal_moves_for_turn(self, state: S) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
        """What a `turn` carries: moves that can be sent as they are and, where they are not all, `options`."""
        return [self.encode_move(move) for move in self.legal_moves(state)], None

    # How states, moves and events are shown to people.

    @abstractmethod
    def board(self, state: S) -> str:
        """The state drawn for a terminal, at most 80 columns wide."""

    def described(self, state: S) -> str:
        """The state for who reads it and sees no drawing: a program that speaks, a language model."""
        return self.board(state)

    @abstractmethod
    def notation(self, move: M) -> str:
        """The move in a few characters, for tables and replays."""

    move_syntax: ClassVar[str] = ""
    """How people write a move, by examples."""

    def parse(self, text: str) -> M:
        """The move that somebody wrote, as `notation` does or shorter. Raises `MalformedMove`, saying how."""
        raise MalformedMove(f"there is no way to write a move of {type(self).__name__} but as it travels")

    def changes(self, before: S, after: S) -> str:
        """What is different for who has seen the board before; all of it where not much is the same."""
        return self.board(after)

    def summary(self, state: S) -> str:
        """Who has what, in a line; empty where the board says it all."""
        return ""

    def told(self, event: Event) -> str:
        """What dice made of a move, or what a deal gave, in a few words; empty where the move says it all."""
        return " ".join(",".join(map(str, row)) for row in event.dice or ())

    # The rating pools.

    @functools.cached_property
    def preset(self) -> str | None:
        """The name of the preset that this config is, if it is one."""
        return self.preset_of(self.config)

    @classmethod
    def preset_of(cls, config: Mapping[str, Any]) -> str | None:
        """The name of the preset that a whole config is, if it is one."""
        return next((name for name, (known, _) in _presets(cls).items() if known == config), None)

    @property
    def pool(self) -> str | None:
        """The rating pool of this config, `game/preset`; None where it is no preset."""
        preset = self.preset
        return None if preset is None else f"{self.name}/{preset}"

    @property
    def pools(self) -> list[str]:
        """The pools in which a match under this config may be rated: its own, or those whose presets deal it, then the
        same for matches with people.
        """
        found = self._dealt_by() if self.pool is None else [self.pool]
        return [*found, *map(people_pool, found)]

    def _dealt_by(self) -> list[str]:
        """The pools of the presets that deal this config."""
        return [
            f"{self.name}/{name}"
            for name, (config, drawn) in _presets(type(self)).items()
            if drawn and {**self.config, **{key: config[key] for key in drawn}} == config
        ]


@functools.cache
def _presets(game: type[Game[Any, Any]]) -> dict[str, tuple[dict[str, Any], frozenset[str]]]:
    """The presets of a game, each with its whole config and the keys that a deal of it changes."""
    found = {}
    for name, preset in game.presets.items():
        made = game(preset)
        config_of_deal = made.config_of_deal(Dice(b"", 0))
        found[name] = made.config, frozenset(key for key in made.config if config_of_deal[key] != made.config[key])
    return found


class _NoDice(Dice):
    """For moves without chance: rolling is a mistake of the rules."""

    def __init__(self) -> None:
        super().__init__(b"", 0)

    def _stream(self, purpose: str) -> NoReturn:
        raise AssertionError(f"a roll for {purpose!r} where the rules have no chance")


NO_DICE = _NoDice()
