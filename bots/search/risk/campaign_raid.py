"""The raider's moves: positions and moves of the rules outside, flat arrays within."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bots.search.risk.campaign_play import campaign_board
from bots.search.risk.field import NOWHERE, field_of
from bots.search.risk.odds import odds_table
from bots.search.risk.raiding import Raiding, advise
from bots.search.risk.sums import INDEX
from machine.compiled import FAST, floats, ints, zeros
from protocol.dice import Dice
from protocol.games.risk.campaign import Attack, Campaign, Draft, End, Move, Position


class CampaignRaid:
    """Plays under one config, with these weights."""

    def __init__(self, rules: Campaign, weights: Sequence[float] = Raiding()) -> None:
        self.rules = rules
        self.board = ints(campaign_board(rules))
        self.odds = odds_table(rules.battle == "dice")
        self.weights = floats(weights)
        self.path = zeros(2 * rules.max_attacks)
        """Room for `site_value`."""

    def move(self, position: Position) -> Move:
        """The raider's move in an unfinished position: no search and no chance, some microseconds."""
        return self.move_on(field_of(self.rules, position, 0))

    def move_on(self, field: Any) -> Move:
        """The same on a field."""
        return self.told(*map(int, advise(self.board, field, self.odds, self.weights, self.path)))

    def told(self, source: int, target: int, units: int) -> Move:
        """A move of the kernels as the rules have it."""
        if source == NOWHERE:
            return End()
        at = int(self.board[source + INDEX])
        return Draft(((at, units),)) if target == NOWHERE else Attack(int(self.board[target + INDEX]), at, units)

    def warm_up(self) -> None:
        """Compile, or load from disk, all that a match needs; without numba nothing."""
        if FAST:
            self.move(self.rules.initial(Dice(bytes(32), 0))[0])
