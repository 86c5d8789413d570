"""A tournament under way: a plan played by bot processes through an arena of its own."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from arena.network.gate import Access
from arena.network.places import Bounds
from arena.processes.orders import Order
from arena.processes.process import BotCrashed, BotProcess, Crash
from arena.ratings.pairing import Pairing
from arena.server.arena import Arena
from arena.server.journal import Journal
from arena.store.archive import Archive
from arena.tournament.assigning import assigned
from arena.tournament.contestants import Contestant
from arena.tournament.door import FixedDoor
from arena.tournament.plan import Plan, place_of
from arena.tournament.sandbox import Surroundings
from arena.tournament.settling import InOrder, TellFirst
from protocol import launch
from protocol.close_codes import GOING_AWAY
from protocol.errors import ArenaFault
from protocol.reasons import DISCONNECTED, NO_SHOW
from referee.result import Result

HOST = "127.0.0.1"
HELLO_WITHIN = 180.0
"""Seconds that nothing happens for want of a bot before that bot is ended, as one that crashed.

They begin anew whenever a bot comes in, as bots warm up one after the other; a first compilation may take minutes.
"""
LOOK_AHEAD = 64
"""How many matches of the schedule are looked at for one whose bots are free."""
LEAVE_WITHIN = 2.0
"""Seconds that a bot has to leave by itself when the tournament is over."""
MOST_CRASHES = 3
"""After so many in a row, without a match finished in between, a bot is not started again."""

log = logging.getLogger("arena.tournament")


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
        surroundings: Surroundings,
        hello_within: float = HELLO_WITHIN,
        told: Callable[[Result], None] = lambda result: None,
        noted: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.plan = plan
        self._archive = archive
        self._data = data
        self._jobs = jobs
        self._surroundings = surroundings
        self._hello_within = hello_within
        self._told = told
        self._noted = noted
        self._arena: Arena
        self._under_way = 0
        self._news = asyncio.Event()
        self._failure: BaseException | None = None
        self._bots: dict[str, BotProcess] = {}
        self._restarts: set[asyncio.Task[None]] = set()

    async def play(self, played: Sequence[Result]) -> None:
        """Play what is missing beside `played`, the stored results in the order of the schedule.

        Raises `ArenaFault` when a bot can't go on, or a result can't be stored; what is stored stays.
        """
        results = list(played)
        tokens = {name: secrets.token_hex(32) for name in self.plan.names}
        in_order = InOrder(self._archive, map(place_of, results), self._fail)
        arena = Arena(
            self._archive,
            Journal(self._data / "journal"),
            FixedDoor(tokens),
            self.plan.clock,
            settle=TellFirst(in_order, lambda result: self._finished(result, results)),
            actions=assigned,
            freed=self._news.set,
            access=_access(len(tokens)),
        )
        played_out = False
        try:
            port = await arena.listen(HOST, 0)
            self._arena = arena
            await self._start_bots(port, tokens)
            while missing := self._missing(results):
                await self._play(missing)
            played_out = True
        finally:
            in_order.abandon()
            faults = await self._close(arena)
            if faults and played_out and self._failure is None:
                raise faults[0]
            for fault in faults:  # what is raised is why the tournament closes
                trace = None if isinstance(fault, ArenaFault) else fault
                log.error("the tournament did not close as it should: %s", fault, exc_info=trace)
        if self._failure is not None:
            raise self._failure

    def _missing(self, results: Sequence[Result]) -> list[Pairing]:
        done = set(map(place_of, results))
        return [match for match in self.plan.schedule(sorted(results, key=place_of)) if match.place not in done]

    async def _start_bots(self, port: int, tokens: dict[str, str]) -> None:
        for number, contestant in enumerate(self.plan.contestants):
            name = contestant.name
            order = self._order(contestant, number, port, tokens[name])
            bot = BotProcess(
                name, order, self.plan.log(self._data, name), self._crashed, partial(self._arena.take, address=name)
            )
            self._bots[name] = bot
            await bot.start()

    def _order(self, contestant: Contestant, number: int, port: int, token: str) -> Order:
        """How a bot is run: reference bots, which are the arena's own, outside the sandbox."""
        environment = {
            **self._surroundings.variables,
            launch.URL: f"ws://{HOST}:{port}",
            launch.TOKEN_FD: "0",
            launch.BOT: contestant.name,
            launch.GAME: self.plan.rules.name,
            launch.CONFIG: json.dumps(self.plan.rules.config),
            launch.SEED: self.plan.derive(f"bot/{contestant.name}").hex(),
            launch.ASSIGNED: "1",
        }
        if contestant.reference:  # an author's bot may keep one match in mind: how many it takes is its own affair
            environment[launch.SLOTS] = str(self._jobs)
        elif self._surroundings.sandbox is not None:
            return self._surroundings.sandbox.order(contestant, number, environment, token)
        return Order(command=contestant.command, environment=environment, token=token)

    async def _close(self, arena: Arena) -> list[BaseException]:
        """End the arena and every bot, whatever goes wrong with one of them: what did."""
        # Nobody would tell the bots that are not here that the arena goes away.
        patience = {name: LEAVE_WITHIN if arena.lobby.here(name) else 0.0 for name in self._bots}
        stopping = [bot.stop(patience[name]) for name, bot in self._bots.items()]
        ended = await asyncio.gather(arena.close(GOING_AWAY), *stopping, return_exceptions=True)
        return [fault for fault in ended if fault is not None]

    async def _play(self, missing: Iterable[Pairing]) -> None:
        """Play these pairings, as many at once as there are jobs, the next in the schedule whose bots are free."""
        waiting = deque(missing)
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
            if not self._arena.lobby.here(name):
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
            pool=self.plan.pool,
            tournament=self.plan.id,
            place=match.place,
        )
        self._under_way += 1
        self._arena.begin(header, seed)

    def _finished(self, result: Result, results: list[Result]) -> None:
        self._under_way -= 1
        results.append(result)
        for seat in result.seats:
            if seat.reason not in (DISCONNECTED, NO_SHOW):
                self._bots[seat.bot].played()
        self._told(result)
        self._news.set()

    def _crashed(self, bot: BotProcess, crash: Crash) -> None:
        """A process ended: its matches are lost at once, and it is started again, but not for ever."""
        if bot.crashes >= MOST_CRASHES or not self._arena.lobby.known(bot.name):
            self._fail(BotCrashed(str(crash)))
            return
        self._noted(str(crash))
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


def _access(bots: int) -> Access:
    """So many bots from this machine, each on a connection and maybe on the next one already; and who watches."""
    usual = Bounds()
    return Access(
        bounds=Bounds(
            connections=max(usual.connections, 4 * bots),
            per_address=max(usual.per_address, 2 * bots),
            waiting_per_address=max(usual.waiting_per_address, 2 * bots),
        )
    )
