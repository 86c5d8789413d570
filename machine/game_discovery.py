"""Games besides the built-in ones: Python files that the user names, and packages that are installed.

A file is loaded by `add_game_file`. Processes that are started later load it as well, such as bots and workers, which
open no database: the environment variable `GAME_FILES_VARIABLE` names it. game_files.py loads games that a database
keeps. An installed package offers games as entry points of the group `GAME_ENTRY_POINT_GROUP`: a `TurnGame`, another
`Game`, a sequence of `GameSpec`, or a `GameFamily`. Packages are looked at only if somebody asks for a game that is not
built in, or for all games. A name `FAMILY:GAME` loads one entry point, that of the family.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from traceback import extract_tb
from types import ModuleType
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from machine.code_timer import CodeTimer, TimeUp
from protocol.display import list_choices, short_repr
from protocol.errors import Fault, RulesFault, UnknownGame, UsageFault
from protocol.games import game_names, game_spec, is_known_game, list_game, register_game, remove_game
from protocol.games.base import Game
from protocol.games.guard import find_place
from protocol.games.spec import FAMILY_SEPARATOR, EvaluationSpec, GameFamily, GameSpec
from protocol.games.turn_game import RulesError, TurnGame
from protocol.pools import FIRST_VERSION, VERSION_DESCRIPTION, is_rules_version

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GAME_FILES_VARIABLE = "ARENA_GAME_FILES"
"""The environment variable with the paths of the files of games, separated as those in `PATH`."""
FAMILY_GAMES_VARIABLE = "ARENA_FAMILY_GAMES"
"""The environment variable with the names of listed games of families, separated by commas."""
GAME_ENTRY_POINT_GROUP = "bot_arena.games"
"""The group of entry points in which packages offer games."""
GAME_FILE_SUFFIX = ".py"
"""The end of the name of a file with a game. On a command line, a word with this end is a file and not a game."""
OWN_EVALUATION = "own"
"""The name of the evaluation that the author of a `TurnGame` wrote, for the setting `eval` of searches."""
EVALUATION_FACTOR = 900_000.0
"""The value of a state that is evaluated as 1, in a search where a win is worth 1,000,000."""
RUN_TIMEOUT_S = 60.0
"""Maximum number of seconds that it may take to run a file, before any game begins. It may import large packages."""
MAX_DEMO_NAME_CHARS = 24
"""Maximum number of characters of a game's name in the name of its bot of a demo server."""
_MODULE_PREFIX = "brought_games_"
"""The start of the names of the modules that are made of files."""


class GameSource(Struct, frozen=True, kw_only=True):
    """The source of a game of a file: the text of the file, and the SHA-256 of its bytes in hexadecimal."""

    game: str
    version: str
    digest: str
    source: str


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
            replace_game(spec)
        elif game_spec(spec.name).digest != spec.digest:
            raise GameFileFault(f"{file.name}: the name {spec.name} is taken by another game: choose another")
    return [spec.name for spec in specs]


def replace_game(spec: GameSpec) -> None:
    """Register a game of a file, in place of another with this name that also came from a file."""
    if is_known_game(spec.name):
        remove_game(spec.name)
    register_game(spec)
    files = dict.fromkeys(str(file_of_game(game)) for game in brought_games())
    os.environ[GAME_FILES_VARIABLE] = os.pathsep.join(files)


def brought_games() -> list[str]:
    """Return the names of the games that came from files."""
    return [name for name in game_names() if is_from_file(game_spec(name))]


def is_from_file(spec: GameSpec) -> bool:
    """Return whether a game came from a file, rather than with bot-arena or an installed package."""
    return spec.room.startswith(_MODULE_PREFIX)


def file_of_game(game: str) -> Path:
    """Return the file from which a game is run that came from a file."""
    return Path(str(sys.modules[game_spec(game).room].__file__))


def inherited_files() -> list[Path]:
    """Return the files of games that the environment names."""
    return [Path(word) for word in os.environ.get(GAME_FILES_VARIABLE, "").split(os.pathsep) if word]


def find_specs() -> Iterator[GameSpec]:
    """Yield the games that the environment names, by their files or families, and those of installed packages. Raise
    `UsageFault`, or `UnknownGame` for a game of a family.
    """
    found: set[tuple[str, str]] = set()
    for file in inherited_files():
        for spec in load_game_file(file):
            if (spec.name, spec.digest) not in found:  # two copies of a file differ in the files beside it
                found.add((spec.name, spec.digest))
                yield spec
    yield from map(find_family_spec, _inherited_names())
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
    if file.suffix != GAME_FILE_SUFFIX:
        raise UsageFault(f"the game {file} is no file of Python: its name must end in {GAME_FILE_SUFFIX}")
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
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    timer = CodeTimer()
    try:
        with timer.install_handler():
            # Not by the loader: its cache can't tell a file that changed within a second from the one before.
            timer.call(RUN_TIMEOUT_S, exec, compile(source, str(file), "exec"), module.__dict__)
    except TimeUp as exc:
        del sys.modules[name]
        raise GameFileFault(
            f"{file.name}, line {line_of(file, exc)}: this still runs after {RUN_TIMEOUT_S:g} s, before any game began"
        ) from exc
    except (Exception, SystemExit) as exc:
        del sys.modules[name]
        raise GameFileFault(_describe_failure(file, exc)) from exc
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _describe_failure(file: Path, exc: Exception | SystemExit) -> str:
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


def read_source(game: str) -> GameSource:
    """Return the source of the file of a game. Raise `UsageFault` if the game is not of a file, or if the file has
    changed since this process loaded it.
    """
    spec = game_spec(game)
    if not is_from_file(spec):
        raise UsageFault(
            f"{game} is not a game of a file, whose source can be told: it belongs to an installed package"
        )
    try:
        source = file_of_game(game).read_bytes()
    except OSError as exc:
        raise UsageFault(f"the source of {game} can't be read: {exc.strerror}") from exc
    if hashlib.sha256(source).hexdigest() != spec.digest:
        raise UsageFault(f"the source of {game} has changed since the arena loaded it: the arena has to be restarted")
    try:
        text = source.decode()
    except UnicodeDecodeError as exc:
        raise UsageFault(f"the source of {game} is not text in UTF-8") from exc
    return GameSource(game=game, version=spec.version, digest=spec.digest, source=text)


@contextmanager
def locate_failures() -> Iterator[None]:
    """Turn an exception that the file of a game raises in the block into a `GameFileFault`, with the file and line."""
    try:
        yield
    except RulesFault as fault:
        raise GameFileFault(fault.reason) from fault
    except Fault:
        raise
    except (Exception, SystemExit) as exc:
        for file in inherited_files():
            if line_of(file, exc) is not None:
                raise GameFileFault(_describe_failure(file, exc)) from exc
        if isinstance(exc, RulesError):  # what a method of the file returned was found to be wrong elsewhere
            places = [find_place(sys.modules[game_spec(game).room], exc) for game in brought_games()]
            raise GameFileFault(f"{next(filter(None, places), '')}{exc}") from exc
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
    if not is_rules_version(kind.version):
        raise GameFileFault(
            f"{file.name}: the version of {kind.name} is {short_repr(kind.version)}: it is a text of "
            f"{VERSION_DESCRIPTION}"
        )
    return GameSpec(
        name=kind.name,
        room=module.__name__,
        rules=rules,
        version=kind.version,
        digest=hashlib.sha256(file.read_bytes()).hexdigest(),
        rules_document=f"{file.stem}.md",
        summary_document=f"{file.stem}.txt",
        board=f"{file.stem}.js" if file.with_suffix(".js").is_file() else None,
        styles=(f"{file.stem}.css",) if file.with_suffix(".css").is_file() else (),
        demo_bot=_demo_bot_of(kind),
        **_evaluation_of(kind),
    )


def _demo_bot_of(kind: type[Any]) -> str:
    """Return the bot of a demo server that seeks matches of a game: `uct`, or `random` in a game that `uct` does not
    play, because what it hides can't be drawn.
    """
    can_guess = issubclass(kind, TurnGame) and kind.guess is not TurnGame.guess
    if kind.hidden and not can_guess:
        return f"{kind.name[:MAX_DEMO_NAME_CHARS]}-random=random"
    return f"{kind.name[:MAX_DEMO_NAME_CHARS]}-uct=uct:sims=100"


def _evaluation_of(kind: type[Any]) -> dict[str, Any]:
    """Return the fields of a spec for the author's evaluation of states; none if the game has no evaluation."""
    if not issubclass(kind, TurnGame) or kind.evaluate is TurnGame.evaluate:
        return {}
    return {
        "evaluations": {OWN_EVALUATION: EvaluationSpec("protocol.games.turn_game:evaluate_state")},
        "value_scale": {"evaluation_factor": EVALUATION_FACTOR},
    }


def installed_specs() -> Sequence[GameSpec]:
    """Return the games that installed packages offer, without those of families. Raise `UsageFault` if a package's game
    can't be loaded.
    """
    specs: list[GameSpec] = []
    for entry in game_entry_points():
        found = _load_entry(entry)
        if isinstance(found, type) and issubclass(found, (Game, TurnGame)):
            specs.append(_spec_of_class(found))
        elif not isinstance(found, GameFamily):
            specs += [_with_digest(spec) for spec in found]
    return specs


@cache
def game_entry_points() -> Sequence[EntryPoint]:
    """Return the entry points by which installed packages offer games. They are read once in a process."""
    from importlib.metadata import entry_points  # takes 10 ms, which most programs do not need

    return tuple(entry_points(group=GAME_ENTRY_POINT_GROUP))


def _load_entry(entry: EntryPoint) -> Any:
    """Return what an entry point names. Raise `UsageFault` if it can't be imported."""
    try:
        return entry.load()
    except Exception as exc:
        raise UsageFault(f"the installed game {entry.name} can't be loaded: {type(exc).__name__}: {exc}") from exc


def _spec_of_class(kind: type[Any]) -> GameSpec:
    path = f"{kind.__module__}:{kind.__qualname__}{'.rules' if issubclass(kind, TurnGame) else ''}"
    spec = GameSpec(name=kind.name, room=kind.__module__, rules=path, version=kind.version, **_evaluation_of(kind))
    return _with_digest(spec)


def _with_digest(spec: GameSpec) -> GameSpec:
    """Return the spec of an installed game with a version and a digest, which a package need not give."""
    if spec.digest:
        return spec
    return spec._replace(version=spec.version or FIRST_VERSION, digest=digest_package(spec.rules.partition(":")[0]))


def digest_package(module: str) -> str:
    """Return the digest, hexadecimal, of the Python sources of the installed package that a module belongs to."""
    package = importlib.util.find_spec(module.partition(".")[0])
    assert package is not None  # rules come from it
    folders = [Path(folder) for folder in package.submodule_search_locations or ()]
    files = [(file.relative_to(folder), file) for folder in folders for file in sorted(folder.rglob("*.py"))]
    if not files and package.origin is not None:
        files = [(Path(package.name), Path(package.origin))]
    digest = hashlib.sha256()
    for name, file in files:
        digest.update(f"{name.as_posix()} {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def find_family_spec(name: str) -> GameSpec:
    """Return the game `FAMILY:GAME` of an installed package. The name of its entry point is that of the family. Raise
    `UnknownGame`, or `UsageFault` if the family can't be loaded.
    """
    family_name = name.partition(FAMILY_SEPARATOR)[0]
    for entry in game_entry_points():
        if entry.name == family_name:
            family = _load_entry(entry)
            if isinstance(family, GameFamily):
                spec: GameSpec = resolve_name(family.find_spec)(name)
                return spec
    prefix = short_repr(family_name)[1:-1]
    raise UnknownGame(f"there is no game {short_repr(name)}: no installed package offers games named {prefix}:…")


def add_family_game(name: str) -> None:
    """Add a game of a family to the lists of games, for this process and those that it starts later. Raise
    `UnknownGame`.
    """
    list_game(name)
    names = [*_inherited_names(), name]
    os.environ[FAMILY_GAMES_VARIABLE] = ",".join(dict.fromkeys(names))


def _inherited_names() -> list[str]:
    """Return the games of families that the environment lists."""
    return [name for name in os.environ.get(FAMILY_GAMES_VARIABLE, "").split(",") if name]
