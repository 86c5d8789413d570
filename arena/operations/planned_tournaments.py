"""Plays the planned tournaments of hosted bots, at their times: by runners, or in boxes on this machine."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager, closing, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from arena.hosting.schedule import Abandon, Begin, NoteOnline, Planned, Resume, Step, next_night, next_steps
from arena.operations.bot_files import unpack_log
from arena.operations.tournaments import UnratedLedger
from arena.processes.bot_commands import check_names
from arena.processes.launch_spec import allowed_environment
from arena.runner.entrants import built_plan, hosted_arguments, hosted_contestant
from arena.runner.hand_in import find_logs
from arena.runner.version_cache import DiskFull
from arena.runs.contestants import Contestant, parse_builtin_contestants
from arena.runs.hosted_players import RunnerPlayers
from arena.runs.job import MatchJob, MatchReport
from arena.runs.plan import Plan, RunTerms
from arena.runs.pool_players import PoolPlayers
from arena.runs.run import RunPlayers, play_run
from arena.runs.sandbox import BotEnvironment, check_bubblewrap
from arena.runs.schedule_limits import MAX_SERVER_MATCHES, check_size
from arena.server.hosted_matches import HostedMatches
from arena.store.async_store import AsyncStore
from arena.store.bot_logs import add_log
from arena.store.bot_versions import read_content
from arena.store.database import StoreUnavailable
from arena.store.entrants import EntrantList, HostedEntrant, unchecked_rows
from arena.store.plan_entrants import find_plan_entrants
from arena.store.planned import (
    FAILED,
    PLAYING,
    PlannedTerms,
    PlannedTournament,
    StartedTournament,
    begin_plan,
    end_plan,
    fail_to_begin,
    find_plan,
    note_online,
    open_plans,
    read_started,
)
from arena.store.tournament_state import tournament_randomness
from machine.event_loop import background_task
from machine.timestamps import format_timestamp, utc_now
from machine.workers.local import WorkerPool, process_pool
from protocol.errors import ArenaFault, Fault, UsageFault
from protocol.games import check_offered, load_game

INTERVAL_S = 3.0
"""Seconds between two looks at what is planned."""
ONLINE_SETTLE_S = 60.0
"""Seconds after the start of a server in which bots come back to it, before it notes who is online."""
RUNNER_JOIN_TIMEOUT_S = 30.0
"""Seconds for which a tournament that runners may play waits for one, before it is played on this machine."""
BOT_MEMORY_MIB = 1024
"""Memory limit of a bot in a tournament that is played on this machine, in MiB."""
GAVE_UP_NOTE = "it failed several times: the server's log says how"
"""The note of a tournament that was given up for another reason than a fault."""
T = TypeVar("T")

log = logging.getLogger("arena.tournaments")


class _PlanLedger(UnratedLedger):
    """Keeps the results of a planned tournament, unless it has ended meanwhile: it was stopped, or a bot deleted."""

    def __init__(self, store: AsyncStore, plan: Plan, number: int) -> None:
        super().__init__(store, plan)
        self._number = number

    async def hand_in(self, reports: Sequence[MatchReport]) -> bool:
        planned = await self._store.read(find_plan, self._number)
        if planned.state != PLAYING:
            raise UsageFault(_reason_of_end(planned))
        return await super().hand_in(reports)


class PlannedTournaments:
    """Plays planned tournaments. `data` is the data folder, for the logs of bots. `find_online` returns the keys
    (folded names) of the bots that are online. `matches` are those of runners.
    """

    def __init__(
        self,
        store: AsyncStore,
        data: Path,
        find_online: Callable[[], Collection[str]],
        matches: HostedMatches | None = None,
    ) -> None:
        self._store = store
        self._data = data
        self._matches = matches
        self._find_online = find_online
        self._settled_at = asyncio.get_running_loop().time() + ONLINE_SETTLE_S
        self._running: dict[int, asyncio.Task[None]] = {}
        self._failures: dict[int, int] = {}
        self._faults: dict[int, str] = {}

    async def run(self) -> None:
        """Play what is due until cancelled. Tournaments under way then are resumed by the next call."""
        try:
            while True:
                try:
                    await self.look()
                except Fault as fault:
                    log.warning("planned tournaments wait: %s", fault)
                except Exception:  # without this task, no tournament would begin again
                    log.exception("planned tournaments wait")
                await asyncio.sleep(INTERVAL_S)
        finally:
            for task in self._running.values():
                task.cancel()
            await self.wait()

    async def look(self) -> None:
        """Do what is due now. Tournaments are then played in the background."""
        plans = {plan.id: plan for plan in await self._store.read(open_plans)}
        await self._stop_failed(self._running.keys() - plans.keys())
        now = datetime.fromisoformat(utc_now())
        planned = [await self._as_planned(plan, now) for plan in plans.values()]
        settled = asyncio.get_running_loop().time() >= self._settled_at
        for step in next_steps(planned, self._running, now, settled=settled):
            plan = plans[step.plan]
            try:
                await self._perform(step, plan, now)
            except Fault as fault:
                log.warning("the tournament %s waits: %s", plan.title, fault)
            except Exception as exc:  # it is given up after some failures, so that the others go on
                reason = f"{type(exc).__name__}: {exc}".splitlines()[0]
                self._note_failure(plan, f"it failed several times: {reason}")
                log.error("the tournament %s can't begin: %s", plan.title, reason)

    async def _stop_failed(self, plans: Collection[int]) -> None:
        """Stop playing those of these tournaments that have failed: one was stopped, or one of its bots deleted."""
        for number in plans:
            plan = await self._store.read(find_plan, number)
            if plan.state == FAILED and number in self._running:
                log.info("the tournament %s ends early: %s", plan.title, _reason_of_end(plan))
                self._running[number].cancel()

    async def _perform(self, step: Step, plan: PlannedTournament, now: datetime) -> None:
        if isinstance(step, NoteOnline):
            await self._store.write(note_online, plan, self._find_online())
        elif isinstance(step, Begin):
            await self._begin(plan, now)
        elif isinstance(step, Resume):
            self._running[plan.id] = asyncio.create_task(self._play(plan))
        elif isinstance(step, Abandon):
            await self._abandon(plan, self._faults.get(plan.id, GAVE_UP_NOTE), now)
            self._failures.pop(plan.id, None)

    async def _abandon(self, plan: PlannedTournament, why: str, now: datetime) -> None:
        if plan.state == PLAYING:
            await self._store.write(end_plan, plan, why)
        else:
            await self._store.write(fail_to_begin, plan, why, _following(plan, now))

    async def wait(self) -> None:
        """Wait until no tournament is played."""
        await asyncio.gather(*self._running.values(), return_exceptions=True)

    async def _as_planned(self, plan: PlannedTournament, now: datetime) -> Planned:
        starts = datetime.fromisoformat(plan.starts)
        unchecked = await self._store.read(unchecked_rows, plan.closes) if starts <= now else ()
        return Planned(
            plan.id,
            starts,
            has_begun=plan.state == PLAYING,
            unchecked=len(unchecked),
            failures=self._failures.get(plan.id, 0),
            closes=datetime.fromisoformat(plan.closes)
            if plan.terms.online and plan.terms.online_bots is None
            else None,
        )

    async def _begin(self, plan: PlannedTournament, now: datetime) -> None:
        """Freeze the versions of a tournament, or note why it can't begin. It is then played as one that had begun."""
        try:
            found = await self._store.read(find_plan_entrants, plan)
            terms = make_terms(plan, found)
            note = "\n".join(found.notes)
            tournament = await self._store.write(
                begin_plan, plan, terms.key, terms.randomness_key, found.entrants, note, _following(plan, now)
            )
        except StoreUnavailable:  # it waits for the database, as all others do
            raise
        except Fault as fault:
            log.error("the tournament %s can't begin: %s", plan.title, fault)
            await self._abandon(plan, str(fault), now)
        else:
            log.info("the tournament %s begins: %s", plan.title, tournament)

    async def _play(self, plan: PlannedTournament) -> None:
        try:
            await self.play_rest(plan)
            await self._store.write(end_plan, plan)
            self._failures.pop(plan.id, None)
            log.info("the tournament %s is over: %s", plan.title, plan.tournament)
        except (StoreUnavailable, DiskFull) as fault:
            log.warning("the tournament %s waits: %s", plan.title, fault)
        except Fault as fault:
            self._note_failure(plan, str(fault))
            log.error("the tournament %s does not go on: %s", plan.title, fault)
        except Exception:
            self._note_failure(plan, GAVE_UP_NOTE)
            log.exception("the tournament %s does not go on", plan.title)
        finally:
            del self._running[plan.id]

    def _note_failure(self, plan: PlannedTournament, fault: str) -> None:
        self._failures[plan.id] = self._failures.get(plan.id, 0) + 1
        self._faults[plan.id] = fault

    async def play_rest(self, plan: PlannedTournament) -> None:
        """Play the missing matches of a tournament that has begun. Raise `Fault` if that fails."""
        tournament = plan.tournament
        assert tournament is not None
        started = await self._store.read(read_started, tournament)
        terms, entrants = restore_terms(started)
        run = terms.plan(tournament, started.seed, *await self._store.read(tournament_randomness, tournament))
        if (matches := self._matches) is not None and await _is_for_runners(plan.terms, matches, run):
            log.info("runners play the tournament %s", plan.title)
            players = RunnerPlayers(run, entrants, run.log_folder(self._data), matches.play, logged=True)
            await self._play_by(players, run, plan.id)
        else:
            await self._play_here(run, entrants, plan)

    async def _play_by(self, players: RunPlayers, plan: Plan, number: int) -> None:
        ledger = _PlanLedger(self._store, plan, number)
        with closing(ledger):
            await play_run(players, ledger)

    async def _play_here(self, plan: Plan, entrants: Sequence[HostedEntrant], planned: PlannedTournament) -> None:
        """Play the missing matches of a tournament in boxes on this machine."""
        terms = planned.terms
        logs = plan.log_folder(self._data).absolute()
        check_bubblewrap("a tournament of hosted bots")
        async with AsyncExitStack() as held:
            held.push_async_callback(self._store_logs, logs)
            await held.enter_async_context(background_task(self._keep_storing_logs(logs)))
            building = built_plan(
                plan, entrants, logs / "programs", self._make_reader(), BOT_MEMORY_MIB, terms.jobs, logs
            )
            built = await held.enter_async_context(_in_thread(building))
            pool: WorkerPool = await held.enter_async_context(_in_thread(process_pool(terms.jobs)))
            await self._play_by(PoolPlayers(_make_job(built, logs), pool), built, planned.id)

    async def _keep_storing_logs(self, folder: Path) -> None:
        """Store the logs that clients leave in a folder, again and again, until cancelled."""
        while True:
            await asyncio.sleep(INTERVAL_S)
            await self._store_logs(folder)

    async def _store_logs(self, folder: Path) -> None:
        """Store the logs that clients have left in a folder. If that fails, they wait for the next call."""
        try:
            for found in await asyncio.to_thread(list, find_logs(folder)):
                await self._store.write(add_log, found.bot, found.number, unpack_log(found.packed))
                found.file.unlink(missing_ok=True)
        except (Fault, OSError) as fault:
            log.warning("logs of the tournament's matches wait: %s", fault)

    def _make_reader(self) -> Callable[[str], Any]:
        """Return a function that reads a submission on another event loop than this one. It raises `ArenaFault` once
        the task that calls this method is being cancelled, so that no further program is built.
        """
        loop, playing = asyncio.get_running_loop(), asyncio.current_task()

        async def read_whole(digest: str) -> bytes:
            if playing is not None and playing.cancelling():
                raise ArenaFault("its programs are built no longer, because it stops")
            found = bytearray()
            while part := await self._store.read_slowly(read_content, digest, len(found)):
                found += part
            return bytes(found)

        async def read(digest: str) -> bytes:
            return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(read_whole(digest), loop))

        return read


async def _is_for_runners(terms: PlannedTerms, matches: HostedMatches, plan: Plan) -> bool:
    """Return whether runners play a tournament. If its terms do not say, they do if they have slots for a match and can
    run all of its bots. Runners are waited for, as the server may have just started.
    """
    if terms.on_runners is not None:
        return terms.on_runners
    if all(one.reference for one in plan.contestants):
        with suppress(ArenaFault):
            await matches.wait_for_slots(plan.rules.seats, RUNNER_JOIN_TIMEOUT_S)
            return True
    return False


def make_terms(plan: PlannedTournament, entrant_list: EntrantList) -> RunTerms:
    """Return the terms of a planned tournament with these entrants. Raise `Fault` if they are wrong, or the operator
    has removed its game since.
    """
    terms = plan.terms
    check_offered(terms.game)
    further = {
        **hosted_arguments(entrant_list.entrants),
        "title": plan.title,
        "plan": plan.id,
        "as_of": entrant_list.as_of,
    }
    contestants = (
        *parse_builtin_contestants(terms.opponents),
        *map(hosted_contestant, entrant_list.entrants),
    )
    check_names([one.name for one in contestants])
    if len(contestants) < 2:
        why = entrant_list.notes or ([] if entrant_list.entrants else [f"no hosted bot plays {terms.game}"])
        reasons = "".join(f"; {note}" for note in why)
        raise UsageFault(f"a tournament needs two bots or more: {len(contestants)} entered{reasons}")
    return make_run_terms(terms, (*terms.opponents, *(one.bot for one in entrant_list.entrants)), contestants, further)


def make_run_terms(
    terms: PlannedTerms, words: Sequence[str], contestants: Sequence[Contestant], further: Mapping[str, Any]
) -> RunTerms:
    """Return the terms of a tournament with these bots. Raise `Fault` if its game or its size is wrong."""
    rules = load_game(terms.game, terms.config)
    check_size(rules, terms.format, len(words), terms.rounds, paired=terms.paired, max_matches=MAX_SERVER_MATCHES)
    return RunTerms(
        words=words,
        contestants=tuple(contestants),
        settings={},
        rules=rules,
        format=terms.format,
        rounds=terms.rounds,
        paired=terms.paired,
        clock=terms.clock,
        further=further,
    )


def restore_terms(started: StartedTournament) -> tuple[RunTerms, list[HostedEntrant]]:
    """Return the terms of a tournament that has begun, and its hosted bots."""
    arguments = msgspec.json.decode(started.arguments, type=_StoredArguments)
    entrants = [
        HostedEntrant(bot=bot, number=one.version, digest=one.digest, since="", late=one.late)
        for bot, one in arguments.hosted.items()
    ]
    hosted = {one.bot: hosted_contestant(one) for one in entrants}
    own = [word for word in arguments.bots if word not in hosted]
    others = dict(zip(own, parse_builtin_contestants(own), strict=True))
    terms = PlannedTerms(
        game=arguments.game,
        config=arguments.config,
        format=arguments.format,
        rounds=arguments.rounds,
        paired=arguments.paired,
        clock=arguments.clock,
    )
    contestants = [hosted.get(word) or others[word] for word in arguments.bots]
    return make_run_terms(terms, arguments.bots, contestants, {"rated": False}), entrants


class _StoredVersion(Struct):
    version: int
    digest: str
    late: bool = False


class _StoredArguments(Struct):
    bots: list[str]
    hosted: dict[str, _StoredVersion]
    game: str
    config: dict[str, Any]
    format: str
    rounds: int
    paired: bool
    clock: str


def _reason_of_end(plan: PlannedTournament) -> str:
    """Return why a tournament has ended: its note names before that which bots did not enter."""
    return (plan.note or plan.state).splitlines()[-1]


def _following(plan: PlannedTournament, now: datetime) -> tuple[str, str] | None:
    if not plan.nightly:
        return None
    closes, starts = next_night(datetime.fromisoformat(plan.closes), datetime.fromisoformat(plan.starts), now)
    return format_timestamp(closes), format_timestamp(starts)


def _make_job(plan: Plan, logs: Path) -> MatchJob:
    environment = BotEnvironment(variables=allowed_environment(os.environ))
    return MatchJob(key=secrets.token_hex(8), plan=plan, environment=environment, logs=logs, strict=False)


@asynccontextmanager
async def _in_thread(context: AbstractContextManager[T]) -> AsyncIterator[T]:
    """Enter and leave a context, both of which block, in a thread."""
    entering = asyncio.ensure_future(asyncio.to_thread(context.__enter__))
    try:
        yield await asyncio.shield(entering)
    finally:
        await asyncio.wait((entering,))
        if entering.exception() is None:
            await asyncio.to_thread(context.__exit__, None, None, None)
