"""`arena-bot pipe`: a program in any language plays."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from bots.client.options import Parser, add_options, given
from bots.client.run import play
from bots.client.settings import Given
from bots.piping import Piped
from protocol.errors import UsageFault


def pipe(args: Sequence[str], prog_name: str) -> None:
    """Play what a program writes, by the settings of a command line, until its matches are played or it is stopped.

    Raises `Fault`, and `SystemExit` after the help that was asked for and where the exit code is not 0.
    """
    if sys.platform == "win32":
        raise UsageFault("arena-bot pipe needs Linux, macOS or another Unix; on Windows that is WSL")
    parser = Parser(
        prog=prog_name,
        usage="%(prog)s [options] -- PROGRAM [ARGUMENT ...]",
        description="Play by a program: it reads a line of JSON for each message and writes one for each move.",
        epilog="docs/other-languages.md has the lines. --name is the program's without folder and ending if not given.",
        allow_abbrev=False,
    )
    add_options(parser)
    parser.add_argument("--version", default="", help="of the program, to be shown and recorded")
    own, program = _parted(args)
    read = parser.parse_args(own)
    if not program:
        raise UsageFault(f"there is no program to run: give it at the end, as in {prog_name} --game nim -- ./mybot")
    bot = Piped(Path(program[0]).stem, program, read.version)
    options = given(read)
    bot.begin()
    try:
        play(bot, options, Given())
    finally:
        bot.close()


def _parted(args: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """The words before the first `--`, and those after it, which are the program's as they are."""
    at = args.index("--") if "--" in args else len(args)
    return args[:at], args[at + 1 :]
