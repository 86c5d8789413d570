"""A lobby on virtual time whose matches are noted instead of played."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from arena.lobby.effects import LobbyEffect, StartMatch, Tell, WakeAt
from arena.lobby.events import (
    BotJoined,
    BotReady,
    LobbyEvent,
    MatchAdded,
    MatchBegun,
    QuotaChanged,
    SeatReleased,
    SeekPlaced,
    SeekWithdrawn,
    Tick,
)
from arena.lobby.lobby import Lobby
from arena.lobby.policy import LobbyPolicy
from protocol.messages import Seek

MAX_PASSING_S = 3600.0
"""The virtual time within which matches begin that begin at all."""


class SeekBoard:
    """A lobby whose matches are over as soon as they begin: who played, in the order of the names, and what.

    Where matches are `held`, nobody is ready for theirs, and none ends.
    """

    def __init__(self, policy: LobbyPolicy | None = None, *, seed: int = 1, held: bool = False) -> None:
        self.held = held
        self.lobby = Lobby(policy or LobbyPolicy(rated_per_pair=1))
        self.rng = Random(seed)
        self.now = 1000.0
        self.wake_at: float | None = None
        self.ticks = 0
        self.begun: list[tuple[str, ...]] = []
        self.played: list[tuple[dict[str, Any], bool]] = []
        """The config of each match, and whether its seeks are for a rated one."""
        self.started: list[StartMatch] = []
        self.told: list[Tell] = []

    def feed(self, event: LobbyEvent) -> list[LobbyEffect]:
        """Let the lobby handle an event; matches that start are begun and over before this returns."""
        effects = self.lobby.receive(event, self.now, self.rng)
        for effect in effects:
            if isinstance(effect, WakeAt):
                self.wake_at = effect.time
            elif isinstance(effect, StartMatch):
                self.begin(effect)
            elif isinstance(effect, Tell):
                self.told.append(effect)
        return effects

    def begin(self, start: StartMatch) -> None:
        self.started.append(start)
        self.begun.append(tuple(sorted(start.bots)))
        self.played.append((start.spec.config, start.spec.rated))
        self.feed(MatchAdded(start.match, start.bots))
        self.feed(MatchBegun(start.match))
        if self.held:
            return
        for bot in start.bots:
            self.feed(BotReady(bot))
        for bot in start.bots:
            self.feed(SeatReleased(start.match, bot, stayed=True))

    def join(self, *bots: str, slots: int = 64, person: bool = False) -> None:
        for bot in bots:
            self.feed(BotJoined(bot, slots, f"address of {bot}", person))

    def bar(self, *bots: str, free: bool = False) -> None:
        """Let these bots begin no match, or `free` them."""
        for bot in bots:
            self.feed(QuotaChanged(f"address of {bot}", is_used_up=not free))

    def seek(self, bot: str, ref: str = "s", opponent: str | None = None, **config: Any) -> None:
        self.add(bot, Seek(id=ref, game="nim", config=config, rated=False, opponent=opponent))

    def campaign(self, bot: str, *opponents: str, players: int = 3, ref: str = "s") -> None:
        config = {"players": players}
        self.add(bot, Seek(id=ref, game="risk-campaign", config=config, rated=False, opponents=list(opponents)))

    def private(self, bot: str, ref: str = "private", game: str = "nim", **config: Any) -> None:
        self.add(bot, Seek(id=ref, game=game, config=config, private=True))

    def open(self, bot: str, ref: str = "open", game: str = "nim", presets: Sequence[str] = ()) -> None:
        self.add(bot, Seek(id=ref, game=game, open=True, presets=[*presets]))

    def add(self, bot: str, seek: Seek, *, person: bool = False) -> None:
        if bot not in self.lobby.roster.online:
            self.join(bot, person=person)
        self.feed(SeekPlaced(bot, seek))

    def withdraw(self, bot: str, ref: str) -> None:
        self.feed(SeekWithdrawn(bot, ref))

    def seeks_of(self, bot: str) -> list[str]:
        """The ids of a bot's seeks."""
        return [seek.id for seek in self.lobby.seeks_of(bot)]

    def tick(self, *, is_paused: bool = False) -> list[LobbyEffect]:
        """Go to the time at which the lobby wants to be woken, and wake it."""
        assert self.wake_at is not None, "the lobby waits for an event"
        self.now, self.wake_at = max(self.now, self.wake_at), None
        self.ticks += 1
        return self.feed(Tick(f"m{self.ticks}", is_paused))

    def until(self, matches: int) -> list[tuple[str, ...]]:
        """Let time pass until so many matches have begun: what has."""
        ends = self.now + MAX_PASSING_S
        while len(self.begun) < matches:
            self.tick()
            assert self.now <= ends, f"it does not happen within {MAX_PASSING_S:g} s"
        return self.begun

    def advance(self, seconds: float) -> None:
        """Let this time pass."""
        ends = self.now + seconds
        while self.wake_at is not None and self.wake_at <= ends:
            self.tick()
        self.now = ends
