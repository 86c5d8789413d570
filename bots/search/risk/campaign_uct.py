"""Monte Carlo tree search of the campaign: positions and moves of the rules outside, flat arrays within."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from bots.search.base import Found, Limit
from bots.search.risk import uct
from bots.search.risk.campaign_play import BORDERS, SOURCES
from bots.search.risk.campaign_raid import CampaignRaid
from bots.search.risk.field import DRAFTING, UNITS, field_of, place
from bots.search.risk.odds import enough
from bots.search.risk.raiding import Raiding, advise
from bots.search.risk.sums import INDEX
from machine.compiled import FAST, floats, ints, zeros
from protocol.dice import Dice
from protocol.games.risk.campaign import MOST_PLAYERS, Attack, Campaign, Draft, End, Move, Position

NODES = 2**18
"""That the tree has room for: as many everywhere, for the same moves on every machine. Further simulations add none."""
LEAST = 10
"""With fewer simulations to spend nothing is searched."""
PORTION = 0.004
"""Seconds of simulations between two looks at the clock."""
SEEDS = 2**31 - 1


class Manner(NamedTuple):
    """How a search goes; for `floats`, as uct.py explains it."""

    exploration: float = 1.0
    temperature: float = 5.0
    floor: float = 0.02
    risk: float = 0.3
    horizon: float = 0.0
    depth: float = 0.0
    income: float = 4.0
    inner: float = 0.5
    halves: float = 0.0


class CampaignUct:
    """Searches under one config; one at a time."""

    at_once: ClassVar[int] = 100 if FAST else 1

    def __init__(
        self, rules: Campaign, weights: Sequence[float] = Raiding(), manner: Sequence[float] = Manner()
    ) -> None:
        self.rules = rules
        self.raid = CampaignRaid(rules, weights)
        self._manner = floats(manner)

    @cached_property
    def _room(self) -> tuple[Any, ...]:
        """Tree, totals, work, priors and what `select` finds children by."""
        decisions = 2 * len(self.raid.board)
        tree, totals = zeros(uct.NODE * NODES), zeros(NODES, float)
        return tree, totals, zeros(uct.LISTED + decisions), zeros(decisions, float), zeros(decisions)

    def search(self, position: Position, *, below: Callable[[int], int], limit: Limit) -> Found[Move]:
        """The move most looked at within `limit`, whose nodes are simulations; the raider's where it allows none.

        `below(n)` draws a number from 0 to n - 1.
        """
        raid = self.raid
        if self.rules.to_move(position) is None:
            return Found(0.0, None, (), nodes=1, leaves=1, deepest=0, depth=0, complete=True)
        root = field_of(self.rules, position, below(SEEDS))
        before = limit.spent
        if limit.left is None or limit.left >= LEAST:
            self._simulate(root, limit)
        tree, totals, *_ = self._room
        child = self._favourite(0) if limit.spent > before else 0
        if not child:
            move = raid.move_on(root)
            return Found(0.0, move, (move,), nodes=1, leaves=0, deepest=0, depth=0, complete=False)
        value = float(totals[child // uct.NODE] / tree[child + uct.VISITS])
        move = self._move(root, child)
        sims = limit.spent - before
        return Found(value, move, (move,), nodes=sims, leaves=sims, deepest=1, depth=1, complete=False)

    def _simulate(self, root: Any, limit: Limit) -> None:
        """Grow a tree within `limit`, in portions where there is a deadline."""
        raid, (tree, totals, work, priors, found) = self.raid, self._room
        tree[uct.CHILD], work[0], work[1] = 0, uct.NODE, uct.NODE * (NODES - 1)
        field, shares = ints(root), zeros(MOST_PLAYERS, float)
        given = raid.board, root, field, raid.odds, raid.weights, self._manner
        room = tree, totals, work, priors, found, raid.path, shares
        portion = self.at_once
        while limit.left is None or limit.left > 0:
            if limit.deadline is None:
                portion = limit.left or portion
            elif limit.left is not None:
                portion = min(portion, limit.left)
            begin = time.monotonic()
            uct.simulate(*given, *room, portion)
            limit.charge(portion)
            if limit.deadline is not None:
                now = time.monotonic()
                if now >= limit.deadline:
                    break
                left = min(PORTION, limit.deadline - now)
                portion = max(1, min(4 * portion, int(portion * left / max(now - begin, 1e-6))))

    def _favourite(self, node: int) -> int:
        """The child most looked at, the better of equals; 0 where there is none."""
        tree, totals, *_ = self._room
        child, best, chosen = int(tree[node + uct.CHILD]), (0.0, 0.0), 0
        while child:
            visits = int(tree[child + uct.VISITS])
            if (visits, totals[child // uct.NODE] / visits) > best:
                best, chosen = (visits, totals[child // uct.NODE] / visits), child
            child = int(tree[child + uct.SIBLING])
        return chosen

    def _move(self, root: Any, child: int) -> Move:
        """What the decision of a root's child says; a draft goes on with the children after it."""
        raid, (tree, *_) = self.raid, self._room
        board, decision = raid.board, int(tree[child + uct.DECISION])
        if root[DRAFTING]:
            return self._draft(root, child)
        if decision == uct.END:
            return End()
        border = decision // 2
        source, to = board[board[SOURCES] + border - board[BORDERS]], board[border]
        units = int(root[source + 1]) - 1
        if decision % 2:
            units = int(enough(raid.odds, units, root[to + 1]))
        return Attack(int(board[to + INDEX]), int(board[source + INDEX]), units)

    def _draft(self, root: Any, child: int) -> Draft:
        """The draft that begins with a root's child: half by half, the last of it as the raider would."""
        raid, (tree, *_) = self.raid, self._room
        field, placed = ints(root), dict[int, int]()
        while field[DRAFTING]:
            if child:
                decision = int(tree[child + uct.DECISION])
                site, units = decision // 2, int(field[UNITS])
                if decision % 2:
                    units = (units + 1) // 2
                child = self._favourite(child)
            else:
                site, _, units = map(int, advise(raid.board, field, raid.odds, raid.weights, raid.path))
            place(field, site, units)
            at = int(raid.board[site + INDEX])
            placed[at] = placed.get(at, 0) + units
        return Draft(tuple(sorted(placed.items())))

    def warm_up(self) -> None:
        """Compile, or load from disk, all that a match needs; without numba nothing."""
        if not FAST:
            return
        start = self.rules.initial(Dice(bytes(32), 0))[0]
        attacking = self.rules.outcomes(start, self.rules.legal_moves(start)[0])[0][1]
        for position in (start, attacking):
            self.search(position, below=lambda _: 0, limit=Limit(nodes=self.at_once))
