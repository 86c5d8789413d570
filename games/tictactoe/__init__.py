"""Tic-tac-toe: three marks in a line win."""

from __future__ import annotations

from protocol.games.spec import EvaluationSpec, GameSpec

SPECS = (
    GameSpec(
        name="tictactoe",
        room="games.tictactoe",
        rules="games.tictactoe.rules:TicTacToe",
        evaluations={"lines": EvaluationSpec("games.tictactoe.evaluation:lines_share")},
        value_scale={"win": 10.0},
        demo_bot="rookie=random",
        encoding="games.tictactoe.encoding:GridEncoding",
        batch="games.tictactoe.batched:GridBatch",
        board="board.js",
        check="check.js",
        picture="picture.svg",
        styles=("board.css",),
    ),
)
"""The spec of tic-tac-toe."""
