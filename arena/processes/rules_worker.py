"""The process of an isolated game: `python -m arena.processes.rules_worker GAME DIGEST SECONDS BYTES`.

It answers questions about the rules of GAME, whose file must have this DIGEST, until its standard input ends. A
question may take SECONDS of processor time, and the process BYTES of memory.

A frame is the length of a message in four bytes, and the message in msgpack: first a report that the game is loaded,
then for each question, which comes with the config, its answers.
"""

from __future__ import annotations

import os
import resource
import struct
import sys
import time
from functools import lru_cache
from math import ceil
from typing import Any, BinaryIO

import msgspec

from protocol.errors import Fault, RulesFault
from protocol.games import game_class, game_spec, guard_game, load_game, rules_faults_of, shared_game
from protocol.games.base import Game
from protocol.games.isolated import Answers, answer, answer_load, is_load_question

MAX_KEPT_CONFIGS = 64
"""Maximum number of configs whose rules are kept."""
MAX_KEPT_STATES = 512
"""Maximum number of states that are kept decoded for one config."""
FRAME_LENGTH = struct.Struct("!I")
"""The format of the length of a message."""

_unpack = msgspec.msgpack.Decoder().decode
_pack = msgspec.msgpack.Encoder().encode


class RulesAnswerer:
    """Answers questions about the rules of one game, under any config."""

    def __init__(self, game: str) -> None:
        self._game = game
        self._rules_of = lru_cache(MAX_KEPT_CONFIGS)(self._load)

    def answer(self, message: bytes) -> Answers:
        """Return the answers to a message with a config and a question."""
        config, question = _unpack(message)
        if is_load_question(question):
            return answer_load(lambda given: load_game(self._game, given), question)
        rules, states = self._rules_of(_pack(config))
        if len(states) > MAX_KEPT_STATES:
            states.clear()
        return answer(rules, question, states)

    def _load(self, config: bytes) -> tuple[Game[Any, Any], dict[bytes, Any]]:
        return guard_game(shared_game(self._game, _unpack(config))), {}


def main() -> None:
    """Answer questions until standard input ends."""
    game, digest, seconds, max_bytes = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)  # what rules print is no answer
        try:
            with rules_faults_of(game):
                game_class(game)
            if game_spec(game).digest != digest:
                raise RulesFault(game, "its file has changed since the server loaded it: start the server again")
        except Fault as fault:
            write_frame(answers, _pack(fault.reason if isinstance(fault, RulesFault) else str(fault)))
            return
        resource.setrlimit(resource.RLIMIT_AS, (max_bytes, max_bytes))
        write_frame(answers, _pack(None))
        answerer = RulesAnswerer(game)
        while (message := read_frame(sys.stdin.buffer)) is not None:
            limit_processor_time(seconds)
            write_frame(answers, _pack(answerer.answer(message)))


def limit_processor_time(seconds: float) -> None:
    """Have the kernel end this process after this much more processor time, rounded up to the next second."""
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (ceil(time.process_time() + seconds) + 1, hard))


def write_frame(file: BinaryIO, message: bytes) -> None:
    """Write a message as a frame."""
    file.write(FRAME_LENGTH.pack(len(message)) + message)
    file.flush()


def read_frame(file: BinaryIO) -> bytes | None:
    """Read the message of a frame; None if there is no whole frame."""
    length = file.read(FRAME_LENGTH.size)
    if len(length) < FRAME_LENGTH.size:
        return None
    (size,) = FRAME_LENGTH.unpack(length)
    message = file.read(size)
    return message if len(message) == size else None


if __name__ == "__main__":
    main()
