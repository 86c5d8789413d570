"""Decides about the program in a box: when it may run, what of its output is passed on, and what ends it.

All of it is pure; box_init.py performs it, as the first process of each box, so this imports nothing that takes time to
load. Times are seconds of one clock.
"""

from __future__ import annotations

import math

MIB = 1024 * 1024
"""Bytes of a MiB."""
SAMPLE_INTERVAL_S = 0.1
"""Seconds between two looks at what a running program uses."""
STOPPED_LOOK_DELAY_S = 1.0
"""Seconds from the end of a program's turn to the one look at what it uses until its next turn."""
READY_TIMEOUT_S, READY_CPU_S = 30.0, 2.0
"""Seconds, and seconds of processor time, for which a program runs without a turn after it or a match has started. On a
busy machine, a program takes long to get the processor time in which it starts.
"""
MESSAGE_TIMEOUT_S = 1.0
"""Seconds, of time and of processor time, for which a program runs after a message that takes no answer."""
ANSWER_GRACE_S = 0.02
"""Maximum seconds for which a program runs after its answer, to finish what it writes and to read again. Its answer is
passed on after that.
"""
STOP_TIMEOUT_S = 5.0
"""Maximum seconds for which a call of the kernel, such as a long write, may keep a program from being stopped."""
MAX_CORES = 1.0
"""The number of cores that a program may use, on average over `MAX_CPU_DEBT_S`."""
MAX_CPU_DEBT_S = 0.1
"""Seconds of processor time beyond `MAX_CORES` after which a program is stopped until the time has passed."""
MAX_CPU_S = 1800.0
"""Seconds of processor time of a program, from its start to its end."""
MAX_SCRATCH_FILES = 20_000
"""Maximum number of files in the folders to which a program can write: also an empty one takes memory."""
MAX_SOCKETS = 512
"""Maximum number of sockets in a box. Each may hold about 400 KiB that no other limit counts."""
OUTPUT_BURST_BYTES = MIB
"""Bytes of each of a program's two outputs that are read at once."""
ANSWER_BYTES_PER_S, ERROR_BYTES_PER_S = MIB // 4, 4 * MIB
"""Bytes of answers, and of standard error, that are read in each second after that. A program that writes more waits.
"""
MAX_ERROR_BYTES = MIB
"""Bytes of standard error that are passed on. What follows is left out, but for the end."""
ERROR_TAIL_BYTES = 4096
"""Bytes of the end of standard error that are passed on in any case."""
_TURN_BEGINNING, _START_BEGINNING = b'{"type":"turn"', b'{"type":"start"'
"""The beginnings of the lines that ask for a move, and that begin a match."""
_BEGINNING_BYTES = 16
"""Bytes of the beginning of a line that tell what it is."""


class BoxLimits:
    """The limits on a box, as words of a command line: integers, in this order."""

    __slots__ = ("file_size", "files", "is_build", "memory", "niceness", "processes", "user")

    def __init__(
        self, memory: int, processes: int, files: int, file_size: int, user: int, niceness: int, is_build: int
    ) -> None:
        self.memory = memory
        """Maximum bytes of private memory of one process, and of all memory of the program together."""
        self.processes = processes
        """Maximum number of processes and threads of the program's user."""
        self.files = files
        """Maximum number of open files of one process."""
        self.file_size = file_size
        """Maximum bytes of one file."""
        self.user = user
        """The user id that the program runs as; -1 for the one that starts the box."""
        self.niceness = niceness
        """The number that is added to the nice value of the program."""
        self.is_build = is_build
        """1 for a build, which runs all the time and whose output is passed on whole; 0 for a program that plays."""

    def encode(self) -> str:
        """Return the limits as one word."""
        values = (self.memory, self.processes, self.files, self.file_size, self.user, self.niceness, self.is_build)
        return ",".join(map(str, values))

    @classmethod
    def decode(cls, word: str) -> BoxLimits:
        """Return the limits that `encode` wrote."""
        return cls(*map(int, word.split(",")))


class LineScanner:
    """Finds the beginnings of lines in chunks of bytes."""

    def __init__(self) -> None:
        self._beginning = b""

    def scan(self, chunk: bytes) -> list[bytes]:
        """Return the first bytes of each line that ends in the chunk, without leading blanks."""
        found = []
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            found.append(self._extend(end))
            self._beginning = b""
        self._beginning = self._extend(rest)
        return found

    def _extend(self, more: bytes) -> bytes:
        begun = self._beginning + more[:_BEGINNING_BYTES] if self._beginning else more.lstrip()
        return begun[:_BEGINNING_BYTES]


class TurnGate:
    """Decides when a program may run: from each turn to its answer, and for a while after other messages.

    So it can't compute while its opponent thinks. Processor time beyond `MAX_CORES` stops it too.
    """

    def __init__(self, now: float) -> None:
        self._asked = 0
        """The number of turns since the last answer. After a reconnection, one turn comes twice."""
        self._until = now + READY_TIMEOUT_S
        self._ready_cpu_s = READY_CPU_S
        self._is_ending = False

    def is_open(self, now: float) -> bool:
        """Return whether the program may run."""
        return self._is_ending or self._asked > 0 or now < self._until

    def closes_in(self, now: float) -> float:
        """Return the seconds for which the program may run at least, without an answer and without processor time."""
        return math.inf if self._is_ending or self._asked else max(0.0, self._until - now)

    def hear(self, beginning: bytes, now: float) -> None:
        """Take a line for the program into account, by its beginning."""
        if beginning.startswith(_TURN_BEGINNING):
            self._asked += 1
        elif beginning.startswith(_START_BEGINNING):
            self._until, self._ready_cpu_s = now + READY_TIMEOUT_S, READY_CPU_S
        elif beginning:
            self._until = max(self._until, now + MESSAGE_TIMEOUT_S)
            self._ready_cpu_s = max(self._ready_cpu_s, MESSAGE_TIMEOUT_S)

    def answer(self, beginning: bytes, now: float) -> None:
        """Take a line of the program into account, by its beginning. A blank line is no answer."""
        if beginning and self._asked:
            self._until = now if self._asked == 1 else now + MESSAGE_TIMEOUT_S
            self._asked = 0

    def end_input(self) -> None:
        """Let a program that will be told no more run until it ends, or is killed with its box."""
        self._is_ending = True

    def spend(self, cpu_s: float, now: float) -> None:
        """Take processor time into account. A program without a turn has `READY_CPU_S`."""
        if not self._asked:
            self._ready_cpu_s -= cpu_s
            if self._ready_cpu_s < 0:
                self._until = min(self._until, now)


class CpuMeter:
    """Adds up the processor time of a box, and decides when it is more than `MAX_CORES`."""

    def __init__(self, now: float) -> None:
        self.total_s = 0.0
        self._looked = now
        self._debt_s = 0.0
        self._seen: dict[int, float] = {}
        self._seen_total_s = 0.0

    def look(self, by_process: dict[int, float], with_children_s: float, now: float) -> float:
        """Take the processor time of each process into account, and return by how much the total has grown.

        `with_children_s` is the total of these processes and of those that they have waited for. Of a process that
        has ended and that no other waits for, only what was seen before counts.
        """
        for process, spent_s in by_process.items():
            self._seen_total_s += max(0.0, spent_s - self._seen.get(process, 0.0))
        self._seen = by_process
        total_s = max(self.total_s, self._seen_total_s, with_children_s)
        grown, self.total_s = total_s - self.total_s, total_s
        self._debt_s = max(0.0, self._debt_s + grown - MAX_CORES * (now - self._looked))
        self._looked = now
        return grown

    def pause_s(self) -> float:
        """Return for how many seconds the program must be stopped now, so that it uses `MAX_CORES` on average."""
        return self._debt_s / MAX_CORES if self._debt_s > MAX_CPU_DEBT_S else 0.0


class OutputAllowance:
    """Decides how many bytes of one of a program's outputs are read: a burst, then a rate."""

    def __init__(self, bytes_per_s: int, now: float) -> None:
        self._bytes_per_s = bytes_per_s
        self._room = float(OUTPUT_BURST_BYTES)
        self._since = now

    def room(self, now: float) -> int:
        """Return the number of bytes that may be read."""
        self._room = min(OUTPUT_BURST_BYTES, self._room + self._bytes_per_s * (now - self._since))
        self._since = now
        return int(self._room)

    def take(self, count: int) -> None:
        """Take bytes that were read into account."""
        self._room -= count


class ErrorOutput:
    """Decides what of standard error is passed on: the first `MAX_ERROR_BYTES`, and the end."""

    def __init__(self) -> None:
        self._room = MAX_ERROR_BYTES
        self._left_out = 0
        self._tail = b""

    def take(self, chunk: bytes) -> bytes:
        """Return what is passed on of a chunk, with a line of explanation where it ends."""
        passed, rest = chunk[: self._room], chunk[self._room :]
        self._room -= len(passed)
        if rest:
            if not self._left_out:
                passed += f"\nthe arena keeps {MAX_ERROR_BYTES} bytes of this output, and its end\n".encode()
            self._left_out += len(rest)
            self._tail = (self._tail + rest)[-ERROR_TAIL_BYTES:]
        return passed

    def end(self) -> bytes:
        """Return what is passed on when the program has ended."""
        if not self._tail:
            return b""
        hidden = self._left_out - len(self._tail)
        return (f"\n... {hidden} bytes are left out here ...\n".encode() if hidden else b"") + self._tail


def find_excess(
    limits: BoxLimits, memory: int, scratch: int, scratch_files: int, sockets: int, cpu_s: float
) -> str | None:
    """Return why a program is ended, as a line for its author; None if it keeps the limits.

    `memory` are the bytes of its processes, `scratch` those of its files in memory.
    """
    most = limits.memory // MIB
    if memory + scratch > limits.memory:
        of = f"{-(-memory // MIB)} MiB in its processes and {scratch // MIB} MiB in files in /tmp and /dev/shm"
        return f"it had {of}: keep both together below {most} MiB"
    if scratch_files > MAX_SCRATCH_FILES:
        return f"it had {scratch_files} files in /tmp and /dev/shm: keep at most {MAX_SCRATCH_FILES}"
    if sockets > MAX_SOCKETS:
        return f"it had {sockets} sockets: keep at most {MAX_SOCKETS}"
    if cpu_s > MAX_CPU_S:
        return f"it had used {cpu_s:.0f} s of processor time: a program has {MAX_CPU_S:.0f} s"
    return None
