"""The process of an isolated game answers questions, and is ended and started again if it does not."""

from __future__ import annotations

import asyncio
import errno
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from arena.host.game_watch import GameLimits
from arena.host.rules_process import RulesProcess, time_limit_s
from protocol.dice import Dice
from protocol.errors import RulesFault
from protocol.games import game_class
from protocol.games.answer_checks import MAX_TRIED_MOVES
from protocol.games.isolated import IsolatedGame, RulesWanted, load_question, value_of
from timeouts import WITHIN
from wrong_games import brought, write_game


async def load(process: RulesProcess) -> IsolatedGame:
    question = load_question({})
    facts = value_of("counting", (await process.ask({}, question))[question])
    return IsolatedGame(game_class("counting"), facts)


async def ask(process: RulesProcess, call: Any, *arguments: Any) -> Any:
    """Call a method of an isolated game, once its answer is there."""
    game: IsolatedGame = call.__self__
    try:
        return call(*arguments)
    except RulesWanted as wanted:
        game.add_answers(await process.ask(game.config, wanted.question))
        return call(*arguments)


async def test_a_process_answers_and_does_so_again_after_a_call_that_ended_it(tmp_path: Path) -> None:
    """The calls of the file: what does not return, takes all memory, ends its process, and prints."""
    play = (
        "return Count(state.number + move, 1 - state.seat)",
        "print('hello')\n"
        "        if state.number == 1: time.sleep(1000)\n"
        "        if state.number == 2: bytearray(3 << 30)\n"
        "        if state.number == 3: import os, signal; os.kill(os.getpid(), signal.SIGKILL)\n"
        "        if state.number == 4: import os; [os.write(fd, b'\\xff' * 4) for fd in range(3, os.dup(2))]\n"
        "        return Count(state.number + move, 1 - state.seat)",
    )
    with brought(write_game(tmp_path, play)):
        process = RulesProcess("counting", WITHIN)
        game = await load(process)
        dice = Dice(b"", 0)
        first, _ = await ask(process, game.initial, dice)
        second, event = await ask(process, game.apply, first, {"move": 2}, dice)
        assert (game.encode_state(second)["number"], event.move) == (2, {"move": 2})
        assert game.legal_moves_for_turn(second) == ([{"move": 1}, {"move": 2}], None), "this came unasked"
        with pytest.raises(RulesFault, match=r"counting.py, line 29: MemoryError"):
            await ask(process, game.apply, second, {"move": 1}, dice)
        third = game.decode_state({"number": 3, "seat": 1, "to_move": 1, "ply": 2})
        with pytest.raises(RulesFault, match=r"the process of its rules ended in moves and play$"):
            await ask(process, game.apply, third, {"move": 1}, dice)
        fourth = game.decode_state({"number": 4, "seat": 1, "to_move": 1, "ply": 3})
        with pytest.raises(RulesFault, match=r"the process of its rules gave no proper answer in moves and play$"):
            await ask(process, game.apply, fourth, {"move": 1}, dice)
        assert (await ask(process, game.apply, first, {"move": 1}, dice))[0] != second
        assert process._process is not None
        process._process.kill()  # as a machine without memory does, between two questions
        await process._process.wait()
        assert await ask(process, game.ranks, first) == (1, 1)
        await process.close()
        with pytest.raises(RulesFault, match="the server stops"):
            await load(process)


async def test_a_call_that_does_not_return_is_ended(tmp_path: Path) -> None:
    with brought(write_game(tmp_path, ("return Count()", "return Count() if time.sleep(1000) else 0"))):
        process = RulesProcess("counting", 0.2)
        with pytest.raises(RulesFault, match=r"start took longer than 0.2 s, so its process was ended"):
            await load(process)
        await process.close()


def test_a_trial_has_time_for_as_many_moves_as_it_plays() -> None:
    limits = GameLimits()
    trial, call = (time_limit_s(msgspec.msgpack.encode((method, b"")), 1.0) for method in ("check_turn", "apply"))
    assert (trial, call) == (limits.slow_call_s * MAX_TRIED_MOVES, limits.call_timeout_s)


async def test_a_process_that_the_machine_has_no_room_for_is_a_fault_of_the_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*command: str, **options: object) -> None:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    with brought(write_game(tmp_path)):
        process = RulesProcess("counting", WITHIN)
        monkeypatch.setattr(asyncio, "create_subprocess_exec", refuse)
        with pytest.raises(RulesFault, match=r"the process of its rules could not start: Resource temporarily"):
            await load(process)
        await process.close()


async def test_a_process_plays_no_other_rules_than_the_server_has_loaded(tmp_path: Path) -> None:
    with brought(write_game(tmp_path)):
        write_game(tmp_path, ("return [1, 2]", "return [1, 2, 3]"))
        process = RulesProcess("counting", WITHIN)
        with pytest.raises(RulesFault) as refused:
            await load(process)
        assert str(refused.value) == (
            "the rules of counting failed: its file has changed since the server loaded it: start the server again"
        )


async def test_a_file_that_fails_only_in_its_process_is_named(tmp_path: Path) -> None:
    server = f"import os\nif os.getpid() != {os.getpid()}:\n    raise ValueError('not here')\nimport time\n"
    with brought(write_game(tmp_path, ("import time\n", server))):
        process = RulesProcess("counting", WITHIN)
        with pytest.raises(RulesFault, match=r"counting.py, line 4: ValueError: not here"):
            await load(process)
