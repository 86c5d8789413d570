"""What an author writes: a `Bot` that chooses, and the `Turn` it is given. No sockets here; run.py runs it."""

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
    """Raise it in `prepare` or `choose` to resign the match; the client prints what it says, if anything."""


class ProgramFailed(GiveUp):
    """The match can't be played on, for what is wrong with the bot's program: lost as `failed`, with these words."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A move with what the bot thought of it; shown in replays. `move` is a map, as in `turn.legal`."""

    move: Mapping[str, Any]
    value: float | None = None
    depth: int | None = None
    nodes: int | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Everything there is to know when it is your turn; nothing need be remembered from the last one."""

    match: str
    seat: int
    ply: int
    state: Mapping[str, Any]
    """The state as it travels, described in docs/rules.md."""
    legal: Sequence[Mapping[str, Any]]
    """Moves that can be returned as they are; never empty."""
    options: Mapping[str, Any] | None
    """Where `legal` does not list every move: what describes them all."""
    events: Sequence[Event]
    """What happened since your last turn."""
    players: Sequence[Player]
    clock_ms: Sequence[int]
    """Milliseconds left, by seat."""
    increment_ms: int
    rules: Game[Any, Any]
    """The game under this match's config: legal moves, results of moves, who has won."""
    position: Any
    """`state` decoded for `rules`."""
    random: random.Random
    """Seeded from the bot's seed, the match and the ply: the same seed gives the same choices."""
    memory: dict[str, Any] = field(default_factory=dict)
    """Yours for as long as the match lasts, and apart from every other match."""
    received: float = field(default_factory=time.monotonic)
    """`time.monotonic()` when the turn came in; the clock has run since."""

    @property
    def time_left(self) -> float:
        """Seconds left on your clock now."""
        return self.clock_ms[self.seat] / 1000 - (time.monotonic() - self.received)


class Bot(ABC):
    """A player. Subclass it, write `choose`, and give an instance to `run`.

    `choose` runs in a thread of its own; with more than one slot several matches call it at the same time, so keep
    what belongs to one match in `turn.memory`.
    """

    name: str
    version: str = ""
    games: Sequence[str] = NAMES
    """The games this bot can play."""
    matches: int | None = None
    """How many matches it plays where nobody says; None: until it is stopped."""
    person: bool = False
    """Whether a person chooses: then it plays on the ladder of people."""
    settings: ClassVar[Mapping[str, str]] = {}
    """What `arena-bot run --set key=value` may pass to `__init__`, as strings, each with a line of explanation."""

    def __init_subclass__(cls, **words: Any) -> None:
        super().__init_subclass__(**words)
        mistakes.expect_run(cls, Bot)

    def __new__(cls, *args: Any, **words: Any) -> Self:
        mistakes.bot_made()
        if "choose" in cls.__abstractmethods__:
            raise UsageFault(mistakes.lacking(cls, "choose", "def choose(self, turn), which returns a move"))
        bot = super().__new__(cls)
        if wrong := mistakes.not_called_so(bot.choose):
            raise UsageFault(f"{cls.__name__}.choose {wrong}: write def choose(self, turn)")
        return bot

    def __init__(self, name: str = "", version: str = "") -> None:
        """Name and version are those of the class where they are not given. Raises `UsageFault` without a name."""
        name = name or getattr(type(self), "name", "")
        if not name:
            raise UsageFault(
                f"{type(self).__name__} is given no name to play under: write {mistakes.call_of(type(self))}"
            )
        self.name = name
        self.version = version or type(self).version

    def check_game(self, game: Game[Any, Any]) -> None:
        """Called before anything else is done for a game, under its config.

        Raises `UsageFault` where the bot does not play it, or not as it is set.
        """
        if game.name not in self.games:
            others = players_of(game.name)
            instead = f"; for {game.name} there are {', '.join(others)}" if others else ""
            raise UsageFault(f"{self.name} does not play {game.name}: it plays {', '.join(self.games)}{instead}")

    def warm_up(self, game: Game[Any, Any] | None) -> None:
        """Called once, before the bot connects: for compiling and tables, which no clock should pay for.

        `game` is the one it is going to play, under its config; None where only the arena knows. What is kept with it
        is there in `turn.rules` of the matches under that config. A `Fault` ends the program with its message.
        """

    def prepare(self, start: Start) -> None:
        """Called in the thinking thread before the bot says it is ready; the match clock does not run yet."""

    @abstractmethod
    def choose(self, turn: Turn) -> Mapping[str, Any] | Choice:
        """Your move, as in `turn.legal`, or a `Choice` that carries it."""

    def move_probabilities(self, turn: Turn) -> Sequence[float | Fraction] | None:
        """How likely it plays each move of `turn.legal`, where it knows that: to measure it exactly. None: it is asked
        for moves again and again instead.
        """
        return None

    def rejected(self, rejected: Rejected) -> None:
        """The arena did not accept the move; the client has printed why, and asks `choose` again."""

    def ended(self, end: End) -> None:
        """The match is over."""

    def missed(self, match: str) -> None:
        """The match ended while there was no connection: how is not known, and `ended` is not called."""


def seeded(seed: str, match: str, ply: int) -> random.Random:
    """The generator of one turn: independent of every other turn and of the order in which turns are played."""
    return random.Random(hashlib.sha256(f"{seed}/{match}/{ply}".encode()).digest())
