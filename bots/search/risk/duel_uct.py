"""Monte Carlo tree search of bounded Risk: positions and actions of the rules outside, flat arrays within."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, ClassVar

from bots.evaluation.base import EQUAL
from bots.search.base import Found, Limit, opinion
from bots.search.risk import duel_sampling as flat
from bots.search.risk.duel_expectiminimax import BORDERS, CODES, SOURCES, duel_board
from bots.search.risk.field import seeded
from bots.search.risk.flat_position import FEATURES, INDEX, scale_values, state_of
from bots.search.risk.sampling import AT_ONCE, DECISION, LEAST, NODE, SEEDS, VISITS, favourite, in_portions, plant, room
from machine.compiled import FAST, floats, ints, zeros
from protocol.games.base import NO_DICE
from protocol.games.risk.duel import FREE, Action, Duel, Position
from protocol.messages import Event


class DuelUct:
    """Searches under one config; one at a time."""

    at_once: ClassVar[int] = AT_ONCE

    def __init__(self, rules: Duel) -> None:
        self.rules = rules
        self._values = duel_board(rules)
        self._board = ints(self._values)
        self._scale = floats([*scale_values(rules.map, EQUAL, opinion(rules), rules.max_troops), opinion(rules)])

    @cached_property
    def _room(self) -> tuple[Any, ...]:
        """Tree, totals, work and what `select` finds children by."""
        codes = self._values[CODES]
        return *room(), zeros(flat.LISTED + codes), zeros(2 * codes)

    def search(
        self, position: Position, *, events: Sequence[Event] = (), below: Callable[[int], int], limit: Limit
    ) -> Found[Action]:
        """The action most looked at within `limit`, whose nodes are simulations; the first where it allows none.

        Everybody is reckoned to play well, whatever `events` say. `below(n)` draws a number from 0 to n - 1.
        """
        if self.rules.to_move(position) is None:
            return Found(0.0, None, (), nodes=1, leaves=1, deepest=0, depth=0, complete=True)
        tree, totals, work, found = self._room
        plant(tree, work)
        work[flat.AT] = position.at
        root, luck = state_of(self._board, position, position.seat, FEATURES), ints(seeded(below(SEEDS)))
        given = self._board, root, ints(root), self._scale, luck
        before = limit.spent
        in_portions(lambda sims: flat.simulate(*given, tree, totals, work, found, sims), tree, limit)
        child, sims = favourite(tree, totals, 0), limit.spent - before
        if not child:
            move = self.rules.legal_moves(position)[0]
            return Found(0.0, move, (move,), nodes=1, leaves=0, deepest=0, depth=0, complete=False)
        value, action = (
            float(totals[child // NODE] / tree[child + VISITS]),
            self.action(position, int(tree[child + DECISION]) // 2),
        )
        return Found(value, action, (action,), nodes=sims, leaves=sims, deepest=1, depth=1, complete=False)

    def worth(self, position: Position, seat: int, sims: int, below: Callable[[int], int]) -> float:
        """The share of the wins of `seat` in so many simulations from an unfinished position, whoever is to move."""
        value = self.search(position, below=below, limit=Limit(nodes=sims)).value
        return value if position.seat == seat else 1.0 - value

    def action(self, position: Position, move: int) -> Action:
        """A move of the kernel as the rules have it."""
        values = self._values
        if move < values[BORDERS]:
            return Action("invade" if FREE in position.owner else "reinforce", values[move + INDEX])
        return Action("attack", values[values[move] + INDEX], values[values[move + values[SOURCES]] + INDEX])

    def warm_up(self) -> None:
        """Compile, or load from disk, all that a match needs; without numba nothing."""
        if FAST:
            self.search(self.rules.initial(NO_DICE)[0], below=lambda _: 0, limit=Limit(nodes=LEAST))
