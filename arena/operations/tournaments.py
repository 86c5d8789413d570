"""Operator requests for unrated tournaments that the server plays among connected bots, beside its ladder."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from arena.operator.requests import OperationHandler, SendEvent
from arena.operator.tournaments import (
    ListTournaments,
    StartTournament,
    StopTournament,
    TournamentStarted,
    TournamentStatus,
)
from arena.processes.bot_commands import check_names
from arena.ratings.tournament_pairing import Pairing
from arena.runs.contestants import Contestant
from arena.runs.plan import Plan, place_of
from arena.runs.play_request import find_no_shows
from arena.runs.schedule_limits import (
    MAX_ROUNDS,
    MAX_SERVER_MATCHES,
    TOURNAMENT_FORMATS,
    check_size,
    default_concurrency,
)
from arena.store.finish import StorableMatch
from arena.store.registry import find_registered_bot
from arena.store.result_queries import tournament_results
from arena.store.tournament_state import finish_tournament, is_finished, open_tournament, tournament_randomness
from machine.arguments import read_clock
from protocol.digest import encode_canonical
from protocol.display import list_choices, short_repr
from protocol.errors import Fault, UsageFault
from protocol.games import load_game
from protocol.games.base import Game
from referee.record import Header
from referee.result import Result

if TYPE_CHECKING:
    from arena.server.arena import Arena

log = logging.getLogger("arena.tournaments")


@dataclass
class _TournamentRun:
    """A tournament of the server. `under_way` has the schedule places of its current matches.

    `fault` describes the fault that has stopped it, if any.
    """

    plan: Plan
    wait_s: float
    under_way: set[int]
    task: asyncio.Task[None] | None = None
    fault: str | None = None

    @property
    def is_running(self) -> bool:
        return self.task is not None and not self.task.done()


class TournamentRunner:
    """Plays the tournaments of a server."""

    def __init__(self, arena: Arena) -> None:
        self._arena = arena
        self._runs: dict[str, _TournamentRun] = {}
        self._starting = asyncio.Lock()
        """A lock held while a tournament starts, so that none is started twice."""

    async def start(self, request: StartTournament, tell: SendEvent) -> TournamentStarted:
        """Start or resume a tournament. Raise `UsageFault` if the request is invalid, or it runs or is over."""
        async with self._starting:
            return await self._start(request)

    async def _start(self, request: StartTournament) -> TournamentStarted:
        store = self._arena.store
        rules = _load_rules(request)
        for bot in request.bots:
            if await store.read(find_registered_bot, bot) is None:
                raise UsageFault(
                    f"there is no bot called {short_repr(bot)} on this server: `arena bot list` names them"
                )
        arguments = _identifying_arguments(request, rules)
        chance = {name: arguments[name] for name in ("game", "config", "format", "paired")} | {"names": request.bots}
        tournament, seed = await store.write(
            open_tournament, _canonical_text(arguments), request.seed, _canonical_text(chance)
        )
        run = self._runs.get(tournament)
        if run is not None and run.is_running:
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
        run = self._runs[tournament] = _TournamentRun(plan, request.wait_s, set())
        run.task = self._arena.background.start(self._play(run, played))
        log.info("the tournament %s begins: %s", tournament, request.game)
        return TournamentStarted(tournament=tournament, played=len(played))

    async def stop(self, request: StopTournament, tell: SendEvent) -> None:
        """Stop a tournament. Raise `UsageFault` if it is not running."""
        run = self._runs.get(request.tournament)
        if run is None or run.task is None or not run.is_running:
            raise UsageFault(f"no tournament {short_repr(request.tournament)} goes on here")
        run.task.cancel()
        await asyncio.wait((run.task,))
        del self._runs[request.tournament]

    async def list(self, request: ListTournaments, tell: SendEvent) -> Sequence[TournamentStatus]:
        """Return the running tournaments, and those that a fault has stopped since the server started."""
        return [
            TournamentStatus(tournament=name, under_way=len(run.under_way), fault=run.fault)
            for name, run in self._runs.items()
        ]

    async def _play(self, run: _TournamentRun, played: Sequence[Result]) -> None:
        plan, store = run.plan, self._arena.store
        try:
            while missing := await asyncio.to_thread(_missing_pairings, plan, played):
                async with asyncio.TaskGroup() as group:
                    pairings = iter(missing)
                    for _ in range(default_concurrency(len(plan.contestants))):
                        group.create_task(self._play_pairings(run, pairings))
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

    async def _play_pairings(self, run: _TournamentRun, pairings: Iterable[Pairing]) -> None:
        """Play one match after another from `pairings`, which several tasks share, until none is left."""
        for pairing in pairings:
            run.under_way.add(pairing.place)
            try:
                await self._play_match(run, pairing)
            finally:
                run.under_way.discard(pairing.place)

    async def _play_match(self, run: _TournamentRun, pairing: Pairing) -> None:
        arena, plan = self._arena, run.plan
        planned, seed = plan.header_of(pairing, "", lambda bot: "")
        known = [await arena.store.read(find_registered_bot, bot) for bot in pairing.seats]
        wait = 0.0 if any(bot is None or bot.revoked for bot in known) else run.wait_s

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
        await arena.store.finish(
            StorableMatch(closed.result, closed.pack_record, failures=find_no_shows(closed.result))
        )


def operations(arena: Arena) -> Iterator[OperationHandler]:
    """Yield the handlers of operator requests about tournaments."""
    tournaments = TournamentRunner(arena)
    yield OperationHandler(StartTournament, tournaments.start)
    yield OperationHandler(StopTournament, tournaments.stop)
    yield OperationHandler(ListTournaments, tournaments.list)


def _load_rules(request: StartTournament) -> Game[Any, Any]:
    """Return the game of a request for a tournament. Raise `UsageFault` or `BotFault` if the request is invalid."""
    if request.format not in TOURNAMENT_FORMATS:
        raise UsageFault(f"format is {short_repr(request.format)}: {list_choices(TOURNAMENT_FORMATS)}")
    if not 1 <= request.rounds <= MAX_ROUNDS:
        raise UsageFault(f"rounds is {request.rounds}: it is 1 to {MAX_ROUNDS}")
    read_clock(request.clock)
    check_names(request.bots)
    if len(request.bots) < 2:
        raise UsageFault("a tournament needs two bots or more")
    rules = load_game(request.game, request.config)
    check_size(
        rules, request.format, len(request.bots), request.rounds, paired=request.paired, max_matches=MAX_SERVER_MATCHES
    )
    return rules


def _identifying_arguments(request: StartTournament, rules: Game[Any, Any]) -> dict[str, Any]:
    """Return the arguments that, with the seed, identify a tournament: those of `arena tournament`, and `rated`."""
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


def _missing_pairings(plan: Plan, played: Sequence[Result]) -> list[Pairing]:
    done = set(map(place_of, played))
    return [pairing for pairing in plan.schedule(sorted(played, key=place_of)) if pairing.place not in done]


def _canonical_text(value: dict[str, Any]) -> str:
    return encode_canonical(value).decode()
