"""Measure how long the costliest legal request of each kind blocks the event loop, in processor time, for every game.

Clients in another thread send requests to a server in this process. The cost of a request is its longest callback, in
the fastest of several runs. The cost of `deal` is extrapolated from the mean to the longest of 10⁹ deals.
Usage: python benchmarks/reliability/costs.py [--runs 2] [--games nim,grundy] [--small]
Exit status 1 if a request blocks the loop for more than ten times the limit of 5 ms, which a slow machine alone does
not explain.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import logging
import math
import os
import queue
import random
import re
import signal
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rig import RawConnection
from toolkit import read_options

from arena.commands.listening import bind_ports
from arena.commands.serve import serve
from arena.commands.settings import ServerSettings
from games.risk.rules.board import MAX_BORDERS, MAX_TERRITORIES
from protocol.dice import Dice
from protocol.games import game_names, load_game

LIMIT_MS = 5.0
"""Milliseconds for which a request may block the event loop."""
RUN_TIMEOUT_S = 300.0
"""Maximum seconds of a run of all cases."""
KINDS = ("hello", "seek", "unseek", "start", "ready", "deal", "move", "strike", "back", "watch", "end")
"""The kinds of requests to measure."""
SLOTS = 64
"""Number of matches that a bot plays at a time in `Run.play_many`."""
TAIL_FACTOR = -math.log(1e-9)
"""The factor by which the slowest of 10⁹ deals takes longer than the mean deal, if a deal is drawn again until it is
valid.
"""

Message = dict[str, Any]
ChooseMove = Callable[[Message, random.Random], Any]


class CostCase(NamedTuple):
    """A match with costly requests: its game and config, how moves are chosen, and for how many plies it is played."""

    game: str
    config: Mapping[str, Any]
    choose: ChooseMove
    plies: int


def movers(turn: Message) -> list[int]:
    to_move = turn["to_move"]
    return [to_move] if isinstance(to_move, int) else to_move


def choose_any(turn: Message, rng: random.Random) -> Any:
    return rng.choice(turn["legal"])


def choose_halves(turn: Message, rng: random.Random) -> Any:
    """Return a move of Grundy's game that splits a heap near its middle, which leaves the most legal moves."""
    return turn["legal"][len(turn["legal"]) // 2]


def choose_hoarding(turn: Message, rng: random.Random) -> Any:
    """Return a move of a campaign that gathers all units on one border, for a large battle in the last round."""
    state, seat = turn["state"], turn["to_move"]
    at = state["owner"].index(seat)
    if state["phase"] == "draft":
        return {"do": "draft", "units": [[at, state["units"]]]}
    attacks = [move for move in turn["legal"] if move["do"] == "attack"]
    greatest = max(attacks, key=lambda move: move["units"], default={"units": 0})
    return greatest if greatest["units"] > 5_050 else {"do": "end"}


def make_largest_map() -> Message:
    """Return a map of Risk with the maximum numbers of territories, continents and borders."""
    territories = [{"name": f"{i:02}", "continent": i, "x": i % 101, "y": i % 101} for i in range(MAX_TERRITORIES)]
    borders = [[i, i + far] for far in range(1, MAX_TERRITORIES) for i in range(MAX_TERRITORIES - far)][:MAX_BORDERS]
    continents = [{"name": f"c{i}", "bonus": 1} for i in range(MAX_TERRITORIES)]
    return {"name": "large", "territories": territories, "continents": continents, "borders": borders}


def make_cases(*, small: bool) -> list[CostCase]:
    """Return the cases to measure: the most costly configs of every game."""
    large = {"map": make_largest_map()}
    plies = 10 if small else 200
    armies = {**large, "initial_units": 85, "max_rounds": 20, "max_attacks": 20}
    dealt = {"take": list(range(100, 116)), "start": "p-position", "misere": True}
    return [
        CostCase("nim", {"heaps": [1000, 1000]}, choose_any, plies),
        CostCase("nim", {"heaps": [31] * 64, "take": list(range(1, 17))}, choose_any, plies),
        CostCase("nim", {"heaps": [250, 250], "start": "p-position"}, choose_any, plies),
        CostCase("nim", {"heaps": [1000, *range(1, 44)], **dealt}, choose_any, plies),
        CostCase("grundy", {"heaps": [200] * 16}, choose_halves, 2 * plies),
        CostCase("tictactoe", {}, choose_any, plies),
        CostCase("risk-duel", {**large, "max_troops": 100, "max_plies": 10_000}, choose_any, 2 * plies),
        CostCase("risk-campaign", {**large, "max_rounds": 104}, choose_hoarding, 8 if small else 480),
        CostCase("risk-campaign", {**armies, "players": 2}, choose_any, plies),
        CostCase("risk-campaign", {**armies, "players": 6}, choose_any, plies),
        CostCase("dilemma", {"payoffs": [[[0, 0]] * 5] * 5, "rounds": 10_000, "noise": "0.5"}, choose_any, plies),
        CostCase("kuhn", {"hands": 10_000}, choose_any, plies),
        CostCase("leduc", {"hands": 10_000}, choose_any, plies),
    ]


class Meter:
    """A meter of the longest callback of this thread's event loop, in seconds of processor time."""

    def __init__(self) -> None:
        self.longest = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        thread, run = threading.get_ident(), asyncio.Handle._run

        def timed(handle: Any) -> None:
            began = time.thread_time()
            run(handle)
            if threading.get_ident() == thread:
                self._loop = handle._loop
                self.longest = max(self.longest, time.thread_time() - began)

        asyncio.Handle._run = timed  # type: ignore[assignment, method-assign]

    async def settle(self) -> None:
        """Wait until the measured event loop has run a few more iterations."""
        assert self._loop is not None
        for _ in range(5):
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(asyncio.sleep(0), self._loop))


class Run:
    """A run of all cases. For each (kind of request, game), `longest` is the longest time in milliseconds for which a
    callback blocked the server's event loop.
    """

    def __init__(self, port: int, meter: Meter, number: int) -> None:
        self.longest: dict[tuple[str, str], float] = {}
        self._port, self._meter, self._number = port, meter, number
        self._names = self._entered = 0

    async def enter(self, *name: str, **more: Any) -> RawConnection:
        self._entered += 1  # each from its own address, as requests from one address are throttled
        source = f"127.{self._number}.{self._entered // 250}.{1 + self._entered % 250}"
        return await RawConnection.enter(self._port, *name, source=source, **more)

    def make_name(self) -> str:
        """Return a name that no bot of the run has."""
        self._names += 1
        return f"bot-{self._number}-{self._names}"

    @contextlib.asynccontextmanager
    async def measure(self, kind: str, game: str) -> AsyncIterator[None]:
        """Measure the server's longest callback while it handles the requests that are made in the `with` block."""
        self._meter.longest = 0.0
        yield
        await self._meter.settle()
        took = 1000 * self._meter.longest
        self.longest[kind, game] = max(took, self.longest.get((kind, game), 0.0))

    async def play(self, case: CostCase) -> None:
        """Play one match of a case, and measure every kind of request in it."""
        game, chance = case.game, random.Random(1)
        rules = load_game(game, case.config)
        names = [self.make_name() for _ in range(rules.seats)]
        async with self.measure("hello", game):
            bots = [await self.enter(name, follow=True) for name in names]
        seek = {"type": "seek", "id": "s", "game": game, "config": case.config, "rated": False}
        async with self.measure("seek", game):
            bots[0].send(**seek)
            bots[0].send(type="unseek", id="none")
            await bots[0].receive("unseeked")
        async with self.measure("unseek", game):
            bots[0].send(type="unseek", id="s")
            await bots[0].receive("unseeked")
        async with self.measure("start", game):
            for bot in bots:
                bot.send(**seek)
            starts = [await bot.receive("start") for bot in bots]
        match = starts[0]["match"]
        seats = dict(sorted((start["seat"], bot) for start, bot in zip(starts, bots, strict=True)))
        async with self.measure("ready", game):
            for bot in bots:
                bot.send(type="ready", match=match, nonce="00" * 16)
            turn = await self._receive_next(seats)
        async with self.measure("move", game):
            turn = await self._play_moves(case, seats, turn, chance)
        if turn["type"] == "turn":
            await self._make_other_requests(case, seats, turn)
        for bot in seats.values():
            bot.close()

    async def _play_moves(
        self, case: CostCase, seats: dict[int, RawConnection], turn: Message, chance: random.Random
    ) -> Message:
        """Play up to `case.plies` plies of a match. Return the next `turn`, or the `end` of the match."""
        for _ in range(case.plies):
            for seat in movers(turn):
                move = case.choose(turn, chance)
                seats[seat].send(type="move", match=turn["match"], ply=turn["ply"], move=move)
            turn = await self._receive_next(seats)
            if turn["type"] == "end":
                break
        return turn

    async def _receive_next(self, seats: dict[int, RawConnection]) -> Message:
        """Receive the next message on all seats, and return one of them. That is the message of the first seat that is
        to move or, at the end of the match, the message of the first seat.
        """
        told = await asyncio.gather(*(bot.receive("turn", "end") for bot in seats.values()))
        return told[0] if told[0]["type"] == "end" else told[list(seats).index(movers(told[0])[0])]

    async def _make_other_requests(self, case: CostCase, seats: dict[int, RawConnection], turn: Message) -> None:
        """Measure the requests besides moves: strikes, watching, reconnecting, and resigning the match."""
        game, match, seat = case.game, turn["match"], movers(turn)[0]
        async with self.measure("strike", game):
            wrong: tuple[Any, ...] = ({"do": "attack", "from": 0, "to": 99, "units": 1}, [[[]] * 1000] * 15)
            for move in wrong:
                seats[seat].send(type="move", match=match, ply=turn["ply"], move=move)
                await seats[seat].receive("rejected")
        watcher = await self.enter()
        async with self.measure("watch", game):
            watcher.send(type="watch", match=match)
            await watcher.receive("turn")
        watcher.close()
        async with self.measure("back", game):
            name = seats[seat].welcome["bot"]
            seats[seat] = await self.enter(name)
            await seats[seat].receive("turn")
        async with self.measure("end", game):
            for bot in seats.values():
                bot.send(type="resign", match=match)
            for bot in seats.values():
                await bot.receive("end")

    async def play_many(self, case: CostCase) -> None:
        """Let a bot play as many matches at a time as it may, then reconnect it. Measure the cost of the reconnection,
        which returns it to all these matches.
        """
        names = [self.make_name() for _ in range(load_game(case.game, case.config).seats)]
        bots = [await self.enter(name, slots=SLOTS) for name in names]
        for number in range(SLOTS):
            for bot in bots:
                bot.send(type="seek", id=str(number), game=case.game, config=case.config, rated=False)
            for bot in bots:
                bot.send(type="ready", match=(await bot.receive("start"))["match"])
        async with self.measure("back", case.game):
            again = await self.enter(names[0], slots=SLOTS)
            for _ in range(SLOTS):
                await again.receive("start")
        for bot in (*bots, again):
            bot.close()


def deal_ms(case: CostCase) -> float:
    """Return the milliseconds of processor time that only one deal in 10⁹ exceeds, extrapolated from the mean."""
    rules, deals = load_game(case.game, case.config), 300
    began = time.thread_time()
    for number in range(deals):
        rules.initial(Dice(number.to_bytes(32, "big"), 0))
    return 1000 * TAIL_FACTOR * (time.thread_time() - began) / deals


async def run_all(port: int, meter: Meter, options: argparse.Namespace) -> dict[tuple[str, str], float]:
    """Return the milliseconds that each kind of request costs in each game: the minimum over several runs."""
    least: dict[tuple[str, str], float] = {}
    for number in range(options.runs):
        run = Run(port, meter, number)
        await run.enter(run.make_name())  # the first client of a server waits for what is imported then
        for case in make_cases(small=options.small):
            if case.game in options.games:
                await run.play(case)
                if case.config.get("start") == "p-position":
                    run.longest["deal", case.game] = max(deal_ms(case), run.longest.get(("deal", case.game), 0.0))
        for game in options.games[-1:] if options.small else options.games:
            await run.play_many(next(case for case in make_cases(small=True) if case.game == game))
        for key, took in run.longest.items():
            least[key] = min(took, least.get(key, math.inf))
    return least


def measure(options: argparse.Namespace) -> dict[tuple[str, str], float]:
    """Run the server in this thread while another thread makes the requests. Return the costs of the requests."""
    meter, ports, found = Meter(), queue.Queue[int](), dict[tuple[str, str], float]()

    class Ports(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if listening := re.search(r"listening on ws://\S+:(\d+)", record.getMessage()):
                ports.put(int(listening[1]))

    def client() -> None:
        try:
            found.update(
                asyncio.run(asyncio.wait_for(run_all(ports.get(), meter, options), RUN_TIMEOUT_S * options.runs))
            )
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    log = logging.getLogger("arena")
    log.setLevel(logging.INFO)
    log.addHandler(Ports())
    gc.disable()
    with tempfile.TemporaryDirectory() as data:
        asking = threading.Thread(target=client)
        asking.start()
        settings = ServerSettings(port=0, web=False, data=data)
        with bind_ports(settings) as taken:
            asyncio.run(serve(settings, Path(data), taken))
        asking.join()
    return found


def main() -> None:
    options = read_options(__doc__, {"runs": 1}, runs=2, games=list(game_names()))
    found = measure(options)
    if not found:
        raise SystemExit("costs: the clients failed, see above")
    print(f"{'ms of processor time':<22}" + "".join(f"{game:>15}" for game in options.games))
    for kind in KINDS:
        cells = (found.get((kind, game)) for game in options.games)
        print(f"{kind:<22}" + "".join(f"{'' if cell is None else f'{cell:.2f}':>15}" for cell in cells))
    kind, game = max(found, key=lambda key: found[key])
    print(f"limit {LIMIT_MS:g}; the longest: {kind} of {game}, {found[kind, game]:.2f}")
    raise SystemExit(found[kind, game] > 10 * LIMIT_MS)


if __name__ == "__main__":
    main()
