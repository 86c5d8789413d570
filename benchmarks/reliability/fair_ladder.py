"""Measure what attacks on the ladder gain over an honest bot of equal strength in the same conditions.

`--haste` divides the server's waiting times, for `ready` and in pauses. Scores are mu - 3 sigma, with the 95 % interval
of a mean over the rounds.
Usage: python benchmarks/reliability/fair_ladder.py [--rounds 10] [--seconds 20] [--haste 20] [--small]
Exit status 1 if an attack gained more than the honest bot, beyond the interval, or prevented a tenth of others'
matches; a small run is too short to judge the two attacks that depend on chance.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import json
import math
import operator
import secrets
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rig import WITHIN, Raw, Server, small_or_asked

HASTY = """
from arena import cli
from arena.network import rate_limits
from arena.server import playban
from functools import partial
from arena.commands import serve
from arena.host.timeouts import HostTimeouts
from referee.match import MatchTimeouts
ready = MatchTimeouts(ready_timeout_s=MatchTimeouts().ready_timeout_s / {haste})
serve.HostTimeouts = partial(HostTimeouts, match=ready)
rate_limits.FORGOTTEN_AFTER /= {haste}
for name in ("FIRST", "LONGEST", "LONGEST_OF_ADDRESS"):
    setattr(playban, name, getattr(playban, name) / {haste})
cli.main()
"""
PER_PAIR = 50
TROLLS = 6
HONEST = 8
PACE = 0.02
"""Seconds per move of the honest bots in the attack by trolls."""

Choose = Callable[[dict[str, Any]], dict[str, Any]]


@dataclass
class Player:
    """A bot that seeks one match after the other and counts rated and unrated ones."""

    raw: Raw
    name: str
    choose: Choose
    only_seat: int | None = None
    """The seat on which it plays; on the others it stays silent."""
    resigns: bool = False
    pace: float = 0.0
    haste: float = 1.0
    rated: int = 0
    unrated: int = 0
    score: float = 0.0
    reasons: list[str] = field(default_factory=list)

    @classmethod
    async def enter(
        cls, server: Server, name: str, choose: Choose, *, source: str = "127.0.0.1", **more: Any
    ) -> Player:
        return cls(await Raw.enter(server.port, name, source=source), name, choose, **more)

    async def play(self, preset: str, *, count: int | None = None, rated: bool = True) -> None:
        while count is None or len(self.reasons) < count:
            await self._match(preset, rated)

    async def _match(self, preset: str, rated: bool) -> None:
        self.raw.send(type="seek", id="s", game="nim", config={"preset": preset}, rated=rated)
        told = await self.raw.receive("start", "error")
        if told["type"] == "error":  # the bot may not seek yet
            await asyncio.sleep(1 / self.haste)
            return
        if self.resigns:
            self.raw.send(type="resign", match=told["match"])
        elif self.only_seat in (None, told["seat"]):
            self.raw.send(type="ready", match=told["match"])
        counts = told["rated"]
        while (told := await self.raw.receive("turn", "end"))["type"] == "turn":
            await asyncio.sleep(self.pace)
            self.raw.send(type="move", match=told["match"], ply=told["ply"], move=self.choose(told))
        self.reasons.append(told["reason"])
        mine = next(seat for seat in told["seats"] if seat["bot"] == self.name)
        self.score = mine["mu_after"] - 3 * mine["sigma_after"] if "mu_after" in mine else self.score
        self.rated += counts
        self.unrated += not counts


def perfect(turn: dict[str, Any]) -> dict[str, Any]:
    """Return the best move of nim. In the classic preset the first player can always win."""
    heaps = turn["state"]["heaps"]
    nimber = functools.reduce(operator.xor, heaps)
    for heap, size in enumerate(heaps):
        if nimber and size ^ nimber < size:
            return {"heap": heap, "take": size - (size ^ nimber)}
    return first(turn)


def first(turn: dict[str, Any]) -> dict[str, Any]:
    move: dict[str, Any] = turn["legal"][0]
    return move


def boards(server: Server) -> dict[str, set[str]]:
    command = [sys.executable, "-m", "arena", "leaderboard", "--json", "--data", str(server.data)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {board["pool"]: {row["bot"] for row in board["rows"]} for board in json.loads(said)}


async def king(server: Server, options: argparse.Namespace) -> bool:
    """Let puppets resign to a king on a preset without other players; a champion beats as many newcomers by playing."""
    others = [await Player.enter(server, f"other-{number}", perfect) for number in (0, 1)]
    await asyncio.gather(*(other.play("classic", count=4) for other in others))
    scores = []
    for name, preset, resigns in (("king", "sticks", True), ("champion", "min-nim", False)):
        best = await Player.enter(server, name, min_nim)
        playing = asyncio.create_task(best.play(preset, count=options.puppets))
        for number in range(options.puppets):
            weak = await Player.enter(server, f"{name}-{number}", worst, resigns=resigns)
            await asyncio.wait_for(weak.play(preset, count=1), WITHIN)
            weak.raw.close()
        await asyncio.wait_for(playing, WITHIN)
        scores.append(best.score)
    crowned, honest = scores
    places = [pool for pool, bots in boards(server).items() if "king" in bots]
    print(
        f"king of a preset nobody seeks   score {crowned:.2f}, in {', '.join(places)} alone; "
        f"a champion by play {honest:.2f}"
    )
    return places == ["nim/sticks"] and crowned <= honest + 0.5


def min_nim(turn: dict[str, Any]) -> dict[str, Any]:
    """Return the best move if 1 to 3 may be taken."""
    heaps = turn["state"]["heaps"]
    nimber = functools.reduce(operator.xor, (size % 4 for size in heaps))
    for move in turn["legal"]:
        if nimber and (heaps[move["heap"]] - move["take"]) % 4 ^ heaps[move["heap"]] % 4 ^ nimber == 0:
            return dict(move)
    return first(turn)


def worst(turn: dict[str, Any]) -> dict[str, Any]:
    """Return a move that leaves the opponent a won position, if there is one."""
    heaps = turn["state"]["heaps"]
    nimber = functools.reduce(operator.xor, (size % 4 for size in heaps))
    for move in turn["legal"]:
        if (heaps[move["heap"]] - move["take"]) % 4 ^ heaps[move["heap"]] % 4 ^ nimber:
            return dict(move)
    return first(turn)


async def dodger(server: Server, options: argparse.Namespace) -> bool:
    """Let a perfect player meet an equal, and stay silent unless it begins: it wins all matches that it plays."""
    dodging: list[float] = []
    alike: list[float] = []
    for number in range(options.rounds):
        for only, gains in ((0, dodging), (None, alike)):
            names = [f"{'dodger' if only == 0 else 'equal'}-{number}", f"honest-{number}-{only}"]
            pair = [
                await Player.enter(server, name, perfect, only_seat=seat, haste=options.haste)
                for name, seat in zip(names, (only, None), strict=True)
            ]
            await asyncio.gather(*(player.play("classic", count=options.matches) for player in pair))
            for player in pair:
                player.raw.close()
            gains.append(pair[0].score - pair[1].score)
    (gain, error), (honest, spread) = mean(dodging), mean(alike)
    print(
        f"silent unless it begins         score {gain:+6.2f} ± {error:.2f} against an equal; "
        f"an honest bot {honest:+6.2f} ± {spread:.2f}"
    )
    return options.small or gain - honest <= math.hypot(error, spread)


async def pair(server: Server, options: argparse.Namespace) -> bool:
    """Let one of two bots resign to the other without end."""
    strong = await Player.enter(server, "forever", perfect)
    weak = await Player.enter(server, "again", first, resigns=True)
    scores = []
    for count in (PER_PAIR, 2 * PER_PAIR):
        await asyncio.gather(strong.play("classic", count=count), weak.play("classic", count=count))
        scores.append(strong.score)
    print(
        f"one pair for ever               {strong.rated} of {len(strong.reasons)} matches rated; "
        f"score {scores[0]:.2f} after {PER_PAIR}, {scores[1]:.2f} after {2 * PER_PAIR}"
    )
    return strong.rated == PER_PAIR and scores[0] == scores[1]


async def trolls(server: Server, options: argparse.Namespace) -> bool:
    """Let silent bots with 64 slots each seek the same matches as honest bots."""
    alone: list[int] = []
    beside: list[int] = []
    for number in range(options.rounds):
        for count, finished in ((0, alone), (TROLLS, beside)):
            finished.append(await _honest_matches(server, options, count, f"{number}-{count}"))
    shares = [1 - troubled / max(free, 1) for troubled, free in zip(beside, alone, strict=True)]
    lost, error = mean(shares)
    print(
        f"{TROLLS} silent trolls with 64 slots   {sum(beside)} matches of {HONEST} honest bots, {sum(alone)} without: "
        f"{lost:.1%} ± {error:.1%} lost"
    )
    return options.small or lost - error <= 0.1


async def _honest_matches(server: Server, options: argparse.Namespace, trolls: int, label: str) -> int:
    """Return how many matches honest bots play in the given time beside trolls that connected before them."""
    silent = [
        asyncio.create_task(_silent(server, f"troll-{label}-{number}", options.haste)) for number in range(trolls)
    ]
    honest = [await Player.enter(server, f"h-{label}-{number}", perfect, pace=PACE) for number in range(HONEST)]
    playing = [asyncio.create_task(player.play("classic", rated=False)) for player in honest]
    await asyncio.sleep(options.seconds)
    for task in (*playing, *silent):
        task.cancel()
    await asyncio.gather(*playing, *silent, return_exceptions=True)
    for player in honest:
        player.raw.close()
    return sum(reason == "win" for player in honest for reason in player.reasons) // 2


async def _silent(server: Server, name: str, haste: float) -> None:
    raw = await Raw.enter(server.port, name, source="127.0.0.2", slots=64)
    try:
        wanted = [str(number) for number in range(64)]
        while True:
            for seek in wanted:
                raw.send(type="seek", id=seek, game="nim", config={"preset": "classic"}, rated=False)
            wanted = []
            told = await raw.receive("end", "error")
            await asyncio.sleep(0.5 / haste)
            wanted = [told.get("ref") or secrets.token_hex(4)]
    finally:
        raw.close()


def mean(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and half of its 95 % interval."""
    if len(values) < 2:
        return values[0], math.inf
    return statistics.fmean(values), 1.96 * statistics.stdev(values) / math.sqrt(len(values))


def main() -> int:
    options = _options()
    Server.program = ("-c", HASTY.format(haste=options.haste))
    fair = []
    for attack in (king, dodger, pair, trolls):
        with Server("--registrations-per-hour", "100000", "--rated-per-pair", str(PER_PAIR)) as server:
            fair.append(asyncio.run(attack(server, options)))
    return 0 if all(fair) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--matches", type=int, default=12, help="of the silent bot in a round")
    parser.add_argument("--puppets", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--haste", type=float, default=20.0)
    return small_or_asked(parser, rounds=2, matches=4, puppets=5, seconds=1.0, haste=100.0)


if __name__ == "__main__":
    raise SystemExit(main())
