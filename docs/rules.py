"""Builds docs/rules.md from games/rules.md and the games' own sections, which are in the games' folders.

python docs/rules.py            write docs/rules.md again, after a change of a game's rules.md or presets
python docs/rules.py --check    only compare; exit status 1 if docs/rules.md has to be written again
"""

from __future__ import annotations

import argparse
import sys
from fractions import Fraction
from pathlib import Path

from protocol.games import game_class, game_document, game_names

DOCUMENT = Path(__file__).with_suffix(".md")
INTRODUCTION = Path(__file__).parents[1] / "games" / "rules.md"
"""The part of the document that belongs to no game."""
TABLE_ROW = "| {games} |"
"""The line of the introduction that is replaced by a table row for each game."""


def put_together() -> str:
    """Return the text of docs/rules.md. A game without a document of rules has no section."""
    rows = "\n".join(map(table_row, game_names()))
    introduction = INTRODUCTION.read_text("utf-8").replace(TABLE_ROW, rows)
    sections = (game_document(game, "rules_document") for game in game_names())
    return "\n".join([introduction, *filter(None, sections)])


def table_row(game: str) -> str:
    """Return the row of a game in the table of presets."""
    kind = game_class(game)
    presets = ", ".join(f"`{preset}`" for preset in kind.presets)
    return f"| `{game}` | {presets} | {describe_draws(kind.draw_probability)} |"


def describe_draws(probability: float) -> str:
    """Return how many games are drawn: of 10 if that is a whole number, otherwise of 20 or of 100."""
    share = Fraction(str(probability))
    games = next((games for games in (10, 20) if games % share.denominator == 0), 100)
    drawn = round(share * games)
    return "none" if drawn == 0 else f"{drawn} of {games} games"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Put docs/rules.md together from the rules in the rooms of the games.")
    parser.add_argument("--check", action="store_true", help="only compare docs/rules.md with them")
    text = put_together()
    if not parser.parse_args(arguments).check:
        DOCUMENT.write_text(text, "utf-8")
    elif DOCUMENT.read_text("utf-8") != text:
        print("docs/rules.md differs from the rules in games/: python docs/rules.py writes it again", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
