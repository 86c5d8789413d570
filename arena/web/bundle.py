"""ES modules put into one page, with nothing to load from elsewhere and no build step.

A module becomes a `data:` URL. That has no folder, so each module's imports are told by the path of the file among
the static ones, and an import map says which URL that is.
"""

from __future__ import annotations

import base64
import functools
import posixpath
import re

from arena.web.site import STATIC

IMPORT = re.compile(r"""(\b(?:from|import)\s*\(?\s*)"(\.{1,2}/[^"\n]+)\"""")
"""An import of a file beside the module, as `from "../dom.js"`."""

BOARDS = "board/index.js"
"""The module that loads the board of a game, with a line for each."""


def preloaded(*entries: str, game: str | None = None) -> list[str]:
    """The modules that these need to begin, and the board of a game, if it has one."""
    board = _boards().get(game or "")
    needed = [*entries, board] if board else entries
    return sorted({path for entry in needed for path in modules(entry, later=False)})


@functools.cache
def _boards() -> dict[str, str]:
    """The modules of the boards, by game."""
    source = STATIC.joinpath(BOARDS).read_text(encoding="utf-8")
    found = re.findall(r"""^ *"?([\w-]+)"?: .*import\("\./([^"]+)"\)""", source, re.MULTILINE)
    return {game: posixpath.join(posixpath.dirname(BOARDS), file) for game, file in found}


@functools.cache
def modules(entry: str, *, later: bool = True) -> dict[str, str]:
    """The URLs of a static module and of all that it imports, by path; without `later` those that it needs to begin.

    Raises `OSError` for a missing one.
    """
    urls: dict[str, str] = {}
    waiting = [entry]
    while waiting:
        path = waiting.pop()
        if path not in urls:
            source, imported = _named(path, later, STATIC.joinpath(path).read_text(encoding="utf-8"))
            urls[path] = data_url("text/javascript", source)
            waiting += imported
    return dict(sorted(urls.items()))


def _named(path: str, later: bool, source: str) -> tuple[str, list[str]]:
    """A module whose imports are told by path, and those paths; without `later` those of its static imports."""
    imported = []

    def name(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), found[2]))
        if later or "(" not in found[1]:
            imported.append(target)
        return f'{found[1]}"{target}"'

    return IMPORT.sub(name, source), imported


def data_url(media: str, text: str) -> str:
    """Text as a URL of its own."""
    return f"data:{media};charset=utf-8;base64,{base64.b64encode(text.encode()).decode()}"
