"""The reference bots that play Risk alone: `oracle`, which knows exact values, and `raider`, a fixed policy."""

from __future__ import annotations

from typing import Any

from bots.client.bot import Bot, Choice, GiveUp, Turn
from bots.reference.search_bots import CompiledBot, cached_kernel
from games.risk.exact.table import Table, cached_table, check_table
from games.risk.rules.campaign import Campaign
from games.risk.rules.duel import Duel
from games.risk.search.policies import RaidPolicy
from protocol.errors import UsageFault
from protocol.games import load_game
from protocol.games.base import Game
from protocol.messages import Start


class Oracle(Bot):
    """Plays bounded Risk by exact tables: it chooses at random among the moves with the best expected result, and
    reports this result as value.

    The table ignores the limit of plies. It is made before the bot connects, or before a match on another map. To make
    a large table takes minutes; later it is read from the disk in seconds. For the largest maps, `arena-bot solve` must
    have made the table.
    """

    games = ("risk-duel",)

    def check_game(self, game: Game[Any, Any]) -> None:
        """Raise `UsageFault` if the bot does not play the game, numba is missing, or the map is too large and has not
        been solved by `arena-bot solve`.
        """
        super().check_game(game)
        assert isinstance(game, Duel)
        try:
            check_table(game.map, game.max_troops)
        except UsageFault as fault:
            raise UsageFault(f"{self.name}: {fault}") from fault

    def warm_up(self, game: Game[Any, Any] | None) -> None:
        """Load or make the table of the game's map. Raise `UsageFault` as `check_game` does."""
        load_table(load_game("risk-duel") if game is None else game)

    def prepare(self, start: Start) -> None:
        try:
            load_table(load_game(start.game, start.config))
        except UsageFault as exc:
            raise GiveUp(str(exc)) from exc

    def choose(self, turn: Turn) -> Choice:
        table = load_table(turn.rules)
        move = turn.random.choice(table.best_moves(turn.position))
        return Choice(turn.rules.encode_move(move), value=table.value(turn.position))


def load_table(rules: Game[Any, Any]) -> Table:
    """Return the table of exact values for the map of a bounded Risk. Raise `UsageFault` if it can't be made."""
    assert isinstance(rules, Duel)
    return cached_table(rules.map, rules.max_troops, rules.armies)


class Raider(CompiledBot):
    """Plays campaigns by the policy raider, without a search. The bot `uct` uses this policy in its playouts."""

    games = ("risk-campaign",)

    def warm_up(self, game: Game[Any, Any] | None) -> None:
        if game is not None:
            make_policy(game).warm_up()

    def choose(self, turn: Turn) -> Choice:
        move = cached_kernel(turn, make_policy).choose_move(turn.position)
        return Choice(turn.rules.encode_move(move))


def make_policy(rules: Game[Any, Any]) -> RaidPolicy:
    """Return the policy of `raider` under the rules of a campaign."""
    assert isinstance(rules, Campaign)
    return RaidPolicy(rules)
