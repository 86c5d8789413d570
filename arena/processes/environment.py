"""What bots find around them: of the operator's environment what programs need, nothing that could be a secret."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from protocol.errors import UsageFault

PASSED = (
    "ARENA_PLAIN",
    "HOME",
    "LANG",
    "LANGUAGE",
    "LD_LIBRARY_PATH",
    "LOGNAME",
    "PATH",
    "TMPDIR",
    "TZ",
    "USER",
    "VIRTUAL_ENV",
    "XDG_CACHE_HOME",
)
PASSED_BEGINNINGS = ("LC_", "NUMBA_", "OMP_", "PYTHON")


def passed(environ: Mapping[str, str], more: Sequence[str] = ()) -> dict[str, str]:
    """The variables that every bot gets, with those named in `more`. Raises `UsageFault` for one that is not set."""
    for name in more:
        if name not in environ:
            raise UsageFault(f"--pass-env {name}: there is no such variable in the environment")
    return {
        name: value
        for name, value in environ.items()
        if name in PASSED or name in more or name.startswith(PASSED_BEGINNINGS)
    }
