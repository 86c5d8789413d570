"""Operator requests for matches among connected bots, beside the ladder: unrated tournaments that the server plays, and
single matches of a tournament that somebody else plays.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from arena.operator.requests import OperationHandler, SendEvent
from arena.operator.tournaments import (
    MAX_WAIT_S,
    ListTournaments,
    StartTournament,
    StopTournament,
    TournamentStarted,
    TournamentStatus,
)
from arena.processes.bot_commands import check_names
from arena.ratings.tournament_pairing import Pairing
from arena.runs.connected import ConnectedPlayers
from arena.runs.contestants import Contestant
from arena.runs.job import MatchReport
from arena.runs.plan import Plan, RunTerms
from arena.runs.play_request import PlayReply, PlayRequest
from arena.runs.run import play_run
from arena.runs.schedule_limits import (
    MAX_ROUNDS,
    MAX_SERVER_MATCHES,
    TOURNAMENT_FORMATS,
    check_size,
    default_concurrency,
)
from arena.store.async_store import AsyncStore
from arena.store.registry import find_registered_bot
from arena.store.result_queries import tournament_results
from arena.store.stored_match import StoredMatch
from arena.store.tournament_state import finish_tournament, is_finished, open_tournament, tournament_randomness
from machine.arguments import read_clock
from protocol.dice import SEED_BYTES
from protocol.display import list_choices, short_repr
from protocol.display_names import describe_invalid_bot_name
from protocol.errors import Fault, UsageFault
from protocol.games import check_offered, load_game
from protocol.games.base import Game
from protocol.names import fold_name, is_bot_name, is_match_id
from referee.footer import ClosedMatch
from referee.record import Header

if TYPE_CHECKING:
    from arena.server.arena import Arena

log = logging.getLogger("arena.tournaments")


class ServerPlayers(ConnectedPlayers):
    """Plays the matches of a run among the bots that are connected to this server."""

    def __init__(self, arena: Arena, plan: Plan, wait_s: float) -> None:
        super().__init__(plan, wait_s, default_concurrency(len(plan.contestants)))
        self._arena = arena

    async def ask(self, request: PlayRequest) -> ClosedMatch:
        return await play_assigned(self._arena, request, load_game(request.game, request.config))


class UnratedLedger:
    """Keeps the results of a run in the server's store, in the order in which its matches end: they are not rated."""

    def __init__(self, store: AsyncStore, plan: Plan) -> None:
        self._store = store
        self._plan = plan
        self._storing: set[asyncio.Future[StoredMatch]] = set()

    async def missing(self) -> list[Pairing]:
        """Return the matches to play next, when all results are stored."""
        await self._wait_for_store(0)
        played = await self._store.read(tournament_results, self._plan.id)
        return await asyncio.to_thread(self._plan.missing, played)

    async def hand_in(self, reports: Sequence[MatchReport]) -> bool:
        """Store reports. Wait only if as many results wait for the store as matches are played at the same time."""
        for one in reports:
            noted = replace(one.closed, failures=one.failures)
            self._storing.add(self._store.finish(one.result, _return_match(noted)))
        await self._wait_for_store(default_concurrency(len(self._plan.contestants)))
        return True

    def close(self) -> None:
        """Do not wait for the store any longer. It keeps what it was given."""
        for future in self._storing:
            future.cancel()

    async def _wait_for_store(self, max_unstored: int) -> None:
        while len(self._storing) > max_unstored:
            stored, self._storing = await asyncio.wait(self._storing, return_when=asyncio.FIRST_COMPLETED)
            for future in stored:
                future.result()


def _return_match(closed: ClosedMatch) -> Callable[[], ClosedMatch]:
    return lambda: closed


@dataclass
class _ServerRun:
    """A tournament of the server. `fault` describes the fault that has stopped it, if any."""

    plan: Plan
    players: ServerPlayers
    task: asyncio.Task[None] | None = None
    fault: str | None = None

    @property
    def is_running(self) -> bool:
        return self.task is not None and not self.task.done()


class TournamentRunner:
    """Plays the tournaments of a server."""

    def __init__(self, arena: Arena) -> None:
        self._arena = arena
        self._runs: dict[str, _ServerRun] = {}
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
        terms = RunTerms(
            words=request.bots,
            contestants=tuple(Contestant(bot, ()) for bot in request.bots),
            settings={},
            rules=rules,
            format=request.format,
            rounds=request.rounds,
            paired=request.paired,
            clock=request.clock,
            further={"afar": True, "rated": False},
        )
        tournament, seed = await store.write(open_tournament, terms.key, request.seed, terms.randomness_key)
        run = self._runs.get(tournament)
        if run is not None and run.is_running:
            raise UsageFault(f"the tournament {tournament} goes on already: look at it, or take another seed")
        plan = terms.plan(tournament, seed, *await store.read(tournament_randomness, tournament))
        played = await store.read(tournament_results, tournament)
        if await store.read(is_finished, tournament):
            raise UsageFault(f"the tournament {tournament} was played to its end: another seed plays new matches")
        run = self._runs[tournament] = _ServerRun(plan, ServerPlayers(self._arena, plan, request.wait_s))
        run.task = self._arena.background.start(self._play(run))
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
            TournamentStatus(tournament=name, under_way=len(run.players.under_way), fault=run.fault)
            for name, run in self._runs.items()
        ]

    def tournament_of(self, bot: str) -> str | None:
        """Return the id of a running tournament that has a bot; None if there is none."""
        runs = (run.plan for run in self._runs.values() if run.is_running)
        return next((plan.id for plan in runs if fold_name(bot) in map(fold_name, plan.names)), None)

    async def _play(self, run: _ServerRun) -> None:
        plan, store = run.plan, self._arena.store
        ledger = UnratedLedger(store, plan)
        try:
            await play_run(run.players, ledger)
            await store.write(finish_tournament, plan.id)
            del self._runs[plan.id]
            log.info("the tournament %s is over", plan.id)
        except Fault as fault:
            run.fault = str(fault)
            log.error("the tournament %s does not go on: %s", plan.id, run.fault)
        except Exception:
            run.fault = "it failed: the server's log says how"
            log.exception("the tournament %s failed", plan.id)
        finally:
            ledger.close()


async def play_assigned(arena: Arena, request: PlayRequest, rules: Game[Any, Any]) -> ClosedMatch:
    """Play a match of an operator's request by the rules that it names. Do not wait for deleted or revoked bots.

    Raise `UsageFault` if the seed is wrong, and the errors of `AssignedMatches.play`.
    """
    seed = _parse_seed(request.seed)
    known = [await arena.store.read(find_registered_bot, bot) for bot in request.bots]
    wait = 0.0 if any(bot is None or bot.revoked for bot in known) else request.wait_s

    def made() -> tuple[Header, bytes]:
        header = arena.headers.make(
            request.match,
            rules,
            request.bots,
            seed,
            pool=request.pool,
            clock=request.clock,
            tournament=request.tournament,
            place=request.place,
        )
        return header, seed

    return await arena.assigned.play(request.match, request.tournament, request.bots, made, wait)


def operations(arena: Arena, tournament_runner: TournamentRunner) -> Iterator[OperationHandler]:
    """Yield the handlers of operator requests about tournaments and single matches of them."""

    async def play(request: PlayRequest, tell: SendEvent) -> PlayReply:
        check_offered(request.game)
        rules = load_game(request.game, request.config)
        _check_play_request(request, rules.seats)
        for bot in request.bots:
            if await arena.store.read(find_registered_bot, bot) is None:
                raise UsageFault(f"there is no bot called {bot} on this server: `arena bot list` names them")
        return PlayReply.from_closed(await play_assigned(arena, request, rules))

    yield OperationHandler(PlayRequest, play, cancel_on_disconnect=True)
    yield OperationHandler(StartTournament, tournament_runner.start)
    yield OperationHandler(StopTournament, tournament_runner.stop)
    yield OperationHandler(ListTournaments, tournament_runner.list)


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
    check_offered(request.game)
    rules = load_game(request.game, request.config)
    check_size(
        rules, request.format, len(request.bots), request.rounds, paired=request.paired, max_matches=MAX_SERVER_MATCHES
    )
    return rules


def _check_play_request(request: PlayRequest, seats: int) -> None:
    bots = request.bots
    if not is_match_id(request.match):
        raise UsageFault(f"match is {short_repr(request.match)}: it is 1 to 40 lower-case letters, digits and dashes")
    if wrong := [bot for bot in bots if not is_bot_name(bot)]:
        raise UsageFault(describe_invalid_bot_name(wrong[0]))
    if len(bots) != seats or len(set(map(fold_name, bots))) != seats:
        raise UsageFault(f"bots are {short_repr(bots)}: {request.game} has {seats} seats, each for another bot")
    if not 0 <= request.wait_s <= MAX_WAIT_S:
        raise UsageFault(f"wait_s is {request.wait_s}: it is 0 to {MAX_WAIT_S:g} seconds")
    _parse_seed(request.seed)


def _parse_seed(text: str) -> bytes:
    try:
        seed = bytes.fromhex(text)
    except ValueError:
        seed = b""
    if len(seed) != SEED_BYTES:
        raise UsageFault(f"seed is {short_repr(text)}: it is {SEED_BYTES} bytes in hex")
    return seed
