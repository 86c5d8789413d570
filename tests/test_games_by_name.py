"""Code outside the package `games` names no game. Run as a program, this file prints every such name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
PACKAGES = ("arena", "bots", "machine", "measuring", "protocol", "referee")
"""The packages of the product, except `games`."""
SUFFIXES = (".py", ".js", ".html", ".css", ".toml")
WORDS = ("nim", "grundy", "tictactoe", "risk", "duel", "campaign", "dilemma", "kuhn", "leduc", "poker")
"""Words in the names of games."""
ENGLISH = frozenset({"at risk", "duel"})
"""Uses of these words as English: a comparison of two bots in a tournament is a duel."""
_WORD = re.compile(rf"(?<![a-z])(?:{'|'.join(WORDS)})(?![a-z])", re.IGNORECASE)
_SPELLED = re.compile("|".join(WORDS), re.IGNORECASE)
"""What all that names a game has in it: where this is not found, there is nothing to take apart."""
_JS_COMMENT = re.compile(r"/\*.*?\*/|(?<![:'\"])//[^\n]*", re.DOTALL)
_CAMEL_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
FILES = sorted(
    file
    for file in chain.from_iterable((REPOSITORY / package).rglob("*") for package in PACKAGES)
    if file.suffix in SUFFIXES and "__pycache__" not in file.parts
)


def find_names(file: Path) -> Iterator[str]:
    """Yield each identifier, string constant and import of a file that names a game, with its line."""
    text = file.read_text("utf-8")
    if not _SPELLED.search(text):
        return
    found = _python_texts(ast.parse(text)) if file.suffix == ".py" else _other_texts(text)
    for line, part in found:
        if (
            _SPELLED.search(part)
            and _WORD.search(_CAMEL_BOUNDARY.sub(" ", part.replace("_", " ")))
            and part.lower() not in ENGLISH
        ):
            yield f"{file.relative_to(REPOSITORY)}:{line}: {part.strip()[:80]}"


def _other_texts(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a script, a template, a style sheet or a table, without comments."""
    plain = _JS_COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), text)
    yield from enumerate((line.partition("#")[0] if line.startswith("#") else line for line in plain.splitlines()), 1)


def _python_texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    docstrings = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str() as text) if id(node) not in docstrings:
                yield node.lineno, text
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.keyword(arg=str() as name):
                yield node.lineno, name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield node.lineno, name
            case ast.ImportFrom(module=module, names=names):
                yield node.lineno, " ".join([module or "", *(each.name for each in names)])
            case ast.Import(names=names):
                yield node.lineno, " ".join(each.name for each in names)


@pytest.mark.parametrize("package", PACKAGES)
def test_code_outside_the_rooms_names_no_game(package: str) -> None:
    files = [file for file in FILES if file.relative_to(REPOSITORY).parts[0] == package]
    assert files
    assert list(chain.from_iterable(map(find_names, files))) == []


if __name__ == "__main__":
    names = list(chain.from_iterable(map(find_names, FILES)))
    print(*names, f"{len(names)} names of games outside games/", sep="\n")
