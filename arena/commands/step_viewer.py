"""Shows the boards of a match one after the other on a terminal: the next at a key press, or after some seconds."""

from __future__ import annotations

import contextlib
import math
import os
import select
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from arena.commands.match_view import format_frame
from arena.commands.output import redraw, terminal_columns
from arena.replay.luck_report import LuckTextByMove
from arena.replay.seat_view import view_line, view_state
from arena.replay.transcript import describe_line
from protocol.errors import UsageFault
from protocol.games.base import Game
from referee.record import EventLine, Header, Ply, Record, Sealed
from referee.recorded_game import RecordedGame
from referee.replay import replay

NEXT_KEYS = "\r\n nC"
"""The characters that show the next board. C ends the escape sequence of the right arrow key."""
BACK_KEYS = "bpD"
"""The characters that show the previous board. D ends the escape sequence of the left arrow key."""
QUIT_KEYS = "q\x04"
"""The characters that end the viewer: q and Ctrl-D."""
ALL_KEY = "a"
"""The key that shows the hidden information of all seats."""
KEYS_HELP = "Enter next, b back, q quit"
"""The help text for the viewer's keys that work in every game."""
VIEWS_HELP = "0 to {last} what that seat saw, a all"
"""The help text for the viewer's keys that choose whose hidden information is shown."""
MAX_PAUSE_S = 3600.0
"""Maximum seconds that `--play` shows each board."""


_INTERRUPT_CHECK_INTERVAL_S = 0.2
"""Seconds after which a wait for a key begins again. Ctrl-C ends a wait, but not if it comes just before the wait."""


def check_terminal(*, step: bool, play: float | None, others: bool) -> None:
    """Raise `UsageFault` if options exclude each other, or if there is no terminal to show boards and read keys."""
    option = "--step" if step else "--play"
    if others or (step and play is not None):
        raise UsageFault(f"{option} excludes --boards, --json and {'--play' if step else '--step'}: choose one")
    if play is not None and not 0 < play <= MAX_PAUSE_S:
        raise UsageFault(f"--play {play:g}: seconds for each board, more than 0 and at most {MAX_PAUSE_S:g}")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageFault(f"{option} needs a terminal for its input and output; --boards prints every board anywhere")


def show_steps(
    record: Record, end: Sequence[str], luck: LuckTextByMove, pause: float | None = None, *, by_states: bool = False
) -> None:
    """Show the boards of a match, each until a key is pressed or `pause` seconds pass; show `end` below the last. With
    `by_states`, show the states in the record instead of boards.
    """
    header, clock = record.header, [record.header.clock.bank_ms] * len(record.header.seats)
    frames = []
    for line, course in replay(record, by_states=by_states):
        if isinstance(line, (Ply, Sealed)):
            clock = line.clock
        frames.append((line, course.state, clock))
    game = course.game
    has_views = game.hidden and not isinstance(game, RecordedGame)  # only the rules know what a seat saw
    keys = f"{KEYS_HELP}, {VIEWS_HELP.format(last=game.seats - 1)}" if has_views else KEYS_HELP
    seats = [str(seat) for seat in range(game.seats)] if has_views else []
    at, seat = 0, None
    with _read_keys() as pressed:
        while at < len(frames):
            last = at == len(frames) - 1
            line, state, clock = frames[at]
            if state is not None and seat is not None:
                state = view_state(game, state, seat)
            board = "" if state is None else game.draw_board(state)
            title = f"{header.match}: {header.game}, {at} of {len(frames) - 1}"
            if seat is not None:
                title += f", as seat {seat} saw it"
            move = _describe_event(line, seat, game, header, luck)
            lines = format_frame(board, title, move, header, clock, terminal_columns())
            redraw([*lines, *(["", *end] if last else []), "", keys])
            if last and pause is not None:
                break
            key = pressed(pause)
            if key in NEXT_KEYS:
                at += 1
            elif key in BACK_KEYS:
                at = max(0, at - 1)
            elif key in seats or key == ALL_KEY:
                seat = int(key) if key in seats else None
            elif key in QUIT_KEYS:
                break


def _describe_event(
    line: EventLine | None, seat: int | None, game: Game[Any, Any], header: Header, luck: LuckTextByMove
) -> str:
    """Return a line of the record in words, as `seat` saw it. If `seat` is None, hide nothing."""
    if line is None:
        return "before the first move"
    if seat is None:
        return describe_line(line, game, header, luck).sentence()
    seen = view_line(game, line, seat)
    return "another seat chooses" if seen is None else describe_line(seen, game, header, {}).sentence()


@contextlib.contextmanager
def _read_keys() -> Iterator[Callable[[float | None], str]]:
    """Yield a function that waits for a key and returns it, or returns Enter after a timeout in seconds.

    On exit, restore the terminal's settings.
    """
    try:
        import termios
        import tty
    except ImportError:
        raise UsageFault("this terminal can't tell single keys; --boards prints every board anywhere") from None
    keyboard = sys.stdin.fileno()
    before = termios.tcgetattr(keyboard)

    def pressed(within: float | None) -> str:
        left = math.inf if within is None else within
        while not select.select([keyboard], [], [], min(left, _INTERRUPT_CHECK_INTERVAL_S))[0]:
            left -= _INTERRUPT_CHECK_INTERVAL_S
            if left <= 0:
                return NEXT_KEYS[0]
        return (os.read(keyboard, 1) or b"q").decode("latin-1")

    try:
        tty.setcbreak(keyboard)
        sys.stdout.write("\x1b[?25l")
        yield pressed
    finally:
        termios.tcsetattr(keyboard, termios.TCSADRAIN, before)
        sys.stdout.write("\x1b[?25h\n")
        sys.stdout.flush()
