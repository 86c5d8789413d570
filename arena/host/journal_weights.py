"""Measures the journals of running matches, and calls matches off when the journals exceed the disk quota."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping

from arena.host.quotas import Quotas
from arena.host.runner import MatchRunner

MEASURE_INTERVAL_S = 2.0
"""Seconds between two measurements of the sizes of all journals."""
MATCHES_PER_TURN = 256
"""Number of journals measured in one turn of the event loop."""


async def enforce_disk_quota(runners: Mapping[str, MatchRunner], quotas: Quotas) -> None:
    """Measure the journals periodically without end, and call matches off when the disk quota is exceeded."""
    while True:
        await asyncio.sleep(MEASURE_INTERVAL_S)
        sizes: defaultdict[str, float] = defaultdict(float)
        matches: defaultdict[str, list[MatchRunner]] = defaultdict(list)
        for number, runner in enumerate(list(runners.values()), 1):
            for address, part in quotas.split_bytes(runner.id, runner.journal_bytes, runner.info_bytes).items():
                sizes[address] += part
                if runner.is_expendable:
                    matches[address].append(runner)
            if number % MATCHES_PER_TURN == 0:
                await asyncio.sleep(0)
        quotas.stored.set_held(sizes)
        _call_off_matches(sizes, matches, quotas)


def _call_off_matches(sizes: dict[str, float], matches: dict[str, list[MatchRunner]], quotas: Quotas) -> None:
    """Call matches off until the journals fit into the disk quota. `sizes` are the bytes that each address holds."""
    stored = quotas.stored
    for runners in matches.values():
        runners.sort(key=lambda runner: runner.journal_bytes)
    while matches:
        address = max(matches, key=stored.taken_by)
        if stored.taken_by(address) <= stored.per_address and stored.taken <= stored.total:
            return
        runner = matches[address].pop()
        if not matches[address]:
            del matches[address]
        if runner.is_expendable:  # it may have been called off for another address
            for other, part in quotas.split_bytes(runner.id, runner.journal_bytes, runner.info_bytes).items():
                sizes[other] -= part
            runner.call_off(f"the matches of {address} have used their disk space for a day")
