"""The seeks in force, and the matches that they make."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from arena.ratings import pairing
from arena.server.session import Session
from protocol.digest import canonical
from protocol.games.base import Game
from protocol.messages import Seek
from protocol.names import folded

GATHER = 0.02
"""How long the first new seek waits for company, in seconds; after that seeks are looked at every second."""
LOOK_AGAIN = 1.0


@dataclass(frozen=True, eq=False, slots=True)
class Sought:
    """A seek in force. `kind` is what both sides must agree on: game, config, rated; `opponent` is a folded name."""

    session: Session
    bot: str
    id: str
    game: Game[Any, Any]
    rated: bool
    opponent: str | None
    since: float
    kind: tuple[str, bytes, bool]

    @property
    def place(self) -> tuple[str, str]:
        """Whose seek, and which of them."""
        return self.session.key, self.id

    def accepts(self, other: Sought) -> bool:
        """Whether this seek may be paired with a bot's."""
        return self.opponent is None or self.opponent == other.session.key

    def fits(self, other: Sought) -> bool:
        """Whether the two may be paired."""
        two = self.session.key != other.session.key
        return two and self.kind == other.kind and self.accepts(other) and other.accepts(self)


Begin = Callable[[Sequence[Sought]], None]
RatingOf = Callable[[str, str], tuple[float, float]]


class Seeks:
    """Seeks by bot (its folded name) and id, looked at now and then until `close`.

    `begin` starts a match of seeks that fit; `rating_of(bot, game)`: mu, sigma; `present`: how many bots are here.
    """

    def __init__(self, begin: Begin, rating_of: RatingOf, present: Callable[[], int]) -> None:
        self._begin = begin
        self._rating_of = rating_of
        self._present = present
        self._seeks: dict[tuple[str, str], Sought] = {}
        self._look: asyncio.Handle | None = None
        self._look_at = 0.0
        self._loop = asyncio.get_running_loop()

    def add(self, session: Session, message: Seek, game: Game[Any, Any]) -> None:
        """Put a bot's seek in force."""
        assert session.bot is not None
        rated = message.rated and message.opponent is None and game.preset is not None
        opponent = None if message.opponent is None else folded(message.opponent)
        kind = (game.name, canonical(game.config), rated)
        sought = Sought(session, session.bot, message.id, game, rated, opponent, self._loop.time(), kind)
        self._seeks[sought.place] = sought
        self._look_in(GATHER)

    def holds(self, bot: str, seek: str) -> bool:
        """Whether a bot's seek is in force."""
        return (bot, seek) in self._seeks

    def count(self, bot: str) -> int:
        """How many seeks of a bot are in force."""
        return sum(1 for key, _ in self._seeks if key == bot)

    def withdraw(self, bot: str, seek: str) -> None:
        """Take a seek back, if it is in force."""
        self._seeks.pop((bot, seek), None)

    def leave(self, bot: str) -> None:
        """Take all of a bot's seeks back."""
        for place in [place for place in self._seeks if place[0] == bot]:
            del self._seeks[place]

    def close(self) -> None:
        """Pair no more."""
        if self._look is not None:
            self._look.cancel()

    def _look_in(self, seconds: float) -> None:
        at = self._loop.time() + seconds
        if self._look is not None:
            if self._look_at <= at:
                return
            self._look.cancel()
        self._look_at = at
        self._look = self._loop.call_at(at, self._pair)

    def _pair(self) -> None:
        """Begin every match that the seeks in force allow now: those that name an opponent first."""
        self._look = None
        for find in (self._named_pairs, self._open_groups):
            for group in find():
                for sought in group:
                    del self._seeks[sought.place]
                self._begin(group)
        if self._seeks:
            self._look_in(LOOK_AGAIN)

    def _named_pairs(self) -> list[tuple[Sought, Sought]]:
        pairs: dict[Sought, Sought] = {}
        for sought in self._seeks.values():
            if sought.opponent is not None and sought not in pairs:
                others = (other for other in self._seeks.values() if other not in pairs)
                other = next((other for other in others if sought.fits(other)), None)
                if other is not None:
                    pairs |= {sought: other, other: sought}
        return [(a, b) for a, b in pairs.items() if a.place < b.place]

    def _open_groups(self) -> list[tuple[Sought, ...]]:
        seekers = []
        for sought in self._seeks.values():
            if sought.opponent is None:
                mu, sigma = self._rating_of(sought.bot, sought.game.name)
                waits = sought.game.seats < self._present()  # all there are have nobody better to wait for
                patience = pairing.PATIENCE if waits else 0.0
                bot, seats = sought.session.key, sought.game.seats
                seekers.append(
                    pairing.Seeker(bot, mu, sigma, sought.since, sought, sought.kind, seats=seats, patience=patience)
                )
        return [tuple(seeker.key for seeker in group) for group in pairing.ladder_groups(seekers, self._loop.time())]
