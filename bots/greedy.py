"""`greedy`: the move after which the position looks best, without a thought for the reply."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from bots.bot import Bot, Choice, Turn
from bots.evaluation import check_name
from bots.purse import purse
from bots.search.base import Evaluate, opinion, win_value
from bots.search.kernels import OnePly, one_ply_for
from bots.thought import EVAL, evaluation_for, name_for
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
        if game is not None and (kernel := one_ply_for(game)) is not None:
            kernel.warm_up()

    def prepare(self, start: Start) -> None:
        self.warm_up(load(start.game, start.config))

    def choose(self, turn: Turn) -> Choice:
        rules = turn.rules
        kernel = one_ply_of(turn)
        if kernel is not None:
            limit = purse(turn, nodes=None, kernel=kernel)
            found = kernel.look_once(turn.position, evaluation=name_for(rules.name, self._evaluation), limit=limit)
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


def one_ply_of(turn: Turn) -> OnePly | None:
    """What looks at the turn's moves in place of the rules, made once a match."""
    if "kernel" not in turn.memory:
        turn.memory["kernel"] = one_ply_for(turn.rules)
    kernel: OnePly | None = turn.memory["kernel"]
    return kernel


def worth(rules: Game[Any, Any], state: Any, seat: int, evaluate: Evaluate) -> float:
    """What a state is worth to `seat`: WIN or −WIN where it has won or lost, 0 for a draw, else its evaluation."""
    if rules.to_move(state) is not None:
        return opinion(rules) * evaluate(rules, state, seat)
    ranks = rules.ranks(state)
    if ranks[seat] > 1:
        return -win_value(rules)
    return win_value(rules) if ranks.count(1) == 1 else 0.0
