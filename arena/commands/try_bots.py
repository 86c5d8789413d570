"""`arena try`: plays one match of bots in this process and shows it; `--watch` plays it again at every save.

It needs no server and no data folder, and stores nothing.
"""

from __future__ import annotations

import hashlib
import secrets
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from traceback import walk_tb
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from arena.commands.file_watch import again_at_every_save
from arena.commands.match_view import frame, outcome
from arena.commands.output import columns, redraw
from arena.commands.tournament_options import read_sets
from arena.replay.seat_view import line_seen, state_seen
from arena.replay.transcript import describe_line
from arena.tournament.contestants import Contestant, contestants
from arena.tournament.in_process import players_of
from machine.arguments import read_clock
from machine.terminal import say
from machine.timestamps import utc
from protocol.digest import canonical
from protocol.display import counted
from protocol.errors import UsageFault
from protocol.games import load
from protocol.games.base import Game
from referee.footer import Closed
from referee.record import Header, Ply, RecordedSeat, Sealed, Strike, header_of

MOVES_PER_SECOND = 4.0
"""The default speed of the display on a terminal."""
FASTEST = 1000.0
PERSON = "human"
"""The built-in bot that asks the person at the terminal."""
PRINTS_BELOW, PRINTS_AFTER = 5, 100
"""Maximum printed lines of bots shown: below a board, and after the match."""


class TryOptions(Struct, frozen=True, kw_only=True):
    """The options as given."""

    bots: Sequence[str]
    game: str
    preset: str | None
    sets: Sequence[str]
    clock: str
    seed: str | None
    watch: bool
    quiet: bool
    moves_per_second: float | None

    def words(self) -> list[str]:
        """Return the command line with these options, except for `--watch`."""
        words = ["try", *self.bots, "--game", self.game, "--clock", self.clock]
        for option, value in (("--preset", self.preset), ("--seed", self.seed)):
            words += [] if value is None else [option, value]
        for pair in self.sets:
            words += ["--set", pair]
        if self.moves_per_second is not None:
            words += ["--moves-per-second", f"{self.moves_per_second:g}"]
        return words + (["--quiet"] if self.quiet else [])


def run(options: TryOptions) -> None:
    """Play a match and show it. Exits with code 1 if a bot has a mistake to fix. Raises `Fault`."""
    sets = [*options.sets, *([] if options.preset is None else [f"preset={options.preset}"])]
    config, settings = read_sets(options.game, sets)
    rules = load(options.game, config)
    if len(options.bots) != rules.seats:
        given = counted(len(options.bots), "bot is", "bots are")
        raise UsageFault(f"a match of {rules.name} has {rules.seats} seats under this config: {given} given")
    bots = contestants(options.bots, settings, in_process=True)
    people = [seat for seat, bot in enumerate(bots) if bot.reference and bot.spec and bot.spec.bot == PERSON]
    if people and not config and rules.preset_for_people is not None:
        rules = load(options.game, {"preset": rules.preset_for_people})
    told = read_clock(options.clock)
    pace = options.moves_per_second
    if pace is not None and not 0 < pace <= FASTEST:
        raise UsageFault(f"--moves-per-second is {pace:g}: more than 0 and at most {FASTEST:g}")
    seed = options.seed or secrets.token_hex(4)
    if options.watch:
        files = _files(bots)
        if not files:
            raise UsageFault("--watch plays again when a bot's file is saved: name a FILE.py among the bots")
        command = [sys.executable, "-P", "-m", "arena", *replace(options, seed=seed).words()]
        again_at_every_save(files, command, f"the same dice each time, by seed {seed}")
        return
    secret = hashlib.sha256(canonical(["try", seed, rules.name, rules.config, [bot.name for bot in bots]])).digest()
    dice = hashlib.sha256(secret).digest()
    header = header_of(
        match=f"try-{secret[:4].hex()}",
        game=rules,
        seats=[RecordedSeat(bot=bot.name) for bot in bots],
        seed=dice,
        pool=None,
        clock=told,
        started=utc(),
    )
    shown = _Shown(header, rules, people, quiet=options.quiet, pace=pace)
    specs = [replace(bot.spec, seed=f"{seed}/{bot.name}") for bot in bots if bot.spec is not None]
    with shown.heard(), _placed(_files(bots)):
        closed = players_of(specs, rules, shown.note, strict=True).play(header, dice, shown)
    shown.ended(closed)
    if options.seed is None:
        say(f"seed {seed}: `--seed {seed}` plays it again")
    if shown.noted:
        raise SystemExit(1)


def _files(bots: Sequence[Contestant]) -> list[Path]:
    """Return the files among the bots."""
    own = [bot.spec.bot for bot in bots if bot.spec is not None and not bot.reference]
    return [Path(word if word.endswith(".py") else word.rpartition(":")[0]) for word in own]


@contextmanager
def _placed(files: Sequence[Path]) -> Iterator[None]:
    """Add the file and line of a bot's file to a fault that does not name it."""
    try:
        yield
    except UsageFault as fault:
        text = str(fault)
        for frame, line in reversed([*walk_tb(fault.__traceback__)]):
            file = Path(frame.f_code.co_filename)
            if file in files and str(file) not in text:
                raise UsageFault(f"{file.name}, line {line}: {text}") from fault
        raise


class _Shown:
    """Shows a match as it is played, in place on a terminal, else as lines; what bots print appears below the board.

    A person who plays at this terminal sees their own hidden information; two people see only what both may see.
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
        self._pause = 1 / (pace or MOVES_PER_SECOND) if not quiet and (pace or self._terminal) else 0.0
        self._clock = [header.clock.bank_ms] * len(header.seats)
        self._title = f"{header.game}, {', '.join(seat.bot for seat in header.seats)}"
        self._prints = StringIO()
        self.noted: list[str] = []
        """Messages for the bots' authors."""

    @contextmanager
    def heard(self) -> Iterator[None]:
        """While boards are drawn in place, capture what bots print, and print its end afterwards."""
        if self._quiet or not self._terminal:
            yield
            return
        try:
            with redirect_stdout(self._prints), redirect_stderr(self._prints):
                yield
        finally:
            if lines := self._prints.getvalue().splitlines():
                before = counted(len(lines) - PRINTS_AFTER, "line", "lines")
                more = [f"… {before} before"] if len(lines) > PRINTS_AFTER else []
                say("\n".join(["", "", "printed meanwhile:", *more, *lines[-PRINTS_AFTER:]]))

    def note(self, bot: str, line: str) -> None:
        """Keep a message for a bot's author."""
        self.noted.append(line)

    def __call__(self, line: Ply | Strike | None, state: Any) -> None:
        """Show the board after a line of the record."""
        if self._quiet:
            return
        if isinstance(line, Ply):
            self._clock = line.clock
        seen: Ply | Strike | Sealed | None = line
        if self._played_here:
            state = state_seen(self._game, state, self._seat)
            seen = None if line is None else line_seen(self._game, line, self._seat)
        move = "" if seen is None else describe_line(seen, self._game, self._header, {}).sentence()
        board = self._game.board(state)
        if not self._terminal:
            say("\n".join(["", *filter(None, [move]), board]), flush=True)
        else:
            lines = frame(board, self._title, move or "before the first move", self._header, self._clock, columns())
            prints = self._prints.getvalue().splitlines()[-PRINTS_BELOW:]
            with redirect_stdout(self._screen):
                redraw([*lines, *(["", *prints] if prints else [])])
        time.sleep(self._pause)

    def ended(self, closed: Closed) -> None:
        """Print the outcome and the messages for the bots' authors."""
        result = closed.result
        seats = [(seat.rank, seat.bot, seat.reason, seat.payoff) for seat in result.seats]
        ended = outcome(result.game, result.reason, result.plies, seats, closed.failures)
        say("\n".join(["", *ended, *self.noted]), flush=True)
