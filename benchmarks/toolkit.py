"""Tools for the programs in this folder and its subfolders: command lines, processes, tournaments and statistics."""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from statistics import fmean, stdev
from typing import Any


def option(default: Any, text: str | None = None, **more: Any) -> dict[str, Any]:
    """Return an option for `read_options` with a help text, or with other arguments of `add_argument`."""
    return {"default": default, "help": text, **more}


def read_options(doc: str | None, small: Mapping[str, Any] | None = None, **options: Any) -> argparse.Namespace:
    """Parse the command line of a program. `options` has a default for each option, or what `option` returns.

    An option has the type of its default: False stands for a flag, and a list for words separated by commas. If `small`
    is given, there is an option `--small`, which replaces options by the values in `small`.
    """
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, given in options.items():
        words = given if isinstance(given, dict) else {"default": given}
        parser.add_argument(f"--{name.replace('_', '-')}", **_type_of(words["default"], words), **words)
    if small is not None:
        parser.add_argument("--small", action="store_true", help="a run of seconds")
    read = parser.parse_args()
    if small is not None and read.small:
        vars(read).update(small)
    return read


def _type_of(default: Any, words: Mapping[str, Any]) -> dict[str, Any]:
    if default is False:
        return {"action": "store_true"}
    if default is None or words.keys() & {"type", "nargs", "action"}:
        return {}
    if isinstance(default, list):
        return {"type": lambda text: [type(default[0])(word) for word in text.split(",")]}
    return {"type": type(default)}


def processor_s(process: int) -> float:
    """Return the processor time that a process has used so far, in seconds. On systems other than Linux, return 0."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def children_processor_s() -> float:
    """Return the processor seconds of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def memory_mib(process: int, field: str = "VmRSS") -> float:
    """Return the memory of a process; with the field `VmHWM` the peak. Return 0 if the process has ended, and on
    systems other than Linux.
    """
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0.0
    words = status.partition(f"{field}:")[2].split()
    return int(words[0]) / 1024 if words else 0.0


def play_tournament(*words: str, data: Path | None = None, checkout: Path | None = None, **environ: str) -> Any:
    """Run `arena tournament` to its end, and return what it writes with `--json`. Its data folder is removed unless it
    is given. `checkout` is the folder with the code to run, if it is not this one. Raise `RuntimeError` with the error
    output if the tournament fails.
    """
    with tempfile.TemporaryDirectory() as scratch:
        folder, file = data or Path(scratch), Path(scratch) / "out.json"
        command = [*tournament_command(*words), "--data", str(folder), "--json", str(file)]
        environment = os.environ | environ | ({} if checkout is None else {"PYTHONPATH": str(checkout)})
        done = subprocess.run(command, capture_output=True, text=True, cwd=checkout, env=environment, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr.strip())
        return json.loads(file.read_text())


def tournament_command(*words: str) -> list[str]:
    return [sys.executable, "-m", "arena", "tournament", *words]


def matches_per_second(matches: Sequence[Mapping[str, Any]]) -> float:
    """Return the matches per second of a tournament, from the first start of a match to the last end."""
    times = [datetime.fromisoformat(match[when]) for match in matches for when in ("started", "finished")]
    return len(matches) / (max(times) - min(times)).total_seconds()


def run_plain(*words: str) -> Any:
    """Run the calling program again, with other arguments and without compiled code. Return what it prints as JSON."""
    command, environment = [sys.executable, sys.argv[0], *words], os.environ | {"ARENA_PLAIN": "1"}
    return json.loads(subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout)


def quantile(values: Iterable[float], share: float) -> float:
    """Return the quantile `share` (0 to 1) of some values; NaN if there are none."""
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)] if ordered else math.nan


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean of values, and half the width of its 95 % interval."""
    return fmean(values), 1.96 * stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.inf


def format_mean(values: Sequence[float], digits: int = 4) -> str:
    mean, error = mean_and_error(values)
    return f"{mean:.{digits}f} ±{error:.{digits}f}"


def z_score(values: Sequence[float]) -> float:
    """Return the mean of values divided by its standard error."""
    mean, error = mean_and_error(values)
    return 1.96 * mean / error
