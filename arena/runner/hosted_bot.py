"""Runs one hosted bot: an ordinary client, whose moves come from the author's program in a box."""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from arena.operator.hosting import RunBot, version_label
from arena.processes.launch_spec import LaunchSpec, allowed_environment
from arena.processes.process import BotProcess, Crash, StartKeeper
from arena.runner.box import Boxes
from arena.runner.hand_in import CLIENT_LOG_ENDING, folder_of_version
from arena.runner.kept_state import kept_files_of
from arena.runner.version_cache import BuiltProgram
from arena.runs.sandbox import BotEnvironment
from machine.event_loop import run_until_first
from machine.subprocesses import limit_niceness
from protocol import bot_launch
from protocol.errors import ArenaFault

MATCHES_PER_GAME = 10
"""Number of matches after which a bot with several games seeks matches of the next one."""
MAX_LOG_BYTES = 1024 * 1024
"""Maximum bytes of a hosted bot's log. Then a new log begins, and the previous one is kept."""
FINISHED_REASON = "it has finished its matches"
"""The reason why a bot ended that was asked to finish."""
CLIENT_NICENESS = 10
"""The nice value of clients, and of the boxes that they start. When the bots of a lost runner all start at once, the
arena and the runners must still answer each other in time, or they would be lost too.
"""
RECONNECT_TIMEOUT_S = 60
"""Seconds for which a hosted bot tries to reconnect before it ends, and is given a new ticket."""


def client_command(program: Sequence[str], *options: str) -> tuple[str, ...]:
    """Return the command of a client that plays by a program, a new process of it for each match."""
    return (sys.executable, "-P", "-m", "bots.commands.pipe", "--fresh", *options, "--", *program)


def bot_environment() -> BotEnvironment:
    """Return the environment of the bots of a match that a runner plays by itself."""
    return BotEnvironment(variables=allowed_environment(os.environ), niceness=limit_niceness(CLIENT_NICENESS))


async def run_hosted_bot(
    run: RunBot,
    program: BuiltProgram,
    boxes: Boxes,
    place: int,
    url: str,
    logs: Path,
    start_keeper: StartKeeper,
    finish: asyncio.Event,
) -> str:
    """Run a hosted bot until it ends, and return why it did. `start_keeper` starts its client. Once `finish` is set, it
    ends when its matches under way are over. If this is cancelled, it leaves them.
    """
    games = run.games or program.manifest.games
    folder = folder_of_version(logs.parent, run.bot, run.number)
    kept = kept_files_of(program.manifest, folder)
    for game in itertools.cycle(games):
        options = ["--game", game, "--version", version_label(run.number), "--finish-on-sigterm"]
        options += ["--match-logs", str(folder), *(["--keep-state", str(run.kept_bytes)] if kept else [])]
        if len(games) > 1:
            options += ["--matches", str(MATCHES_PER_GAME)]
        command = client_command(boxes.program_command(program.folder, program.manifest.command, place, kept), *options)
        crash = await _run_client(run, command, url, logs, start_keeper, finish)
        if crash.code:
            return crash.why
        if finish.is_set():
            return FINISHED_REASON
    raise AssertionError("games never end")


async def _run_client(
    run: RunBot, command: tuple[str, ...], url: str, logs: Path, start_keeper: StartKeeper, finish: asyncio.Event
) -> Crash:
    environment = {
        **allowed_environment(os.environ),
        bot_launch.URL_VARIABLE: url,
        bot_launch.TOKEN_FD_VARIABLE: "0",
        bot_launch.BOT_VARIABLE: run.bot,
        bot_launch.RECONNECT_TIMEOUT_VARIABLE: str(RECONNECT_TIMEOUT_S),
    }
    spec = LaunchSpec(
        command=command,
        environment=environment,
        token=run.ticket,
        nice=limit_niceness(CLIENT_NICENESS),
        largest_log=MAX_LOG_BYTES,
        holds_sigterm=True,
    )
    ended: asyncio.Future[Crash] = asyncio.get_running_loop().create_future()
    process = BotProcess(
        run.bot,
        spec,
        logs / f"{run.bot}{CLIENT_LOG_ENDING}",
        lambda _, crash: ended.set_result(crash),
        start_keeper=start_keeper,
    )
    try:
        await process.start()
        await run_until_first(finish.wait(), asyncio.wait((ended,)))
        process.terminate()
        return await ended
    except ArenaFault as fault:
        return Crash(run.bot, str(fault), 1, "")
    finally:
        await process.stop(0.0)
