"""The first process in a box, which runs the program. Its arguments are `BoxLimits`, as one word, and the command.

It passes lines between the arena's side and the program, stops the program when box_watch.py says so, looks at what it
uses, and ends it with a line on standard error if that is too much. The program can neither signal the first process
of its box nor look into it. When this process ends, the kernel kills all others in the box. Since it is started for
each program, it imports little.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import resource
import select
import signal
import struct
import sys
import time

from arena.runner.box_usage import (
    FIRST_PROCESS,
    count_sockets,
    is_any_active,
    look_at_processes,
    look_at_scratch,
    proportional_memory,
)
from arena.runner.box_watch import (
    ANSWER_BYTES_PER_S,
    ANSWER_GRACE_S,
    ERROR_BYTES_PER_S,
    SAMPLE_INTERVAL_S,
    STOP_TIMEOUT_S,
    STOPPED_LOOK_DELAY_S,
    BoxLimits,
    CpuMeter,
    ErrorOutput,
    LineScanner,
    OutputAllowance,
    TurnGate,
    find_excess,
)
from arena.runner.system_calls import make_filter

EXIT_CODE_ENDED, EXIT_CODE_NOT_STARTED = 1, 127
"""The exit codes if the program was ended for what it used, and if it can't be started."""
READ_CHUNK_BYTES, WRITE_CHUNK_BYTES = 65_536, 4096
"""Bytes that are read at a time, and that are written at a time: a pipe that is ready takes 4096 without blocking."""
MAX_HELD_BYTES = 1024 * 1024
"""Bytes that are held for a reader that is slow. Then no more is read for it."""
FLUSH_TIMEOUT_S = 2.0
"""Seconds in which the last output must be read after the program has ended."""
FIRST_PAUSE_S, MAX_PAUSE_S = 0.000_05, 0.004
"""Seconds between two looks at whether a program is idle: at first, and at most, as they double."""
_SET_DUMPABLE, _SET_NO_NEW_PRIVILEGES, _SET_SECCOMP, _SECCOMP_FILTER = 4, 38, 22, 2
"""Options of `prctl`, with its names, and the mode of seccomp."""
STANDARD_INPUT, STANDARD_OUTPUT, STANDARD_ERROR = 0, 1, 2
"""The descriptors of this process's standard streams, to and from the arena's side."""


def main() -> None:
    """Run the program of the command line within the limits, and exit as it does."""
    if os.getpid() != FIRST_PROCESS:
        sys.exit("box_init ends all processes that it sees: it only runs as the first process of a box")
    limits, command = BoxLimits.decode(sys.argv[1]), sys.argv[2:]
    ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the kernel keeps the program's signals without a handler from here
    sys.exit(BoxWatch(limits, _Program(limits, command), time.monotonic()).run())


class _Program:
    """The program: its process, and this process's ends of its pipes. A build has no pipes but this process's own."""

    def __init__(self, limits: BoxLimits, command: list[str]) -> None:
        pipes = [] if limits.is_build else [os.pipe(), os.pipe(), os.pipe()]
        self.pid = os.fork()
        if self.pid == 0:
            _become(limits, command, [pair[1 if number else 0] for number, pair in enumerate(pipes)])
        self.ended = os.pidfd_open(self.pid)
        """A descriptor that is readable when the program has ended."""
        self.input, self.output, self.errors = -1, -1, -1
        if pipes:
            (theirs_in, self.input), (self.output, theirs_out), (self.errors, theirs_err) = pipes
            for theirs in (theirs_in, theirs_out, theirs_err):
                os.close(theirs)
            for ours in (self.input, self.output, self.errors):
                os.set_blocking(ours, False)
        self.is_stopped = False

    def let_run(self, runs: bool) -> None:
        """Continue or stop all processes of the box but this one. None of them escapes by a fork."""
        if runs == self.is_stopped:
            self.is_stopped = not runs
            _signal_all(signal.SIGCONT if runs else signal.SIGSTOP)

    def reap(self) -> int | None:
        """Collect the processes that have ended, and return the program's exit code if it is among them."""
        code = None
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == self.pid:
                    status = os.waitstatus_to_exitcode(ended[1])
                    code = status if status >= 0 else 128 - status
        return code


def _becomes_idle(timeout_s: float) -> bool:
    """Wait until no other process of the box is active, and return whether that came in time."""
    until, pause_s = time.monotonic() + timeout_s, FIRST_PAUSE_S
    while is_any_active():
        if time.monotonic() >= until:
            return False
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, MAX_PAUSE_S)
    return True


def _read_chunk(descriptor: int) -> bytes | None:
    """Return a chunk of a stream: empty at its end, None if there is nothing to read now."""
    try:
        return os.read(descriptor, READ_CHUNK_BYTES)
    except BlockingIOError:
        return None


def _signal_all(number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, number)


def _become(limits: BoxLimits, command: list[str], streams: list[int]) -> None:
    """Turn this process into the program, with these standard streams if there are any."""
    try:
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        os.closerange(STANDARD_ERROR + 1, 65_536)
        _confine(limits)
        os.execvp(command[0], command)  # noqa: S606 - a stranger's program, in its box
    except OSError as exc:
        is_script = isinstance(exc, FileNotFoundError) and os.path.exists(command[0])
        why = "its first line, after #!, names a program that is not there" if is_script else exc.strerror
        os.write(STANDARD_ERROR, f"{command[0]} can't be started: {why}\n".encode(errors="replace"))
    finally:
        os._exit(EXIT_CODE_NOT_STARTED)


def _confine(limits: BoxLimits) -> None:
    """Apply the limits to this process."""
    for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)  # this process ignores these, and the program would too
    os.nice(limits.niceness)
    for what, most in (
        (resource.RLIMIT_DATA, limits.memory),
        (resource.RLIMIT_NPROC, limits.processes),
        (resource.RLIMIT_NOFILE, limits.files),
        (resource.RLIMIT_FSIZE, limits.file_size),
        (resource.RLIMIT_SIGPENDING, limits.files),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(what)[1]
        bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (bound, bound))
    if limits.user >= 0:
        os.setgroups([])
        os.setresgid(limits.user, limits.user, limits.user)
        os.setresuid(limits.user, limits.user, limits.user)
    _filter_system_calls()


def _filter_system_calls() -> None:
    words = make_filter()
    if not words:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    kept = ctypes.create_string_buffer(words, len(words))
    program = struct.pack("@HP", len(words) // 8, ctypes.addressof(kept))
    libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    if libc.prctl(_SET_SECCOMP, _SECCOMP_FILTER, program, 0, 0):
        raise OSError(ctypes.get_errno(), "the filter of system calls is refused")


class BoxWatch:
    """Passes lines on, and watches over the program until it ends."""

    def __init__(self, limits: BoxLimits, program: _Program, now: float) -> None:
        self._limits, self._program = limits, program
        self._gate, self._cpu = TurnGate(now), CpuMeter(now)
        self._errors = ErrorOutput()
        self._allowances = {
            program.output: OutputAllowance(ANSWER_BYTES_PER_S, now),
            program.errors: OutputAllowance(ERROR_BYTES_PER_S, now),
        }
        self._heard, self._said = LineScanner(), LineScanner()
        self._open = set() if limits.is_build else {STANDARD_INPUT, program.output, program.errors}
        """The descriptors that are read until they end."""
        self._held = {program.input: bytearray(), STANDARD_OUTPUT: bytearray(), STANDARD_ERROR: bytearray()}
        """The bytes that wait to be written, by descriptor."""
        self._looked_at = self._turn_ended_at = now
        self._paused_until = now

    def run(self) -> int:
        """Watch until the program ends, or is ended. Return the exit code."""
        while True:
            now = time.monotonic()
            if now >= self._look_due(now) and (why := self._look(now)):
                return self._end(EXIT_CODE_ENDED, f"the arena ended this program: {why}\n")
            self._stop_or_continue(now)
            ready = self._wait(now)
            if self._program.ended in ready:
                code = self._program.reap()
                return self._end(EXIT_CODE_ENDED if code is None else code)
            for descriptor in ready:
                if descriptor in self._held:
                    self._write(descriptor)
                else:
                    self.read(descriptor)

    def _may_run(self, now: float) -> bool:
        return bool(self._limits.is_build) or self._gate.is_open(now)

    def _stop_or_continue(self, now: float) -> None:
        may_run = self._may_run(now)
        if not may_run and not self._program.is_stopped:
            self._turn_ended_at = now
        self._program.let_run(may_run and now >= self._paused_until)

    def _finish_turn(self) -> None:
        """Stop the program before its answer is passed on: after that, its opponent thinks.

        It may finish what it writes before, and read again. Until then its own clock runs.
        """
        is_idle = _becomes_idle(ANSWER_GRACE_S)
        self._stop_or_continue(time.monotonic())
        if not is_idle:
            _becomes_idle(STOP_TIMEOUT_S)
        while len(self._held[STANDARD_OUTPUT]) < MAX_HELD_BYTES and (chunk := _read_chunk(self._program.output)):
            self._take_answers(chunk, time.monotonic())

    def _look_due(self, now: float) -> float:
        """Return when to look at what the program uses. A look takes a while if there are many processes: it takes it
        from the program's own turn, as far as possible.
        """
        if self._may_run(now):
            return self._looked_at + SAMPLE_INTERVAL_S
        return math.inf if self._looked_at > self._turn_ended_at else self._turn_ended_at + STOPPED_LOOK_DELAY_S

    def _wait(self, now: float) -> list[int]:
        """Wait until something can be read or written, or is due, and return the descriptors that are ready."""
        polled = select.poll()
        polled.register(self._program.ended, select.POLLIN)
        for descriptor, held in self._held.items():
            if held:
                polled.register(descriptor, select.POLLOUT)
        for descriptor in self._open:
            if self._can_read(descriptor, now):
                polled.register(descriptor, select.POLLIN)
        return [descriptor for descriptor, _ in polled.poll(self._timeout_ms(now))]

    def _can_read(self, descriptor: int, now: float) -> bool:
        """Return whether more of a stream can be passed on now."""
        if descriptor == STANDARD_INPUT:
            return len(self._held.get(self._program.input, b"")) < MAX_HELD_BYTES
        reader = STANDARD_OUTPUT if descriptor == self._program.output else STANDARD_ERROR
        return self._allowances[descriptor].room(now) > 0 and len(self._held[reader]) < MAX_HELD_BYTES

    def _timeout_ms(self, now: float) -> float | None:
        """Return the time until something is due; None if nothing is before a line comes."""
        due = self._look_due(now)
        if not self._program.is_stopped:
            due = min(due, now + self._gate.closes_in(now))
        elif now < self._paused_until:
            due = min(due, self._paused_until)
        return None if due == math.inf else max(0.0, due - now) * 1000 + 1

    def read(self, descriptor: int) -> int:
        """Read a chunk of a stream, and return its length."""
        chunk, now = _read_chunk(descriptor), time.monotonic()
        if chunk is None:
            return 0
        if not chunk:
            self._open.discard(descriptor)
        if descriptor == STANDARD_INPUT:
            self._pass_to_program(chunk, now)
        elif descriptor == self._program.output:
            self._take_answers(chunk, now)
            if not self._may_run(now) and not self._program.is_stopped:
                self._finish_turn()
            self._write(STANDARD_OUTPUT)
        else:
            self._allowances[descriptor].take(len(chunk))
            self._held[STANDARD_ERROR] += self._errors.take(chunk)
            self._write(STANDARD_ERROR)
        return len(chunk)

    def _take_answers(self, chunk: bytes, now: float) -> None:
        self._allowances[self._program.output].take(len(chunk))
        self._held[STANDARD_OUTPUT] += chunk
        for beginning in self._said.scan(chunk):
            self._gate.answer(beginning, now)

    def _pass_to_program(self, chunk: bytes, now: float) -> None:
        if not chunk:
            self._gate.end_input()
        for beginning in self._heard.scan(chunk):
            self._gate.hear(beginning, now)
        if self._program.input in self._held:
            self._held[self._program.input] += chunk
            self._write(self._program.input)

    def _write(self, descriptor: int) -> None:
        """Write a chunk of what waits for a stream, if the stream takes any now."""
        held = self._held[descriptor]
        if held and select.select([], [descriptor], [], 0)[1]:
            try:
                del held[: os.write(descriptor, held[:WRITE_CHUNK_BYTES])]
            except BrokenPipeError:
                if descriptor != self._program.input:
                    raise SystemExit(EXIT_CODE_ENDED) from None  # nobody plays any more
                del self._held[descriptor]  # the program reads no more
                return
        if descriptor == self._program.input and not held and STANDARD_INPUT not in self._open:
            os.close(descriptor)
            del self._held[descriptor]

    def _look(self, now: float) -> str | None:
        """Look at what the program uses, and return why it must end, if it must."""
        self._looked_at = now
        usage = look_at_processes()
        self._gate.spend(self._cpu.look(usage.cpu_s, usage.cpu_with_children_s, now), now)
        self._paused_until = now + self._cpu.pause_s()
        memory = usage.memory if usage.memory <= self._limits.memory else proportional_memory()
        scratch, files = look_at_scratch()
        return find_excess(self._limits, memory, scratch, files, count_sockets(), self._cpu.total_s)

    def _end(self, code: int, line: str = "") -> int:
        """End all processes of the box, pass on the last output with this line, and return the exit code."""
        _signal_all(signal.SIGKILL)
        for descriptor in self._open - {STANDARD_INPUT}:
            while self.read(descriptor):
                pass
        self._held[STANDARD_ERROR] += self._errors.end() + line.encode()
        self._held.pop(self._program.input, None)
        until = time.monotonic() + FLUSH_TIMEOUT_S
        for descriptor, held in self._held.items():
            while held and select.select([], [descriptor], [], max(0.0, until - time.monotonic()))[1]:
                self._write(descriptor)
        return code
