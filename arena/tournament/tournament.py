"""A local tournament: a schedule that follows from its seed, played by bot processes through an arena of its own.

Everything random is derived from the seed and the tournament's id, so the same arguments give the same matches, and a
tournament that was stopped goes on with what is missing.
"""

from __future__ import annotations

import asyncio
import hashlib
import heapq
import json
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from msgspec import Struct

from arena.ratings import pairing
from arena.ratings.pairing import Pairing
from arena.ratings.standings import points
from arena.referee.result import Ratings, Result
from arena.server.arena import GOING_AWAY, Arena
from arena.server.identity import FixedDoor
from arena.server.journal import Journal
from arena.store.archive import Archive
from arena.store.finishing import Finished
from arena.tournament.contestants import LEAVE_WITHIN, MOST_CRASHES, BotCrashed, BotProcess, Contestant
from protocol.dice import Dice
from protocol.errors import ArenaFault
from protocol.games import load
from protocol.games.base import Game
from protocol.messages import Clock

HOST = "127.0.0.1"
HELLO_WITHIN = 180.0
"""Seconds that nothing happens for want of a bot before that bot is ended, as one that crashed.

They begin anew whenever a bot comes in, as bots warm up one after the other; a first compilation may take minutes.
"""
LOOK_AHEAD = 64
"""How many matches of the schedule are looked at for one whose bots are free."""


class Plan(Struct, frozen=True, kw_only=True):
    """What is to be played. `id` and `seed` determine every match, seat, die and nonce."""

    id: str
    seed: str
    contestants: tuple[Contestant, ...]
    rules: Game[Any, Any]
    format: str
    rounds: int
    paired: bool
    clock: Clock

    def derive(self, what: str) -> bytes:
        """32 bytes that follow from the seed, the tournament and their purpose."""
        return hashlib.sha256(f"{self.seed}/{self.id}/{what}".encode()).digest()

    @property
    def names(self) -> list[str]:
        """The bots, in the order of the command line."""
        return [contestant.name for contestant in self.contestants]

    @property
    def rated(self) -> bool:
        """Whether the matches are: where they play a preset, however it is dealt."""
        return self.rules.preset is not None

    def log(self, data: Path, bot: str) -> Path:
        """Where in the data folder a bot's standard output and error go."""
        return data / "tournaments" / self.id / f"{bot}.log"

    def schedule(self, played: Sequence[Result]) -> list[Pairing]:
        """Every pairing that is known now: all of them, but only the next round of a swiss tournament."""
        chance = Random(self.derive("schedule"))
        if self.format == "swiss":
            return self._swiss(played)
        everyone = pairing.round_robin if self.format == "round-robin" else pairing.gauntlet
        return everyone(self.names, self.rounds, chance, seats=self.rules.seats, paired=self.paired)

    def _swiss(self, played: Sequence[Result]) -> list[Pairing]:
        """Round after round from the results so far, up to the first that is not finished."""
        pairings: list[Pairing] = []
        for number in range(self.rounds):
            done = [result for result in played if _place(result) < len(pairings)]
            if len(done) < len(pairings):
                break
            scores = dict.fromkeys(self.names, 0.0)
            for result in done:
                for seat, score in zip(result.seats, points(result), strict=True):
                    scores[seat.bot] += score
            for bot, count in pairing.byes(self.names, pairings).items():
                scores[bot] += count * (2 if self.paired else 1)
            chance = Random(self.derive(f"swiss/{number}"))
            pairings += pairing.swiss(self.names, pairings, scores, chance, paired=self.paired)
        return pairings

    @property
    def count(self) -> int:
        """How many matches there will be in all."""
        seats = self.rules.seats
        return pairing.count(self.format, len(self.contestants), self.rounds, seats=seats, paired=self.paired)

    def game_of(self, match: Pairing) -> Game[Any, Any]:
        """The game of a pairing: with `paired`, both seat orders start from the same deal."""
        if not self.paired:
            return self.rules
        return load(self.rules.name, self.rules.dealt(Dice(self.derive(f"start/{match.start}"), 0)))


class InOrder:
    """Hands finished matches to the archive in the order of the schedule, whatever finished first.

    `stored` are the places that need no more. After a match that could not be stored, of which `failed` is told,
    nothing is handed on.
    """

    def __init__(self, archive: Archive, stored: Iterable[int], failed: Callable[[BaseException], None]) -> None:
        self._archive = archive
        self._stored = set(stored)
        self._failed = failed
        self._broken = False
        self._next = 0
        self._early: list[tuple[int, Finished, asyncio.Future[Ratings | None]]] = []

    def __call__(self, finished: Finished) -> asyncio.Future[Ratings | None]:
        """Store `finished` when every match before it is stored."""
        place = finished.result.place
        assert place is not None
        future: asyncio.Future[Ratings | None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._early, (place, finished, future))
        while not self._broken and self._early and self._early[0][0] == self._due():
            _, ready, promised = heapq.heappop(self._early)
            self._next += 1
            self._archive.finish(ready).add_done_callback(partial(self._hand_on, promised))
        return future

    def _due(self) -> int:
        while self._next in self._stored:
            self._next += 1
        return self._next

    def _hand_on(self, to: asyncio.Future[Ratings | None], stored: asyncio.Future[Ratings | None]) -> None:
        fault = None if stored.cancelled() else stored.exception()
        if fault is not None:
            self._broken = True
            self._failed(fault)
        if to.done() or stored.cancelled():
            return
        if fault is None:
            to.set_result(stored.result())
        else:
            to.set_exception(fault)

    def abandon(self) -> None:
        """Forget what still waits for a match before it: it will be played again."""
        for _, _, future in self._early:
            future.cancel()


class Tournament:
    """Plays a plan in an arena of its own. `told(result)` follows the matches, `noted(text)` what else happens.

    Where nothing goes on because of a bot that is not here for `hello_within` seconds, that bot is ended.
    """

    def __init__(
        self,
        plan: Plan,
        archive: Archive,
        data: Path,
        jobs: int,
        *,
        hello_within: float = HELLO_WITHIN,
        told: Callable[[Result], None] = lambda result: None,
        noted: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.plan = plan
        self._archive = archive
        self._data = data
        self._jobs = jobs
        self._hello_within = hello_within
        self._told = told
        self._noted = noted
        self._news = asyncio.Event()
        self._failure: BaseException | None = None
        self._bots: dict[str, BotProcess] = {}
        self._restarts: set[asyncio.Task[None]] = set()

    async def play(self, played: Sequence[Result]) -> None:
        """Play what is missing beside `played`, the stored results in the order of the schedule.

        Raises `ArenaFault` when a bot can't go on, or a result can't be stored; what is stored stays.
        """
        results = list(played)
        tokens = {name: self.plan.derive(f"token/{name}").hex() for name in self.plan.names}
        in_order = InOrder(self._archive, map(_place, results), self._fail)
        arena = Arena(
            self._archive,
            Journal(self._data / "journal"),
            FixedDoor(tokens),
            self.plan.clock,
            settle=in_order,
            end_first=True,
            assigned=True,
        )
        arena.changed = self._news.set
        arena.finished = lambda result: self._finished(result, results)
        try:
            port = await arena.listen(HOST, 0)
            self._arena = arena
            await self._start_bots(port, tokens)
            while missing := self._missing(results):
                await self._play(missing)
        finally:
            in_order.abandon()
            here = arena.lobby.sessions.keys()  # nobody would tell the others that the arena goes away
            patience = {name: LEAVE_WITHIN if name.lower() in here else 0.0 for name in self._bots}
            stopping = [asyncio.create_task(bot.stop(patience[name])) for name, bot in self._bots.items()]
            await arena.close(GOING_AWAY)
            if stopping:
                await asyncio.wait(stopping)
        if self._failure is not None:
            raise self._failure

    def _missing(self, results: Sequence[Result]) -> list[Pairing]:
        done = set(map(_place, results))
        return [match for match in self.plan.schedule(sorted(results, key=_place)) if match.place not in done]

    async def _start_bots(self, port: int, tokens: dict[str, str]) -> None:
        for contestant in self.plan.contestants:
            environment = {
                "ARENA_URL": f"ws://{HOST}:{port}",
                "ARENA_TOKEN": tokens[contestant.name],
                "ARENA_BOT": contestant.name,
                "ARENA_GAME": self.plan.rules.name,
                "ARENA_CONFIG": json.dumps(self.plan.rules.config),
                "ARENA_SEED": self.plan.derive(f"bot/{contestant.name}").hex(),
                "ARENA_ASSIGNED": "1",
            }
            if contestant.reference:  # an author's bot may keep one match in mind: how many it takes is its own affair
                environment["ARENA_SLOTS"] = str(self._jobs)
            log = self.plan.log(self._data, contestant.name)
            bot = BotProcess(contestant, environment, log, self._crashed)
            self._bots[contestant.name] = bot
            await bot.start()

    async def _play(self, missing: Iterable[Pairing]) -> None:
        """Play these pairings, as many at once as there are jobs, the next in the schedule whose bots are free."""
        waiting = deque(missing)
        self._under_way = 0
        while waiting or self._under_way:
            if self._failure is not None:
                raise self._failure
            self._news.clear()
            self._begin_some(waiting)
            try:
                async with asyncio.timeout(None if self._under_way else self._hello_within):
                    await self._news.wait()
            except TimeoutError:
                self._end_absent()

    def _end_absent(self) -> None:
        """Nothing goes on: end the bots that are not here, although their processes run."""
        for name, bot in self._bots.items():
            if name.lower() not in self._arena.lobby.sessions:
                bot.end(f"said no hello within {self._hello_within:g} s and was ended")

    def _begin_some(self, waiting: deque[Pairing]) -> None:
        ahead = [waiting.popleft() for _ in range(min(LOOK_AHEAD, len(waiting)))]
        later = []
        for match in ahead:
            free = self._under_way < self._jobs and all(self._arena.lobby.free_slots(bot) > 0 for bot in match.seats)
            if free:
                self._begin(match)
            else:
                later.append(match)
        waiting.extendleft(reversed(later))

    def _begin(self, match: Pairing) -> None:
        game = self.plan.game_of(match)
        seed = self.plan.derive(f"dice/{match.place}")
        header = self._arena.header(
            f"{self.plan.id}-{match.place:05d}",
            game,
            match.seats,
            seed,
            rated=self.plan.rated,
            tournament=self.plan.id,
            place=match.place,
        )
        self._under_way += 1
        self._arena.begin(header, seed)

    def _finished(self, result: Result, results: list[Result]) -> None:
        self._under_way -= 1
        results.append(result)
        for seat in result.seats:
            if seat.reason not in ("disconnected", "no_show"):
                self._bots[seat.bot].crashes = 0
        self._told(result)
        self._news.set()

    def _crashed(self, bot: BotProcess, what: str) -> None:
        """A process ended: its matches are lost at once, and it is started again, but not for ever."""
        if bot.crashes >= MOST_CRASHES or not self._arena.lobby.known(bot.name):
            self._fail(BotCrashed(what))
            return
        self._noted(what)
        self._arena.lobby.forfeit(bot.name)
        task = asyncio.create_task(self._restart(bot))
        self._restarts.add(task)
        task.add_done_callback(self._restarts.discard)

    async def _restart(self, bot: BotProcess) -> None:
        try:
            await bot.start()
        except ArenaFault as fault:
            self._fail(fault)

    def _fail(self, fault: BaseException) -> None:
        """The tournament can't go on."""
        self._failure = self._failure or fault
        self._news.set()


def _place(result: Result) -> int:
    return -1 if result.place is None else result.place
