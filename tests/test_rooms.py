"""The house itself: no file and no function too long to be read at once, and every package with its layers."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from bots.client.loading import LIBRARY

ROOT = Path(__file__).parent.parent
ROOMS = ("arena", "bots", "machine", "measuring", "protocol", "referee")
MOST_LINES = 400
MOST_LINES_OF_A_FUNCTION = 60
HOT_LOOPS = {
    ("bots/search/risk/campaign_tree.py", "prune"),
    ("bots/search/risk/duel_pruning.py", "prune"),
    ("bots/search/risk/turns.py", "look"),
}
"""Searches that would pay a call at every node for being parted."""
NAMESAKES = {
    "Turn": "what a bot's author is given, and the message that it is read from",
    "Move": "a message, and the theory's",
    "End": "a message, and the campaign's",
    "Split": "Grundy's move, and the theory's way with a heap",
    "Position": "each game has its own",
    "Scale": "of a drawing, and of an evaluation",
    "Table": "where matches are refereed, and the values of a solved map",
    "Place": "a connection's in the arena, and where a bot came in matches",
    "Played": "a match that a program had played, and the referee's event",
}
"""Classes that share a name, and what tells them apart."""


def sources() -> list[Path]:
    return [file for room in ROOMS for file in sorted((ROOT / room).rglob("*.py"))]


def functions(file: Path) -> Iterator[tuple[str, int]]:
    """Name and lines of every function."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
            yield node.name, node.end_lineno - node.lineno + 1


@pytest.mark.parametrize("file", sources(), ids=lambda file: str(file.relative_to(ROOT)))
def test_a_file_and_its_functions_can_be_read_at_once(file: Path) -> None:
    assert len(file.read_text().splitlines()) <= MOST_LINES
    place = file.relative_to(ROOT).as_posix()
    long = {name for name, lines in functions(file) if lines > MOST_LINES_OF_A_FUNCTION}
    assert {(place, name) for name in long} <= HOT_LOOPS


def test_every_package_has_its_layers() -> None:
    linter = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layered = {room for contract in linter["contracts"] for room in contract.get("containers", ())}
    packages = {
        ".".join(folder.relative_to(ROOT).parts)
        for room in ROOMS
        for init in (ROOT / room).rglob("__init__.py")
        if len([*(folder := init.parent).glob("*.py"), *folder.glob("*/__init__.py")]) > 2
    }
    assert packages <= layered, f"no layers contract for {sorted(packages - layered)}"


def test_every_package_is_shipped_checked_and_typed() -> None:
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    there = {init.parent.name for init in ROOT.glob("*/__init__.py")} - {"tests"}
    assert there == set(ROOMS) == LIBRARY
    assert set(tool["hatch"]["build"]["targets"]["wheel"]["packages"]) == there
    assert set(tool["mypy"]["files"]) == there | {"benchmarks", "docs"}
    assert set(tool["importlinter"]["root_packages"]) == there
    assert set(re.findall(r"^COPY (\w+) \1$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)) == there
    assert {f"!{room}" for room in there} <= set((ROOT / ".dockerignore").read_text().split())
    assert all((ROOT / room / "py.typed").exists() for room in there)


def test_no_two_public_classes_have_one_name_but_those_that_games_and_messages_share() -> None:
    places = Counter(
        node.name
        for file in sources()
        for node in ast.parse(file.read_text()).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert {name for name, count in places.items() if count > 1} == NAMESAKES.keys()
