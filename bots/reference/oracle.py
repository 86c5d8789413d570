"""`oracle`: bounded Risk by exact tables, on maps that are small enough or were solved before."""

from __future__ import annotations

from typing import Any

from bots.client.bot import Bot, Choice, GiveUp, Turn
from machine.exact.duel import Table, table_of
from protocol.errors import UsageFault
from protocol.games import load
from protocol.games.base import Game
from protocol.games.risk.duel import Duel
from protocol.messages import Start


class Oracle(Bot):
    """Plays a move that nothing beats in expectation, one of equals by lot; its value is the expected result.

    The table knows no ply limit. It is made before the bot connects, or before a match on another map; a large one
    takes minutes the first time, then seconds from the disk. One that is larger still is `arena-bot solve`'s to make.
    """

    games = ("risk-duel",)

    def warm_up(self, game: Game[Any, Any] | None) -> None:
        """Raises `UsageFault` where the map is too large and not solved, or numba is not there."""
        table_for(load("risk-duel") if game is None else game)

    def prepare(self, start: Start) -> None:
        try:
            table_for(load(start.game, start.config))
        except UsageFault as exc:
            raise GiveUp(str(exc)) from exc

    def choose(self, turn: Turn) -> Choice:
        table = table_for(turn.rules)
        move = turn.random.choice(table.best_moves(turn.position))
        return Choice(turn.rules.encode_move(move), value=table.value(turn.position))


def table_for(rules: Game[Any, Any]) -> Table:
    """The table of a risk-duel. Raises `UsageFault` where there can be none."""
    assert isinstance(rules, Duel)
    return table_of(rules.map, rules.max_troops)
