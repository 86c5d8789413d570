"""A program that gets no processor in its turn is told that the machine was busy."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bots.client.bot import ProgramFailed
from bots.commands import piped_program
from bots.commands.match_logs import MatchLogFolder
from bots.commands.piped_bot import PipedBot
from bots.commands.piped_program import describe_delay
from machine.process_tree import ProcessorTimes
from protocol import messages
from protocol.games import load_game
from turns import turn as turn_of

BEFORE = ProcessorTimes(used_s=1.0, delay_s=3.0)


@pytest.mark.parametrize(
    ("used_s", "delay_s", "said"),
    [
        (0.1, 8.1, ": the machine was busy, and it waited for a processor for 8.1 of 10.0 s"),
        (0.1, 12.0, ": the machine was busy, and it waited for a processor for 10.0 of 10.0 s"),
        (0.1, 4.9, ""),
        (9.0, 8.1, ""),
    ],
    ids=["busy", "late look", "slow", "computes"],
)
def test_a_late_program_blames_the_machine_if_it_had_no_processor(used_s: float, delay_s: float, said: str) -> None:
    assert describe_delay(10.0, BEFORE, ProcessorTimes(1.0 + used_s, 3.0 + delay_s)) == said


def test_the_log_and_the_reason_of_a_match_lost_on_a_busy_machine_say_so(
    script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start: messages.Start = script.start()
    rules = load_game("nim")
    position = rules.decode_state({"heaps": (3, 5, 7), "ply": 0, "to_move": 0})
    now = time.monotonic()
    times = iter([BEFORE, ProcessorTimes(1.0, 60.0)])

    def read_times_after_a_while(root: int) -> ProcessorTimes:
        nonlocal now
        now += 100.0
        return next(times)

    monkeypatch.setattr(piped_program, "SILENCE_S", 0.01)
    monkeypatch.setattr(piped_program, "read_processor_times", read_times_after_a_while)
    monkeypatch.setattr(piped_program, "time", SimpleNamespace(monotonic=lambda: now))
    bot = PipedBot("mine", ["sh", "-c", "while read -r line; do :; done"], match_logs=MatchLogFolder(tmp_path))
    try:
        bot.prepare(start)
        with pytest.raises(ProgramFailed, match="the machine was busy"):
            bot.choose(turn_of(rules, position, bank_ms=60_000, received=now))
    finally:
        bot.close()
    (log,) = tmp_path.iterdir()
    assert "until its time was over: the machine was busy" in log.read_text()
