"""Games besides the built-in ones: Python files that the user names, and packages that are installed.

A file is loaded by `add_game_file`. Processes that are started later load it as well: the environment variable
`GAME_FILES_VARIABLE` names it. An installed package offers games as entry points of the group `GAME_ENTRY_POINT_GROUP`:
a `TurnGame`, another `Game`, or a sequence of `GameSpec`.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Any

from protocol.display import list_choices, short_repr
from protocol.errors import Fault, RulesFault, UsageFault
from protocol.games import game_spec, is_known_game, register_game
from protocol.games.base import Game
from protocol.games.spec import GameSpec
from protocol.games.turn_game import RulesError, TurnGame

GAME_FILES_VARIABLE = "ARENA_GAME_FILES"
"""The environment variable with the paths of the files of games, separated as those in `PATH`."""
GAME_ENTRY_POINT_GROUP = "bot_arena.games"
"""The group of entry points in which packages offer games."""
GAME_FILE_SUFFIX = ".py"
"""The end of the name of a file with a game. On a command line, a word with this end is a file and not a game."""
_MODULE_PREFIX = "brought_games_"
"""The start of the names of the modules that are made of files."""


class GameFileFault(UsageFault):
    """A file has no game that can be played. The message names the file, the line, and what the contract asks."""


def is_game_file(word: str) -> bool:
    """Return whether a word on a command line means a file of a game."""
    return _split(word)[0].endswith(GAME_FILE_SUFFIX)


def file_of(word: str) -> Path:
    """Return the file that a word on a command line names, for which `is_game_file` is true."""
    return Path(_split(word)[0])


def _split(word: str) -> tuple[str, str]:
    """Return the file and the name in `FILE.py:NAME`. The name is empty in `FILE.py`."""
    file, _, name = (word, "", "") if word.endswith(GAME_FILE_SUFFIX) else word.rpartition(":")
    return file, name


def resolve_game(word: str) -> str:
    """Return the name of the game that a word on a command line means. The word is a name, a file `FILE.py` with one
    game, or `FILE.py:NAME`. Add the games of a file. Raise `UsageFault`.
    """
    if not is_game_file(word):
        return word
    file, name = file_of(word), _split(word)[1]
    names = add_game_file(file)
    if not name and len(names) > 1:
        raise UsageFault(f"{file} has several games: write {file}:NAME with {list_choices(names)}")
    if name and name not in names:
        raise UsageFault(f"{file} has no game {short_repr(name)}: {list_choices(names)}")
    return name or names[0]


def add_game_file(file: Path) -> list[str]:
    """Add the games of a file, for this process and those that it starts later. Return their names. Adding a file again
    changes nothing. Raise `UsageFault`.
    """
    file = file.absolute()
    specs = load_game_file(file)
    for spec in specs:
        if not is_known_game(spec.name):
            register_game(spec)
        elif game_spec(spec.name) != spec:
            raise GameFileFault(f"{file.name}: the name {spec.name} is taken by another game: choose another")
    files = [*inherited_files(), file]
    os.environ[GAME_FILES_VARIABLE] = os.pathsep.join(map(str, dict.fromkeys(files)))
    return [spec.name for spec in specs]


def inherited_files() -> list[Path]:
    """Return the files of games that the environment names."""
    return [Path(word) for word in os.environ.get(GAME_FILES_VARIABLE, "").split(os.pathsep) if word]


def find_specs() -> Iterator[GameSpec]:
    """Yield the games of the files that the environment names, and of installed packages. Raise `UsageFault`."""
    for file in inherited_files():
        yield from load_game_file(file)
    yield from installed_specs()


def load_game_file(file: Path) -> list[GameSpec]:
    """Run a Python file and return its games. Raise `GameFileFault` or `UsageFault`."""
    module = _run(file)
    specs = [_spec_of(module, kind, file) for kind in _game_classes(module)]
    if not specs:
        raise GameFileFault(
            f"{file.name} has no game: write a class NAME(TurnGame[State, Move]) with the attribute name"
        )
    return specs


def _run(file: Path) -> ModuleType:
    """Run a file as a module, whose name depends on its path and content. If it has run before, return this module."""
    try:
        source = file.read_bytes()
    except OSError as exc:
        raise UsageFault(f"the game {file} can't be read: {exc.strerror}") from exc
    digest = hashlib.sha256(str(file.absolute()).encode() + b"\n" + source).hexdigest()
    name = f"{_MODULE_PREFIX}{file.stem}_{digest[:12]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as exc:
        del sys.modules[name]
        raise GameFileFault(_describe_failure(file, exc)) from exc
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _describe_failure(file: Path, exc: Exception) -> str:
    """Return a line on an exception that a file of a game raised: the file, the line and the reason."""
    if isinstance(exc, SyntaxError) and exc.filename == str(file):
        return f"{file.name}, line {exc.lineno}: {exc.msg}"
    line = line_of(file, exc)
    reason = " ".join(str(exc).split())
    kind = "" if isinstance(exc, (RulesError, UsageFault)) else f"{type(exc).__name__}: "
    return f"{file.name}{f', line {line}' if line else ''}: {kind}{reason}"


def line_of(file: Path, exc: BaseException) -> int | None:
    """Return the line of a file in which an exception, or its cause, was raised; None if it was raised elsewhere."""
    for raised in (exc, exc.__cause__):
        frames = extract_tb(raised.__traceback__) if raised is not None else []
        lines = [frame.lineno for frame in frames if Path(frame.filename) == file.absolute()]
        if lines:
            return lines[-1]
    return None


@contextmanager
def locate_failures() -> Iterator[None]:
    """Turn an exception that the file of a game raises in the block into a `GameFileFault`, with the file and line."""
    try:
        yield
    except RulesFault as fault:
        raise GameFileFault(fault.reason) from fault
    except Fault:
        raise
    except Exception as exc:
        for file in inherited_files():
            if line_of(file, exc) is not None:
                raise GameFileFault(_describe_failure(file, exc)) from exc
        raise


def _game_classes(module: ModuleType) -> list[type[Any]]:
    """Return the classes of games that a module defines, in the order of their definition."""
    return [
        kind
        for kind in vars(module).values()
        if isinstance(kind, type)
        and kind.__module__ == module.__name__
        and "name" in vars(kind)
        and (issubclass(kind, TurnGame) or (issubclass(kind, Game) and not inspect.isabstract(kind)))
    ]


def _spec_of(module: ModuleType, kind: type[Any], file: Path) -> GameSpec:
    """Return the spec of a game in a file. The rules in words (.md, .txt), the board's script (.js) and its style sheet
    (.css) may lie beside the file, under its name.
    """
    rules = f"{module.__name__}:{kind.__name__}{'.rules' if issubclass(kind, TurnGame) else ''}"
    return GameSpec(
        name=kind.name,
        room=module.__name__,
        rules=rules,
        version=getattr(kind, "version", "1"),
        digest=hashlib.sha256(file.read_bytes()).hexdigest(),
        rules_document=f"{file.stem}.md",
        summary_document=f"{file.stem}.txt",
        board=f"{file.stem}.js" if file.with_suffix(".js").is_file() else None,
        styles=(f"{file.stem}.css",) if file.with_suffix(".css").is_file() else (),
    )


def installed_specs() -> Sequence[GameSpec]:
    """Return the games that installed packages offer. Raise `UsageFault` if a package's game can't be loaded."""
    from importlib.metadata import entry_points  # takes 10 ms, which most programs do not need

    specs: list[GameSpec] = []
    for entry in entry_points(group=GAME_ENTRY_POINT_GROUP):
        try:
            found = entry.load()
        except Exception as exc:
            raise UsageFault(f"the installed game {entry.name} can't be loaded: {type(exc).__name__}: {exc}") from exc
        if isinstance(found, type) and issubclass(found, (Game, TurnGame)):
            path = f"{found.__module__}:{found.__qualname__}{'.rules' if issubclass(found, TurnGame) else ''}"
            specs.append(GameSpec(name=found.name, room=found.__module__, rules=path))
        else:
            specs += found
    return specs
