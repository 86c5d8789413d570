"""Kuhn and Leduc poker. rules.py has what the rules in kuhn.py and leduc.py have in common.

strategies.py has the equilibria, by which perfect_player.py plays, grader.py the values of decisions, values.py the
value function that measures luck. exploitability.py measures what the best reply wins against a bot.
"""

from __future__ import annotations

from protocol.games.spec import GameSpec


def _make_spec(name: str, rules: str, demo_bot: str) -> GameSpec:
    return GameSpec(
        name=name,
        room="games.poker",
        rules=rules,
        rules_document=f"rules-{name}.md",
        summary_document=f"summary-{name}.md",
        encoding="games.poker.encoding:PokerEncoding",
        value_functions="games.poker.values:poker_values",
        position_classifier="games.poker.position_kinds:classifier_of",
        grader="games.poker.grader:grader_of",
        perfect_player="games.poker.perfect_player",
        move_value_unit="chips",
        demo_bot=demo_bot,
        solver="games.poker.commands:solve_hand",
        solver_options={"rounds": 2000, "write": None},
        exploitability="games.poker.exploitability:measure_exploitability",
        board="board.js",
        check="check.js",
        picture=f"{name}-picture.svg",
        styles=("board.css",),
    )


SPECS = (
    _make_spec("kuhn", "games.poker.kuhn:Kuhn", "bluffer=perfect"),
    _make_spec("leduc", "games.poker.leduc:Leduc", "caller=random"),
)
"""The specs of both games."""
