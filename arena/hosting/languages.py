"""Gives the commands that build and start a program of each language, if its manifest has none of its own."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import NamedTuple

from protocol.display import list_choices, short_repr
from protocol.errors import UsageFault

PYTHON = "python3"
"""The program that stands for the Python of the runner, which has the library `bots`."""
_IMPORTS_LIBRARY = re.compile(r"^[ \t]*(?:from|import)[ \t]+bots\b", re.MULTILINE)
"""Matches the import of the library `bots` in a Python program. It takes linear time, whatever a stranger wrote."""
_MAX_SEARCHED_CHARS = 65_536
"""The number of characters at the beginning of a Python program in which the import is looked for."""


class Recipe(NamedTuple):
    """The command that builds a program, empty if there is nothing to build, and the one that starts it."""

    build: tuple[str, ...]
    command: tuple[str, ...]


class _Language(NamedTuple):
    ending: str
    recipe: Callable[[str, str], Recipe]
    """Returns the recipe of a program. The arguments are the path of its main file, and the text of this file."""


def _python(file: str, source: str) -> Recipe:
    bridge = ("-m", "bots.commands.lines") if _IMPORTS_LIBRARY.search(source[:_MAX_SEARCHED_CHARS]) else ()
    return Recipe((), (PYTHON, "-P", *bridge, file))


def _java(file: str, source: str) -> Recipe:
    return Recipe(("javac", "-d", ".", file), ("java", "-Xmx512m", "-cp", ".", PurePosixPath(file).stem))


_LANGUAGES = {
    "c": _Language(".c", lambda file, _: Recipe(("cc", "-O2", "-o", "bot", file, "-lm"), ("./bot",))),
    "go": _Language(".go", lambda file, _: Recipe(("go", "build", "-o", "bot", file), ("./bot",))),
    "java": _Language(".java", _java),
    "javascript": _Language(".js", lambda file, _: Recipe((), ("node", file))),
    "python": _Language(".py", _python),
    "shell": _Language(".sh", lambda file, _: Recipe((), ("sh", file))),
}
"""The languages by name."""
LANGUAGES = tuple(_LANGUAGES)
"""The names of the languages."""
ENDINGS = tuple(language.ending for language in _LANGUAGES.values())
"""The endings of the files of the languages."""


def language_of(file: str) -> str:
    """Return the language of a file by its ending. Raise `UsageFault` for an unknown ending."""
    ending = PurePosixPath(file).suffix
    for name, language in _LANGUAGES.items():
        if language.ending == ending:
            return name
    raise UsageFault(
        f"{short_repr(file)} ends in {short_repr(ending)}: {list_choices(ENDINGS)}, or a zip with bot.toml"
    )


def ending_of(language: str) -> str:
    """Return the ending of the files of a language. Raise `UsageFault` for an unknown language."""
    if language not in _LANGUAGES:
        raise UsageFault(f"language is {short_repr(language)}: {list_choices(LANGUAGES)}")
    return _LANGUAGES[language].ending


def recipe_of(language: str, file: str, source: str) -> Recipe:
    """Return how the program with this main file, whose text is `source`, is built and started."""
    return _LANGUAGES[language].recipe(file, source)
