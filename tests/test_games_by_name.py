"""Who knows games by name: what import-linter, which sees imports, cannot see."""

from __future__ import annotations

import ast
import re
from itertools import chain
from pathlib import Path

import pytest

from arena.web.room_files import room_folders
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
    "bots/agents/rules.py",
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


def test_scripts_sheets_and_templates_of_the_pages_name_no_game() -> None:
    named = re.compile(rf"\b(?:{'|'.join((*game_names(), *room_folders()))})\b")
    files = chain.from_iterable(
        map((REPOSITORY / "arena" / "web").rglob, ("static/**/*.js", "static/**/*.css", "templates/*.html"))
    )
    assert [(file.name, found) for file in files if (found := named.findall(file.read_text("utf-8")))] == []
