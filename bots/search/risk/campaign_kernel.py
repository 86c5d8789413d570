"""The campaign's kernel, which chooses between a search with drafts as moves and one with drafts by the rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, get_args

from bots.evaluation import weights_of
from bots.evaluation.base import EQUAL
from bots.search.base import Found, Limit
from bots.search.kernels import Algorithm
from bots.search.risk.campaign_search import LEAST_NODES, CampaignSearch
from bots.search.risk.settings import CampaignSettings
from bots.search.risk.turn_search import EVERY, TurnSearch
from bots.search.risk.work_buffers import AT_ONCE
from machine.compiled import FAST
from protocol.dice import Dice
from protocol.games.risk.campaign import Campaign, Move, Position

USUAL = CampaignSettings()
_RULED = CampaignSettings(draft="rule")


class CampaignKernel:
    """Searches a campaign with one configuration, one search at a time."""

    usual_depth: ClassVar[int] = 1
    at_once: ClassVar[int] = AT_ONCE

    def __init__(self, rules: Campaign) -> None:
        self.rules = rules
        self.turns = TurnSearch(rules)
        self.ruled = CampaignSearch(rules)

    def search(
        self,
        position: Position,
        *,
        depth: int,
        algorithm: Algorithm,
        evaluation: str = "features",
        weights: Sequence[float] = EQUAL,
        settings: CampaignSettings = USUAL,
        below: Callable[[int], int] | None = None,
        limit: Limit,
    ) -> Found[Move]:
        """Return the best move by iterative deepening over turns up to `depth` within `limit`; always a legal one.

        It uses turn_search.py if `settings.draft` is `search`, or to attack with the evaluation `outlook`; else
        campaign_search.py, where drafts at the root follow `settings.draft`.
        """
        if settings.draft != "search" and (evaluation != "outlook" or position.phase == "draft"):
            if evaluation == "outlook":
                evaluation, weights = "features", EQUAL
            return self.ruled.search(
                position,
                depth=depth,
                algorithm=algorithm,
                evaluation=evaluation,
                weights=weights,
                settings=settings,
                below=below,
                limit=limit,
            )
        if self.rules.to_move(position) is None:
            return Found(0.0, None, (), nodes=1, leaves=1, deepest=0, depth=depth, complete=True)
        return self._by_turns(position, limit, depth=depth, algorithm=algorithm, evaluation=evaluation, weights=weights)

    def look_once(self, position: Position, *, evaluation: str, limit: Limit) -> Found[Move]:
        """Return the best move by the expectation over every outcome, among all moves or those that `limit` allows.

        With `outlook` the moves are all drafts to one place, split drafts to the likeliest places, and attacks.
        """
        if evaluation != "outlook":
            return self.ruled.look_once(position, evaluation=evaluation, limit=limit)
        once: dict[str, Any] = {"depth": 1, "plies": 1, "width": EVERY, "algorithm": "expectiminimax"}
        weights = weights_of(self.rules.name, evaluation)
        return self._by_turns(position, limit, evaluation=evaluation, weights=weights, **once)

    def _by_turns(self, position: Position, limit: Limit, **options: Any) -> Found[Move]:
        """Return what `TurnSearch` finds. If there is no time for it, return a move that takes microseconds."""
        if limit.left is None or limit.left >= LEAST_NODES:
            found = self.turns.search(position, limit=limit, **options)
            if found is not None:
                return found
        hasty = Limit(nodes=1)
        once = self.ruled.search(position, depth=1, algorithm="expectiminimax", settings=_RULED, limit=hasty)
        limit.charge(once.nodes)
        return replace(once, depth=0)

    def perft(self, position: Position, depth: int) -> int:
        """Return the number of paths of exactly `depth` plies, with drafts by the rule and every result of a battle."""
        return self.ruled.perft(position, depth)

    def warm_up(self) -> None:
        if not FAST:
            return
        self.ruled.warm_up()
        start = self.rules.initial(Dice(bytes(32), 0))[0]
        position = self.rules.outcomes(start, self.rules.legal_moves(start)[0])[0][1]
        weights = weights_of(self.rules.name, "outlook")
        for algorithm in get_args(Algorithm):
            for state in (start, position):
                self.search(
                    state, depth=1, algorithm=algorithm, evaluation="outlook", weights=weights, limit=Limit(nodes=100)
                )
