"""Six bots, six seats: the campaign on the map of the world over the wire, as users start it."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from processes import run, serving


@pytest.mark.ci
async def test_six_bots_that_seek_the_campaign_play_it_and_its_record_verifies(tmp_path: Path) -> None:
    seek = ["--game", "risk-campaign", "--preset", "world", "--config", "max_rounds=2", "--matches", "1"]
    async with serving(tmp_path) as arena:
        command = ["arena-bot", "run", "random", "--url", arena.url, *seek]
        bots = [run(*command, "--name", f"bot{i}", folder=tmp_path) for i in range(6)]
        done = await asyncio.gather(*bots)
        assert [(code, err) for code, _, err in done] == [(0, "")] * 6
        results = [out.splitlines()[-1] for _, out, _ in done]
        assert sum(" won " in result or " shared first place in " in result for result in results) >= 1
        assert all(re.search(r"^bot\d: .* \S+ against (bot\d, ){4}bot\d \(round_limit\), unrated$", r) for r in results)
        code, out, _ = await run("arena", "replay", "verify", "--data", str(tmp_path), folder=tmp_path)
        assert (code, out) == (0, "1 record verified\n")
