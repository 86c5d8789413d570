"""Bundles ES modules into one page that loads nothing else, without a build step.

Each module becomes a `data:` URL. Such a URL has no folder, so imports are rewritten to paths below the static files,
and an import map resolves these.
"""

from __future__ import annotations

import base64
import functools
import posixpath
import re
from collections.abc import Sequence

from arena.web.room_files import script_paths
from arena.web.site import static_file
from protocol.games import clear_on_registration

IMPORT_PATTERN = re.compile(r"""(\b(?:from|import)\s*\(?\s*)"(\.{1,2}/[^"\n]+)\"""")
"""The pattern of an import by relative path, like `from "../dom.js"`."""


def modules_to_preload(*entries: str, game: str | None = None, parts: Sequence[str] = ("board",)) -> list[str]:
    """Return the paths of these entry modules, of some scripts of the game, and of all modules that these import
    statically. `parts` names the scripts of the game, such as `board`.
    """
    needed = entries if game is None else [*entries, *script_paths(game, *parts)]
    return sorted({path for entry in needed for path in modules(entry, with_dynamic_imports=False)})


@clear_on_registration
@functools.cache
def modules(entry: str, *, with_dynamic_imports: bool = True) -> dict[str, str]:
    """Return, by path, the `data:` URLs of a module in the static files and of all modules that it imports.

    Without `with_dynamic_imports`, only static imports count. Raise `OSError` if a module is missing.
    """
    urls: dict[str, str] = {}
    waiting = [entry]
    while waiting:
        path = waiting.pop()
        if path not in urls:
            source, imported = _rewrite_imports(
                path, with_dynamic_imports, static_file(path).read_text(encoding="utf-8")
            )
            urls[path] = data_url("text/javascript", source)
            waiting += imported
    return dict(sorted(urls.items()))


def _rewrite_imports(path: str, later: bool, source: str) -> tuple[str, list[str]]:
    """Return a module's source with its relative imports rewritten to paths, and these paths. The paths include those
    of dynamic imports only if `later` is set.
    """
    imported = []

    def name(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), found[2]))
        if later or "(" not in found[1]:
            imported.append(target)
        return f'{found[1]}"{target}"'

    return IMPORT_PATTERN.sub(name, source), imported


def data_url(media: str, text: str) -> str:
    return f"data:{media};charset=utf-8;base64,{base64.b64encode(text.encode()).decode()}"
