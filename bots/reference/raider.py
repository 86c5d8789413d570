"""`raider`: a campaign without search: new units all where the attacks from there promise most."""

from __future__ import annotations

from typing import Any

from bots.client.bot import Bot, Choice, Turn
from bots.reference.search_bot import once_a_match
from bots.search.kernels import raider_for
from protocol.games import load
from protocol.games.base import Game
from protocol.messages import Start


class Raider(Bot):
    """Plays what the playouts of `uct` play, each move at once."""

    games = ("risk-campaign",)

    def warm_up(self, game: Game[Any, Any] | None) -> None:
        if game is not None:
            raider_for(game).warm_up()

    def prepare(self, start: Start) -> None:
        self.warm_up(load(start.game, start.config))

    def choose(self, turn: Turn) -> Choice:
        move = once_a_match(turn, raider_for).move(turn.position)
        return Choice(turn.rules.encode_move(move))
