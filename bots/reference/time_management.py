"""What a move may cost: a share of the clock, never so much that the moves still to come could not be made in time."""

from __future__ import annotations

from bots.client.bot import Turn
from bots.search.base import Limit
from bots.search.kernels import Paced

MOVES_LEFT = 30
"""How many more moves share the clock."""
RESERVE = 0.6
"""Seconds that are kept for sending moves: enough for the 500 of a campaign, each made at once, on a busy machine."""
MOST_SECONDS = 0.1
"""A longer search wins nothing in the small games, and tournaments stay quick."""
MOST_SECONDS_OF_KERNELS = 1.0
AT_ONCE = 50
"""Nodes over the rules, about a millisecond where the reserve is whole, as a kernel's `at_once`; fewer as it dwindles.
"""


def purse(turn: Turn, *, nodes: int | None, bounded: bool = False, kernel: Paced | None = None) -> Limit:
    """`nodes` if given; nothing to watch where the search is `bounded` otherwise; else a share of what the clock holds
    above the reserve and half the increment, counted from when the turn came in.
    """
    if nodes is not None:
        return Limit(nodes=nodes)
    if bounded:
        return Limit()
    bank, increment = turn.clock_ms[turn.seat] / 1000, turn.increment_ms / 1000
    seconds = (bank - RESERVE) / MOVES_LEFT + min(increment, bank) / 2
    if seconds <= 0:
        at_once = AT_ONCE if kernel is None else kernel.at_once
        return Limit(nodes=max(1, int(at_once * bank / RESERVE)))
    most = MOST_SECONDS if kernel is None else MOST_SECONDS_OF_KERNELS
    return Limit(deadline=turn.received + min(seconds, most))
