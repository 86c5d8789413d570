"""Fetches the versions of hosted bots by their digests, builds them in a box, and keeps what was built."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import shutil
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from arena.hosting.limits import CACHE_DAYS, DAY_S, KIB, MAX_LIMITS
from arena.hosting.manifest import Manifest
from arena.hosting.submission import read_packed
from arena.runner.box import Boxes
from arena.runner.unpack import DISK_FULL_ERRORS, DISK_FULL_EXIT_CODE, MAX_BUILT_BYTES, BuildFailed, write_files
from machine.event_loop import run_in_thread
from machine.subprocesses import describe_exit
from protocol.errors import ArenaFault, UsageFault, os_errors_as
from protocol.games import game_names

BUILD_TIMEOUT_S = 120.0
"""Seconds that a build may take."""
MAX_UNPACK_MEMORY_BYTES, MAX_UNPACK_CPU_S = 1024 * KIB * KIB, 30
"""Limits on the memory and the processor time of the process that unpacks what a build has left."""
MAX_BUILD_OUTPUT_BYTES = 8 * KIB
"""Maximum bytes of a build's output that are kept: the end."""
MAX_VERSIONS = 300
"""Maximum number of versions in the cache. The ones that were used longest ago go first."""
MIN_FREE_BYTES = 256 * KIB * KIB
"""Free bytes of the runner's disk below which nothing new is run or checked: a version may be built twice over."""
READ_CHUNK_BYTES = 64 * KIB
"""The number of bytes of a build's output that are read at a time."""
DAMAGED_MESSAGE = "it is no longer what its author handed in: hand it in again"
"""The reason why a submission that has other bytes than it was handed in with is not built."""
_PART_SUFFIX = ".part"
"""The end of the name of the folder in which a version is made."""
_GONE_SUFFIX = ".gone"
"""The end of the name of the folder of a version that is being removed."""
_INFO_FILE, _PROGRAM_FOLDER = "program.json", "program"
"""The file about a cached version, and the folder of the program, in the folder that is named after the digest."""


class DiskFull(ArenaFault):
    """Raised if the disk of the runner has no room, which is no fault of a bot's or a version's."""


class VersionGone(ArenaFault):
    """Raised if the arena no longer has a version."""


class BuiltProgram(Struct, frozen=True, kw_only=True):
    """A program that can be started: its folder, and what its author declared."""

    folder: Path
    manifest: Manifest
    build_output: str = ""


class _Info(Struct, frozen=True, kw_only=True):
    manifest: Manifest
    build_output: str


class VersionCache:
    """The programs that this runner has built, in `folder`. `read(digest)` fetches a submission from the arena."""

    def __init__(self, folder: Path, boxes: Boxes, read: Callable[[str], Awaitable[bytes]]) -> None:
        self._folder = folder
        self._boxes = boxes
        self._read = read
        self._locks: dict[str, asyncio.Lock] = {}
        self._users: Counter[str] = Counter()
        """The number of bots and checks that use a version, by its digest."""
        with os_errors_as(ArenaFault, f"the folder of the runner {folder} can't be made"):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            for path in (*folder.glob(f"*{_GONE_SUFFIX}"), *self._find_superfluous()):
                shutil.rmtree(path, ignore_errors=True)

    @contextlib.contextmanager
    def using(self, digest: str) -> Iterator[None]:
        """Keep a version in the cache within the context, in which its program runs."""
        self._users[digest] += 1
        try:
            yield
        finally:
            self._users[digest] -= 1

    async def check_room(self) -> None:
        """Remove unused versions while the disk is full, longest unused first. Raise `DiskFull` if that is
        not enough.
        """
        with os_errors_as(ArenaFault, f"the folder of the runner {self._folder} can't be read"):
            while (free := shutil.disk_usage(self._folder).free) < MIN_FREE_BYTES:
                unused = next((path for path in self._oldest_first() if not self._is_used(path)), None)
                if unused is None:
                    raise DiskFull(
                        f"the disk of {self._folder} is full: {free // (KIB * KIB)} MiB are free, "
                        f"{MIN_FREE_BYTES // (KIB * KIB)} MiB are needed"
                    )
                await _remove(unused)

    async def get(self, digest: str, place: int) -> BuiltProgram:
        """Return the program with this digest, which is fetched and built if it is not here. It is built as the user at
        this place.

        Raise `BuildFailed` if it can't be built, `DiskFull` if there is no room, `VersionGone` if the arena has it no
        longer, `ArenaFault` if it can't be fetched or stored.
        """
        await self.check_room()
        async with self._locks.setdefault(digest, asyncio.Lock()):
            at = self._folder / digest
            with contextlib.suppress(OSError, msgspec.MsgspecError):
                info = msgspec.json.decode((at / _INFO_FILE).read_bytes(), type=_Info)
                at.touch()
                return BuiltProgram(folder=at / _PROGRAM_FOLDER, manifest=info.manifest, build_output=info.build_output)
            return await self._make(digest, place)

    async def _make(self, digest: str, place: int) -> BuiltProgram:
        data = await self._read(digest)
        if not data:
            raise VersionGone("the arena no longer has this program")
        try:
            submission = await asyncio.to_thread(read_packed, data, game_names(), MAX_LIMITS)
        except UsageFault as fault:
            raise BuildFailed(f"{DAMAGED_MESSAGE}: {fault}") from fault
        if submission.digest != digest:
            raise BuildFailed(DAMAGED_MESSAGE)
        part, at = self._folder / f"{digest}{_PART_SUFFIX}", self._folder / digest
        output = ""
        with _write_errors_of(self._folder):
            await _remove(part)
            part.mkdir()
            try:
                await run_in_thread(write_files, part / _PROGRAM_FOLDER, submission.files)
                if submission.manifest.build:
                    built, output = await self._build(part / _PROGRAM_FOLDER, submission.manifest, place)
                    await run_in_thread(shutil.rmtree, part / _PROGRAM_FOLDER)
                    await _unpack(built, part / _PROGRAM_FOLDER)
                info = _Info(manifest=submission.manifest, build_output=output)
                (part / _INFO_FILE).write_bytes(msgspec.json.encode(info))
                await _remove(at)
                part.rename(at)
            finally:
                await _remove(part)
            await self.make_room()
        return BuiltProgram(folder=at / _PROGRAM_FOLDER, manifest=submission.manifest, build_output=output)

    async def _build(self, folder: Path, manifest: Manifest, place: int) -> tuple[bytes, str]:
        """Build a program, and return the tar of its folder and the end of the build's output."""
        process = await asyncio.create_subprocess_exec(
            *self._boxes.build_command(folder, manifest.build, place),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={"PATH": os.environ.get("PATH", os.defpath)},  # the box may see the environment of bwrap
            start_new_session=True,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        command = " ".join(manifest.build)
        try:
            async with asyncio.timeout(BUILD_TIMEOUT_S):
                built, said = await asyncio.gather(
                    _read_within(process.stdout, MAX_BUILT_BYTES), _read_end(process.stderr, MAX_BUILD_OUTPUT_BYTES)
                )
                code = await process.wait()
        except TimeoutError:
            raise BuildFailed(f"{command} took more than {BUILD_TIMEOUT_S:g} s: build less, or hand in less") from None
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        output = said.decode(errors="replace").strip()
        if code:
            raise BuildFailed(f"{command} {describe_exit(code)}:\n{output or '(it wrote nothing)'}")
        return built, output

    async def make_room(self) -> None:
        """Remove the unused versions beyond `MAX_VERSIONS`, and those that nothing has used for `CACHE_DAYS`."""
        for path in self._find_superfluous():
            await _remove(path)

    def _find_superfluous(self) -> list[Path]:
        oldest_first, since = self._oldest_first(), time.time() - CACHE_DAYS * DAY_S
        unused = [path for path in oldest_first if path.stat().st_mtime < since]
        return [path for path in {*oldest_first[:-MAX_VERSIONS], *unused} if not self._is_used(path)]

    def _is_used(self, path: Path) -> bool:
        return self._users[path.name.removesuffix(_PART_SUFFIX)] > 0

    def _oldest_first(self) -> list[Path]:
        found = [path for path in self._folder.iterdir() if path.suffix != _GONE_SUFFIX]
        return sorted(found, key=lambda path: path.stat().st_mtime)


def is_disk_full(exc: Exception) -> bool:
    """Return whether an error of the system says that a disk is full."""
    return isinstance(exc, OSError) and exc.errno in DISK_FULL_ERRORS


@contextlib.contextmanager
def _write_errors_of(folder: Path) -> Iterator[None]:
    """Raise `DiskFull` for an error of writing that says so, and `ArenaFault` for another."""
    with os_errors_as(ArenaFault, f"the folder of the runner {folder} can't be written"):
        try:
            yield
        except OSError as exc:
            if is_disk_full(exc):
                raise DiskFull(f"the disk of {folder} is full: {exc.strerror}") from exc
            raise


async def _remove(folder: Path) -> None:
    """Remove the folder of a version, if it is there. From now on, it is no longer found under its name."""
    with contextlib.suppress(OSError):
        await run_in_thread(shutil.rmtree, _set_aside(folder))


def _set_aside(folder: Path) -> Path:
    return folder.rename(folder.with_name(f"{secrets.token_hex(8)}{_GONE_SUFFIX}"))


async def _unpack(built: bytes, folder: Path) -> None:
    """Unpack a tar into a new folder. Raise `BuildFailed` if it is refused."""
    process = await asyncio.create_subprocess_exec(
        *("prlimit", f"--as={MAX_UNPACK_MEMORY_BYTES}", f"--cpu={MAX_UNPACK_CPU_S}"),
        *(sys.executable, "-P", "-m", "arena.runner.unpack", str(folder)),
        stdin=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await process.communicate(built)
    if process.returncode == DISK_FULL_EXIT_CODE:
        raise DiskFull(f"the disk of {folder} is full")
    if process.returncode:
        last = said.decode(errors="replace").strip().rpartition("\n")[2]
        raise BuildFailed(last if process.returncode == 1 else "the built program takes too much to unpack: build less")


async def _read_within(stream: asyncio.StreamReader, max_bytes: int) -> bytes:
    """Return all of a stream. Raise `BuildFailed` if it has too many bytes."""
    found = bytearray()
    while chunk := await stream.read(READ_CHUNK_BYTES):
        found += chunk
        if len(found) > max_bytes:
            raise BuildFailed(f"the built program has more than {max_bytes} bytes: build less")
    return bytes(found)


async def _read_end(stream: asyncio.StreamReader, max_bytes: int) -> bytes:
    found = bytearray()
    while chunk := await stream.read(READ_CHUNK_BYTES):
        found += chunk
        del found[:-max_bytes]
    return bytes(found)
