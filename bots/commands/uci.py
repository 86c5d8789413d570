"""`arena-bot uci`: a bot whose moves come from a chess engine that speaks UCI.

Each match in progress has its own engine process. The engine gets the position with the moves since the last one that
can't be repeated, so that it sees repetitions, and the clocks of both sides. It needs no rules of the arena.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from bots.client.bot import Choice, ProgramFailed, Turn
from bots.client.options import OptionParser, add_options, read_options
from bots.client.run import play
from bots.client.settings import PartialSettings
from bots.commands.pipe import split_arguments
from bots.commands.piped_bot import PipedBot, PipedMatch
from bots.commands.piped_lines import quote_line
from bots.commands.piped_program import PipedProgram, ProgramExited, UnusableAnswer
from protocol.display import list_first, short_repr
from protocol.errors import UsageFault
from protocol.messages import MAX_NOTE_CHARS, End, Rejected, Start

HANDSHAKE_TIMEOUT_S = 30.0
"""Seconds that an engine has to be ready after its start. Some load large files."""
DEFAULT_MOVE_OVERHEAD_MS = 50
"""Milliseconds of each move that are not the engine's: its answer has to reach the arena in time."""
MAX_NOTE_MOVES = 8
"""Number of moves of the engine's main line that a replay shows."""
MOVE_PATTERN = re.compile("[a-h][1-8][a-h][1-8][nbrq]?")
"""The form of a move."""
INFO_WORDS: Mapping[str, int] = {"depth": 1, "nodes": 1, "score": 2}
"""The fields of an engine's `info` that a move's note has, each with its number of words."""
NO_MOVES = ("(none)", "0000")
"""The words by which engines say that they have no move."""


def uci(args: Sequence[str], prog_name: str) -> None:
    """Play the moves of a UCI engine, as a bot with the settings of a command line, until the bot's matches are played
    or the user stops it.

    Raise `Fault` if that fails, `SystemExit` after `--help` and for an exit code other than 0.
    """
    if sys.platform == "win32":
        raise UsageFault("arena-bot uci needs Linux, macOS or another Unix; on Windows, use WSL")
    parser = OptionParser(
        prog=prog_name,
        usage="%(prog)s [options] -- ENGINE [ARGUMENT ...]",
        description="Play chess by an engine that speaks UCI, such as stockfish.",
        epilog="The arena needs bot-arena-chess (plugins/chess). --name is the engine's program if not given.",
        allow_abbrev=False,
    )
    add_options(parser)
    parser.add_argument("--option", metavar="NAME=VALUE", action="append", default=[], help="an option of the engine")
    parser.add_argument(
        "--move-overhead",
        metavar="MS",
        type=int,
        default=DEFAULT_MOVE_OVERHEAD_MS,
        help=f"milliseconds of a move that the engine must not use [{DEFAULT_MOVE_OVERHEAD_MS}]",
    )
    own, command = split_arguments(args)
    read = parser.parse_args(own)
    if not command or not command[0]:
        raise UsageFault(f"there is no engine to run: give it at the end, as in {prog_name} -- stockfish")
    options = _parse_options(read.option)
    bot = UciBot(Path(command[0]).stem, command, options, read.move_overhead)
    settings = read_options(read)
    bot.start()
    try:
        play(bot, settings, PartialSettings())
    finally:
        bot.close()


def _parse_options(words: Iterable[str]) -> dict[str, str]:
    """Return the options of the engine. Raise `UsageFault` if a word is not NAME=VALUE."""
    options = {}
    for word in words:
        name, separator, value = word.partition("=")
        if not separator or not name.strip() or not word.isprintable():
            raise UsageFault(f"--option {short_repr(word)}: write NAME=VALUE, as in Hash=64")
        options[name.strip()] = value.strip()
    return options


class UciBot(PipedBot):
    """A bot that plays the moves of a UCI engine, which `command` starts. It runs one process for each match in
    progress. `options` are set in each.
    """

    games = ("chess",)

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        options: Mapping[str, str] | None = None,
        move_overhead_ms: int = DEFAULT_MOVE_OVERHEAD_MS,
    ) -> None:
        super().__init__(name, command)
        self._options = options or {}
        self._move_overhead_ms = move_overhead_ms

    def _start_program(self) -> PipedProgram:
        program = super()._start_program()
        try:
            self._shake_hands(program, time.monotonic() + HANDSHAKE_TIMEOUT_S)
        except (ProgramExited, UnusableAnswer) as exc:
            program.kill()
            raise UsageFault(f"{self._command[0]} is no UCI engine: it {exc}") from None
        return program

    def _shake_hands(self, program: PipedProgram, deadline: float) -> None:
        """Start UCI, and set the options. Take the engine's name as the bot's version."""
        program.write_line(b"uci\n")
        known = []
        while (words := _read_words(program, deadline)) != ["uciok"]:
            if words[:2] == ["id", "name"]:
                self.version = self.version or " ".join(words[2:])[:64]
            elif words[:2] == ["option", "name"]:
                known.append(" ".join(takewhile("type".__ne__, words[2:])))
        for name, value in self._options.items():
            if name.casefold() not in map(str.casefold, known):
                program.kill()
                raise UsageFault(f"--option {short_repr(name)}: the engine has {list_first(known, 12)}")
            program.write_line(f"setoption name {name} value {value}\n".encode())
        self._synchronise(program, deadline)

    def _synchronise(self, program: PipedProgram, deadline: float) -> None:
        """Wait until the engine has done what it was told, and pass over its output so far."""
        program.write_line(b"isready\n")
        while _read_words(program, deadline) != ["readyok"]:
            pass

    def _encode_start(self, start: Start) -> bytes:
        return b"ucinewgame\n"

    def _encode_end(self, end: End) -> bytes:
        return b"stop\n"

    def rejected(self, rejected: Rejected) -> None:
        pass  # the turn comes again, with the same position

    def _exchange_turn(self, match: PipedMatch, program: PipedProgram, turn: Turn, deadline: float) -> Choice:
        self._synchronise(program, deadline)
        program.write_line(self.encode_position(turn).encode())
        program.write_line(self.encode_go(turn).encode())
        info: dict[str, list[str]] = {}
        while True:
            words = _read_words(program, deadline)
            if words[:1] == ["info"]:
                info.update(parse_info(words))
            elif words[:1] == ["bestmove"]:
                return _choose(turn, words, info)

    @staticmethod
    def encode_position(turn: Turn) -> str:
        """Return the command that sets up the position of a turn."""
        moves = " ".join(turn.state["moves"])
        return f"position fen {turn.state['base']}{f' moves {moves}' if moves else ''}\n"

    def encode_go(self, turn: Turn) -> str:
        """Return the command that starts the search, with both clocks. The arena's clocks gain the increment after each
        move, as those of chess do.
        """
        left_ms = list(turn.clock_ms)
        left_ms[turn.seat] = int(1000 * turn.time_left)
        white, black = (max(1, ms - self._move_overhead_ms) for ms in left_ms)
        return f"go wtime {white} btime {black} winc {turn.increment_ms} binc {turn.increment_ms}\n"


def _read_words(program: PipedProgram, deadline: float) -> list[str]:
    return program.read_line(deadline).decode(errors="replace").split()


def parse_info(words: Sequence[str]) -> dict[str, list[str]]:
    """Return the fields of a line `info` about the engine's best move; nothing for a line about another move."""
    words = words[: words.index("string")] if "string" in words else words
    fields = {name: list(words[words.index(name) + 1 :]) for name in ("multipv", *INFO_WORDS, "pv") if name in words}
    if fields.pop("multipv", ["1"])[:1] != ["1"]:
        return {}
    return {
        name: list(takewhile(MOVE_PATTERN.fullmatch, after)) if name == "pv" else after[: INFO_WORDS[name]]
        for name, after in fields.items()
    }


def _choose(turn: Turn, words: Sequence[str], info: Mapping[str, Sequence[str]]) -> Choice:
    """Return the move of a line `bestmove`, with what the engine thought of it. Raise `ProgramFailed` if it is not
    legal: the engine would repeat it.
    """
    best = words[1] if len(words) > 1 else NO_MOVES[0]
    if best in NO_MOVES:
        raise ProgramFailed(f"at ply {turn.ply} of {turn.match} the engine has no move")
    move: Mapping[str, Any] = {"move": best}
    if not any(legal["move"] == best for legal in turn.legal):
        line = quote_line(" ".join(words).encode())
        raise ProgramFailed(f"at ply {turn.ply} of {turn.match} the engine wrote {line}, which is not a legal move")
    score = info.get("score", ())
    value = int(score[1]) / 100 if score[:1] == ["cp"] and len(score) > 1 and _is_integer(score[1]) else None
    mate = f"mate in {score[1]}: " if score[:1] == ["mate"] and len(score) > 1 else ""
    line = " ".join(info.get("pv", ())[:MAX_NOTE_MOVES])
    return Choice(
        move,
        value=value,
        depth=_number(info.get("depth")),
        nodes=_number(info.get("nodes")),
        note=f"{mate}{line}"[:MAX_NOTE_CHARS] or None,
    )


def _is_integer(word: str) -> bool:
    return word.removeprefix("-").isdecimal()


def _number(words: Sequence[str] | None) -> int | None:
    return int(words[0]) if words and words[0].isdecimal() else None
