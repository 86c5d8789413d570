"""The classes for authors: a `Bot`, which chooses moves, and the `Turn`, which it is given. run.py runs a bot."""

from __future__ import annotations

import hashlib
import random
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Self, overload

from bots import mistakes
from bots.client.installed import players_of
from protocol.errors import UsageFault
from protocol.games import game_names, is_known_game
from protocol.games.base import Game
from protocol.games.wire_game import WireGame
from protocol.messages import End, Event, Player, Rejected, Start


class GiveUp(Exception):
    """Raised by `prepare` or `choose` to resign the match. The client prints the message, if there is one."""


class ProgramFailed(GiveUp):
    """Raised when the bot's program fails. The bot loses the match with the reason `failed` and this message."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A move and what the bot thought of it, which replays show. `move` is a dict, as in `turn.legal`."""

    move: Mapping[str, Any]
    value: float | None = None
    depth: int | None = None
    nodes: int | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """All facts that `choose` needs for a move. You need not remember anything from earlier turns."""

    match: str
    seat: int
    ply: int
    state: Mapping[str, Any]
    """The state as messages write it, described in docs/rules.md."""
    legal: Sequence[Mapping[str, Any]]
    """Legal moves, which `choose` can return unchanged; never empty."""
    options: Mapping[str, Any] | None
    """A description of all legal moves; None if `legal` lists them all."""
    events: Sequence[Event]
    """The events since your last turn, such as moves and deals."""
    players: Sequence[Player]
    clock_ms: Sequence[int]
    """Milliseconds left on the clock of each seat, by seat."""
    increment_ms: int
    rules: Game[Any, Any]
    """The game under this match's config: legal moves, results of moves, winners. It is a `WireGame` if this machine
    does not have the rules."""
    position: Any
    """The `state` as an object of `rules`."""
    random: random.Random
    """A random generator, seeded by the bot's seed, the match and the ply, so that equal seeds give equal choices."""
    memory: dict[str, Any] = field(default_factory=dict)
    """An object in which you can store anything for this match. It is the same at every turn of the match."""
    received: float = field(default_factory=time.monotonic)
    """The time (`time.monotonic()`) at which the turn arrived. Your clock has been running since then."""

    @property
    def time_left(self) -> float:
        """Seconds left on your clock now."""
        return self.clock_ms[self.seat] / 1000 - (time.monotonic() - self.received)


class GameList(Sequence[str]):
    """The games that a bot can play: those for which `can_play(name)` is true, of all games whose rules are on this
    machine. They are found at each use, because games may be added later. Without `can_play`, they also contain every
    game whose rules are not here, which an arena may have.
    """

    def __init__(self, can_play: Callable[[str], bool] | None = None) -> None:
        self._can_play = can_play

    def _names(self) -> list[str]:
        return [name for name in game_names() if name in self]

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str) or self._can_play is None:
            return isinstance(name, str)
        return is_known_game(name) and self._can_play(name)

    def __len__(self) -> int:
        return len(self._names())

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[str]: ...
    def __getitem__(self, at: int | slice) -> str | Sequence[str]:
        return self._names()[at]


class Bot(ABC):
    """A player. Subclass `Bot`, write `choose`, and pass an instance to `run`.

    `choose` runs in its own thread. With more than one slot, several matches may call `choose` at the same time, so
    store what belongs to one match in `turn.memory`.
    """

    name: str
    version: str = ""
    games: Sequence[str] = GameList()
    """The games that this bot can play."""
    matches: int | None = None
    """The default number of matches to play. With None, the bot plays until it is stopped."""
    person: bool = False
    """True if a person chooses the moves. Its matches then count on the ladder of people."""
    seeks_when_done: bool = False
    """True if the bot's next match is sought only after `ended` has returned, which makes the bot ready for it."""
    settings: ClassVar[Mapping[str, str]] = {}
    """The arguments of `__init__` that `arena-bot run --set key=value` may pass, as strings. Each has an explanation.
    """

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
        if isinstance(cls.games, str):  # ("nim") is no tuple
            raise UsageFault(f"{cls.__name__}.games is {cls.games!r}, a text: write games = [{cls.games!r}]")
        return bot

    def __init__(self, name: str = "", version: str = "") -> None:
        """Set name and version, by default those of the class. Raise `UsageFault` if there is no name."""
        name = name or getattr(type(self), "name", "")
        if not name:
            raise UsageFault(
                f"{type(self).__name__} has no name to play under: write {mistakes.constructor_call(type(self))}"
            )
        self.name = name
        self.version = version or type(self).version

    def check_game(self, game: Game[Any, Any]) -> None:
        """Check that the bot plays this game under its config. Called before anything else is done for the game.

        Raise `UsageFault` if the bot does not play the game, its settings rule the game out, or this machine lacks a
        library, a table or the rules that the bot needs. Commands then refuse the bot before anything begins.
        """
        if game.name not in self.games:
            others = players_of(game.name)
            instead = f"; for {game.name} there are {', '.join(others)}" if others else ""
            if isinstance(game, WireGame) and isinstance(self.games, GameList):
                raise UsageFault(
                    f"{self.name} needs the arena's rules of {game.name}, which this machine does not have: fetch them "
                    f"with arena-bot game get{instead}"
                )
            raise UsageFault(f"{self.name} does not play {game.name}: it plays {', '.join(self.games)}{instead}")

    def warm_up(self, game: Game[Any, Any] | None) -> None:
        """Prepare for a game, for example compile code or load tables, while no clock runs. Called once, before the bot
        connects; with `--open`, once for each game that it may play, after it has connected.

        `game` is the game that the bot will play, with its config; None if only the arena knows it, or has its rules.
        Without `--open`, `turn.rules` is this same object in matches with the same config, so it has the attributes
        that you set on `game`. If `warm_up` raises a `Fault`, the program ends with its message; with `--open`, the bot
        only does not play that game.
        """

    def prepare(self, start: Start) -> None:
        """Prepare for a match. Called in the thread of `choose` before the bot reports ready; no clock runs yet."""

    @abstractmethod
    def choose(self, turn: Turn) -> Mapping[str, Any] | Choice:
        """Return your move, in the form of those in `turn.legal`, or a `Choice` that contains the move."""

    def move_probabilities(self, turn: Turn) -> Sequence[float | Fraction] | None:
        """Return the probability with which the bot chooses each move of `turn.legal`, for exact measurements.

        None means that the bot does not know its probabilities: a measurement then asks for moves repeatedly.
        """
        return None

    def rejected(self, rejected: Rejected) -> None:
        """React to a move that the arena did not accept. The client has printed why, and calls `choose` again."""

    def ended(self, end: End) -> None:
        """React to the end of the match."""

    def missed(self, match: str) -> None:
        """React to a match that ended while the bot was not connected. The result is unknown; `ended` is not called."""


def make_turn_rng(seed: str, match: str, ply: int) -> random.Random:
    """Return the random generator of one turn. Its numbers do not depend on other turns or on their order."""
    return random.Random(hashlib.sha256(f"{seed}/{match}/{ply}".encode()).digest())
