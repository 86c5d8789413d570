"""Operator requests for unrated tournaments that the server plays among connected bots, beside its ladder."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from arena.operator.requests import Handler, Tell
from arena.operator.tournaments import (
    ListTournaments,
    StartTournament,
    StopTournament,
    TournamentStarted,
    TournamentStatus,
)
from arena.processes.bot_commands import check_names
from arena.ratings.tournament_pairing import Pairing
from arena.store.finish import StorableMatch
from arena.store.registry import registered_bot
from arena.store.result_queries import tournament_results
from arena.store.tournament_state import finish_tournament, is_finished, open_tournament, tournament_randomness
from arena.tournament.contestants import Contestant
from arena.tournament.plan import Plan, place_of
from arena.tournament.play_request import no_shows
from arena.tournament.schedule_limits import FORMATS, MOST_BESIDE, MOST_ROUNDS, at_once, check_size
from machine.arguments import read_clock
from protocol.digest import canonical
from protocol.display import among, shown
from protocol.errors import Fault, UsageFault
from protocol.games import load
from protocol.games.base import Game
from referee.record import Header
from referee.result import Result

if TYPE_CHECKING:
    from arena.server.arena import Arena

log = logging.getLogger("arena.tournaments")


@dataclass
class _Run:
    """A running tournament. `under_way` has the schedule places of its matches in progress."""

    plan: Plan
    wait: float
    under_way: set[int]
    task: asyncio.Task[None] | None = None
    fault: str | None = None

    @property
    def goes_on(self) -> bool:
        return self.task is not None and not self.task.done()


class Tournaments:
    """The tournaments of a server."""

    def __init__(self, arena: Arena) -> None:
        self._arena = arena
        self._runs: dict[str, _Run] = {}
        self._starting = asyncio.Lock()
        """Serializes starts, so that none is started twice."""

    async def start(self, request: StartTournament, tell: Tell) -> TournamentStarted:
        """Start or resume a tournament. Raises `UsageFault`."""
        async with self._starting:
            return await self._start(request)

    async def _start(self, request: StartTournament) -> TournamentStarted:
        store = self._arena.store
        rules = _checked(request)
        for bot in request.bots:
            if await store.read(registered_bot, bot) is None:
                raise UsageFault(f"there is no bot called {shown(bot)} on this server: `arena bot list` names them")
        arguments = _arguments(request, rules)
        chance = {name: arguments[name] for name in ("game", "config", "format", "paired")} | {"names": request.bots}
        tournament, seed = await store.write(open_tournament, _text(arguments), request.seed, _text(chance))
        run = self._runs.get(tournament)
        if run is not None and run.goes_on:
            raise UsageFault(f"the tournament {tournament} goes on already: look at it, or take another seed")
        stem, prefix = await store.read(tournament_randomness, tournament)
        plan = Plan(
            id=tournament,
            seed=seed,
            contestants=tuple(Contestant(bot, ()) for bot in request.bots),
            rules=rules,
            format=request.format,
            rounds=request.rounds,
            paired=request.paired,
            clock=read_clock(request.clock),
            stem=stem,
            prefix=prefix,
        )
        played = await store.read(tournament_results, tournament)
        if await store.read(is_finished, tournament):
            raise UsageFault(f"the tournament {tournament} was played to its end: another seed plays new matches")
        run = self._runs[tournament] = _Run(plan, request.wait_s, set())
        run.task = self._arena.background.begin(self._play(run, played))
        log.info("the tournament %s begins: %s", tournament, request.game)
        return TournamentStarted(tournament=tournament, played=len(played))

    async def stop(self, request: StopTournament, tell: Tell) -> None:
        """Stop a tournament. Raises `UsageFault` if it is not running."""
        run = self._runs.get(request.tournament)
        if run is None or run.task is None or not run.goes_on:
            raise UsageFault(f"no tournament {shown(request.tournament)} goes on here")
        run.task.cancel()
        await asyncio.wait((run.task,))
        del self._runs[request.tournament]

    async def list(self, request: ListTournaments, tell: Tell) -> Sequence[TournamentStatus]:
        """Return the running tournaments, and those that a fault ended."""
        return [
            TournamentStatus(tournament=name, under_way=len(run.under_way), fault=run.fault)
            for name, run in self._runs.items()
        ]

    async def _play(self, run: _Run, played: Sequence[Result]) -> None:
        plan, store = run.plan, self._arena.store
        try:
            while missing := await asyncio.to_thread(_missing, plan, played):
                async with asyncio.TaskGroup() as group:
                    pairings = iter(missing)
                    for _ in range(at_once(len(plan.contestants))):
                        group.create_task(self._play_some(run, pairings))
                played = await store.read(tournament_results, plan.id)
            await store.write(finish_tournament, plan.id)
            del self._runs[plan.id]
            log.info("the tournament %s is over", plan.id)
        except* Fault as faults:
            run.fault = str(faults.exceptions[0])
            log.error("the tournament %s does not go on: %s", plan.id, run.fault)
        except* Exception:
            run.fault = "it failed: the server's log says how"
            log.exception("the tournament %s failed", plan.id)

    async def _play_some(self, run: _Run, pairings: Iterable[Pairing]) -> None:
        """Play one match after another from the shared pairings until they are used up."""
        for pairing in pairings:
            run.under_way.add(pairing.place)
            try:
                await self._play_match(run, pairing)
            finally:
                run.under_way.discard(pairing.place)

    async def _play_match(self, run: _Run, pairing: Pairing) -> None:
        arena, plan = self._arena, run.plan
        planned, seed = plan.header_of(pairing, "", lambda bot: "")
        known = [await arena.store.read(registered_bot, bot) for bot in pairing.seats]
        wait = 0.0 if any(bot is None or bot.revoked for bot in known) else run.wait

        def made() -> tuple[Header, bytes]:
            header = arena.header(
                planned.match,
                plan.game_of(pairing),
                pairing.seats,
                seed,
                pool=None,
                clock=plan.clock,
                tournament=plan.id,
                place=pairing.place,
            )
            return header, seed

        closed = await arena.assigned.play(planned.match, plan.id, pairing.seats, made, wait)
        await arena.store.finish(StorableMatch(closed.result, closed.record, failures=no_shows(closed.result)))


def operations(arena: Arena) -> Iterator[Handler]:
    """Yield the handlers for tournaments."""
    tournaments = Tournaments(arena)
    yield Handler(StartTournament, tournaments.start)
    yield Handler(StopTournament, tournaments.stop)
    yield Handler(ListTournaments, tournaments.list)


def _checked(request: StartTournament) -> Game[Any, Any]:
    """Check a request and return its game. Raises `UsageFault`, and `BotFault` if the game cannot be loaded."""
    if request.format not in FORMATS:
        raise UsageFault(f"format is {shown(request.format)}: {among(FORMATS)}")
    if not 1 <= request.rounds <= MOST_ROUNDS:
        raise UsageFault(f"rounds is {request.rounds}: it is 1 to {MOST_ROUNDS}")
    read_clock(request.clock)
    check_names(request.bots)
    if len(request.bots) < 2:
        raise UsageFault("a tournament takes two bots or more")
    rules = load(request.game, request.config)
    check_size(rules, request.format, len(request.bots), request.rounds, paired=request.paired, most=MOST_BESIDE)
    return rules


def _arguments(request: StartTournament, rules: Game[Any, Any]) -> dict[str, Any]:
    """Return the arguments that identify a tournament, beside its seed: those of the command, except for `rated`."""
    return {
        "bots": request.bots,
        "settings": {},
        "game": request.game,
        "config": rules.config,
        "format": request.format,
        "rounds": request.rounds,
        "paired": request.paired,
        "clock": request.clock,
        "afar": True,
        "rated": False,
    }


def _missing(plan: Plan, played: Sequence[Result]) -> list[Pairing]:
    done = set(map(place_of, played))
    return [pairing for pairing in plan.schedule(sorted(played, key=place_of)) if pairing.place not in done]


def _text(value: dict[str, Any]) -> str:
    return canonical(value).decode()
