"""What the first process of a box decides: when the program runs, what is passed on, and what ends it."""

from __future__ import annotations

import errno
import os
import re
import struct
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from arena.runner import box_init
from arena.runner.box import _rights_options
from arena.runner.box_watch import (
    ANSWER_BYTES_PER_S,
    ERROR_TAIL_BYTES,
    MAX_CPU_S,
    MAX_ERROR_BYTES,
    MAX_SCRATCH_FILES,
    MAX_SOCKETS,
    MESSAGE_TIMEOUT_S,
    MIB,
    OUTPUT_BURST_BYTES,
    READY_CPU_S,
    READY_TIMEOUT_S,
    BoxLimits,
    CpuMeter,
    ErrorOutput,
    LineScanner,
    OutputAllowance,
    TurnGate,
    find_excess,
)
from arena.runner.system_calls import CALL_NUMBERS, REFUSED_CALLS, make_filter
from bots.commands.piped_lines import encode_message, encode_turn
from protocol.messages import Clock, Start

TURN, START = b'{"type":"turn"', b'{"type":"start"'
LIMITS = BoxLimits(memory=100 * MIB, processes=9, files=99, file_size=MIB, user=61_200, niceness=5, is_build=0)


def test_the_first_process_of_a_box_runs_in_a_box_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(box_init, "_Program", Mock(side_effect=AssertionError("it would signal all processes")))
    with pytest.raises(SystemExit, match="it only runs as the first process of a box"):
        box_init.main()


def test_the_first_process_keeps_the_rights_that_a_container_has_left() -> None:
    assert list(_rights_options(1 << 5 | 1 << 7 | 1 << 21)) == ["--cap-add", "CAP_KILL", "--cap-add", "CAP_SETUID"]


# When a program runs


def test_a_program_runs_from_its_turn_to_its_answer_however_long_it_thinks() -> None:
    gate = TurnGate(0.0)
    gate.hear(TURN, 100.0)
    gate.spend(500.0, 600.0)
    assert gate.is_open(1000.0)
    gate.answer(b"{}", 1000.0)
    assert not gate.is_open(1000.0)


def test_an_answer_and_what_follows_it_are_passed_on_when_the_program_is_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (asked, ask), (read, write), (told, tell) = os.pipe(), os.pipe(), os.pipe()
    monkeypatch.setattr(box_init, "STANDARD_INPUT", asked)
    monkeypatch.setattr(box_init, "STANDARD_OUTPUT", tell)
    for descriptor in (read, told):
        os.set_blocking(descriptor, False)
    program = SimpleNamespace(input=os.open(os.devnull, os.O_WRONLY), output=read, errors=-1, is_stopped=False)

    def let_run(runs: bool) -> None:
        program.is_stopped = not runs
        with pytest.raises(BlockingIOError):  # nothing is told yet
            os.read(told, 99)

    def is_any_active() -> bool:
        if not program.is_stopped and not late:
            late.append(os.write(write, b"a line that is late\n"))
            return True
        return False

    late: list[int] = []
    program.let_run = let_run
    monkeypatch.setattr(box_init, "is_any_active", is_any_active)
    watch = box_init.BoxWatch(LIMITS, program, 0.0)  # type: ignore[arg-type]
    os.write(ask, TURN + b"}\n")
    watch.read(asked)
    os.write(write, b"{}\n")
    watch.read(read)
    assert program.is_stopped
    assert os.read(told, 99) == b"{}\na line that is late\n"
    for descriptor in (asked, ask, read, write, told, tell, program.input):
        os.close(descriptor)


def test_a_blank_line_is_no_answer_and_what_comes_unasked_opens_nothing() -> None:
    gate = TurnGate(0.0)
    gate.answer(b"{}", 100.0)
    assert not gate.is_open(100.0)
    gate.hear(TURN, 100.0)
    gate.answer(b"", 101.0)
    assert gate.is_open(200.0)


def test_a_turn_that_comes_twice_leaves_time_for_a_second_answer() -> None:
    gate = TurnGate(0.0)
    for _ in range(2):
        gate.hear(TURN, 100.0)
    gate.answer(b"{}", 101.0)
    assert gate.is_open(101.0 + MESSAGE_TIMEOUT_S / 2)
    assert not gate.is_open(102.0 + MESSAGE_TIMEOUT_S)


def test_without_a_turn_a_program_has_some_time_and_some_processor_time_to_get_ready() -> None:
    slow, busy = TurnGate(0.0), TurnGate(0.0)
    assert slow.is_open(READY_TIMEOUT_S - 1)
    assert not slow.is_open(READY_TIMEOUT_S)
    busy.spend(READY_CPU_S + 0.1, 3.0)
    assert not busy.is_open(3.0)
    busy.hear(START, 5.0)
    assert busy.is_open(6.0)
    assert busy.closes_in(6.0) == READY_TIMEOUT_S - 1


def test_a_program_that_will_be_told_no_more_runs_until_it_ends() -> None:
    gate = TurnGate(0.0)
    gate.hear(TURN, 100.0)
    gate.end_input()
    gate.answer(b"{}", 101.0)
    assert gate.is_open(1000.0)


def test_another_message_lets_a_program_run_for_a_moment() -> None:
    gate = TurnGate(0.0)
    gate.hear(b'{"type":"end",', 100.0)
    assert gate.is_open(100.0)
    assert not gate.is_open(100.0 + MESSAGE_TIMEOUT_S)


def test_lines_are_known_by_their_beginnings_in_whatever_pieces_they_come() -> None:
    scanner = LineScanner()
    assert scanner.scan(b'  \t{"type":"turn","legal":[1]}\n\n   \n{"type"') == [b'{"type":"turn","', b"", b""]
    assert scanner.scan(b':"start"}\nx\n') == [b'{"type":"start"}', b"x"]


def test_the_lines_that_the_client_writes_begin_as_is_expected() -> None:
    turn = SimpleNamespace(legal=[], options=None, match="m", ply=1, seat=0, state={}, events=[], clock_ms=[])
    clock = Clock(bank_ms=1000, increment_ms=0)
    start = Start(match="m", game="nim", config={}, seats=[], clock=clock, commitment="0" * 64, rated=False)
    assert encode_turn(turn).startswith(TURN)  # type: ignore[arg-type]
    assert encode_message(start).startswith(START)


def test_a_program_uses_one_core_on_average_and_pays_for_more_by_waiting() -> None:
    meter = CpuMeter(0.0)
    assert meter.look({2: 0.1}, 0.1, 0.1) == pytest.approx(0.1)
    assert meter.pause_s() == 0
    assert meter.look({2: 0.3, 3: 0.3}, 0.6, 0.2) == pytest.approx(0.5)
    assert meter.pause_s() == pytest.approx(0.4)
    meter.look({2: 0.3, 3: 0.3}, 0.6, 0.6)
    assert meter.pause_s() == 0


def test_processor_time_of_processes_that_have_ended_counts_whether_somebody_waited_for_them_or_not() -> None:
    waited, unwaited = CpuMeter(0.0), CpuMeter(0.0)
    waited.look({2: 1.0}, 9.0, 0.1)
    assert waited.total_s == 9.0
    unwaited.look({2: 1.0, 3: 2.0}, 3.0, 0.1)
    unwaited.look({2: 1.0, 4: 2.0}, 3.0, 0.2)
    assert unwaited.total_s == 5.0


# What is passed on


def test_answers_are_read_at_a_rate_after_a_burst() -> None:
    allowance = OutputAllowance(ANSWER_BYTES_PER_S, 0.0)
    assert allowance.room(0.0) == OUTPUT_BURST_BYTES
    allowance.take(OUTPUT_BURST_BYTES + 5)
    assert allowance.room(0.0) < 0
    assert allowance.room(1.0) == ANSWER_BYTES_PER_S - 5
    assert allowance.room(1e6) == OUTPUT_BURST_BYTES


def test_all_errors_are_passed_on_unless_they_are_many() -> None:
    errors = ErrorOutput()
    assert errors.take(b"a\n") == b"a\n"
    assert errors.end() == b""


def test_of_many_errors_the_beginning_and_the_end_are_passed_on() -> None:
    errors = ErrorOutput()
    assert errors.take(b"a" * (MAX_ERROR_BYTES - 1)).endswith(b"a")
    assert errors.take(b"abc") == b"a\nthe arena keeps 1048576 bytes of this output, and its end\n"
    assert errors.take(b"d" * 10 + b"e" * ERROR_TAIL_BYTES) == b""
    assert errors.end() == b"\n... 12 bytes are left out here ...\n" + b"e" * ERROR_TAIL_BYTES


# What ends a program


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({}, None),
        (
            {"memory": 60 * MIB, "scratch": 41 * MIB},
            "it had 60 MiB in its processes and 41 MiB in files in /tmp and /dev/shm: keep both together below 100 MiB",
        ),
        ({"scratch_files": MAX_SCRATCH_FILES + 1}, "it had 20001 files in /tmp and /dev/shm: keep at most 20000"),
        ({"sockets": MAX_SOCKETS + 1}, "it had 513 sockets: keep at most 512"),
        ({"cpu_s": MAX_CPU_S + 1}, "it had used 1801 s of processor time: a program has 1800 s"),
    ],
)
def test_a_program_beyond_a_limit_is_told_which(more: dict[str, int], why: str | None) -> None:
    usage = {"memory": 100 * MIB, "scratch": 0, "scratch_files": MAX_SCRATCH_FILES, "sockets": MAX_SOCKETS}
    usage |= {"cpu_s": int(MAX_CPU_S)}
    assert find_excess(LIMITS, **(usage | more)) == why


def test_limits_are_one_word_of_a_command_line() -> None:
    word = LIMITS.encode()
    assert BoxLimits.decode(word).encode() == word == "104857600,9,99,1048576,61200,5,0"


# The filter of system calls


def _answer(machine: str, architecture: int, number: int, *arguments: int) -> int:
    """Return what a filter answers to a call: this runs its instructions as the kernel does."""
    seen = struct.pack("=iIQ6Q", number, architecture, 0, *(*arguments, *[0] * (6 - len(arguments))))
    words = list(struct.iter_unpack("=HBBI", make_filter(machine)))
    at = value = 0
    while True:
        code, if_true, if_false, operand = words[at]
        at += 1
        if code == 0x06:
            return int(operand)
        if code == 0x20:
            (value,) = struct.unpack_from("=I", seen, operand)
        elif code == 0x54:
            value &= operand
        else:
            holds = {0x15: value == operand, 0x35: value >= operand, 0x45: bool(value & operand)}[code]
            at += if_true if holds else if_false


MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
ALLOWED, KILLED = 0x7FFF0000, 0x80000000


@pytest.mark.parametrize("machine", MACHINES)
def test_the_filter_refuses_what_it_lists_and_allows_what_programs_need(machine: str) -> None:
    numbers, architecture = CALL_NUMBERS[machine], MACHINES[machine]

    def answer(name: str, *arguments: int) -> int:
        told = _answer(machine, architecture, numbers[name], *arguments)
        return 0 if told == ALLOWED else told & 0xFFFF

    assert {answer(name) for name in REFUSED_CALLS if name in numbers} == {errno.EPERM}
    assert answer("clone3") == errno.ENOSYS
    assert (answer("clone", 0x003D0F00), answer("clone", 0x10000011)) == (0, errno.EPERM)
    assert (answer("mmap", 0, 9, 3, 0x22), answer("mmap", 0, 9, 3, 0x01)) == (0, 0)
    assert answer("mmap", 0, 9, 3, 0x21) == errno.EPERM
    assert [answer("socket", family) for family in (1, 2, 10, 16)] == [0, 0, 0, 0]
    assert {answer("socket", family) for family in (17, 38, 40)} == {errno.EAFNOSUPPORT}
    assert (answer("ioctl", 0, 0x5413), answer("ioctl", 0, 0x5412)) == (0, errno.EPERM)
    assert _answer(machine, architecture, 9999) == ALLOWED
    assert _answer(machine, 0x40000003, 1) == KILLED


def test_calls_of_another_machine_are_refused_and_an_unknown_machine_has_no_filter() -> None:
    assert _answer("x86_64", MACHINES["x86_64"], 0x40000000 + 1) & 0xFFFF == errno.ENOSYS
    assert make_filter("vax") == b""


HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}


@pytest.mark.parametrize("machine", HEADERS)
def test_the_numbers_of_the_calls_are_those_of_the_kernel(machine: str) -> None:
    if not HEADERS[machine].exists():
        pytest.skip("the kernel's headers are not installed")
    text = HEADERS[machine].read_text()
    known = {name: int(number) for name, number in re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", text)}
    assert {name: known[name] for name in CALL_NUMBERS[machine] if name in known} == {
        name: number for name, number in CALL_NUMBERS[machine].items() if name in known
    }
    assert len(known) > 200
    assert os.uname().machine in MACHINES or make_filter() == b""
