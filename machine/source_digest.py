"""Digests of all sources that a module depends on: its own source, and those of all modules that it imports directly or
indirectly.

Import statements are found by patterns in the text, without parsing. That is quick, and finds too many modules rather
than too few.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

_ROOT = Path(__file__).parents[1]
"""The folder that contains the packages of bot-arena."""
PACKAGES = ("arena", "bots", "games", "machine", "measuring", "protocol", "referee")
"""The names of the packages of bot-arena."""
_PAGE_FILE_PATTERNS = ("arena/web/static/*", "arena/web/templates/*", "arena/documents/*", "games/*/web/*", "*.md")
"""Patterns for the files of web pages and documents, which do not change the results of matches."""
_SITE_FOLDERS = ("site-packages", "dist-packages")
"""Names of folders that hold installed packages."""
_COMMENT_PATTERN = re.compile("#.*")
"""The pattern of a comment in Python."""
_IMPORT_PATTERN = re.compile(
    r"(?:^|[;:])[ \t]*(?:from[ \t]*([\w.]+)[ \t]*)?\bimport\b[ \t]*(\([^)]*\)|(?:\\\n|[^\n;])*)", re.MULTILINE
)
"""The pattern of an import statement in Python, with groups for the module and the imported names."""
_NAME_PATTERN = re.compile(r"[\w.]+")
"""The pattern of a dotted name in an import statement."""


@cache
def digest_of_all() -> str:
    """Return a digest of all files of bot-arena that affect the results of matches. Raise `OSError` if that fails."""
    return digest_of_packages(_ROOT)


def digest_of_packages(home: Path) -> str:
    """Return a hexadecimal digest of the files of `files_of_packages`. Raise `OSError` if one cannot be read."""
    held = hashlib.sha256()
    for file in files_of_packages(home):
        held.update(f"{file.relative_to(home)} {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return held.hexdigest()[:16]


def files_of_packages(home: Path) -> Iterator[Path]:
    """Yield the files of packages in a folder on which the results of matches may depend, in order: sources, and data
    of any kind.

    Files of web pages, documents, compiled code and hidden files (which editors leave) are omitted.
    """
    for package in PACKAGES:
        for file in sorted((home / package).rglob("*")):
            parts = file.relative_to(home).parts
            hidden = "__pycache__" in parts or any(part.startswith(".") for part in parts)
            of_pages = any(fnmatchcase("/".join(parts), pattern) for pattern in _PAGE_FILE_PATTERNS)
            if not hidden and not of_pages and file.is_file():
                yield file


def digest(module: Path) -> str:
    """Return a hexadecimal digest of a module's name and of the names and contents of all its sources.

    The digest does not depend on where the sources are. Raise `OSError` if a source cannot be read.
    """
    root = _root(module)
    held = sorted(f"{_name_of(file, root)} {_read(file)[0]}" for file in find_sources(module))
    return hashlib.sha256("\n".join([_name_of(module, root), *held]).encode()).hexdigest()[:16]


def find_sources(module: Path) -> set[Path]:
    """Return the source files of a module and of all modules that it imports.

    Imports are followed into packages beside the module's own package and into packages of this project, but not into
    installed packages. Raise `OSError` if a file cannot be read.
    """
    root = _root(module)
    own = module.relative_to(root).parts[0].removesuffix(".py")
    found, waiting = {module}, [module]
    while waiting:
        for name in _read(file := waiting.pop())[1]:
            for imported in _source_files(_resolve_name(name, file), root, own):
                if imported not in found:
                    found.add(imported)
                    waiting.append(imported)
    return found


def _root(module: Path) -> Path:
    """Return the folder that contains the outermost package of a module, or the module itself."""
    return next(folder for folder in module.parents if not (folder / "__init__.py").exists())


def _name_of(file: Path, root: Path) -> str:
    """Return the path of a source relative to the folder of its package."""
    for home in (root, _ROOT):
        if file.is_relative_to(home):
            return file.relative_to(home).as_posix()
    return file.as_posix()


@cache
def _read(file: Path) -> tuple[str, tuple[str, ...]]:
    """Return the digest of a source file, and the names of all modules that it may import. Relative names keep their
    dots.
    """
    source = file.read_bytes()
    names = dict.fromkeys(_imported(_COMMENT_PATTERN.sub("", source.decode(errors="replace"))))
    return hashlib.sha256(source).hexdigest(), tuple(names)


def _imported(text: str) -> Iterator[str]:
    """Yield the modules named in import statements, and names that may be modules of a package named there."""
    for package, names in _IMPORT_PATTERN.findall(text):
        if package:
            yield package
        for name in _NAME_PATTERN.findall(names):
            if package:
                yield f"{package}{'' if package.endswith('.') else '.'}{name}"
            else:
                yield from (name[: dot.start()] for dot in re.finditer(r"\.|$", name))


def _resolve_name(name: str, file: Path) -> str | Path:
    """Return an absolute module name unchanged. For a relative name such as `..base` in a source file, return the path
    of the module that it names, without the suffix `.py`.
    """
    plain = name.lstrip(".")
    if plain == name:
        return name
    folder = file
    for _ in range(len(name) - len(plain)):
        folder = folder.parent
    return folder.joinpath(*plain.split("."))


@cache
def _source_files(name: str | Path, root: Path, own: str) -> tuple[Path, ...]:
    """Return the source files of an imported module; none if it is outside the packages that are followed."""
    if isinstance(name, Path):
        paths = [name]
    else:
        parts = name.split(".")
        ours = parts[0] in (own, *PACKAGES)
        homes = (home for home in dict.fromkeys((root, _ROOT)) if ours or home.name not in _SITE_FOLDERS)
        paths = [home.joinpath(*parts) for home in homes]
    candidates = (file for path in paths for file in (path.parent / f"{path.name}.py", path / "__init__.py"))
    return tuple(file for file in candidates if file.is_file())
