"""Loads a bot by the name of an entry point of a package, or from a Python file.

A file is run as a Python program up to its call of `run`, which hands the bot over to this module.
"""

from __future__ import annotations

import ast
import contextlib
import sys
import traceback
from collections.abc import Collection, Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from bots.client.bot import Bot
from bots.client.installed import find_installed
from bots.mistakes import PACKAGES, is_own
from protocol.bot_launch import BotSpec
from protocol.errors import Fault, UsageFault, os_errors_as

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_MODULE_SUFFIXES = (".py", ".pyc", ".pyd", ".so")
"""The ends of the names of files that Python imports."""
_is_loading: ContextVar[bool] = ContextVar("loading", default=False)
"""True while a program is run only to get its bot."""


def find_entry_point(name: str) -> EntryPoint:
    """Return the entry point of the bot called `name`. If it is unknown, raise `UsageFault` with the known names."""
    known = find_installed()
    if name.endswith(".py"):
        raise UsageFault(f"{name[:80]!r} is a program that connects by itself: run python {name[:80]}")
    if name not in known:
        raise UsageFault(f"there is no bot {name[:40]!r}: one of {', '.join(sorted(known)) or 'none installed'}")
    return known[name]


def choose_settings(
    bot: str, known: Mapping[str, str], given: Mapping[str, str], defaults: Mapping[str, str]
) -> dict[str, str]:
    """Return a bot's settings: `given`, and those of `defaults` that it knows. Raise `UsageFault` for unknown settings
    in `given`.
    """
    for key in given:
        if key not in known:
            has = f": it has {', '.join(known)}" if known else ": it has none"
            raise UsageFault(f"{bot} has no setting {key[:40]!r}{has}")
    return {**{key: value for key, value in defaults.items() if key in known}, **given}


class _BotHandedOver(BaseException):
    """Raised to end a program that is run only to get its bot. It carries the bot."""

    def __init__(self, bot: Bot) -> None:
        self.bot = bot


def hand_over(bot: Bot) -> None:
    """End this program and give `bot` to `load_bot`, if `load_bot` runs the program only to get its bot. `run` calls
    this before it plays the bot.
    """
    if _is_loading.get():
        raise _BotHandedOver(bot)


def refuse(message: str) -> None:
    """If the program is run only to get its bot, raise `UsageFault` with this message. `run` calls it for a bad bot."""
    if _is_loading.get():
        raise UsageFault(message)


def load_bot(path: Path, cls: str | None, name: str, settings: Mapping[str, str], defaults: Mapping[str, str]) -> Bot:
    """Return the bot of a Python file. If `cls` is None, it is the bot that the file passes to `run`. Otherwise, or if
    the file passes none, make it from the class `cls`, by default the file's only subclass of `Bot`. The class gets the
    name, the settings, and those of `defaults` that are settings of the class. Raise `UsageFault` if the bot cannot be
    made.
    """
    module, handed = _run_program(path)
    if cls is None and handed is not None:
        if settings:
            raise UsageFault(
                f"{path}: its run() creates the bot: to change settings, name the class, {path}:{type(handed).__name__}"
            )
        return handed
    return make_bot(_find_class(path, module, cls), name, settings, defaults)


def build_bot(spec: BotSpec) -> Bot:
    """Return the bot that a spec names. Raise `UsageFault` if it cannot be made."""
    file, _, cls = (spec.bot, "", None) if spec.bot.endswith(".py") else spec.bot.rpartition(":")
    if file.endswith(".py"):
        bot = load_bot(Path(file), cls, spec.name, spec.settings, spec.defaults)
    else:
        bot = make_bot(find_entry_point(spec.bot).load(), spec.name, spec.settings, spec.defaults)
    bot.name = spec.name
    return bot


def make_bot(cls: type[Bot], name: str, settings: Mapping[str, str], defaults: Mapping[str, str]) -> Bot:
    """Return a bot of a class whose constructor takes the name, then the settings. Raise `UsageFault` if that fails."""
    chosen = choose_settings(name, cls.settings, settings, defaults)
    try:
        return cls(name, **chosen)
    except Fault:
        raise
    except Exception as exc:
        raise UsageFault(f"{name}: {cls.__name__}(name, **settings) can't be created: {exc!r}") from exc


def _find_class(path: Path, module: ModuleType, name: str | None) -> type[Bot]:
    """Return the subclass of `Bot` with this name, or the file's only one. Raise `UsageFault` if there is none."""
    own: dict[str, type[Bot]] = {key: value for key, value in vars(module).items() if is_own(value, Bot)}
    found = own if name is None else {key: value for key, value in own.items() if key == name}
    if len(found) == 1:
        return next(iter(found.values()))
    there = f"it has {', '.join(own)}" if own else "it has none"
    if name is not None:
        raise UsageFault(f"{path} has no subclass of Bot called {name[:40]!r}: {there}")
    choice = f": name the one that is meant, {path}:{next(iter(own))}" if own else ""
    begin = "" if own else ': write class Mine(Bot), in it def choose(self, turn), and below it run(Mine("mine"))'
    raise UsageFault(f"{path} does not call run(bot), and of subclasses of Bot {there}{choice}{begin}")


def _run_program(path: Path) -> tuple[ModuleType, Bot | None]:
    """Run a program up to its call of `run`. Return its module and the bot, None if it does not call `run`. Raise
    `UsageFault` if the program fails.
    """
    module = ModuleType("__main__")
    module.__file__ = str(path)
    program = _compile_program(path)
    loading = _is_loading.set(True)
    try:
        with _as_main(path, module):
            exec(program, vars(module))  # noqa: S102
    except _BotHandedOver as handed:
        return module, handed.bot
    except SystemExit as exc:
        raise UsageFault(f"{path}: it ended before it called run(bot), with exit code {exc.code}") from exc
    except Fault:
        raise
    except Exception as exc:
        raise UsageFault(
            f"{path}: its code failed before it called run(bot){_format_line(exc, path)}: {exc!r}"
        ) from exc
    finally:
        _is_loading.reset(loading)
    return module, None


def _format_line(exc: Exception, path: Path) -> str:
    lines = [number for frame, number in traceback.walk_tb(exc.__traceback__) if frame.f_code.co_filename == str(path)]
    return f", in line {lines[-1]}" if lines else ""


def _compile_program(path: Path) -> Any:
    """Compile a program's file. Raise `UsageFault` if it is not a Python program or does not import `bots`."""
    try:
        tree = ast.parse(path.read_bytes(), str(path))
        program = compile(tree, str(path), "exec", dont_inherit=True)  # without this module's future imports
    except OSError as exc:
        raise UsageFault(f"{path} can't be read: {exc.strerror}") from exc
    except (SyntaxError, ValueError, RecursionError, MemoryError) as exc:  # the last two if it is nested too deeply
        raise UsageFault(f"{path} is not a Python program: {str(exc) or type(exc).__name__}") from exc
    if not any(_imports_bots(node) for node in ast.walk(tree)):
        raise UsageFault(f"{path} does not import bots: only bots of the Python library play in process")
    return program


def _imports_bots(node: ast.AST) -> bool:
    names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    return any(name.partition(".")[0] == "bots" for name in names)


@contextlib.contextmanager
def _as_main(path: Path, module: ModuleType) -> Iterator[None]:
    """Set `sys.argv`, `sys.path` and the module `__main__` in this context, as Python does for a program. At the end,
    remove the modules that the program imported from its folder: other programs' folders may have modules of the same
    names. This project's packages are never removed.
    """
    folder = path.resolve().parent
    with os_errors_as(UsageFault, f"the folder {folder} can't be read"):
        modules = [entry for entry in folder.iterdir() if entry.suffix in _MODULE_SUFFIXES or entry.is_dir()]
    own = {entry.name.partition(".")[0] for entry in modules} - sys.stdlib_module_names - {*PACKAGES}
    before = sys.argv, sys.path, sys.modules["__main__"], _remove_modules(own)
    sys.argv, sys.path, sys.modules["__main__"] = [str(path)], [str(folder), *sys.path], module
    try:
        yield
    finally:
        _remove_modules(own)
        sys.argv, sys.path, sys.modules["__main__"], others = before
        sys.modules.update(others)


def _remove_modules(names: Collection[str]) -> dict[str, ModuleType]:
    """Remove imported modules with these names, so that Python imports them again. Return the removed modules."""
    return {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] in names}
