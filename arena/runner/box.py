"""The box in which the program of a hosted bot runs: bubblewrap, no network, limits of the kernel."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct

from arena.hosting.languages import PYTHON
from arena.processes.launch_spec import ResourceLimits
from arena.runner import box_init
from arena.runner.box_watch import BoxLimits
from arena.runs.sandbox import closed_box_command
from machine.subprocesses import limit_niceness
from machine.units import MIB
from protocol import bot_launch
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
NICENESS, BUILD_NICENESS = 5, 15
"""The nice value of a program, in addition to that of its client, which starts the box; and that of a build, which the
runner starts. It is the same in the end: a build must not hold up programs that play.
"""
_CAPABILITIES = {"CAP_KILL": 5, "CAP_SETGID": 6, "CAP_SETUID": 7, "CAP_SYS_PTRACE": 19}
"""The rights of the first process in a box if it is root, with their numbers in the kernel: to become the program's
user, to signal its processes, and to read how much memory they share. The program has none of them."""
_HIDDEN_DEVICES = {"/dev/zero": Path(os.devnull)}
"""The devices that can't be opened in a box: by this one, processes share memory that no limit counts."""
_FIRST_PROCESS_COMMAND = (sys.executable, "-S", "-P", "-c", f"from {box_init.__name__} import main; main()")
"""The command of the first process in a box. It starts more quickly without packages, and without `-m`."""
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
    copies: int = 1
    """Maximum number of processes of one program that run at a time, each in its own box."""

    def program_command(
        self,
        folder: Path,
        command: Sequence[str],
        place: int,
        kept: KeptFiles | None = None,
        seed: str | None = None,
    ) -> tuple[str, ...]:
        """Return the command that runs a program of `folder` in a box, as the user at this place. `seed` is the one of
        the program's own randomness, if any. A program that keeps no files finds an empty folder for them.
        """
        seeded = {} if seed is None else {bot_launch.SEED_VARIABLE: seed}
        first = self._first_process(place, is_build=False)
        if kept is None:
            box = self._box({PROGRAM_FOLDER: folder}, PROGRAM_FOLDER, variables={**seeded, "KEEP": "/tmp"})  # noqa: S108
            return (*box, *first, *with_python(command))
        shown, variables = {PROGRAM_FOLDER: folder, STATE_TAR: kept.tar}, {**seeded, "KEEP": STATE_FOLDER}
        box = self._box(shown, PROGRAM_FOLDER, scratch=(STATE_FOLDER,), variables=variables)
        return (*box, *first, "sh", "-c", keep_script(kept.names), STATE_TAR, *with_python(command))

    def build_command(self, folder: Path, command: Sequence[str], place: int) -> tuple[str, ...]:
        """Return the command that builds a program of `folder` in a box, and writes the built folder as a tar."""
        box = self._box({PROGRAM_FOLDER: folder}, BUILD_FOLDER, scratch=(BUILD_FOLDER,))
        words = ("sh", "-c", _BUILD_SCRIPT, PROGRAM_FOLDER, BUILD_FOLDER, *with_python(command))
        return (*box, *self._first_process(place, is_build=True), *words)

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
        return closed_box_command({**settings, **_HIDDEN_DEVICES, **shown}, environment, inside, scratch)

    def _first_process(self, place: int, *, is_build: bool) -> tuple[str, ...]:
        """Return the words of the first process in the box, which starts the program within the limits."""
        limits = ResourceLimits(memory=self.memory_mib * MIB, processes=MAX_PROCESSES * self.copies)
        applied = BoxLimits(
            memory=limits.memory,
            processes=limits.processes,
            files=limits.files,
            file_size=limits.file_size,
            user=self.users[place] if os.geteuid() == 0 else -1,
            niceness=limit_niceness(BUILD_NICENESS if is_build else NICENESS),
            is_build=int(is_build),
        )
        rights = ["--cap-drop", "ALL", *_rights_options(_permitted_capabilities())] if os.geteuid() == 0 else []
        return ("--as-pid-1", *rights, *_FIRST_PROCESS_COMMAND, applied.encode())


def _permitted_capabilities() -> int:
    """Return the capabilities that this process may use, as the kernel's bits. A container may lack some of root's."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("CapPrm:")), 16)


def _rights_options(permitted: int) -> Iterator[str]:
    for name, number in _CAPABILITIES.items():
        if permitted >> number & 1:
            yield from ("--cap-add", name)


def with_python(command: Sequence[str]) -> tuple[str, ...]:
    """Return a command in which the Python that has the library `bots` replaces `python3`."""
    return (sys.executable if command[0] in (PYTHON, "python") else command[0], *command[1:])
