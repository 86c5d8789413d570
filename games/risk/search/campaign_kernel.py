"""The kernel of campaigns, which runs one of two searches: one tries several drafts, one follows the draft rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, get_args

from bots.evaluation import default_weights
from bots.evaluation.base import EQUAL_WEIGHTS
from bots.search.base import SearchLimit, SearchResult
from bots.search.kernels import Algorithm
from games.risk.rules.campaign import Campaign, Move, Position
from games.risk.search.campaign_search import MIN_NODES, CampaignSearch
from games.risk.search.settings import CampaignSettings
from games.risk.search.turn_search import FULL_WIDTH, TurnSearch
from games.risk.search.work_buffers import NODES_PER_MS
from machine.compiled import HAS_NUMBA
from protocol.dice import Dice

DEFAULT_SETTINGS = CampaignSettings()
"""The default settings of `CampaignKernel.search`."""
_DRAFT_RULE_SETTINGS = CampaignSettings(draft="rule")
"""The settings of the hasty choice in `_search_turns`, in which a draft is not searched but placed by the draft rule of
games/risk/rules/draft.py.
"""


class CampaignKernel:
    """A kernel that searches for moves in campaigns under one config. It runs one search at a time."""

    default_depth: ClassVar[int] = 1
    nodes_per_ms: ClassVar[int] = NODES_PER_MS

    def __init__(self, rules: Campaign) -> None:
        self.rules = rules
        self.turn_search = TurnSearch(rules)
        self.draft_rule_search = CampaignSearch(rules)

    def search(
        self,
        position: Position,
        *,
        depth: int,
        algorithm: Algorithm,
        evaluation: str = "features",
        weights: Sequence[float] = EQUAL_WEIGHTS,
        settings: CampaignSettings = DEFAULT_SETTINGS,
        below: Callable[[int], int] | None = None,
        limit: SearchLimit,
    ) -> SearchResult[Move]:
        """Return the best move found by iterative deepening over turns up to `depth` within `limit`. It is always
        legal.

        The search of turn_search.py is used if `settings.draft` is `search`, or if `evaluation` is `outlook` and the
        seat is to attack. Otherwise the search of campaign_search.py is used. It chooses a draft at the root as
        `settings.draft` says. For such a draft, the evaluation `features` replaces `outlook`.
        """
        if settings.draft != "search" and (evaluation != "outlook" or position.phase == "draft"):
            if evaluation == "outlook":
                evaluation, weights = "features", EQUAL_WEIGHTS
            return self.draft_rule_search.search(
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
            return SearchResult(0.0, None, (), nodes=1, leaves=1, max_ply=0, depth=depth, complete=True)
        return self._search_turns(
            position, limit, depth=depth, algorithm=algorithm, evaluation=evaluation, weights=weights
        )

    def search_one_ply(self, position: Position, *, evaluation: str, limit: SearchLimit) -> SearchResult[Move]:
        """Return the move with the best mean value over its outcomes, of the moves tried before `limit` was spent.

        With the evaluation `outlook`, the moves tried are those that `TurnSearch` lists in its widest search
        (`FULL_WIDTH`). With another evaluation, they are the end of the turn and the attacks with all units but one; a
        draft follows the draft rule.
        """
        if evaluation != "outlook":
            return self.draft_rule_search.search_one_ply(position, evaluation=evaluation, limit=limit)
        once: dict[str, Any] = {"depth": 1, "plies": 1, "width": FULL_WIDTH, "algorithm": "expectiminimax"}
        weights = default_weights(self.rules.name, evaluation)
        return self._search_turns(position, limit, evaluation=evaluation, weights=weights, **once)

    def _search_turns(self, position: Position, limit: SearchLimit, **options: Any) -> SearchResult[Move]:
        """Return the result of `TurnSearch`. If there is no time for it, return a move found in microseconds."""
        if limit.nodes_left is None or limit.nodes_left >= MIN_NODES:
            found = self.turn_search.search(position, limit=limit, **options)
            if found is not None:
                return found
        hasty = SearchLimit(nodes=1)
        once = self.draft_rule_search.search(
            position, depth=1, algorithm="expectiminimax", settings=_DRAFT_RULE_SETTINGS, limit=hasty
        )
        limit.count_nodes(once.nodes)
        return replace(once, depth=0)

    def perft(self, position: Position, depth: int) -> int:
        """Return the number of game paths of exactly `depth` plies, with drafts by the draft rule and all battle
        results.
        """
        return self.draft_rule_search.perft(position, depth)

    def warm_up(self) -> None:
        if not HAS_NUMBA:
            return
        self.draft_rule_search.warm_up()
        start = self.rules.initial(Dice(bytes(32), 0))[0]
        position = self.rules.outcomes(start, self.rules.legal_moves(start)[0])[0][1]
        weights = default_weights(self.rules.name, "outlook")
        for algorithm in get_args(Algorithm):
            for state in (start, position):
                self.search(
                    state,
                    depth=1,
                    algorithm=algorithm,
                    evaluation="outlook",
                    weights=weights,
                    limit=SearchLimit(nodes=100),
                )
