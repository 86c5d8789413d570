"""Builds the programs of the hosted bots of a tournament, which then run in boxes on this machine."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from arena.runner.box import Boxes
from arena.runner.hand_in import folder_of_version
from arena.runner.hosted_bot import MAX_LOG_BYTES, client_command
from arena.runner.unpack import BuildFailed
from arena.runner.version_cache import VersionCache, VersionGone
from arena.runs.contestants import Contestant
from arena.runs.plan import Plan
from arena.runs.sandbox_users import reserved_users
from arena.store.entrants import HostedEntrant
from protocol.display import escape_unprintable
from protocol.errors import ArenaFault
from protocol.names import fold_name

MAX_FAULT_CHARS = 300
"""Maximum characters of the line that says why a program can't be built."""


def hosted_contestant(entrant: HostedEntrant) -> Contestant:
    """Return an entrant as it is planned. It has a command when its program is built."""
    return Contestant(entrant.bot, (), reference=True)


def hosted_arguments(entrants: Sequence[HostedEntrant]) -> dict[str, Any]:
    """Return the arguments that, beside others, identify a tournament of hosted bots: the version of each."""
    versions = {
        one.bot: {"version": one.number, "digest": one.digest, **({"late": True} if one.late else {})}
        for one in entrants
    }
    return {"hosted": versions, "rated": False}


@contextmanager
def built_plan(
    plan: Plan,
    entrants: Sequence[HostedEntrant],
    folder: Path,
    read: Callable[[str], Awaitable[bytes]],
    memory_mib: int,
    copies: int,
    match_logs: Path | None = None,
) -> Iterator[Plan]:
    """Yield a plan whose hosted bots can be started on this machine, within the context. It blocks while it builds.

    Their programs are in `folder`, which is removed at the end. `read(digest)` fetches a submission. At most `copies`
    processes of a bot run at a time, each with `memory_mib`. A bot whose program can't be built has a `fault`. Logs of
    matches are left in the folder `match_logs`, as in that of a runner.

    Raise `ArenaFault` if a program is gone or can't be fetched.
    """
    with ExitStack() as held:
        users = held.enter_context(reserved_users(len(entrants))) if os.geteuid() == 0 else ()
        boxes = Boxes(memory_mib=memory_mib, users=users, copies=copies)
        held.callback(shutil.rmtree, folder, ignore_errors=True)
        versions = VersionCache(folder, boxes, read)
        for entrant in entrants:
            held.enter_context(versions.using(entrant.digest))
        found = asyncio.run(_build(plan, entrants, versions, boxes, match_logs))
        yield replace(plan, contestants=tuple(found.get(fold_name(one.name), one) for one in plan.contestants))


async def _build(
    plan: Plan, entrants: Sequence[HostedEntrant], versions: VersionCache, boxes: Boxes, match_logs: Path | None
) -> dict[str, Contestant]:
    found = {}
    for place, one in enumerate(entrants):
        logs = None if match_logs is None else folder_of_version(match_logs, one.bot, one.number)
        found[fold_name(one.bot)] = await build_contestant(
            plan, one.bot, one.number, one.digest, versions, boxes, place, logs
        )
    return found


async def build_contestant(
    plan: Plan,
    bot: str,
    number: int,
    digest: str,
    versions: VersionCache,
    boxes: Boxes,
    place: int,
    match_logs: Path | None = None,
) -> Contestant:
    """Return a hosted bot of a plan, with the command that starts this version of it as the user at this place, or with
    its `fault` if the program can't be built. Its client leaves the logs of its matches in the folder `match_logs`.

    Raise `DiskFull` if this machine has no room, `ArenaFault` if the program is gone or can't be fetched.
    """
    try:
        program = await versions.get(digest, place)
    except BuildFailed as fault:
        return Contestant(bot, (), reference=True, fault=f"version {number} can't be built here: {_in_one_line(fault)}")
    except VersionGone as fault:
        raise ArenaFault(f"{bot}, version {number}: its program is gone, as the bot was deleted") from fault
    command = boxes.program_command(program.folder, program.manifest.command, place, seed=plan.bot_seed(bot))
    options = () if match_logs is None else ("--match-logs", str(match_logs))
    client = client_command(command, "--version", f"v{number}", *options)
    return Contestant(bot, client, reference=True, max_log_bytes=MAX_LOG_BYTES)


def _in_one_line(fault: BuildFailed) -> str:
    """Return what failed in a build, with the first line of its output that names an error, else with the last one."""
    what, *output = [line.strip() for line in str(fault).splitlines() if line.strip()]
    told = [line for line in output if "error" in line.casefold()] or output[-1:]
    return escape_unprintable(" ".join((what, *told[:1])))[:MAX_FAULT_CHARS]
