"""Fetches the versions of hosted bots by their digests, builds them in a box, and keeps what was built."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tarfile
from collections.abc import Awaitable, Callable, Mapping
from io import BytesIO
from pathlib import Path, PurePosixPath

import msgspec
from msgspec import Struct

from arena.hosting.manifest import Manifest
from arena.hosting.submission import KIB, SubmissionLimits, read_submission
from arena.runner.box import Boxes
from machine.subprocesses import describe_exit
from protocol.errors import ArenaFault, UsageFault, os_errors_as
from protocol.games import game_names

BUILD_TIMEOUT_S = 120.0
"""Seconds that a build may take."""
MAX_BUILT_BYTES = 64 * KIB * KIB
"""Maximum bytes of the tar of a built program, with its sources."""
MAX_BUILT_FILES = 5000
"""Maximum number of files of a built program."""
MAX_BUILD_OUTPUT_BYTES = 8 * KIB
"""Maximum bytes of a build's output that are kept: the end."""
MAX_VERSIONS = 300
"""Maximum number of versions in the cache. The ones that were used longest ago go first."""
READ_CHUNK_BYTES = 64 * KIB
"""The number of bytes of a build's output that are read at a time."""
_INFO_FILE, _PROGRAM_FOLDER = "program.json", "program"
"""The file about a cached version, and the folder of the program, in the folder that is named after the digest."""


class BuildFailed(UsageFault):
    """Raised if a program can't be built, with the end of the build's output."""


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
        with os_errors_as(ArenaFault, f"the folder of the runner {folder} can't be made"):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    async def get(self, digest: str, place: int) -> BuiltProgram:
        """Return the program with this digest, which is fetched and built if it is not here. It is built as the user at
        this place.

        Raise `BuildFailed` if it can't be built, `ArenaFault` if it can't be fetched or stored.
        """
        async with self._locks.setdefault(digest, asyncio.Lock()):
            at = self._folder / digest
            with contextlib.suppress(OSError, msgspec.MsgspecError):
                info = msgspec.json.decode((at / _INFO_FILE).read_bytes(), type=_Info)
                at.touch()
                return BuiltProgram(folder=at / _PROGRAM_FOLDER, manifest=info.manifest, build_output=info.build_output)
            return await self._make(digest, place)

    async def _make(self, digest: str, place: int) -> BuiltProgram:
        data = await self._read(digest)
        submission = read_submission(data, game_names(), SubmissionLimits().repacked())
        if submission.digest != digest:
            raise ArenaFault("the arena sent another submission than the one that was asked for")
        part, at = self._folder / f"{digest}.part", self._folder / digest
        output = ""
        with os_errors_as(ArenaFault, f"the folder of the runner {self._folder} can't be written"):
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir()
            try:
                _write_files(part / _PROGRAM_FOLDER, submission.files)
                if submission.manifest.build:
                    built, output = await self._build(part / _PROGRAM_FOLDER, submission.manifest, place)
                    shutil.rmtree(part / _PROGRAM_FOLDER)
                    _write_files(part / _PROGRAM_FOLDER, _unpack_tar(built))
                info = _Info(manifest=submission.manifest, build_output=output)
                (part / _INFO_FILE).write_bytes(msgspec.json.encode(info))
                shutil.rmtree(at, ignore_errors=True)
                part.rename(at)
            finally:
                shutil.rmtree(part, ignore_errors=True)
            self._make_room()
        return BuiltProgram(folder=at / _PROGRAM_FOLDER, manifest=submission.manifest, build_output=output)

    async def _build(self, folder: Path, manifest: Manifest, place: int) -> tuple[bytes, str]:
        """Build a program, and return the tar of its folder and the end of the build's output."""
        process = await asyncio.create_subprocess_exec(
            *self._boxes.build_command(folder, manifest.build, place),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
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

    def _make_room(self) -> None:
        kept = sorted(self._folder.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
        for path in kept[MAX_VERSIONS:]:
            shutil.rmtree(path, ignore_errors=True)


async def _read_within(stream: asyncio.StreamReader, max_bytes: int) -> bytes:
    """Return all of a stream. Raise `BuildFailed` if it has too many bytes."""
    found = bytearray()
    while chunk := await stream.read(READ_CHUNK_BYTES):
        found += chunk
        if len(found) > max_bytes:
            raise BuildFailed(f"the built program has more than {max_bytes} bytes: build less")
    return bytes(found)


async def _read_end(stream: asyncio.StreamReader, max_bytes: int) -> bytes:
    """Return the last bytes of a stream."""
    found = bytearray()
    while chunk := await stream.read(READ_CHUNK_BYTES):
        found += chunk
        del found[:-max_bytes]
    return bytes(found)


def _write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files into a new folder, such that every user can read and execute them."""
    folder.mkdir()
    for path, content in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    for one in (folder, *folder.rglob("*")):
        one.chmod(0o755)  # whatever the umask


def _unpack_tar(data: bytes) -> dict[str, bytes]:
    """Return the ordinary files in a tar that a box wrote. Others, and paths that lead out of it, are left out.

    The tar may say that a file is larger than the tar itself, so the contents are counted too.
    """
    files: dict[str, bytes] = {}
    room = MAX_BUILT_BYTES
    try:
        with tarfile.open(fileobj=BytesIO(data), mode="r:") as archive:
            for member in archive:
                path = PurePosixPath(member.name)
                opened = archive.extractfile(member) if member.isreg() else None
                if opened is None or path.is_absolute() or ".." in path.parts or "\0" in member.name:
                    continue
                files[str(path)] = content = opened.read(room + 1)
                room -= len(content)
                if room < 0 or len(files) > MAX_BUILT_FILES:
                    most = f"{MAX_BUILT_BYTES} bytes, or {MAX_BUILT_FILES} files"
                    raise BuildFailed(f"the built program has more than {most}: build less")
    except (tarfile.TarError, OSError, ValueError) as exc:
        raise BuildFailed(f"the built program can't be read: {exc}") from exc
    return files
