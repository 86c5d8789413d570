"""The repeated prisoner's dilemma, and other matrix games of several rounds.

memory_one.py scores strategies that remember one round, by which most bots of bots.py play. analysis.py and commands.py
are for `arena-bot analyze`.
"""

from __future__ import annotations

from protocol.games.spec import GameSpec

SPECS = (
    GameSpec(
        name="dilemma",
        room="games.dilemma",
        rules="games.dilemma.rules:Dilemma",
        encoding="games.dilemma.encoding:DilemmaEncoding",
        value_functions="games.dilemma.values:dilemma_values",
        demo_bot="tit-for-tat",
        analyses={"dilemma": "games.dilemma.commands:analyze_dilemma"},
        board="board.js",
        check="check.js",
        picture="picture.svg",
        styles=("board.css",),
    ),
)
"""The spec of the dilemma."""
