"""The games of docs/examples/games, as classes."""

from __future__ import annotations

import importlib.util
from typing import Any

from commands import REPOSITORY
from protocol.games.turn_game import TurnGame

EXAMPLES = REPOSITORY / "docs" / "examples" / "games"


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
