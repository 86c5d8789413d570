"""`arena try`: plays one match of bots in this process and shows it; `--watch` plays it again at every save.

It needs no server and no data folder, and stores nothing.
"""

from __future__ import annotations

import hashlib
import secrets
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path
from traceback import walk_tb
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from arena.commands.file_watch import run_at_every_save
from arena.commands.match_view import format_frame, format_outcome
from arena.commands.output import redraw, terminal_columns
from arena.commands.tournament_options import read_sets
from arena.replay.seat_view import view_line, view_state
from arena.replay.transcript import describe_line
from arena.runs.contestants import Contestant, parse_contestants
from arena.runs.in_process import make_players
from machine.arguments import read_clock
from machine.game_discovery import GameFileFault, file_of, is_game_file, locate_failures, resolve_game
from machine.standard_streams import ENCODING_ERRORS
from machine.terminal import say
from machine.timestamps import utc_now
from protocol.digest import encode_canonical
from protocol.display import format_count
from protocol.errors import UsageFault
from protocol.games import load_game
from protocol.games.base import Game
from referee.footer import ClosedMatch
from referee.record import Header, Ply, RecordedSeat, Sealed, Strike, make_header

DEFAULT_CLOCK, CLOCK_OF_PEOPLE = "10+0.1", "600+10"
"""The default clocks of a match between programs, and of one in which a person plays: seconds and increment."""
DEFAULT_MOVES_PER_SECOND = 4.0
"""The default number of moves that are shown per second on a terminal."""
MIN_MOVES_PER_SECOND, MAX_MOVES_PER_SECOND = 0.01, 1000.0
"""The limits of `--moves-per-second`."""
HUMAN_BOT = "human"
"""The built-in bot that asks the person at the terminal."""
MAX_LINES_BELOW_BOARD, MAX_LINES_AT_END = 5, 100
"""Maximum numbers of lines of the bots' output that are shown: `MAX_LINES_BELOW_BOARD` below each board,
`MAX_LINES_AT_END` after the match.
"""


class TryOptions(Struct, frozen=True, kw_only=True):
    """The options of `arena try` as the user gave them."""

    bots: Sequence[str]
    game: str
    preset: str | None
    sets: Sequence[str]
    clock: str | None
    seed: str | None
    watch: bool
    quiet: bool
    moves_per_second: float | None

    def to_arguments(self) -> list[str]:
        """Return the command line with these options, except for `--watch`."""
        words = ["try", *self.bots, "--game", self.game]
        for option, value in (("--preset", self.preset), ("--clock", self.clock), ("--seed", self.seed)):
            words += [] if value is None else [option, value]
        for pair in self.sets:
            words += ["--set", pair]
        if self.moves_per_second is not None:
            words += ["--moves-per-second", f"{self.moves_per_second:g}"]
        return words + (["--quiet"] if self.quiet else [])


def run(options: TryOptions) -> None:
    """Play a match and show it. If there is a message for a bot's author, exit with code 1."""
    seed = secrets.token_hex(4) if options.seed is None else options.seed
    try:
        game = resolve_game(options.game)
    except GameFileFault:
        if not options.watch:
            raise
        _play_at_every_save(options, [file_of(options.game)], seed)
        return
    config, settings = read_sets(game, options.sets, options.preset)
    rules = load_game(game, config)
    if len(options.bots) != rules.seats:
        given = format_count(len(options.bots), "bot is", "bots are")
        raise UsageFault(f"a match of {rules.name} has {rules.seats} seats under this config: {given} given")
    bots = parse_contestants(options.bots, settings, in_process=True)
    people = [seat for seat, bot in enumerate(bots) if bot.reference and bot.spec and bot.spec.bot == HUMAN_BOT]
    if people and not config and rules.preset_for_people is not None:
        rules = load_game(game, {"preset": rules.preset_for_people})
    told = read_clock(options.clock if options.clock is not None else CLOCK_OF_PEOPLE if people else DEFAULT_CLOCK)
    pace = options.moves_per_second
    if pace is not None and not MIN_MOVES_PER_SECOND <= pace <= MAX_MOVES_PER_SECOND:
        raise UsageFault(f"--moves-per-second is {pace:g}: it is {MIN_MOVES_PER_SECOND:g} to {MAX_MOVES_PER_SECOND:g}")
    if options.watch:
        files = [*_files(bots), *([file_of(options.game)] if is_game_file(options.game) else [])]
        if not files:
            raise UsageFault("--watch plays again when a bot or a game is saved: name a FILE.py")
        _play_at_every_save(options, files, seed)
        return
    secret = hashlib.sha256(
        encode_canonical(["try", seed, rules.name, rules.config, [bot.name for bot in bots]])
    ).digest()
    dice = hashlib.sha256(secret).digest()
    header = make_header(
        match=f"try-{secret[:4].hex()}",
        game=rules,
        seats=[RecordedSeat(bot=bot.name) for bot in bots],
        seed=dice,
        pool=None,
        clock=told,
        started=utc_now(),
    )
    shown = TrialDisplay(header, rules, people, quiet=options.quiet, pace=pace)
    specs = [replace(bot.spec, seed=f"{seed}/{bot.name}") for bot in bots if bot.spec is not None]
    _end_at_second_interrupt()
    with shown.capture_prints(), _locate_faults(_files(bots)), locate_failures():
        closed = make_players(specs, rules, shown.note, strict=True).play(header, dice, shown)
    shown.show_end(closed)
    if options.seed is None:
        say(f"seed {seed}: `--seed {seed}` plays it again")
    if shown.notes:
        raise SystemExit(1)


def _play_at_every_save(options: TryOptions, files: Sequence[Path], seed: str) -> None:
    command = [sys.executable, "-P", "-m", "arena", *replace(options, seed=seed).to_arguments()]
    run_at_every_save(files, command, f"the same dice each time, by seed {seed}")


def _files(bots: Sequence[Contestant]) -> list[Path]:
    own = [bot.spec.bot for bot in bots if bot.spec is not None and not bot.reference]
    return [Path(word if word.endswith(".py") else word.rpartition(":")[0]) for word in own]


def _end_at_second_interrupt() -> None:
    """Let a second Ctrl-C end this process at once: a bot may catch every exception, also that of the first one."""

    def interrupt(number: int, frame: object) -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        raise KeyboardInterrupt

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, interrupt)


@contextmanager
def _locate_faults(files: Sequence[Path]) -> Iterator[None]:
    """Add the file and line to a `UsageFault` that a bot's code raises within the context. Leave a fault alone if its
    message names the file already.
    """
    try:
        yield
    except UsageFault as fault:
        text = str(fault)
        for frame, line in reversed([*walk_tb(fault.__traceback__)]):
            file = Path(frame.f_code.co_filename)
            if file in files and str(file) not in text:
                raise UsageFault(f"{file.name}, line {line}: {text}") from fault
        raise


class _KeptOutput(BytesIO):
    """The bytes that bots print. They stay when a bot closes its standard output, or lays another stream over it."""

    def close(self) -> None:
        pass

    def lines(self) -> list[str]:
        return self.getvalue().decode(errors="replace").splitlines()


class TrialDisplay:
    """The display of a match as it is played: on a terminal each board replaces the last, else boards are printed.

    On a terminal, lines that bots print appear below the board. If a person plays here, they are not captured, because
    they ask for moves. The person sees their own hidden information; two people see only what both may see.
    """

    def __init__(
        self, header: Header, game: Game[Any, Any], people: Sequence[int], *, quiet: bool, pace: float | None
    ) -> None:
        self._header = header
        self._played_here = bool(people)
        self._seat = people[0] if len(people) == 1 else None
        self._game = game
        self._quiet = quiet
        self._screen = sys.stdout
        self._terminal = sys.stdout.isatty()
        self._pause = 1 / (pace or DEFAULT_MOVES_PER_SECOND) if not quiet and (pace or self._terminal) else 0.0
        self._clock = [header.clock.bank_ms] * len(header.seats)
        self._title = f"{header.game}, {', '.join(seat.bot for seat in header.seats)}"
        self._prints = _KeptOutput()
        self.notes: list[str] = []
        """Messages for the bots' authors."""

    @contextmanager
    def capture_prints(self) -> Iterator[None]:
        """Capture what bots print while boards are drawn on a terminal; on exit, print the last of these lines."""
        if self._quiet or not self._terminal or self._played_here:
            yield
            return
        try:
            stream = TextIOWrapper(self._prints, encoding="utf-8", errors=ENCODING_ERRORS, write_through=True)
            with redirect_stdout(stream), redirect_stderr(stream):
                yield
        finally:
            if lines := self._prints.lines():
                before = format_count(len(lines) - MAX_LINES_AT_END, "line", "lines")
                more = [f"… {before} before"] if len(lines) > MAX_LINES_AT_END else []
                say("\n".join(["", "", "printed meanwhile:", *more, *lines[-MAX_LINES_AT_END:]]))

    def note(self, bot: str, line: str) -> None:
        """Keep a message for a bot's author until `show_end`."""
        self.notes.append(line)

    def __call__(self, line: Ply | Strike | None, state: Any) -> None:
        """Show the board after a line of the record, or before the first line if `line` is None, and pause."""
        if self._quiet:
            return
        if isinstance(line, Ply):
            self._clock = line.clock
        seen: Ply | Strike | Sealed | None = line
        if self._played_here:
            state = view_state(self._game, state, self._seat)
            seen = None if line is None else view_line(self._game, line, self._seat)
        move = "" if seen is None else describe_line(seen, self._game, self._header, {}).sentence()
        board = self._game.draw_board(state)
        if not self._terminal:
            say("\n".join(["", *filter(None, [move]), board]), flush=True)
        else:
            lines = format_frame(
                board, self._title, move or "before the first move", self._header, self._clock, terminal_columns()
            )
            prints = self._prints.lines()[-MAX_LINES_BELOW_BOARD:]
            with redirect_stdout(self._screen):
                redraw([*lines, *(["", *prints] if prints or self._played_here else [])])
        time.sleep(self._pause)

    def show_end(self, closed: ClosedMatch) -> None:
        """Print the outcome and the messages for the bots' authors."""
        result = closed.result
        seats = [(seat.rank, seat.bot, seat.reason, seat.payoff) for seat in result.seats]
        ended = format_outcome(result.game, result.reason, result.plies, seats, closed.failures)
        say("\n".join(["", *ended, *self.notes]), flush=True)
