"""The games of docs/examples/games, as classes, and that of docs/own-game.md, as a file."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

from commands import REPOSITORY
from protocol.games.turn_game import TurnGame

EXAMPLES = REPOSITORY / "docs" / "examples" / "games"
DOCUMENT = (REPOSITORY / "docs" / "own-game.md").read_text("utf-8")


def write_race(folder: Path) -> Path:
    """Write the example of the document to a file."""
    source = re.search(r"```python\n(.*?)```", DOCUMENT, re.DOTALL)
    assert source is not None
    file = folder / "race.py"
    file.write_text(source[1])
    return file


def example(file: str) -> type[TurnGame[Any, Any]]:
    """Return the class of an example's file."""
    spec = importlib.util.spec_from_file_location(f"examples_{file}", EXAMPLES / f"{file}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return next(
        found
        for found in vars(module).values()
        if isinstance(found, type) and issubclass(found, TurnGame) and found.__module__ == module.__name__
    )


CONNECT_FOUR, PIG, ONE_CARD, TWENTY_ONE = map(example, ("connect4", "pig", "onecard", "twentyone"))
