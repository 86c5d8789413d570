"""Measure the simulations of `uct` and the turns of the bot `raider` per second, in Risk campaigns, with and without
numba.

`python benchmarks/playouts.py`
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Mapping
from typing import Any

from toolkit import run_plain

from bots.search import SearchLimit
from games.risk.rules.campaign import Campaign, Position
from games.risk.search.campaign_uct import CampaignUct
from games.risk.search.flat_campaign import make_campaign_state
from games.risk.search.flat_position import OVER
from games.risk.search.policies import RAID, RaidPolicy, play_turn
from machine.compiled import HAS_NUMBA
from protocol.dice import Dice

CONFIGS: Mapping[str, Mapping[str, Any]] = {
    "grid": {},
    "world, 2 seats": {"map": "world", "players": 2, "draft": "classic"},
    "world, 3 seats": {"preset": "world-3"},
    "world, 6 seats": {"preset": "world"},
}
"""The configs of the Risk campaigns to measure, by name."""
TURN_COUNTS = (0, 4, 12)
"""The numbers of turns after which positions are measured. The raider plays every seat in these turns."""
MIN_MEASURED_S = 1.0
"""Minimum seconds per measurement, in processor time, so that other load matters little."""
ROW_FORMAT = "{:<16}{:<14}{:>16}{:>9}{:>16}{:>9}"
"""The format of a row of the printed table."""


def main() -> None:
    if sys.argv[1:] == ["speeds"]:
        print(json.dumps(measure_all()))
        return
    slow = run_plain("speeds")
    print(ROW_FORMAT.format("campaign", "code", "simulations/s", "faster", "turns/s", "faster"))
    for name, (sims, turns) in slow.items():
        print(ROW_FORMAT.format(name, "plain Python", f"{sims:,.0f}", "1x", f"{turns:,.0f}", "1x"))
    if HAS_NUMBA:
        for name, (sims, turns) in measure_all().items():
            ratios = f"{sims / slow[name][0]:.0f}x", f"{turns / slow[name][1]:.0f}x"
            print(ROW_FORMAT.format(name, "numba", f"{sims:,.0f}", ratios[0], f"{turns:,.0f}", ratios[1]))


def measure_all() -> dict[str, tuple[float, float]]:
    return {name: measure_speeds(Campaign(config)) for name, config in CONFIGS.items()}


def measure_speeds(rules: Campaign) -> tuple[float, float]:
    kernel = CampaignUct(rules)
    kernel.warm_up()
    positions = [position_after(rules, turns) for turns in TURN_COUNTS]
    sims, rng, begin = 0, random.Random(1), time.process_time()
    while time.process_time() < begin + MIN_MEASURED_S:
        for position in positions:
            sims += kernel.search(position, below=rng.randrange, limit=SearchLimit(nodes=30)).nodes
    searched = sims / (time.process_time() - begin)
    player = RaidPolicy(rules)
    given = player.odds, player.weights, player.path, RAID
    play_turn(player.board, make_campaign_state(player.board, positions[0]), *given)  # compiles it
    turns, begin = 0, time.process_time()
    while time.process_time() < begin + MIN_MEASURED_S:
        for position in positions:
            state = make_campaign_state(player.board, position, seed=turns)
            for _ in range(10):
                if not state[OVER]:
                    play_turn(player.board, state, *given)
                    turns += 1
    return searched, turns / (time.process_time() - begin)


def position_after(rules: Campaign, turns: int) -> Position:
    """Return a position in the draft phase, always the same, after `turns` turns of raiders on every seat."""
    player, state = RaidPolicy(rules), rules.initial(Dice(bytes(32), 0))[0]
    while turns or state.phase == "attack":
        seat = state.seat
        state = rules.apply(state, player.choose_move(state), Dice(bytes(32), rules.ply(state)))[0]
        turns -= turns > 0 and state.seat != seat
    return state


if __name__ == "__main__":
    main()
