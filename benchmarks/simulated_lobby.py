"""A lobby in virtual time, for simulations of ladders: matches take as long as the simulation says."""

from __future__ import annotations

import heapq
import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from random import Random

from arena.lobby.effects import LobbyEffect, StartMatch, WakeAt
from arena.lobby.events import BotJoined, BotReady, LobbyEvent, MatchBegun, SeekPlaced, Tick
from arena.lobby.lobby import Lobby
from arena.lobby.policy import LobbyPolicy
from protocol.messages import Seek


class SimulatedLobby(ABC):
    """A lobby and its virtual time `now`. Bots are given by their folded names, which are also their addresses unless
    they share one.
    """

    def __init__(self, policy: LobbyPolicy, rng: Random) -> None:
        self.lobby = Lobby(policy)
        self.rng = rng
        self.now = 0.0
        self._wake_at: float | None = None
        self._numbers = itertools.count()
        self._calls: list[tuple[float, int, Callable[[], None]]] = []
        """A heap of the functions to call, by their time."""

    @abstractmethod
    def start_match(self, effect: StartMatch) -> None:
        """Begin a match, and say by `call_at` when it ends. Its end gives the slots back by `SeatReleased`."""

    def join(self, bot: str, slots: int = 1, address: str | None = None) -> None:
        self.feed(BotJoined(bot, slots, address or bot))

    def seek(self, bot: str, pool: str, *, rated: bool = True, ref: str = "s") -> list[LobbyEffect]:
        """Let a bot seek a match of a pool. Return the effects."""
        game, preset = pool.split("/")
        return self.feed(SeekPlaced(bot, Seek(id=ref, game=game, config={"preset": preset}, rated=rated)))

    def begin(self, effect: StartMatch, *ready: str) -> None:
        """Let a match begin, with these bots ready for it."""
        self.feed(MatchBegun(effect.match))
        for bot in ready:
            self.feed(BotReady(bot))

    def feed(self, event: LobbyEvent) -> list[LobbyEffect]:
        effects = self.lobby.receive(event, self.now, self.rng)
        for effect in effects:
            if isinstance(effect, WakeAt):
                self._wake_at = effect.time
            elif isinstance(effect, StartMatch):
                self.start_match(effect)
        return effects

    def call_at(self, at: float, call: Callable[[], None]) -> None:
        heapq.heappush(self._calls, (at, next(self._numbers), call))

    def run(self, is_over: Callable[[], bool]) -> None:
        """Let time pass until `is_over()` is true."""
        while not is_over():
            if self._wake_at is not None and self._wake_at <= (self._calls[0][0] if self._calls else math.inf):
                self.now, self._wake_at = max(self.now, self._wake_at), None
                self.feed(Tick(f"m{next(self._numbers)}"))
            else:
                self.now, _, call = heapq.heappop(self._calls)
                call()
