"""The ratings of the bots that are here, in memory: where pairing and `start` find them."""

from __future__ import annotations

from arena.ratings.ladder import INITIAL
from arena.referee.record import Header
from arena.referee.result import Ratings, Result
from arena.store.archive import Archive
from protocol.messages import Player
from protocol.names import folded


class KnownRatings:
    """What the store says of bots that were looked up, kept up to date by the results since."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._known: dict[tuple[str, str], tuple[float, float]] = {}

    def of(self, bot: str, game: str) -> tuple[float, float]:
        """A bot's mu and sigma; those of a new bot where nothing is known."""
        return self._known.get((folded(bot), game), (INITIAL.mu, INITIAL.sigma))

    def players(self, header: Header) -> list[Player]:
        """Who sits at a match, with the ratings they bring."""
        players = []
        for seat in header.seats:
            mu, sigma = self.of(seat.bot, header.game)
            players.append(Player(bot=seat.bot, version=seat.version, mu=mu, sigma=sigma))
        return players

    async def look_up(self, bot: str) -> None:
        """Read a bot's ratings. Raises `StoreFailed`."""
        for game, standing in (await self._archive.ask(self._archive.store.standings, bot)).items():
            self._put(bot, game, standing.mu, standing.sigma)

    def learn(self, result: Result, ratings: Ratings) -> None:
        """Know what a match changed."""
        for seat, rating in zip(result.seats, ratings.seats, strict=True):
            self._put(seat.bot, ratings.pool, rating.mu_after, rating.sigma_after)

    def _put(self, bot: str, game: str, mu: float, sigma: float) -> None:
        self._known[folded(bot), game] = (mu, sigma)
