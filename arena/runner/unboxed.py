"""Runs programs of hosted bots without a box, where none can be made and the operator trusts their authors."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from arena.processes.launch_spec import ResourceLimits
from arena.runner.box import Boxes, KeptFiles, keep_script, with_python
from machine.units import MIB
from protocol import bot_launch

_RUN_SCRIPT = 'cd "$0" && exec "$@"'
"""The shell script that runs a program in its folder. Its arguments are the folder and the words of the command."""
_KEEP_PREAMBLE = """KEEP=$(mktemp -d "${0%/*}/keep.XXXXXX") || exit
export KEEP
trap 'rm -rf "$KEEP"' EXIT
cd "$1" || exit
shift
"""
"""The beginning of the shell script that runs a program which keeps files. Its arguments are the tar with the files,
the folder of the program, and the words of the command."""
_BUILD_SCRIPT = (
    'made=$(mktemp -d) && trap \'rm -rf "$made"\' EXIT && cp -R "$0"/. "$made" && cd "$made" && "$@" >&2 && tar -cf - .'
)
"""The shell script that copies a program, builds it, and writes the folder as a tar. Its arguments are the folder and
the words of the command."""


class Unboxed(Boxes, frozen=True, kw_only=True):
    """Runs programs with the rights of the runner's user. They read and write what it may, and have the network.

    The kernel still limits the memory of each process. The environment is that of a box, so it has no token.
    """

    def program_command(
        self,
        folder: Path,
        command: Sequence[str],
        place: int,
        kept: KeptFiles | None = None,
        seed: str | None = None,
    ) -> tuple[str, ...]:
        seeded = () if seed is None else (f"{bot_launch.SEED_VARIABLE}={seed}",)
        words: tuple[str, ...] = ("sh", "-c", _RUN_SCRIPT, str(folder))
        if kept is not None:
            words = ("sh", "-c", _KEEP_PREAMBLE + keep_script(kept.names), str(kept.tar.absolute()), str(folder))
        return (*self._environment(), *seeded, *words, *self._prlimit(), *with_python(command))

    def build_command(self, folder: Path, command: Sequence[str], place: int) -> tuple[str, ...]:
        return (*self._environment(), "sh", "-c", _BUILD_SCRIPT, str(folder), *self._prlimit(), *with_python(command))

    def _environment(self) -> tuple[str, ...]:
        variables = {
            "HOME": "/tmp",  # noqa: S108 - as in a box
            "LANG": "C.UTF-8",
            "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
            "PYTHONPATH": str(Path(__file__).parents[2]),
        }
        return ("env", "-i", *(f"{name}={value}" for name, value in variables.items()))

    def _prlimit(self) -> tuple[str, ...]:
        limits = ResourceLimits(memory=self.memory_mib * MIB)
        sizes = (f"--data={limits.memory}", f"--nofile={limits.files}", f"--fsize={limits.file_size}")
        return ("prlimit", *sizes, "--core=0")
