"""`arena runner`: checks and runs the hosted bots that an arena gives it, until it is stopped."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import Iterator, MutableMapping
from pathlib import Path

from arena.operator.credentials import read_or_make_token
from arena.operator.hosting import MAX_SLOTS
from arena.runner.box import Boxes
from arena.runner.forked_clients import forked_clients
from arena.runner.runner import run
from arena.runner.unboxed import Unboxed
from arena.runs.sandbox import check_bubblewrap
from arena.runs.sandbox_users import reserved_users
from machine import event_loop, standard_streams
from machine.cache import cache_folder
from machine.file_lock import lock
from machine.log_output import configure_logging
from machine.subprocesses import keep_private
from protocol import bot_launch
from protocol.display import list_choices, short_repr
from protocol.errors import Fault, UsageFault, os_errors_as

OPERATOR_TOKEN_VARIABLE = "ARENA_OPERATOR_TOKEN"  # noqa: S105
"""The environment variable with the token of runners, or of the operator."""
BWRAP = "bwrap"
"""The sandbox of bubblewrap boxes."""
SANDBOXES = (BWRAP, "none")
"""The sandboxes of `--sandbox`."""
MAX_MEMORY_MIB = 1024 * 1024
"""Maximum of `--memory`, in MiB."""
MAX_FOLDERS = 16
"""Maximum number of folders of runners in the cache folder."""
LOCK_NAME = "lock"
"""The file in the folder of a runner that is locked while the runner lives."""

log = logging.getLogger("arena.runner")


class FolderInUse(UsageFault):
    """Raised if another runner uses a folder."""


def runner(
    url: str, client_url: str | None, slots: int, memory_mib: int, folder: Path | None, token: str, sandbox: str
) -> None:
    """Run hosted bots of the arena at `url` until SIGINT or SIGTERM, after which they finish their matches under way; a
    second signal ends them at once. Raise `Fault` if the sandbox can't be had here, or if the arena refuses the token.
    """
    check_numbers(slots, memory_mib)
    standard_streams.tolerate_lost_output()
    configure_logging("info", "text")
    keep_private()
    check_sandbox(sandbox, "a runner", "--sandbox none")
    with contextlib.ExitStack() as stack:
        place = stack.enter_context(hold_free_folder() if folder is None else hold_folder(folder))
        users = stack.enter_context(reserved_users(slots + 1)) if os.geteuid() == 0 else ()
        boxes = Boxes(memory_mib=memory_mib, users=users) if sandbox == BWRAP else Unboxed(memory_mib=memory_mib)
        if sandbox != BWRAP:
            log.warning("programs run without a sandbox: they read and write what this user may, and have the network")
        event_loop.run(_run(url, token, slots, boxes, place, client_url or url))


def check_numbers(slots: int, memory_mib: int) -> None:
    """Raise `UsageFault` if a runner can't have these slots, or this memory."""
    if not 1 <= slots <= MAX_SLOTS:
        raise UsageFault(f"--slots is {slots}: 1 to {MAX_SLOTS}")
    if not 64 <= memory_mib <= MAX_MEMORY_MIB:
        raise UsageFault(f"--memory is {memory_mib} MiB: 64 to {MAX_MEMORY_MIB}")


@contextlib.contextmanager
def hold_free_folder() -> Iterator[Path]:
    """Hold the first folder of runners in the cache folder that no other one uses, as `hold_folder` does: a new runner
    is started while the old one finishes its matches.
    """
    folders = [cache_folder() / name for name in ("runner", *(f"runner-{number}" for number in range(2, MAX_FOLDERS)))]
    with contextlib.ExitStack() as stack:
        for folder in folders:
            with contextlib.suppress(FolderInUse):
                stack.enter_context(hold_folder(folder))
                break
        else:
            raise FolderInUse(f"{len(folders)} other runners use the folders {folders[0]} to {folders[-1]}")
        yield folder


@contextlib.contextmanager
def hold_folder(folder: Path) -> Iterator[Path]:
    """Make a folder, and keep other runners out of it within the context. Raise `FolderInUse` if one uses it."""
    with os_errors_as(UsageFault, f"the folder {folder} can't be made"):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = (folder / LOCK_NAME).open("ab")
    with file:
        try:
            lock(file.fileno(), wait=False)
        except BlockingIOError:
            raise FolderInUse(f"another runner uses the folder {folder}: name another one, --folder FOLDER") from None
        yield folder


def check_sandbox(sandbox: str, user: str, option: str) -> None:
    """Raise `Fault` if the sandbox that `user` needs can't be had here. `option` is the one that goes without."""
    if sandbox not in SANDBOXES:
        raise UsageFault(f"the sandbox is {short_repr(sandbox)}: {list_choices(SANDBOXES)}")
    if sandbox == BWRAP:
        try:
            check_bubblewrap(user)
        except Fault as fault:
            raise type(fault)(f"{fault}; {option} runs programs with this user's rights") from fault
    elif os.geteuid() == 0:
        raise UsageFault(f"{option} would run the programs of strangers as root: start {user} as another user")


def find_token(file: Path | None, environ: MutableMapping[str, str] = os.environ) -> str:
    """Return a runner's token: from the file, else from the variable `OPERATOR_TOKEN_VARIABLE`, else as a line from the
    file descriptor that `TOKEN_FD_VARIABLE` names. Raise `UsageFault` if there is none.
    """
    if file is not None:
        return read_or_make_token(file.parent, file)
    if token := environ.pop(OPERATOR_TOKEN_VARIABLE, ""):  # what this process starts does not get it
        return token
    if descriptor := environ.get(bot_launch.TOKEN_FD_VARIABLE):
        with open(int(descriptor), "rb", buffering=0, closefd=False) as handed:
            return handed.readline().decode().strip()
    raise UsageFault(
        f"a runner needs a token: --token-file FILE, or {OPERATOR_TOKEN_VARIABLE}; it is the runner_token in the "
        "operator.json of the server's data folder"
    )


async def _run(url: str, token: str, slots: int, boxes: Boxes, folder: Path, client_url: str) -> None:
    leave = asyncio.Event()
    async with forked_clients() as start_keeper:
        running = asyncio.create_task(run(url, token, slots, boxes, folder, client_url, start_keeper, leave))

        def stop() -> None:
            if leave.is_set():
                running.cancel()
            leave.set()

        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stop)
        with contextlib.suppress(asyncio.CancelledError):
            await running
