"""Finds methods and attributes of a `TurnGame` that the contract does not know and that its file never uses."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from protocol.games.turn_game import TurnGame
from protocol.games.turn_settings import ChoiceSetting, IntegerSetting

CONTRACT_NAMES = tuple(name for name in {*dir(TurnGame), *TurnGame.__annotations__} if not name.startswith("_"))
"""The methods and attributes of a game that the arena reads."""


def find_misspelled_names(file: Path, rules_class: type[TurnGame[Any, Any]]) -> Iterator[str]:
    """Yield a line on each public method or attribute that the classes of a game in this file define, but that neither
    the arena nor the file uses.
    """
    tree = ast.parse(file.read_bytes(), str(file))
    used = set(_used_names(tree))
    own = {kind.__name__ for kind in rules_class.__mro__ if kind.__module__ == rules_class.__module__}
    for kind in ast.walk(tree):
        if not isinstance(kind, ast.ClassDef) or kind.name not in own:
            continue
        for name, line in _defined_names(kind):
            is_setting = isinstance(getattr(rules_class, name, None), (IntegerSetting, ChoiceSetting))
            if name.startswith("_") or name in CONTRACT_NAMES or name in used or is_setting:
                continue
            near = get_close_matches(name, CONTRACT_NAMES, n=1)
            meant = f"; perhaps it should be {near[0]}" if near else ""
            yield f"{file.name}, line {line}: nothing uses {kind.name}.{name}, which the contract does not have{meant}"


def _used_names(tree: ast.AST) -> Iterator[str]:
    """Yield the names that a source reads, calls, or has as texts, which `getattr` may take."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _defined_names(kind: ast.ClassDef) -> Iterator[tuple[str, int]]:
    """Yield the methods and attributes that a class defines, with their lines."""
    for node in kind.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node.lineno
        elif isinstance(node, ast.Assign):
            yield from ((target.id, node.lineno) for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            yield node.target.id, node.lineno
