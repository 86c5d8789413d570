"""`uct`: Monte Carlo tree search of both games of Risk, draft and attacks in one tree."""

from __future__ import annotations

from typing import Any, ClassVar

from bots.client.bot import Bot, Choice, Turn
from bots.client.value_parsing import read_number
from bots.reference.search_bot import once_a_match
from bots.reference.time_management import purse
from bots.search.kernels import WITH_UCT, uct_for
from protocol.games import load
from protocol.games.base import Game
from protocol.messages import Start


class Uct(Bot):
    """Plays the move that most simulations of its search chose; the value it tells is its share of the wins in them,
    in a campaign a hundredth less for each turn that was played out.
    """

    games = WITH_UCT
    settings: ClassVar = {
        "sims": "simulations a move instead of time, 10 or more to search: the same moves on every machine"
    }

    def __init__(self, name: str, version: str = "", *, sims: int | str | None = None) -> None:
        super().__init__(name, version)
        self.sims = read_number("uct", "sims", sims, 10**9)

    def warm_up(self, game: Game[Any, Any] | None) -> None:
        if game is not None:
            uct_for(game).warm_up()

    def prepare(self, start: Start) -> None:
        self.warm_up(load(start.game, start.config))

    def choose(self, turn: Turn) -> Choice:
        kernel = once_a_match(turn, uct_for)
        limit = purse(turn, nodes=self.sims, kernel=kernel)
        found = kernel.search(turn.position, events=turn.events, below=turn.random.randrange, limit=limit)
        assert found.move is not None
        value = found.value if found.leaves else None
        return Choice(turn.rules.encode_move(found.move), value=value, nodes=found.nodes)
