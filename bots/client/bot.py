"""The classes for authors: a `Bot` that chooses, and the `Turn` that it gets. No sockets here; run.py runs a bot."""

from __future__ import annotations

import hashlib
import random
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Self

from bots import mistakes
from bots.client.installed import players_of
from protocol.errors import UsageFault
from protocol.games import NAMES
from protocol.games.base import Game
from protocol.messages import End, Event, Player, Rejected, Start


class GiveUp(Exception):
    """Raised by `prepare` or `choose` to resign the match. The client prints the message, if there is one."""


class ProgramFailed(GiveUp):
    """Raised when the bot's program fails, with a message: the bot loses the match as `failed`."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A move with the bot's evaluation, which replays show. `move` is a map, as in `turn.legal`."""

    move: Mapping[str, Any]
    value: float | None = None
    depth: int | None = None
    nodes: int | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Everything that you need when it is your turn. You need not remember anything from earlier turns."""

    match: str
    seat: int
    ply: int
    state: Mapping[str, Any]
    """The state in the form of messages, described in docs/rules.md."""
    legal: Sequence[Mapping[str, Any]]
    """Moves that can be returned unchanged; never empty."""
    options: Mapping[str, Any] | None
    """A description of all moves, if `legal` does not list them all."""
    events: Sequence[Event]
    """The events since your last turn."""
    players: Sequence[Player]
    clock_ms: Sequence[int]
    """Milliseconds left, by seat."""
    increment_ms: int
    rules: Game[Any, Any]
    """The game under this match's config: legal moves, results of moves, winners."""
    position: Any
    """`state` decoded for `rules`."""
    random: random.Random
    """A generator that follows from the bot's seed, the match and the ply: equal seeds give equal choices."""
    memory: dict[str, Any] = field(default_factory=dict)
    """Your own storage, which lasts as long as the match and belongs to it alone."""
    received: float = field(default_factory=time.monotonic)
    """`time.monotonic()` when the turn arrived; your clock runs since then."""

    @property
    def time_left(self) -> float:
        """Seconds left on your clock now."""
        return self.clock_ms[self.seat] / 1000 - (time.monotonic() - self.received)


class Bot(ABC):
    """A player. Subclass it, write `choose`, and pass an instance to `run`.

    `choose` runs in its own thread. With more than one slot, several matches call it at the same time, so store what
    belongs to one match in `turn.memory`.
    """

    name: str
    version: str = ""
    games: Sequence[str] = NAMES
    """The games that this bot can play."""
    matches: int | None = None
    """Default number of matches to play; None: until it is stopped."""
    person: bool = False
    """True if a person chooses the moves: then it plays on the ladder of people."""
    settings: ClassVar[Mapping[str, str]] = {}
    """The arguments of `__init__` that `arena-bot run --set key=value` may pass, as strings, each with an
    explanation."""

    def __init_subclass__(cls, **words: Any) -> None:
        super().__init_subclass__(**words)
        mistakes.expect_run(cls, Bot)

    def __new__(cls, *args: Any, **words: Any) -> Self:
        mistakes.note_bot_made()
        if "choose" in cls.__abstractmethods__:
            raise UsageFault(
                mistakes.missing_method_message(cls, "choose", "def choose(self, turn), which returns a move")
            )
        bot = super().__new__(cls)
        if wrong := mistakes.call_mistake(bot.choose):
            raise UsageFault(f"{cls.__name__}.choose {wrong}: write def choose(self, turn)")
        return bot

    def __init__(self, name: str = "", version: str = "") -> None:
        """Set name and version, by default those of the class. Raises `UsageFault` without a name."""
        name = name or getattr(type(self), "name", "")
        if not name:
            raise UsageFault(
                f"{type(self).__name__} has no name to play under: write {mistakes.constructor_call(type(self))}"
            )
        self.name = name
        self.version = version or type(self).version

    def check_game(self, game: Game[Any, Any]) -> None:
        """Check that the bot plays this game. Called before anything else is done for a game, under its config.

        Raises `UsageFault` if the bot does not play it, or not with its settings or with what this machine has, such
        as libraries and tables. Commands refuse the bot then before anything begins.
        """
        if game.name not in self.games:
            others = players_of(game.name)
            instead = f"; for {game.name} there are {', '.join(others)}" if others else ""
            raise UsageFault(f"{self.name} does not play {game.name}: it plays {', '.join(self.games)}{instead}")

    def warm_up(self, game: Game[Any, Any] | None) -> None:
        """Prepare for a game. Called once, before the bot connects, for compilation and tables that no clock should pay
        for.

        `game` is the game that it will play, under its config; None if only the arena knows. What you store in it is
        there in `turn.rules` of matches with that config. A `Fault` ends the program with its message.
        """

    def prepare(self, start: Start) -> None:
        """Prepare for a match. Called in the thinking thread before the bot says it is ready; no clock runs yet."""

    @abstractmethod
    def choose(self, turn: Turn) -> Mapping[str, Any] | Choice:
        """Return your move, as in `turn.legal`, or a `Choice` that contains it."""

    def move_probabilities(self, turn: Turn) -> Sequence[float | Fraction] | None:
        """Return the probability of each move of `turn.legal`, if the bot knows it, for exact measurements.

        None means that the bot is measured by asking for moves repeatedly.
        """
        return None

    def rejected(self, rejected: Rejected) -> None:
        """React to a move that the arena did not accept. The client has printed why, and calls `choose` again."""

    def ended(self, end: End) -> None:
        """React to the end of the match."""

    def missed(self, match: str) -> None:
        """React to a match that ended without a connection. Its result is unknown, and `ended` is not called."""


def make_turn_rng(seed: str, match: str, ply: int) -> random.Random:
    """Return the random generator of one turn, independent of all other turns and their order."""
    return random.Random(hashlib.sha256(f"{seed}/{match}/{ply}".encode()).digest())
