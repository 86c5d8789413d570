"""Who knows games by name: what import-linter, which sees imports, cannot see."""

from __future__ import annotations

import ast
import re
from itertools import chain
from pathlib import Path

import pytest

from protocol.games import game_names

REPOSITORY = Path(__file__).parents[1]
GENERAL = (
    "arena/**/*.py",
    "bots/*.py",
    "bots/agents/*.py",
    "bots/client/*.py",
    "bots/environments/*.py",
    "bots/search/*.py",
    "bots/evaluation/base.py",
    "machine/*.py",
    "protocol/*.py",
    "protocol/games/base.py",
)
"""What is there for any game."""
REGISTRIES = (
    "bots/environments/batched/batch.py",
    "bots/environments/encodings.py",
    "bots/search/kernels.py",
)
QUOTED = re.compile(rf"""["'](?:{"|".join(game_names())})["']""")
FILES = sorted({*chain.from_iterable(map(REPOSITORY.glob, GENERAL))} - {REPOSITORY / path for path in REGISTRIES})


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(REPOSITORY).as_posix())
def test_what_is_there_for_any_game_names_none(file: Path) -> None:
    text = file.read_text("utf-8")
    if not QUOTED.search(text):
        return
    strings = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)]
    assert [(node.lineno, node.value) for node in strings if node.value in game_names()] == []
