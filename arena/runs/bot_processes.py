"""The processes of a tournament's bots: starts them, and decides what follows if one fails."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections import Counter, defaultdict
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from arena.host.host import MatchHost
from arena.processes.launch_spec import LaunchSpec, allowed_environment
from arena.processes.process import BotCrashed, BotProcess, Crash, ProgramNotFound
from arena.runs.bot_gate import BotGate
from arena.runs.contestants import Contestant
from arena.runs.job import MAX_LOG_BYTES, BotOutput, MatchJob
from arena.runs.waiting_room import WaitingRoom
from machine.event_loop import BackgroundTasks
from protocol import bot_launch
from protocol.errors import ArenaFault
from protocol.reasons import DISCONNECTED, NO_SHOW, VOID
from referee.effects import NoShow
from referee.footer import ClosedMatch

SHUTDOWN_TIMEOUT_S = 2.0
"""Seconds that a bot has to exit by itself when there are no more matches."""
MAX_CRASHES = 3
"""The number of crashes in a row after which a bot is not started again. A bot is not started again either after it was
killed this many times in total because it was not connected.

A match for which the bot appeared sets the count of crashes to 0. In a `strict` job, a match that the bot lost by
disconnecting leaves the count as it is.
"""
MAX_REPORTED_REASONS = 5
"""Maximum number of different reasons for crashes of one bot that are reported, unless the job is `strict`."""


class BotProcesses:
    """The bots of a job as processes, which connect to a host. Their logs are in `folder`.

    A bot that crashes loses its match and is started again. After too many crashes it is excluded: it forfeits all
    further matches or, if the job is strict, ends play.
    """

    def __init__(self, job: MatchJob, folder: Path, host: MatchHost, gate: BotGate, room: WaitingRoom) -> None:
        self._job = job
        self._folder = folder
        self._host = host
        self._gate = gate
        self._room = room
        self._bots: dict[str, BotProcess] = {}
        self._restarts = BackgroundTasks()
        self._notes: list[str] = []
        self._reported_bytes: Counter[str] = Counter()
        """Number of bytes of each bot's log that have been reported."""
        self.excluded: dict[str, str] = {}
        """The bots that forfeit all their matches from now on, each with the reason."""
        self._failed: dict[str, str] = {}
        """The bots whose processes failed in the current match, each with the reason."""
        self._reported_reasons: defaultdict[str, set[str]] = defaultdict(set)
        self._away_count: Counter[str] = Counter()
        """The number of times that each bot was killed because it was disconnected or did not connect."""

    async def start(self, url: str) -> None:
        """Start all bots, which connect to `url`, at the first call, to notice at once if one cannot start."""
        if self._bots:
            return
        for number, contestant in enumerate(self._job.plan.contestants):
            self._gate.raise_failure()  # a bot started after `stop` would never be stopped
            name, spec = contestant.name, self._launch_spec(contestant, number, url)
            listen = partial(self._host.listener.add_socket, address=name)
            self._bots[name] = BotProcess(name, spec, self._folder / f"{name}.log", self._on_crash, listen)
            if not contestant.fault:
                await self._start_bot(self._bots[name])
            elif self._job.strict:
                raise ArenaFault(f"{name}, {contestant.fault}")
            else:
                self.excluded[name] = contestant.fault

    async def stop(self) -> list[BaseException | None]:
        """Stop all bots, and return the errors that occur. A bot that is not connected has no time to exit by itself,
        because it would not hear that the host closes.
        """
        online = self._host.clients.is_online
        stopping = [bot.stop(SHUTDOWN_TIMEOUT_S if online(name) else 0.0) for name, bot in self._bots.items()]
        return await asyncio.gather(*stopping, return_exceptions=True)

    def kill(self, name: str, why: str) -> None:
        """Kill a bot that keeps a match waiting. It counts as crashed."""
        self._away_count[name] += self._bots[name].kill_as_crash(f"{why} and was killed")

    def on_match_end(self, closed: ClosedMatch) -> dict[int, str]:
        """Reset the crashes of bots that appeared for the match. Return the reasons why programs failed, by seat."""
        missed = (DISCONNECTED, NO_SHOW) if self._job.strict else (NO_SHOW,)
        failed = self._failed | self.excluded
        self._failed = {}
        failures = {}
        for number, seat in enumerate(closed.result.seats):
            if seat.reason not in missed:
                self._bots[seat.bot].reset_crashes()
            if seat.bot in failed and seat.reason in (DISCONNECTED, NO_SHOW, VOID):
                failures[number] = failed[seat.bot]
        return failures | {**closed.failures}

    def take_notes(self) -> tuple[str, ...]:
        """Return the notes about crashes since the last call."""
        notes, self._notes = tuple(self._notes), []
        return notes

    def take_output(self) -> BotOutput:
        """Return what bots wrote to their logs since the last call. If the command reads the logs, return nothing."""
        if self._job.sources is None:
            return ()
        words = []
        for name, bot in self._bots.items():
            with contextlib.suppress(OSError), bot.log.open("rb") as file:
                end = file.seek(0, os.SEEK_END)
                file.seek(max(self._reported_bytes[name], end - MAX_LOG_BYTES))
                self._reported_bytes[name] = end
                words.append((name, file.read()))
        return tuple((name, text) for name, text in words if text)

    def _launch_spec(self, contestant: Contestant, number: int, url: str) -> LaunchSpec:
        """Return how to launch a bot. Reference bots run outside the sandbox, because they are code of this project."""
        plan, around, token = self._job.plan, self._job.environment, self._gate.tokens[contestant.name]
        environment = {
            **({} if self._job.sources is None else allowed_environment(os.environ)),
            **around.variables,
            bot_launch.URL_VARIABLE: url,
            bot_launch.TOKEN_FD_VARIABLE: "0",
            bot_launch.BOT_VARIABLE: contestant.name,
            bot_launch.GAME_VARIABLE: plan.rules.name,
            bot_launch.CONFIG_VARIABLE: json.dumps(plan.rules.config),
            bot_launch.SEED_VARIABLE: plan.bot_seed(contestant.name),
            bot_launch.ASSIGNED_MATCHES_VARIABLE: "1",
        }
        if contestant.reference:
            command = (sys.executable, *contestant.command[1:])
            most = contestant.max_log_bytes
            spec = LaunchSpec(command=command, environment=environment, token=token, largest_log=most)
        elif around.sandbox is not None:
            spec = around.sandbox.launch_spec(contestant, number, environment, token)
        else:
            spec = LaunchSpec(command=contestant.command, environment=environment, token=token)
        return replace(spec, nice=around.niceness)

    async def _start_bot(self, bot: BotProcess) -> None:
        """Start a bot. If its program is missing and the job is not strict, exclude it."""
        self._room.on_started(bot.name, asyncio.get_running_loop().time())
        try:
            await bot.start()
        except ProgramNotFound as fault:
            if self._job.strict:
                raise
            self._exclude(bot.name, str(fault).removeprefix(f"{bot.name} "), str(fault))

    async def _restart(self, bot: BotProcess) -> None:
        try:
            await self._start_bot(bot)
        except ArenaFault as fault:
            self._gate.fail(fault)

    def _on_crash(self, bot: BotProcess, crash: Crash) -> None:
        told = str(crash)
        if self._job.sources is not None:  # name the log by its path on the command's machine
            told = told.replace(str(self._folder), str(self._job.logs))
        self._failed[bot.name] = crash.why
        if max(bot.crashes, self._away_count[bot.name]) >= MAX_CRASHES or not self._room.has_seen(bot.name):
            if self._job.strict:
                self._gate.fail(BotCrashed(told))
            else:
                self._exclude(bot.name, crash.why, told)
            return
        before = self._reported_reasons[bot.name]
        if self._job.strict or (crash.why not in before and len(before) < MAX_REPORTED_REASONS):
            before.add(crash.why)
            self._notes.append(told)
        self._host.clients.forfeit_matches(bot.name)
        self._restarts.start(self._restart(bot))

    def _exclude(self, name: str, why: str, note: str) -> None:
        self.excluded[name] = why
        self._notes.append(f"{note}\n{name} forfeits its matches here from now on")
        for runner in self._host.clients.matches_with(name):
            runner.receive(NoShow(runner.bots.index(name)))
        self._gate.changed.set()
