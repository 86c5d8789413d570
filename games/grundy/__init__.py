"""Grundy's game: heaps of counters, of which a move splits one into two of different sizes."""

from __future__ import annotations

from protocol.games.spec import EvaluationSpec, GameSpec

SPECS = (
    GameSpec(
        name="grundy",
        room="games.grundy",
        rules="games.grundy.rules:Grundy",
        evaluations={"parity": EvaluationSpec("games.grundy.evaluation:grundy_parity")},
        encoding="games.grundy.encoding:GrundyEncoding",
        position_classifier="games.theory.position_kinds:classifier_of",
        grader="games.theory.grader:grader_of",
        perfect_player="games.theory.perfect_player",
        demo_bot="theory=perfect",
        analyses={"grundy": "games.grundy.commands:analyze_grundy"},
        board="board.js",
        check="check.js",
        picture="picture.svg",
        styles=("board.css",),
    ),
)
"""The spec of Grundy's game."""
