"""A strategy of the library axelrod as a program for `arena-bot pipe`: axelrod_program.py NAME."""

from __future__ import annotations

import json
import sys

from axelrod_strategies import answer, seated

from games.dilemma.rules import Dilemma


def main(strategy: str) -> None:
    """Answer a line for each turn."""
    pair = seated(strategy, Dilemma({}))
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "start":
            pair = seated(strategy, Dilemma(message["config"]))
        elif message["type"] == "turn":
            state = message["state"]
            print(json.dumps({"choose": answer(pair, state["last"], message["to_move"])}), flush=True)


main(sys.argv[1])
