"""Unpacks what a build has left, in a process of its own: a stranger wrote the tar, so memory and time are limited."""

from __future__ import annotations

import errno
import sys
import tarfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path, PurePosixPath

from protocol.errors import UsageFault

MAX_BUILT_BYTES = 64 * 1024 * 1024
"""Maximum bytes of the tar of a built program, with its sources, and of the files in it."""
MAX_BUILT_FILES = 5000
"""Maximum number of files, folders and other members of the tar of a built program."""
DISK_FULL_ERRORS = (errno.ENOSPC, errno.EDQUOT)
"""The errors of a disk, or of the part of it that this user may fill, that is full."""
DISK_FULL_EXIT_CODE = 3
"""The exit code of the process if the disk is full."""
MAX_PATH_DEPTH = 32
"""Maximum number of names in the path of a file of a built program."""


class BuildFailed(UsageFault):
    """Raised if a program can't be built, with the end of the build's output."""


def main() -> None:
    """Unpack the tar on standard input into a new folder, the first argument. If it is refused, exit with a line."""
    try:
        write_files(Path(sys.argv[1]), unpack_tar(sys.stdin.buffer.read()))
    except BuildFailed as fault:
        sys.exit(str(fault))
    except MemoryError:
        sys.exit("the built program takes too much to unpack: build less")
    except OSError as exc:
        if exc.errno in DISK_FULL_ERRORS:
            sys.exit(DISK_FULL_EXIT_CODE)
        sys.exit(f"the built program can't be stored: {exc.strerror}")


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files into a new folder, such that every user can read and execute them."""
    folder.mkdir()
    for path, content in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    for one in (folder, *folder.rglob("*")):
        one.chmod(0o755)  # whatever the umask


def unpack_tar(data: bytes) -> dict[str, bytes]:
    """Return the ordinary files in a tar that a box wrote. Others, and paths that lead out of it, are left out.

    The tar may say that a file is larger than the tar itself, so the contents are counted too. Raise `BuildFailed` if
    the tar can't be read, or has too much.
    """
    files: dict[str, bytes] = {}
    members, room = 0, MAX_BUILT_BYTES
    try:
        with tarfile.open(fileobj=BytesIO(data), mode="r:") as archive:
            for member in archive:
                members += 1
                path = PurePosixPath(member.name)
                is_file = member.isreg() and not member.issparse()
                is_inside = not path.is_absolute() and ".." not in path.parts and "\0" not in member.name
                opened = archive.extractfile(member) if is_file and is_inside else None
                if opened is not None:
                    files[str(path)] = content = opened.read(room + 1)
                    room -= len(content)
                if room < 0 or members > MAX_BUILT_FILES or len(path.parts) > MAX_PATH_DEPTH:
                    most = (
                        f"{MAX_BUILT_BYTES} bytes, {MAX_BUILT_FILES} files or {MAX_PATH_DEPTH} folders in one another"
                    )
                    raise BuildFailed(f"the built program has more than {most}: build less")
    except (tarfile.TarError, OSError, ValueError) as exc:
        raise BuildFailed(f"the built program can't be read: {exc}") from exc
    return files


if __name__ == "__main__":
    main()
