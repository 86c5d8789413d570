"""Nim: heaps of counters, of which a move takes some from one heap."""

from __future__ import annotations

from protocol.games.spec import EvaluationSpec, GameSpec

SPECS = (
    GameSpec(
        name="nim",
        room="games.nim",
        rules="games.nim.rules:Nim",
        evaluations={"parity": EvaluationSpec("games.nim.evaluation:nim_parity")},
        encoding="games.nim.encoding:NimEncoding",
        batch="games.nim.batched:NimBatch",
        position_classifier="games.theory.position_kinds:classifier_of",
        grader="games.theory.grader:grader_of",
        perfect_player="games.theory.perfect_player",
        demo_bot="minimax:depth=2",
        analyses={"nim": "games.nim.commands:analyze_nim"},
        board="board.js",
        check="check.js",
        picture="picture.svg",
        styles=("board.css",),
    ),
)
"""The spec of nim."""
