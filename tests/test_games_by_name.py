"""Code outside the package `games` names no game, and nothing that only the games of one room have, such as hands. Run
as a program, this file prints every such word.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

from protocol.dice import Dice
from protocol.games import builtin_game_names, config_keys, load_game

REPOSITORY = Path(__file__).parents[1]
PACKAGES = ("arena", "bots", "machine", "measuring", "protocol", "referee")
"""The packages of the product, except `games`."""
SUFFIXES = (".py", ".js", ".html", ".css", ".toml")
WORDS = ("nim", "grundy", "tictactoe", "risk", "duel", "campaign", "dilemma", "kuhn", "leduc", "poker")
"""Words in the names of games."""
ENGLISH = frozenset({"at risk", "duel"})
"""Uses of these words as English: a comparison of two bots in a tournament is a duel."""
THINGS = "army|attack|card|chip|continent|cooperate|defect|heap|invade|reinforce|territory|territories|troop"
"""Things and moves in the games of single rooms."""
SHARED_KEYS = re.compile(
    "armies|bets|cells|choices|classic|deal|draft|go_on|grid|hidden|large|last|map|max_plies|max_rounds|noise|out|owner|"
    "paid|paper|payoffs|phase|players|ply|public|round|rounds|short|start|take|to_move|units|winner|world"
)
"""Keys of configs and states, and presets, that code for all games uses, too, in the same or another meaning."""
OTHER_USES = re.compile(
    # other meanings: to hand over or in, a hand that a solver solves, tables that are cards on a phone, bot settings
    r"hand over|hands? (?:\w+ ){0,2}in\b|hand the|shake hands|hand solving|hand iteration|card games|a defect of|"
    r"^battles$|"
    r"""(?:class="|\.|const |function |map\(|[( ])cards?[ .("),:]|"""
    # examples
    r"heaps=3,5,7|such as chips|always-(?:cooperate|defect)",
    re.IGNORECASE,
)
"""Parts of texts that have such a word in another meaning, or as an example."""
_JS_COMMENT = re.compile(r"/\*.*?\*/|(?<![:'\"])//[^\n]*", re.DOTALL)
_CAMEL_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
FILES = sorted(
    file
    for file in chain.from_iterable((REPOSITORY / package).rglob("*") for package in PACKAGES)
    if file.suffix in SUFFIXES and "__pycache__" not in file.parts
)


def _room_words() -> Iterator[str]:
    """Yield `THINGS`, the keys of all games' configs and states, and the names of their presets, as patterns."""
    yield f"(?:{THINGS})s?"
    for name in builtin_game_names():
        game = load_game(name)
        state, _ = game.initial(Dice(bytes(32), 0))
        for key in {*config_keys(name), *game.presets, *game.encode_state(state)}:
            if not SHARED_KEYS.fullmatch(key):
                yield f"{key.replace('_', ' ').removesuffix('s')}s?"


_WORD = re.compile(rf"(?<![a-z])(?:{'|'.join((*WORDS, *sorted(_room_words())))})(?![a-z])")


def _in_words(text: str) -> str:
    """Return a text in lower case with the words of its identifiers apart."""
    return _CAMEL_BOUNDARY.sub(" ", text.replace("_", " ")).lower()


def find_words(file: Path) -> Iterator[str]:
    """Yield each identifier, string constant and import of a file that names a game or a thing of one room, with its
    line.
    """
    text = file.read_text("utf-8")
    if not _WORD.search(_in_words(text)):  # most files: they need not be taken apart
        return
    found = _python_texts(ast.parse(text)) if file.suffix == ".py" else _other_texts(text)
    for line, part in found:
        if _WORD.search(OTHER_USES.sub("", _in_words(part))) and part.lower() not in ENGLISH:
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
def test_code_outside_the_rooms_names_no_game_and_nothing_of_one_room(package: str) -> None:
    files = [file for file in FILES if file.relative_to(REPOSITORY).parts[0] == package]
    assert files
    assert list(chain.from_iterable(map(find_words, files))) == []


if __name__ == "__main__":
    found = list(chain.from_iterable(map(find_words, FILES)))
    print(*found, f"{len(found)} names of games and words of single rooms outside games/", sep="\n")
