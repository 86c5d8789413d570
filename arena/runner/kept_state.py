"""The files that hosted bots keep between matches, on a runner: fetched from the arena, and handed in after a match.

The programs of a version on a runner share a tar, which the client of the bot replaces when a program has ended. If
several of its matches end, what the last one kept counts.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from arena.hosting.kept_files import pack_kept_files, read_kept_files
from arena.hosting.manifest import Manifest
from arena.operator.bot_files import ReadState, StatePart, StoreState
from arena.operator.client import NoServer, NoServerAnswer
from arena.operator.hosting import RunBot
from arena.runner.box import KeptFiles
from arena.runner.hand_in import FOLDER_NAME, Ask, folder_of_version, upload_file
from machine.atomic_write import replacing_file
from machine.event_loop import run_in_thread
from protocol.errors import ArenaFault, Fault, UsageFault, os_errors_as
from protocol.match_logs import STATE_FILE, STATE_HEADERS_BYTES

log = logging.getLogger("arena.runner")


def kept_files_of(manifest: Manifest, folder: Path) -> KeptFiles | None:
    """Return the files that a program keeps, with their tar in a folder; None if it keeps none. The tar is made, with
    nothing in it, if it is not there. Raise `ArenaFault` if that fails.
    """
    if not manifest.keep:
        return None
    tar = folder / STATE_FILE
    if not tar.exists():
        _write_tar(tar, pack_kept_files({}))
    return KeptFiles(names=manifest.keep, tar=tar)


class _Shared(Struct):
    bot: str
    number: int
    digest: str
    names: tuple[str, ...]
    max_bytes: int
    """Maximum bytes of the files together."""
    changed_ns: int
    """The time of change of the tar that the arena has."""


class KeptStates:
    """The tars of the bots that run while one connection lasts. `ask(request, kind)` returns the arena's answer.

    A tar of an earlier connection is dropped: its bot may have run elsewhere since.
    """

    def __init__(self, folder: Path, ask: Ask) -> None:
        self._folder = folder
        self._ask = ask
        self._shared: dict[Path, _Shared] = {}
        for tar in folder.glob(f"{FOLDER_NAME}/*/{STATE_FILE}"):
            tar.unlink(missing_ok=True)
        for left in folder.glob(f"{FOLDER_NAME}/*/keep.*"):  # by a program that was killed, without a box
            shutil.rmtree(left, ignore_errors=True)

    async def fetch(self, run: RunBot, manifest: Manifest) -> None:
        """Have the files that a version of a bot keeps in its tar. Raise `Fault` if that fails."""
        if not manifest.keep:
            return
        for tar in [tar for tar, shared in self._shared.items() if shared.bot == run.bot]:
            if fault := await self._hand_in_changed(tar):
                raise fault
            del self._shared[tar]
            tar.unlink(missing_ok=True)
        found = bytearray()
        while part := (await self._ask(_read_request(run, len(found)), StatePart)).data:
            found += part
        tar = folder_of_version(self._folder, run.bot, run.number) / STATE_FILE
        await run_in_thread(_store_files, tar, bytes(found), manifest.keep)
        self._shared[tar] = _Shared(
            run.bot, run.number, run.digest, manifest.keep, run.kept_bytes, _time_of_change(tar)
        )

    async def hand_in(self) -> Fault | None:
        """Hand in what programs keep, if it has changed. What the arena can't store waits: return why."""
        faults = [await self._hand_in_changed(tar) for tar in list(self._shared)]
        return next(filter(None, faults), None)

    async def _hand_in_changed(self, tar: Path) -> Fault | None:
        """Hand in what a bot keeps if it has changed. If the arena refuses it, it is dropped. If the arena can't store
        it, as its disk is full, return why.
        """
        shared = self._shared.get(tar)
        if shared is None:
            return None
        try:
            changed_ns = await asyncio.to_thread(_time_of_change, tar)
            if changed_ns == shared.changed_ns:
                return None
            packed = await asyncio.to_thread(_repack, tar, shared.names, shared.max_bytes)
            upload = await upload_file(self._ask, packed)
            request = StoreState(bot=shared.bot, number=shared.number, digest=shared.digest, upload=upload)
            await self._ask(request, object)
        except (NoServer, NoServerAnswer):
            return None
        except UsageFault as fault:
            log.warning("what %s keeps is not handed in: %s", shared.bot, fault)
        except Fault as fault:
            return fault
        shared.changed_ns = changed_ns
        return None


def _read_request(run: RunBot, offset: int) -> ReadState:
    return ReadState(bot=run.bot, number=run.number, offset=offset)


def _time_of_change(tar: Path) -> int:
    """Return the time of change of a file, in nanoseconds; 0 if it is not there."""
    try:
        return tar.stat().st_mtime_ns
    except OSError:
        return 0


def _store_files(tar: Path, content: bytes, names: Sequence[str]) -> None:
    _write_tar(tar, pack_kept_files(read_kept_files(content, names)))


def _repack(tar: Path, names: Sequence[str], max_bytes: int) -> bytes:
    """Return the tar of the files that a program keeps, without anything else. Raise `UsageFault` if it can't be read,
    or has too much.
    """
    with os_errors_as(UsageFault, f"the file {tar} can't be read"), tar.open("rb") as file:
        data = file.read(max_bytes + STATE_HEADERS_BYTES + 1)
    if len(data) > max_bytes + STATE_HEADERS_BYTES:
        raise UsageFault(f"its files have more than {max_bytes} bytes")
    return pack_kept_files(read_kept_files(data, names, max_bytes))


def _write_tar(tar: Path, content: bytes) -> None:
    with os_errors_as(ArenaFault, f"the file {tar} can't be written"):
        tar.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with replacing_file(tar) as part:
            part.write_bytes(content)
            part.chmod(0o644)  # the user in the box reads it, whatever the umask
