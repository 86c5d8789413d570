"""`arena-bot pipe`: a bot whose moves come from a program in any language, which runs as a process."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from bots.client.finish_signal import FinishSignal
from bots.client.options import OptionParser, add_options, read_options
from bots.client.run import play
from bots.client.settings import PartialSettings
from bots.commands.match_logs import MatchLogFolder
from bots.commands.piped_bot import PipedBot
from machine.main_program import run_program
from protocol.errors import UsageFault
from protocol.games import game_names

PROGRAM_NAME = "arena-bot pipe"
"""The name of the program in its help."""


def main() -> None:
    """Run `python -m bots.commands.pipe`: it starts sooner, without Typer."""
    run_program(lambda: pipe(sys.argv[1:] or ["--help"], PROGRAM_NAME), "arena-bot")


def pipe(args: Sequence[str], prog_name: str) -> None:
    """Play the moves that a program writes, as a bot with the settings of a command line, until the bot's matches are
    played or the user stops it.

    Raise `Fault` if that fails, `SystemExit` after `--help` and for an exit code other than 0.
    """
    if sys.platform == "win32":
        raise UsageFault("arena-bot pipe needs Linux, macOS or another Unix; on Windows, use WSL")
    parser = OptionParser(
        prog=prog_name,
        usage="%(prog)s [options] -- PROGRAM [ARGUMENT ...]",
        description="Play by a program: it reads a line of JSON for each message and writes one for each move.",
        epilog="docs/other-languages.md has the lines. --name is the program's without folder and ending if not given.",
        allow_abbrev=False,
    )
    add_options(parser)
    parser.add_argument("--version", default="", help="of the program, to be shown and recorded")
    parser.add_argument("--fresh", action="store_true", help="start the program anew for each match")
    parser.add_argument(
        "--match-logs",
        type=Path,
        metavar="FOLDER",
        help="write what the program prints in a match to a file of this folder, in place of the terminal; it is "
        "started anew for each match",
    )
    parser.add_argument("--keep-state", type=int, default=0, help=argparse.SUPPRESS)  # for runners
    parser.add_argument(
        "--finish-on-sigterm", action="store_true", help="on SIGTERM, end when the matches under way are over"
    )
    own, program = split_arguments(args)
    read = parser.parse_args(own)
    if not program or not program[0]:  # the variable that names it may be empty
        raise UsageFault(
            f"there is no program to run: give it at the end, as in {prog_name} --game {game_names()[0]} -- ./mybot"
        )
    folder = None if read.match_logs is None else MatchLogFolder(read.match_logs)
    bot = PipedBot(
        Path(program[0]).stem or program[0],
        program,
        read.version,
        fresh=read.fresh,
        match_logs=folder,
        max_state_bytes=0 if folder is None else read.keep_state,
    )
    options = read_options(read)
    signal_ = FinishSignal() if read.finish_on_sigterm else None
    bot.start()
    try:
        play(bot, options, PartialSettings(), signal_, on_exit=bot.close)
    finally:
        bot.close()


def split_arguments(args: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Return two lists of words: those before the first `--`, and those after it (the program's command line)."""
    at = args.index("--") if "--" in args else len(args)
    return args[:at], args[at + 1 :]


if __name__ == "__main__":
    main()
