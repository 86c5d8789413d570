"""Measure what a hostile bot can access in a tournament, how much a sandbox costs, and which processes survive a killed
tournament.

Usage: python benchmarks/reliability/strangers.py [--rounds 1000] [--small]
Exit status 1 if a bot in a sandbox can access anything, or if a process survives. Without bubblewrap, everything except
the sandbox is measured.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rig import TIMEOUT_S, child_processes
from toolkit import children_processor_s, matches_per_second, play_tournament, read_options, tournament_command

TESTS_FOLDER = Path(__file__).parents[2] / "tests"
"""The folder of the project's tests, whose helpers this program uses."""
EMPTY_FINDINGS: tuple[Any, ...] = ([], False, None)
"""The values in the hostile bot's report that mean no access."""
ALLOWED_FINDINGS = {"arena", "processes", "scratch"}
"""The keys of the hostile bot's report about things that a sandbox need not prevent. The numbers of processes and of
mebibytes of scratch space must still stay within `FINDING_LIMITS`.
"""
FINDING_LIMITS = {"processes": 300, "scratch": 64}
"""The most that a sandbox may let the hostile bot obtain of each limited resource: the number of processes, and
mebibytes of scratch space.
"""


class TestFolder:
    """A folder with the programs of bots, each in a folder of its own, and with the data of tournaments."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.chmod(0o755)  # if root runs this, a sandbox has another user
        for bot, files in {"steady": ["faulty_bots.py"], "hostile": ["faulty_bots.py", "hostile_bot.py"]}.items():
            (folder / bot).mkdir()
            for file in files:
                shutil.copy(TESTS_FOLDER / file, folder / bot)
                (folder / bot / file).chmod(0o644)
        (folder / "diary").write_text("dear diary")

    def make_words(self, bots: Sequence[str], kind: str, *options: str) -> list[str]:
        """Return the arguments of a tournament of these bots in sandboxes of a kind."""
        words = [f"{bot}={sys.executable} {self.folder / program}" for bot, program in (b.split("=") for b in bots)]
        return [*words, "--game", "nim", "--seed", "5", "--sandbox", kind, *options]


BOTS = ["rival=steady/faulty_bots.py steady", "steady=steady/faulty_bots.py steady"]
"""The command-line arguments for the two harmless bots, which play the first legal move."""


def run_hostile_bot(folder: TestFolder, kind: str) -> dict[str, Any]:
    """Run a tournament with the hostile bot. Return the bot's report about what it could access."""
    sys.path.insert(0, str(TESTS_FOLDER))
    from hostile_bot import TAKES

    data = folder.folder / f"hunt-{kind}"
    with socket.create_server(("127.0.0.1", 0)) as server:
        hunt = {
            "others": ["steady"],
            "data": str(data),
            "file": str(folder.folder / "diary"),
            "port": server.getsockname()[1],
            "take": list(TAKES),
        }
        patient = ("--clock", f"{TIMEOUT_S:g}", "--pass-env", "HUNT")  # the hunt takes one turn, long on a busy machine
        words = folder.make_words([BOTS[0], "hostile=hostile/hostile_bot.py"], kind, *patient)
        content = play_tournament(*words, data=data, HUNT=json.dumps(hunt), ARENA_MQTT="mqtt://me:secret@host")
    log = data / "tournaments" / content["tournament"] / "hostile.log"
    found: dict[str, Any] = json.loads(log.read_text().splitlines()[0])
    return found


def is_breach(name: str, value: Any) -> bool:
    """Return whether an entry of the hostile bot's report shows something that a sandbox must prevent."""
    if name in FINDING_LIMITS:
        return bool(value > FINDING_LIMITS[name])
    return (
        name not in ALLOWED_FINDINGS
        and value not in EMPTY_FINDINGS
        and not (isinstance(value, str) and "Error:" in value)
    )


def measure_pace(folder: TestFolder, kind: str, rounds: int) -> tuple[float, float]:
    """Run a tournament. Return two numbers: its matches per second, from the first start to the last end, and its
    processor seconds per match.
    """
    before = children_processor_s()
    content = play_tournament(*folder.make_words(BOTS, kind, "--rounds", str(rounds)))
    return matches_per_second(content["matches"]), (children_processor_s() - before) / rounds


@contextmanager
def run_blocked_tournament(folder: TestFolder, kind: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a tournament in which a bot stops moving in its third match. Yield the tournament's process at that
    moment.
    """
    fifo = folder.folder / "steady" / f"halted-{kind}"
    os.mkfifo(fifo)
    fifo.chmod(0o666)
    bots = [BOTS[0], "halting=steady/faulty_bots.py halting"]
    words = folder.make_words(bots, kind, "--rounds", "3", "--clock", "60", "--pass-env", "ARENA_HALTED")
    command = [*tournament_command(*words), "--data", str(folder.folder / f"kill-{kind}")]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, env={**os.environ, "ARENA_HALTED": str(fifo)}) as process:
        os.close(os.open(fifo, os.O_RDONLY))
        yield process


def descendants_of(pid: int) -> list[int]:
    children = child_processes(pid)
    return children + [pid for child in children for pid in descendants_of(child)]


def measure_survivors(folder: TestFolder, kind: str) -> tuple[int, float, int]:
    """Kill a tournament. Return the number of its processes, the seconds until they ended, and how many survived."""
    with run_blocked_tournament(folder, kind) as process:
        ends = [os.pidfd_open(pid) for pid in descendants_of(process.pid)]
        process.send_signal(signal.SIGKILL)
        began = time.perf_counter()
        left = sum(not select.select([end], [], [], TIMEOUT_S)[0] for end in ends)
        took = time.perf_counter() - began
    for end in ends:
        os.close(end)
    return len(ends), took, left


def main() -> None:
    options = read_options(__doc__, {"rounds": 50}, rounds=1000)
    broken = False
    with tempfile.TemporaryDirectory() as folder:
        ground = TestFolder(Path(folder))
        for kind in ("none", "bwrap"):
            try:
                hunted = run_hostile_bot(ground, kind)
            except RuntimeError as fault:
                if kind == "none" or "bubblewrap" not in str(fault):
                    raise
                print(f"{kind}: not measured: {fault}")
                continue
            prey = [name for name, value in hunted.items() if is_breach(name, value)]
            print(f"{kind}: a hostile bot got {', '.join(prey) or 'nothing'} of {', '.join(hunted)}")
            count, seconds, left = measure_survivors(ground, kind)
            print(f"{kind}: killed, its {count} processes were gone after {seconds:.2f} s, all but {left}")
            speed, each = measure_pace(ground, kind, options.rounds)
            print(f"{kind}: {speed:.0f} matches of nim a second between strangers, {each * 1000:.1f} ms of work each")
            broken |= bool(left or (kind == "bwrap" and prey))
    raise SystemExit(broken)


if __name__ == "__main__":
    main()
