"""`greedy`: the move after which the position looks best, without a thought for the reply."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from bots.bot import Bot, Choice, Turn
from bots.evaluation import check_name
from bots.purse import purse
from bots.search.base import Evaluate, Found, Limit, opinion, win_value
from bots.search.kernels import warm_up
from bots.thought import CAMPAIGN, EVAL, evaluation_for, name_for
from protocol.games import load
from protocol.games.base import Game
from protocol.messages import Start


class Greedy(Bot):
    """Takes the best expected evaluation after one move; equal ones are drawn by lot (in a campaign: the first)."""

    settings: ClassVar[Mapping[str, str]] = {"eval": EVAL}

    def __init__(self, name: str, version: str = "", *, eval: str | None = None) -> None:  # noqa: A002
        super().__init__(name, version)
        self._evaluation = None if eval is None else check_name(eval)

    def warm_up(self, game: Game[Any, Any] | None) -> None:
        if game is not None and game.name == CAMPAIGN:
            warm_up(game)

    def prepare(self, start: Start) -> None:
        self.warm_up(load(start.game, start.config))

    def choose(self, turn: Turn) -> Choice:
        rules = turn.rules
        if rules.name == CAMPAIGN:
            limit = purse(turn, nodes=None, kernel=True)
            found = look_once(rules, turn.position, name_for(rules.name, self._evaluation), limit)
            return Choice(rules.encode_move(found.move), value=found.value, depth=1, nodes=found.nodes)
        evaluate = evaluation_for(rules.name, self._evaluation)
        best = -win_value(rules)
        equals: list[Any] = []
        moves = rules.legal_moves(turn.position)
        for move in moves:
            value = sum(
                float(chance) * worth(rules, result, turn.seat, evaluate)
                for chance, result in rules.outcomes(turn.position, move)
            )
            if value > best:
                best, equals = value, []
            if value == best:
                equals.append(move)
        return Choice(rules.encode_move(turn.random.choice(equals)), value=best, depth=1, nodes=len(moves))


def look_once(rules: Any, position: Any, evaluation: str, limit: Limit) -> Found[Any]:
    """In a campaign, the best of every attack with the most units and the end, or of those that `limit` allows. The
    kernel has the odds of large armies as floats, where the rules would take seconds for their fractions.
    """
    from bots.search.risk.campaign import CampaignSearch

    return CampaignSearch(rules).search(
        position,
        depth=1,
        algorithm="expectiminimax",
        evaluation=evaluation,
        by_turns=False,
        battles="dice",
        candidates=False,
        quiescence=False,
        limit=limit,
    )


def worth(rules: Game[Any, Any], state: Any, seat: int, evaluate: Evaluate) -> float:
    """What a state is worth to `seat`: WIN or −WIN where it has won or lost, 0 for a draw, else its evaluation."""
    if rules.to_move(state) is not None:
        return opinion(rules) * evaluate(rules, state, seat)
    ranks = rules.ranks(state)
    if ranks[seat] > 1:
        return -win_value(rules)
    return win_value(rules) if ranks.count(1) == 1 else 0.0
