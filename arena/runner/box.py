"""The box in which the program of a hosted bot runs: bubblewrap, no network, limits of the kernel."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct

from arena.hosting.languages import PYTHON
from arena.processes.launch_spec import MIB, ResourceLimits
from arena.runs.sandbox import closed_box_command
from protocol import bot_launch

PROGRAM_FOLDER, BUILD_FOLDER = "/bot", "/build"
"""The folder of the program in a box, read-only; and the one in which it is built, which is lost with the box."""
MAX_PROCESSES = 128
"""Maximum number of processes and threads of a program. A Java program has about 30."""
_BUILD_SCRIPT = 'cp -R "$0"/. "$1" && cd "$1" && shift && "$@" >&2 && exec tar -cf - .'
"""The shell script that copies a program, builds it, and writes the folder as a tar. Its arguments are the two folders
and the words of the command."""


class Boxes(Struct, frozen=True, kw_only=True):
    """The settings of this machine's boxes: the memory of each process, and the users that programs run as.

    There are no users unless this process is root's. Then each program has a user of its own.
    """

    memory_mib: int
    users: tuple[int, ...] = ()
    copies: int = 1
    """Maximum number of processes of one program that run at a time, each in its own box."""

    def program_command(
        self, folder: Path, command: Sequence[str], place: int, seed: str | None = None
    ) -> tuple[str, ...]:
        """Return the command that runs a program of `folder` in a box, as the user at this place. `seed` is the one of
        the program's own randomness, if any.
        """
        seeded = {} if seed is None else {bot_launch.SEED_VARIABLE: seed}
        box = self._box({PROGRAM_FOLDER: folder}, PROGRAM_FOLDER, variables=seeded)
        return (*box, *self._limits(place), *_with_python(command))

    def build_command(self, folder: Path, command: Sequence[str], place: int) -> tuple[str, ...]:
        """Return the command that builds a program of `folder` in a box, and writes the built folder as a tar."""
        box = self._box({PROGRAM_FOLDER: folder}, BUILD_FOLDER, scratch=(BUILD_FOLDER,))
        words = ("sh", "-c", _BUILD_SCRIPT, PROGRAM_FOLDER, BUILD_FOLDER, *_with_python(command))
        return (*box, *self._limits(place), *words)

    def _box(
        self,
        shown: dict[str, Path],
        inside: str,
        scratch: Sequence[str] = (),
        variables: Mapping[str, str] = MappingProxyType({}),
    ) -> tuple[str, ...]:
        settings = {str(path): path for path in Path("/etc").glob("java-*")}  # a Java program looks for its settings
        environment = {
            "HOME": "/tmp",  # noqa: S108 - inside the box
            "LANG": "C.UTF-8",
            "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
            "PYTHONPATH": str(Path(__file__).parents[2]),
            "GOCACHE": "/tmp/go",  # noqa: S108 - inside the box
            **variables,
        }
        return closed_box_command({**settings, **shown}, environment, inside, scratch)

    def _limits(self, place: int) -> tuple[str, ...]:
        """Return the words that apply the limits, and change the user, before the program starts."""
        limits = ResourceLimits(memory=self.memory_mib * MIB, processes=MAX_PROCESSES * self.copies)
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
