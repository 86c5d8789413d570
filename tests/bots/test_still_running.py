"""What is said of a `choose` that takes long: the author's line, now and then."""

from __future__ import annotations

import queue
import threading
from typing import Any

import pytest

from bots.client.bot import Bot, Turn
from bots.client.still_running import SlowChoiceReporter
from bots.client.worker_threads import Choose, RunningWork, WorkerThreads, WorkResult
from bots.reference.human import Human
from protocol.dice import Dice
from protocol.games import load_game
from timeouts import WITHIN
from turns import Chooses, turn


def at_work(bot: Bot) -> tuple[WorkerThreads, RunningWork, queue.SimpleQueue[WorkResult]]:
    done: queue.SimpleQueue[WorkResult] = queue.SimpleQueue()
    threads = WorkerThreads(bot, done.put)
    rules = load_game("nim")
    threads.submit(Choose("m-1", turn(rules, rules.initial(Dice(b"", 0))[0])))
    while not threads.running_work():
        threading.Event().wait(0.001)
    return threads, threads.running_work()[0], done


def test_it_is_said_after_five_seconds_and_each_time_twice_as_many_later() -> None:
    answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
    asked = threading.Event()

    def answer(turn: Turn) -> Any:
        return asked.set() or answers.get()  # in one line, in which the thread is from then on

    threads, one, done = at_work(Chooses(answer))
    assert asked.wait(WITHIN)
    told = SlowChoiceReporter()
    assert [bool(told.report([one], one.began + age)) for age in (4.9, 5.0, 9.9, 10.0, 19.9, 20.0)] == [
        *(False, True, False, True, False, True),
    ]
    (line,) = told.report([one], one.began + 50)
    where = f"test_still_running.py line {answer.__code__.co_firstlineno + 1}"
    assert line.startswith(f"choose is still running at ply 0 of m-1, {where}; ")
    answers.put({"heap": 0, "take": 1})
    assert done.get(timeout=WITHIN).move is not None
    assert threads.running_work() == []


def test_of_a_person_who_takes_long_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    typed: queue.SimpleQueue[str] = queue.SimpleQueue()
    monkeypatch.setattr("builtins.input", typed.get)
    _, one, done = at_work(Human("me"))
    assert SlowChoiceReporter().report([one], one.began + 100) == []
    typed.put("1 from heap 0")
    assert done.get(timeout=WITHIN).move is not None
