"""Measure the size of every page and how it loads in Chromium.

The program prints the compressed size of each page with everything that it loads, the first contentful paint and the
cumulative layout shift. The pages come from `arena web` with the matches of scripts/screenshots. Each page is loaded
with an empty cache.
Usage: python benchmarks/pages/paint.py [--rounds 5] [--small]
Exit status 1 if a page weighs more than 150 KiB.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from playwright.async_api import Browser

sys.path += [str(Path(__file__).parents[1] / folder) for folder in ("", "../tests", "../docs/screenshots")]

from take import fill
from toolkit import read_options

from arena.store.store import Store
from chromium import DESKTOP, PHONE, running, visit
from processes import showing

MAX_PAGE_KIB = 150
"""Maximum compressed size in KiB of a page with everything that it loads."""
MEASURE_SCRIPT = """new Promise((done) => {
  let shift = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) shift += entry.value;
  }).observe({ type: "layout-shift", buffered: true });
  const paint = performance.getEntriesByName("first-contentful-paint")[0];
  requestAnimationFrame(() => setTimeout(() => done([paint ? paint.startTime : 0, shift])));
})"""
"""The JavaScript program that measures a page after it has loaded."""


class Appearance(NamedTuple):
    """The measurements of a page: compressed KiB, milliseconds to the first paint, and cumulative layout shift."""

    weight: float
    paint: float
    shift: float


async def measure_page(browser: Browser, home: str, address: str, size: tuple[int, int]) -> Appearance:
    """Load a page in a fresh browser context and measure it."""
    async with visit(browser, home, size) as seen:
        page = await seen.context.new_page()
        network = await seen.context.new_cdp_session(page)
        await network.send("Network.enable")
        received: list[float] = []

        def loaded(told: dict[str, Any]) -> None:
            received.append(told["encodedDataLength"])

        network.on("Network.loadingFinished", loaded)
        await page.goto(home + address, wait_until="networkidle")
        paint, shift = await page.evaluate(MEASURE_SCRIPT)
        return Appearance(sum(received) / 1024, paint, shift)


async def main(options: argparse.Namespace) -> int:
    heavy = False
    with tempfile.TemporaryDirectory() as folder:
        with closing(Store.open(Path(folder) / "arena.db")) as store:
            found = fill(store)
        addresses = [
            "/",
            "/leaderboard/nim/classic",
            "/bots/carl",
            "/matches",
            "/tournaments",
            "/play",
            "/connect",
            "/wall",
            "/api",
            "/download",
            "/docs",
            "/docs/writing-a-bot",
        ]
        addresses += [
            f"/tournaments/{found['tournament']}",
            *(f"/matches/{found[kind]}" for kind in ("nim", "campaign")),
        ]
        async with showing(Path(folder)) as home, running() as browser:
            print(f"{'page':34} {'KiB':>7} {'paint':>8} {'shift':>7} {'paint':>8} {'shift':>7}   (desktop, phone)")
            for address in addresses:
                seen = {
                    size: [await measure_page(browser, home, address, size) for _ in range(options.rounds)]
                    for size in (DESKTOP, PHONE)
                }
                weight = max(one.weight for each in seen.values() for one in each)
                told = " ".join(
                    f"{statistics.median(one.paint for one in each):5.0f} ms {max(one.shift for one in each):7.3f}"
                    for each in seen.values()
                )
                print(f"{address:34} {weight:7.1f} {told}")
                heavy = heavy or weight > MAX_PAGE_KIB
    if heavy:
        print(f"broken: a page weighs more than {MAX_PAGE_KIB} KiB")
    return int(heavy)


if __name__ == "__main__":
    sys.exit(asyncio.run(main(read_options(__doc__, {"rounds": 1}, rounds=5))))
