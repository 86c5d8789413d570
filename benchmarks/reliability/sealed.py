"""Can a seat tell by the time of an answer whether its opponent has moved in a round that is not over?

One seat of a dilemma asks the server something in each round, after a moment in which the other has moved or has not,
as a coin says. The two sets of answering times are compared by the rank-sum test (Mann and Whitney, 1947).

Usage: python benchmarks/reliability/sealed.py [--rounds 4000] [--wait 0.003] [--seed 1] [--small]
Exit status 1 if the test would happen by chance less than once in a thousand times.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import random
import statistics
import sys
import time
from collections.abc import Sequence

from rig import Raw, Server, small_or_asked, tell_broken

MOST = 3.29
"""Standard deviations; more is once in a thousand times."""


async def asked(raw: Raw, question: str) -> float:
    """Seconds that an answer takes."""
    began = time.perf_counter()
    raw.send(type="unseek", id=question)
    await raw.receive("unseeked")
    return time.perf_counter() - began


async def measure(server: Server, rounds: int, wait: float, chance: random.Random) -> dict[bool, list[float]]:
    """Answering times to one seat, where the other has moved and where it has not."""
    one, other = await Raw.enter(server.port, "one"), await Raw.enter(server.port, "other", source="127.0.0.2")
    for raw in (one, other):
        raw.send(type="seek", id="s", game="dilemma", config={"rounds": rounds}, rated=False)
    for raw in (one, other):
        start = await raw.receive("start")
        raw.send(type="ready", match=start["match"])
    taken: dict[bool, list[float]] = {True: [], False: []}
    for ply in range(rounds):
        for raw in (one, other):
            await raw.receive("turn")
        move = {"type": "move", "match": start["match"], "ply": ply, "move": {"choose": 0}}
        first = chance.random() < 0.5
        if first:
            other.send(**move)
        await asyncio.sleep(wait)
        taken[first].append(await asked(one, str(ply)))
        if not first:
            other.send(**move)
        one.send(**move)
    return taken


def rank_sum(one: Sequence[float], two: Sequence[float]) -> float:
    """How many standard deviations the ranks of one sample lie above what they would be, were both of one kind."""
    ranked = sorted([(value, True) for value in one] + [(value, False) for value in two])
    ranks = sum(rank for rank, (_, of_one) in enumerate(ranked, 1) if of_one)
    expected = len(one) * (len(ranked) + 1) / 2
    return (ranks - expected) / math.sqrt(expected * len(two) / 6)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=4000)
    parser.add_argument("--wait", type=float, default=0.003, help="seconds between the move and the question")
    parser.add_argument("--seed", type=int, default=1)
    options = small_or_asked(parser, rounds=200)
    with Server("--clock", "600+1") as server:
        taken = asyncio.run(measure(server, options.rounds, options.wait, random.Random(options.seed)))
    for moved, times in taken.items():
        quarters = statistics.quantiles(times, n=4)
        says = ", ".join(f"{1e6 * quarter:.0f}" for quarter in quarters)
        print(f"{len(times)} answers where the other has {'' if moved else 'not '}moved, quartiles: {says} µs")
    deviations = rank_sum(taken[True], taken[False])
    print(f"rank-sum test: {deviations:+.2f} standard deviations")
    broken = ["an answer's time tells whether the other has moved"] if abs(deviations) > MOST else []
    sys.exit(tell_broken(broken, "the times tell nothing"))


if __name__ == "__main__":
    main()
