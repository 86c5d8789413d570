"""`arena-bot pipe`: a program in any language plays."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from bots.client.options import Parser, add_options, given
from bots.client.run import play
from bots.client.settings import Given
from bots.piping.piped import Piped
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
    parser.add_argument("program", metavar="PROGRAM", help="what is run: a path, or a name on PATH")
    parser.add_argument("arguments", metavar="ARGUMENT", nargs="*", help="what the program is given")
    read = parser.parse_args(args)
    bot = Piped(Path(read.program).stem, [read.program, *read.arguments], read.version)
    try:
        play(bot, given(read), Given())
    finally:
        bot.close()
