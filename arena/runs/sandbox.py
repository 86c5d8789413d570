"""Sandboxes for untrusted programs: a separate user for each, or an isolated file system made with bubblewrap.

A program in a bubblewrap sandbox only sees the folders that are mounted into the sandbox. It has no network but a port
in the sandbox on which the arena listens.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from arena.processes.launch_spec import MAX_PROCESSES, SCRATCH_MIB, LaunchSpec, ResourceLimits
from arena.runs.contestants import Contestant
from machine.units import MIB
from protocol import DEFAULT_PORT, bot_launch
from protocol.errors import ArenaFault, UsageFault

NO_SANDBOX, USERS_SANDBOX, BWRAP_SANDBOX = "none", "users", "bwrap"
"""The kinds of sandboxes: `NO_SANDBOX` is none, `USERS_SANDBOX` has a user for each program, `BWRAP_SANDBOX` a file
system made with bubblewrap.
"""
SANDBOX_KINDS = (NO_SANDBOX, USERS_SANDBOX, BWRAP_SANDBOX)
"""All kinds of sandboxes that `--sandbox` accepts."""
NO_HOME = "/nonexistent"
"""The home folder that a program in a sandbox of the kind `users` is given. No such folder exists."""
_SANDBOX_SCRATCH_FOLDER = "/tmp"  # noqa: S108 - each sandbox has its own
"""The folder in a bubblewrap sandbox to which a program can write, which is also its home folder."""
_VISIBLE_SYSTEM_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
"""The folders of the system that a bubblewrap sandbox shows."""
_VISIBLE_ETC_PATHS = (
    "alternatives",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "ssl/certs",
    "ssl/openssl.cnf",
)
"""The paths below /etc that a bubblewrap sandbox shows."""
_VISIBLE_PYTHON_PATHS = ("bin", "lib", "lib64", "pyvenv.cfg")
"""The paths in the folder of a Python installation, or of another program, that a bubblewrap sandbox shows."""
_VISIBLE_PROJECT_PACKAGES = ("arena", "bots", "games", "machine", "measuring", "protocol", "referee")
"""The packages of this project that a bubblewrap sandbox shows."""
_BWRAP_ISOLATION_OPTIONS = (
    *("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"),
    *("--hostname", "bot", "--die-with-parent"),
)
"""The options of `bwrap` that separate a program from the machine's processes and network."""


class Sandbox(Struct, frozen=True, kw_only=True):
    """The isolation of untrusted programs. Each runs as one of `users`; if there are none, all run as the operator.

    A bubblewrap sandbox hides the paths `data` and `database`. It shows the paths in `readable` and those that a
    program's command names.
    """

    kind: str
    data: Path
    database: Path | None
    users: tuple[int, ...] = ()
    readable: tuple[Path, ...] = ()
    memory_mib: int = 2048
    copies: int = 1
    """Maximum number of processes of one bot that run at a time, one for each worker."""

    def launch_spec(
        self, contestant: Contestant, number: int, environment: Mapping[str, str], token: str
    ) -> LaunchSpec:
        """Return how to launch a bot in the sandbox. If there are users, the bot runs as `users[number]`. Raise
        `UsageFault` if the bot would see protected files.
        """
        changed = {**environment, "HOME": NO_HOME}
        changed.pop("XDG_CACHE_HOME", None)
        user = self.users[number] if self.users else None
        limits = ResourceLimits(memory=self.memory_mib * MIB, processes=MAX_PROCESSES * self.copies, user=user)
        order = LaunchSpec(command=contestant.command, environment=changed, token=token, limits=limits)
        if self.kind == USERS_SANDBOX:
            return order
        changed |= {
            "HOME": _SANDBOX_SCRATCH_FOLDER,
            "TMPDIR": _SANDBOX_SCRATCH_FOLDER,
            bot_launch.URL_VARIABLE: f"ws://127.0.0.1:{DEFAULT_PORT}",
        }
        box = self._bwrap_command(contestant.name, contestant.command)
        return msgspec.structs.replace(order, limits=None, sandbox=(*box, msgspec.json.encode(limits).decode()))

    def _bwrap_command(self, name: str, command: Sequence[str]) -> tuple[str, ...]:
        """Return the command that sets up a bubblewrap sandbox for a bot, and runs `sandbox_init` in it."""
        inside, data = Path.cwd(), self.data.resolve()
        shown = {*(Path(os.path.abspath(path)) for path in self.readable), *_named_folders(command)}
        for path in shown:
            self._check_visible(name, path)
        bound = _outermost_paths(
            {
                *_existing_paths(Path("/etc"), _VISIBLE_ETC_PATHS),
                *_program_folders(command[0]),
                *_arena_folders(),
                *shown,
            }
        )
        words = ["bwrap", *_namespace_options(), *_BWRAP_ISOLATION_OPTIONS, "--proc", "/proc", "--dev", "/dev"]
        words += [*_scratch_options("/dev/shm"), *_scratch_options(_SANDBOX_SCRATCH_FOLDER), *_system_options()]  # noqa: S108 - inside the sandbox
        for path in bound:
            words += [*_parent_options(path), "--ro-bind", str(path), str(path)]
        for path in bound:
            if data.is_relative_to(real := path.resolve()):  # the data folder lies inside, under any name
                words += ["--perms", "0000", "--size", "4096", "--tmpfs", str(path / data.relative_to(real))]
        if not any(inside.is_relative_to(path) for path in bound):
            words += [*_parent_options(inside), "--perms", "0755", "--dir", str(inside)]
        words += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", str(inside)]
        return (*words, sys.executable, "-P", "-m", "arena.runs.sandbox_init")

    def _check_visible(self, name: str, path: Path) -> None:
        """Raise `UsageFault` if the bot `name` must not see a path that the sandbox would show."""
        place, data = path.resolve(), self.data.resolve()
        database = data if self.database is None else self.database.resolve()
        if place.is_relative_to(data):
            raise UsageFault(f"{name}: {path} lies in the data folder, which bots don't see in a sandbox")
        if database.is_relative_to(place) and not database.is_relative_to(data):
            raise UsageFault(f"{name} would see the database {self.database} in {path}: keep one of them elsewhere")
        if Path.home().resolve().is_relative_to(place) or place == Path(_SANDBOX_SCRATCH_FOLDER):
            raise UsageFault(f"{name} could read all of {path}: move it to a folder of its own")


class BotEnvironment(Struct, frozen=True, kw_only=True):
    """The environment variables that every bot gets, the sandbox for untrusted programs, and the nice value of bots.
    The tournament adds more variables.
    """

    variables: Mapping[str, str]
    sandbox: Sandbox | None = None
    niceness: int = 0


def check_bubblewrap(user: str = "--sandbox bwrap") -> None:
    """Raise `UsageFault` if bubblewrap, which `user` needs, is missing; `ArenaFault` if it cannot create sandboxes."""
    if shutil.which("bwrap") is None:
        raise UsageFault(f"{user} needs bubblewrap: apt-get install bubblewrap, or dnf install bubblewrap")
    command = [
        "bwrap",
        *_namespace_options(),
        *_BWRAP_ISOLATION_OPTIONS,
        "--ro-bind",
        "/",
        "/",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "true",
    ]
    tried = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - all of it is said here
    if tried.returncode:
        said = tried.stderr.strip().splitlines()
        raise ArenaFault(
            f"bubblewrap can't make a sandbox here: {said[0] if said else f'exit code {tried.returncode}'}; "
            "it takes version 0.8 and user namespaces (in a container often forbidden), or root"
        )


def _namespace_options() -> tuple[str, ...]:
    """Return the options of `bwrap` for user namespaces. Root needs none, because each bot gets a user of its own."""
    return () if os.geteuid() == 0 else ("--unshare-user", "--disable-userns")


def _scratch_options(place: str) -> list[str]:
    return ["--perms", "1777", "--size", str(SCRATCH_MIB * MIB), "--tmpfs", place]


def _system_options() -> Iterator[str]:
    """Yield the options of `bwrap` that show the system's programs and libraries. Links such as /bin stay links."""
    for name in _VISIBLE_SYSTEM_FOLDERS:
        path = Path(name)
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), name)
        elif path.is_dir():
            yield from ("--ro-bind", name, name)


def _existing_paths(folder: Path, names: Sequence[str]) -> Iterator[Path]:
    return (path for path in (folder / name for name in names) if path.exists())


def _program_folders(program: str) -> Iterator[Path]:
    """Yield the paths of a program and its libraries; if the program is a link, also those of the link's target."""
    found = shutil.which(program)
    path = Path(found).absolute() if found else None
    while path is not None:
        if path.parent.name == "bin":
            yield from _existing_paths(path.parents[1], _VISIBLE_PYTHON_PATHS)
        else:
            yield path
        path = path.parent / path.readlink() if path.is_symlink() else None


def _arena_folders() -> Iterator[Path]:
    """Yield the folders of this Python, which runs `sandbox_init`, and of this project, which bots may use."""
    for prefix in {sys.prefix, sys.base_prefix}:
        yield from _existing_paths(Path(prefix), _VISIBLE_PYTHON_PATHS)
    yield from (Path(__file__).parents[2] / package for package in _VISIBLE_PROJECT_PACKAGES)


def _named_folders(command: Sequence[str]) -> Iterator[Path]:
    """Yield the folders that the arguments of a command name, and the folders of the files that they name."""
    for word in command[1:]:
        path = Path(os.path.abspath(word))
        if path.is_dir():
            yield path
        elif path.exists():
            yield path.parent


def _outermost_paths(paths: set[Path]) -> list[Path]:
    """Return the paths to mount. Leave out a path in a folder of the system that is visible anyway, and a path inside
    another one of `paths`.
    """
    plain = sorted({Path(os.path.normpath(path)) for path in paths})
    outer: list[Path] = []
    for path in plain:
        if not any(path.is_relative_to(other) for other in (*map(Path, _VISIBLE_SYSTEM_FOLDERS), *outer)):
            outer.append(path)
    return outer


def _parent_options(path: Path) -> Iterator[str]:
    """Yield the options of `bwrap` that create the parent folders of a path, such that every user may enter these
    folders.
    """
    for parent in reversed(path.parents[:-1]):
        yield from ("--perms", "0755", "--dir", str(parent))


def closed_box_command(
    shown: Mapping[str, Path], environment: Mapping[str, str], folder: str, scratch: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return the command that sets up a bubblewrap box without any network, in which the command that follows it runs.

    The box shows the system's programs, this Python with this project, and the paths `shown`, each by its path in the
    box, all read-only. The program can write to /tmp, its home folder, and to the folders `scratch` in the box. It
    starts in `folder`, with these environment variables alone.
    """
    bound = _outermost_paths(
        {*_existing_paths(Path("/etc"), _VISIBLE_ETC_PATHS), *_program_folders(sys.executable), *_arena_folders()}
    )
    words = [
        "bwrap",
        *_namespace_options(),
        *_BWRAP_ISOLATION_OPTIONS,
        "--new-session",
    ]  # no terminal of the operator's
    words += ["--proc", "/proc", "--dev", "/dev"]
    for place in ("/dev/shm", _SANDBOX_SCRATCH_FOLDER, *scratch):  # noqa: S108 - inside the box
        words += _scratch_options(place)
    words += _system_options()
    for path in bound:
        words += [*_parent_options(path), "--ro-bind", str(path), str(path)]
    for inside, path in shown.items():
        words += ["--ro-bind", str(path), inside]
    words += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", folder, "--clearenv"]
    for name, value in environment.items():
        words += ["--setenv", name, value]
    return tuple(words)
