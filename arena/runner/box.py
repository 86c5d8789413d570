"""The box in which the program of a hosted bot runs: bubblewrap, no network, limits of the kernel."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from arena.hosting.languages import PYTHON
from arena.processes.launch_spec import MIB, ResourceLimits
from arena.runs.sandbox import closed_box_command
from protocol.match_logs import STATE_MARK

PROGRAM_FOLDER, BUILD_FOLDER = "/bot", "/build"
"""The folder of the program in a box, read-only; and the one in which it is built, which is lost with the box."""
MAX_PROCESSES = 128
"""Maximum number of processes and threads of a program. A Java program has about 30."""
STATE_TAR, STATE_FOLDER = "/kept.tar", "/keep"
"""The tar in a box with the files that the program has kept, and the folder in which it finds and leaves them."""
_KEEP_SCRIPT = """tar -xf "$0" -C "$KEEP" 2>/dev/null
"$@"
code=$?
[ $code = 0 ] || exit $code
printf %s {mark}
tar -cf - -C "$KEEP" {names} 2>/dev/null
exit 0"""
"""The form of the script of `keep_script`. Unless the program fails, what it has left of the files follows its output,
as a tar. A file that is not there is left out."""
_BUILD_SCRIPT = 'cp -R "$0"/. "$1" && cd "$1" && shift && "$@" >&2 && exec tar -cf - .'
"""The shell script that copies a program, builds it, and writes the folder as a tar. Its arguments are the two folders
and the words of the command."""


class KeptFiles(Struct, frozen=True, kw_only=True):
    """The files that a program keeps between matches: their names, and the tar in which it finds them."""

    names: tuple[str, ...]
    tar: Path


def keep_script(names: Sequence[str]) -> str:
    """Return the shell script that runs a program which keeps files with these names in the folder `$KEEP`. Its
    arguments are the tar with the files, and the words of the command.
    """
    return _KEEP_SCRIPT.format(mark=shlex.quote(STATE_MARK.decode()), names=shlex.join(names))


class Boxes(Struct, frozen=True, kw_only=True):
    """The settings of this machine's boxes: the memory of each process, and the users that programs run as.

    There are no users unless this process is root's. Then each program has a user of its own.
    """

    memory_mib: int
    users: tuple[int, ...] = ()

    def program_command(
        self, folder: Path, command: Sequence[str], place: int, kept: KeptFiles | None = None
    ) -> tuple[str, ...]:
        """Return the command that runs a program of `folder` in a box, as the user at this place."""
        if kept is None:
            box = self._box({PROGRAM_FOLDER: folder}, PROGRAM_FOLDER)
            return (*box, *self._limits(place), *_with_python(command))
        box = self._box({PROGRAM_FOLDER: folder, STATE_TAR: kept.tar}, PROGRAM_FOLDER, scratch=(STATE_FOLDER,))
        words = ("sh", "-c", keep_script(kept.names), STATE_TAR, *_with_python(command))
        return (*box, "--setenv", "KEEP", STATE_FOLDER, *self._limits(place), *words)

    def build_command(self, folder: Path, command: Sequence[str], place: int) -> tuple[str, ...]:
        """Return the command that builds a program of `folder` in a box, and writes the built folder as a tar."""
        box = self._box({PROGRAM_FOLDER: folder}, BUILD_FOLDER, scratch=(BUILD_FOLDER,))
        words = ("sh", "-c", _BUILD_SCRIPT, PROGRAM_FOLDER, BUILD_FOLDER, *_with_python(command))
        return (*box, *self._limits(place), *words)

    def _box(self, shown: dict[str, Path], inside: str, scratch: Sequence[str] = ()) -> tuple[str, ...]:
        settings = {str(path): path for path in Path("/etc").glob("java-*")}  # a Java program looks for its settings
        environment = {
            "HOME": "/tmp",  # noqa: S108 - inside the box
            "LANG": "C.UTF-8",
            "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
            "PYTHONPATH": str(Path(__file__).parents[2]),
            "GOCACHE": "/tmp/go",  # noqa: S108 - inside the box
        }
        return closed_box_command({**settings, **shown}, environment, inside, scratch)

    def _limits(self, place: int) -> tuple[str, ...]:
        """Return the words that apply the limits, and change the user, before the program starts."""
        limits = ResourceLimits(memory=self.memory_mib * MIB, processes=MAX_PROCESSES)
        words = (
            "prlimit",
            f"--data={limits.memory}",
            f"--nproc={limits.processes}",
            f"--nofile={limits.files}",
            f"--fsize={limits.file_size}",
            "--core=0",
        )
        if os.geteuid() != 0:
            return words
        user = self.users[place]
        return ("setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *words)


def _with_python(command: Sequence[str]) -> tuple[str, ...]:
    """Return a command in which the Python that has the library `bots` replaces `python3`."""
    return (sys.executable if command[0] in (PYTHON, "python") else command[0], *command[1:])
