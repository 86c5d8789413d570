"""`python -m bots` runs the command `arena-bot`."""

from bots.cli import main

if __name__ == "__main__":
    main()
