"""Measure how long a hosted bot thinks against a quiet opponent, and against opponents that attack.

Both programs run in boxes of a runner, without an arena: the bot hashes for a fixed number of times at each turn, and
its opponent answers at once, then does what its name says. Matches come in pairs, a quiet one and an attacked one, in
random order. The program prints the milliseconds of a turn, each with its 95% interval over matches, and the mean
difference of the pairs. Where the intervals overlap, the attack took no time that could be told from noise.

Usage: python benchmarks/hostile_bots.py [--pairs 12] [--turns 15] [--attacks burning,forking] [--seed 1]
Run it on free cores: other work makes the intervals wide. The reference is one core (`taskset -c 0`), on which an
attacker would take the most. For comparison, `--unstopped` lets the attackers run between their turns, with one core.
"""

from __future__ import annotations

import math
import os
import random
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from toolkit import option, read_options

from arena.runner.box import Boxes
from arena.runner.box_watch import BoxLimits
from measuring.student_t import t_critical

START, TURN = b'{"type":"start"}\n', b'{"type":"turn","legal":[{}]}\n'
USERS = (61_201, 61_202)
"""The users of the two programs, where this runs as root."""
READY_S = 0.5
"""Seconds that both programs get before the first turn, as in a match."""
PAUSE_S = 0.1
"""Seconds before each turn of the opponent. A program that has not run for a while takes longer, and some attacks make
the opponent's own turns long: so each turn of the bot comes after a while.
"""
THINKING_PROGRAM = """
import hashlib, sys
for line in sys.stdin:
    if "turn" in line:
        digest = b""
        for _ in range(20_000):
            digest = hashlib.sha256(digest).digest()
        print("{}", flush=True)
"""
"""The bot that is measured."""
ATTACKS = {
    "quiet": "",
    "burning": "for _ in range(8):\n    if os.fork() == 0:\n        while True: pass",
    "threads": "for _ in range(8): threading.Thread(target=burn, daemon=True).start()",
    "forking": "if os.fork() == 0:\n    while True:\n        if os.fork() == 0: os._exit(0)\n        os.wait()",
    "memory": "if os.fork() == 0:\n    while True: bytearray(200 << 20)",
    "files": "if os.fork() == 0:\n    while True: open('/tmp/file', 'wb').write(bytes(50 << 20))",
    "flooding": "if os.fork() == 0:\n    while True: os.write(2, b'x' * 65536)",
    "lines": "if os.fork() == 0:\n    while True: os.write(1, b'\\n' * 65536)",
}
"""The Python code that each opponent runs once, at its first turn."""
OPPONENT_PROGRAM = """
import os, sys, threading

def burn():
    while True: pass

def attack():
    ATTACK

has_begun = False
for line in sys.stdin:
    if "turn" in line:
        print("{}", flush=True)
        if not has_begun:
            has_begun = True
            attack()
"""


class BoxedProgram:
    """A program that plays in a box."""

    def __init__(self, folder: Path, name: str, source: str, place: int, *, is_unstopped: bool = False) -> None:
        program = folder / name
        program.mkdir(exist_ok=True)
        (program / "mine.py").write_text(source)
        for path in (folder, program, program / "mine.py"):
            path.chmod(0o755)
        boxes = Boxes(memory_mib=512, users=USERS if os.geteuid() == 0 else ())
        command = boxes.program_command(program, ("python3", "-S", "-P", "mine.py"), place)
        if is_unstopped:
            at = next(number for number, word in enumerate(command) if "box_init" in word) + 1
            limits = BoxLimits.decode(command[at])
            limits.is_build = 1
            command = (*command[:at], limits.encode(), *command[at + 1 :])
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._write(START)

    def _write(self, line: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line)
        self._process.stdin.flush()

    def ask(self) -> float:
        """Ask for a move, and return the seconds until it came."""
        assert self._process.stdout is not None
        began = time.perf_counter()
        self._write(TURN)
        while (line := self._process.stdout.readline()) == b"\n":
            pass
        if line != b"{}\n":
            raise SystemExit(f"a program answered {line[:60]!r}")
        return time.perf_counter() - began

    def end(self) -> None:
        self._process.kill()
        self._process.wait()


def play(folder: Path, attack: str, turns: int, *, is_unstopped: bool) -> float:
    """Play a match, and return the mean milliseconds of a turn of the bot."""
    does = ATTACKS[attack].replace("\n", "\n    ") or "pass"
    thinking = BoxedProgram(folder, "thinking", THINKING_PROGRAM, 0)
    opponent = BoxedProgram(folder, attack, OPPONENT_PROGRAM.replace("ATTACK", does), 1, is_unstopped=is_unstopped)
    try:
        time.sleep(READY_S)
        times = []
        for _ in range(turns):
            time.sleep(PAUSE_S)
            opponent.ask()
            times.append(thinking.ask())
        return 1000 * statistics.fmean(times)
    finally:
        thinking.end()
        opponent.end()


def half_width(values: list[float]) -> float:
    """Return half of the width of the 95% interval of a mean."""
    return t_critical(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))


def main() -> None:
    attacks = [name for name in ATTACKS if name != "quiet"]
    options = read_options(__doc__, pairs=12, turns=15, seed=1, unstopped=False, attacks=option(attacks))
    rng = random.Random(options.seed)
    print(f"{'opponent':<10}{'quiet, ms':>18}{'attacked, ms':>18}{'difference, ms':>20}  overlap")
    with tempfile.TemporaryDirectory() as scratch:
        for attack in options.attacks:
            found: dict[str, list[float]] = {"quiet": [], attack: []}
            for _ in range(options.pairs):
                for name in rng.sample(["quiet", attack], 2):
                    found[name].append(play(Path(scratch), name, options.turns, is_unstopped=options.unstopped))
            quiet, attacked = found["quiet"], found[attack]
            differences = [after - before for before, after in zip(quiet, attacked, strict=True)]
            means = [statistics.fmean(values) for values in (quiet, attacked, differences)]
            widths = [half_width(values) for values in (quiet, attacked, differences)]
            cells = [f"{mean:.2f} ± {width:.2f}" for mean, width in zip(means, widths, strict=True)]
            overlaps = abs(means[1] - means[0]) <= widths[0] + widths[1]
            print(f"{attack:<10}{cells[0]:>18}{cells[1]:>18}{cells[2]:>20}  {'yes' if overlaps else 'NO'}", flush=True)


if __name__ == "__main__":
    main()
