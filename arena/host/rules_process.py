"""The process that answers questions about the rules of one isolated game, from the side of the server."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
from collections.abc import Mapping
from typing import Any

import msgspec

from arena.processes.launch_spec import allowed_environment
from arena.processes.rules_worker import FRAME_LENGTH
from protocol.errors import RulesFault
from protocol.games import game_class, game_spec
from protocol.games.author_methods import name_call
from protocol.games.isolated import Answers, method_of

START_TIMEOUT_S = 60.0
"""Seconds in which a process must have loaded its game: packages may be slow to import."""
MAX_MEMORY_BYTES = 2 << 30
"""Maximum bytes of address space of the process of a game."""

TRIAL_FACTOR = 5
"""The number of times that the trial of a position may take longer than a call: it plays up to 100 moves, each of which
may take as long as a call that is not slow.
"""
MAX_ANSWER_BYTES = 4 << 20
"""Maximum bytes of the answers to a question. A message to a client has at most a quarter of that."""

_pack = msgspec.msgpack.Encoder().encode
_decode_answers = msgspec.msgpack.Decoder(dict[bytes, tuple[str, Any]]).decode


def time_limit_s(question: bytes, call_timeout_s: float) -> float:
    """Return the seconds in which a question must be answered."""
    return call_timeout_s * (TRIAL_FACTOR if method_of(question) == "check_turn" else 1)


class RulesProcess:
    """The process of one game. It is started for the first question, and again for the first one after it ended. One
    question is asked at a time; each must be answered within its `time_limit_s`.

    A keeper runs the process, and kills it with all that it started when this process ends.
    """

    def __init__(self, game: str, call_timeout_s: float) -> None:
        self._game = game
        self._call_timeout_s = call_timeout_s
        self._turn = asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None
        self._line: socket.socket | None = None
        self._is_closed = False

    async def ask(self, config: Mapping[str, Any], question: bytes) -> Answers:
        """Return the answers to a question. Raise `RulesFault` if they do not come in time, or if the process ends."""
        async with self._turn:
            if self._is_closed:
                raise self._fault("the server stops")
            if self._process is not None and self._process.returncode is not None:
                await self._kill()  # it ended between two questions, which is no fault of the rules
            if self._process is None:
                try:
                    await self._start()
                except OSError as exc:  # the machine has no process or descriptor left
                    raise self._fault(f"the process of its rules could not start: {exc.strerror}") from exc
            message = _pack((config, question))
            limit_s = time_limit_s(question, self._call_timeout_s)
            try:
                async with asyncio.timeout(limit_s):
                    answers = _decode_answers(await self._exchange(message))
                if question not in answers:
                    raise msgspec.DecodeError
            except TimeoutError:
                await self._kill()
                raise self._fault(
                    f"{self._name(question)} took longer than {limit_s:g} s, so its process was ended"
                ) from None
            except (msgspec.DecodeError, OverflowError):
                await self._kill()
                raise self._fault(f"the process of its rules gave no proper answer in {self._name(question)}") from None
            except (asyncio.IncompleteReadError, OSError):
                await self._kill()
                raise self._fault(f"the process of its rules ended in {self._name(question)}") from None
            except BaseException:  # an answer may still come, which would be taken for that to the next question
                await self._kill()
                raise
            else:
                return answers

    async def close(self) -> None:
        """End the process, and start none again."""
        self._is_closed = True
        await self._kill()

    async def _start(self) -> None:
        ours, theirs = socket.socketpair()
        module = (sys.executable, "-P", "-m")
        worker = (*module, "arena.processes.rules_worker", self._game)
        digest = game_spec(self._game).digest
        limits = (digest, str(self._call_timeout_s * TRIAL_FACTOR), str(MAX_MEMORY_BYTES))
        with theirs, contextlib.ExitStack() as on_failure:
            on_failure.enter_context(ours)
            self._process = await asyncio.create_subprocess_exec(
                *module,
                "machine.keeper",
                str(theirs.fileno()),
                *worker,
                *limits,
                env=allowed_environment(os.environ),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
            on_failure.pop_all()
        self._line = ours
        try:
            async with asyncio.timeout(START_TIMEOUT_S):
                problem = msgspec.msgpack.decode(await self._read())
        except (TimeoutError, asyncio.IncompleteReadError, ConnectionError):
            await self._kill()
            raise self._fault("the process of its rules could not start") from None
        if problem is not None:
            await self._kill()
            raise self._fault(problem)

    async def _exchange(self, message: bytes) -> bytes:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(FRAME_LENGTH.pack(len(message)) + message)
        await self._process.stdin.drain()
        return await self._read()

    async def _read(self) -> bytes:
        assert self._process is not None
        assert self._process.stdout is not None
        (size,) = FRAME_LENGTH.unpack(await self._process.stdout.readexactly(FRAME_LENGTH.size))
        if size > MAX_ANSWER_BYTES:
            raise OverflowError
        return await self._process.stdout.readexactly(size)

    async def _kill(self) -> None:
        """End the process, if it runs."""
        process, self._process = self._process, None
        line, self._line = self._line, None
        if process is None or line is None:
            return
        line.close()  # the keeper kills the process
        assert process.stdin is not None
        process.stdin.close()
        with contextlib.suppress(OSError):
            await process.stdin.wait_closed()
        await process.wait()

    def _name(self, question: bytes) -> str:
        """Return the name of the call of the rules that a question is about."""
        return name_call(game_class(self._game), method_of(question))

    def _fault(self, reason: str) -> RulesFault:
        return RulesFault(self._game, reason)
