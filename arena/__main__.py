"""Makes `python -m arena` the same as `arena`."""

import sys


def main() -> None:
    """Run the command line. For `arena serve`, first block signals: they wait until the server handles them."""
    if sys.argv[1:2] == ["serve"]:
        from machine.held_signals import block_signals

        block_signals()
    from arena.cli import main as run

    run()


if __name__ == "__main__":
    main()
