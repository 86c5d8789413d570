"""Monte Carlo tree search of the campaign: positions and moves of the rules outside, flat arrays within."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from bots.search.base import Found, Limit
from bots.search.risk import uct
from bots.search.risk.field import TURN, field_of
from bots.search.risk.opponent_model import CampaignRaid, OpponentModel
from bots.search.risk.raiding import Raiding
from bots.search.risk.sampling import AT_ONCE, DECISION, LEAST, NODE, SEEDS, VISITS, favourite, in_portions, plant, room
from machine.compiled import FAST, floats, ints, zeros
from protocol.dice import Dice
from protocol.games.risk.campaign import MOST_PLAYERS, Campaign, Move, Position
from protocol.messages import Event


class UctParams(NamedTuple):
    """How a search goes; for `floats`, as uct.py explains it."""

    exploration: float = 1.0
    temperature: float = 5.0
    floor: float = 0.02
    risk: float = 0.3
    horizon: float = 4.0
    army: float = 3.0
    income: float = 2.0
    tempo: float = 3.0
    inner: float = 0.5


BY_DRAFT = {"classic": UctParams(), "territories": UctParams(army=1.0, income=12.0, tempo=10.0)}
"""The manner under each of the rules for drafts: where every territory brings a unit, income decides."""


class CampaignUct:
    """Searches under one config; one at a time. What it watches it remembers: one is for one match."""

    at_once: ClassVar[int] = AT_ONCE

    def __init__(self, rules: Campaign, weights: Sequence[float] = Raiding(), manner: UctParams | None = None) -> None:
        self.rules = rules
        self.raid = CampaignRaid(rules, weights)
        self.habits = OpponentModel(self.raid)
        self._manner = floats(BY_DRAFT[rules.draft] if manner is None else manner)

    @cached_property
    def _room(self) -> tuple[Any, ...]:
        """Tree, totals, work, priors and what `select` finds children by."""
        decisions = 2 * len(self.raid.board)
        return *room(), zeros(uct.LISTED + decisions), zeros(decisions, float), zeros(decisions)

    def search(
        self, position: Position, *, events: Sequence[Event] = (), below: Callable[[int], int], limit: Limit
    ) -> Found[Move]:
        """The move most looked at within `limit`, whose nodes are simulations; the raider's where it allows none
        or nothing is to be chosen.

        From `events`, what happened since its last turn, it learns how the others play. `below(n)` draws a number from
        0 to n - 1.
        """
        raid = self.raid
        if self.rules.to_move(position) is None:
            return Found(0.0, None, (), nodes=1, leaves=1, deepest=0, depth=0, complete=True)
        root = field_of(self.rules, position, below(SEEDS))
        before = limit.spent
        if limit.left is None or limit.left >= LEAST:
            self.habits.watch(position, events)
            self._simulate(root, limit)
        if limit.spent - before < LEAST:
            move = raid.move_on(root)
            return Found(0.0, move, (move,), nodes=1, leaves=0, deepest=0, depth=0, complete=False)
        tree, totals, *_ = self._room
        child = favourite(tree, totals, 0)
        value = float(totals[child // NODE] / tree[child + VISITS])
        move = raid.told(*map(int, uct.move_of(raid.board, root, raid.odds, int(tree[child + DECISION]))))
        sims = limit.spent - before
        return Found(value, move, (move,), nodes=sims, leaves=sims, deepest=1, depth=1, complete=False)

    def _simulate(self, root: Any, limit: Limit) -> None:
        """Grow a tree within `limit`, where there is something to choose."""
        raid, (tree, _, work, priors, _) = self.raid, self._room
        plant(tree, work)
        known = raid.board, root, raid.odds, raid.weights, self._manner
        if uct.list_candidates(*known, work, priors, raid.path) == 1:
            return
        in_portions(self._simulation(root, int(root[TURN])), tree, limit)

    def _simulation(self, root: Any, seat: int) -> Callable[[int], float]:
        """Adds so many simulations from `root` to the tree; their wins of a seat, in all."""
        raid, (tree, totals, work, priors, found) = self.raid, self._room
        given = raid.board, root, ints(root), raid.odds, raid.weights, self._manner, self.habits.limits()
        arrays = tree, totals, work, priors, found, raid.path, zeros(MOST_PLAYERS, float)
        return lambda sims: float(uct.simulate(*given, *arrays, seat, sims))

    def worth(self, position: Position, seat: int, sims: int, below: Callable[[int], int]) -> float:
        """The share of the wins of `seat` in so many simulations from an unfinished position, whoever is to move."""
        root = field_of(self.rules, position, below(SEEDS))
        tree, _, work, *_ = self._room
        plant(tree, work)
        return self._simulation(root, seat)(sims) / sims

    def warm_up(self) -> None:
        """Compile, or load from disk, all that a match needs; without numba nothing."""
        if not FAST:
            return
        start, deal = self.rules.initial(Dice(bytes(32), 0))
        attacking, draft = self.rules.apply(start, self.rules.legal_moves(start)[0], Dice(bytes(32), 0))
        for position in (start, attacking):
            self.search(position, below=lambda _: 0, limit=Limit(nodes=LEAST))
        OpponentModel(self.raid).watch(attacking._replace(seat=1), [draft] if deal is None else [deal, draft])
