"""The sources that a module is made of: its own and, however far away, those that it imports.

Import statements are looked for in the text, without parsing it: that is quick, and finds rather too many than too few.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_HOME = Path(__file__).parents[1]
PACKAGES = ("arena", "bots", "machine", "measuring", "protocol", "referee")
"""Those that bot-arena is made of."""
_INSTALLED = ("site-packages", "dist-packages")
_COMMENT = re.compile("#.*")
_IMPORT = re.compile(
    r"(?:^|[;:])[ \t]*(?:from[ \t]*([\w.]+)[ \t]*)?\bimport\b[ \t]*(\([^)]*\)|(?:\\\n|[^\n;])*)", re.MULTILINE
)
_NAME = re.compile(r"[\w.]+")


@cache
def digest_of_all() -> str:
    """What all of bot-arena here is made of, code and data, in hexadecimal. Raises `OSError` as `digest`."""
    held = hashlib.sha256()
    for package in PACKAGES:
        for file in sorted((_HOME / package).rglob("*.*")):
            if file.suffix in (".py", ".toml"):
                held.update(f"{file.relative_to(_HOME)} {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return held.hexdigest()[:16]


def digest(module: Path) -> str:
    """Return a digest, in hexadecimal, of a module's name and of the names and contents of all its sources.

    It is the same wherever they lie. Raises `OSError` where one cannot be read.
    """
    root = _root(module)
    held = sorted(f"{_name_of(file, root)} {_read(file)[0]}" for file in sources(module))
    return hashlib.sha256("\n".join([_name_of(module, root), *held]).encode()).hexdigest()[:16]


def sources(module: Path) -> set[Path]:
    """The files. Followed are imports of what lies where the module's own package does, or this project's packages;
    not of packages that others have installed. Raises `OSError` where a file cannot be read.
    """
    root = _root(module)
    own = module.relative_to(root).parts[0].removesuffix(".py")
    found, waiting = {module}, [module]
    while waiting:
        for name in _read(file := waiting.pop())[1]:
            for imported in _files(_absolute(name, file), root, own):
                if imported not in found:
                    found.add(imported)
                    waiting.append(imported)
    return found


def _root(module: Path) -> Path:
    """Return the folder of the outermost package around a module, or of the module itself."""
    return next(folder for folder in module.parents if not (folder / "__init__.py").exists())


def _name_of(file: Path, root: Path) -> str:
    """Return the path of a source below the folder that its package lies in."""
    for home in (root, _HOME):
        if file.is_relative_to(home):
            return file.relative_to(home).as_posix()
    return file.as_posix()


@cache
def _read(file: Path) -> tuple[str, tuple[str, ...]]:
    """The digest of a source, and all names that it may import, relative ones with their dots."""
    source = file.read_bytes()
    names = dict.fromkeys(_imported(_COMMENT.sub("", source.decode(errors="replace"))))
    return hashlib.sha256(source).hexdigest(), tuple(names)


def _imported(text: str) -> Iterator[str]:
    """The modules named in import statements, and what may be modules in a package named there."""
    for package, names in _IMPORT.findall(text):
        if package:
            yield package
        for name in _NAME.findall(names):
            if package:
                yield f"{package}{'' if package.endswith('.') else '.'}{name}"
            else:
                yield from (name[: dot.start()] for dot in re.finditer(r"\.|$", name))


def _absolute(name: str, file: Path) -> str | Path:
    """A name without dots in front, or the path that it stands for beside the file that has it."""
    plain = name.lstrip(".")
    if plain == name:
        return name
    folder = file
    for _ in range(len(name) - len(plain)):
        folder = folder.parent
    return folder.joinpath(*plain.split("."))


@cache
def _files(name: str | Path, root: Path, own: str) -> tuple[Path, ...]:
    """The source of the module, where it is one to be followed."""
    if isinstance(name, Path):
        paths = [name]
    else:
        parts = name.split(".")
        ours = parts[0] in (own, *PACKAGES)
        homes = (home for home in dict.fromkeys((root, _HOME)) if ours or home.name not in _INSTALLED)
        paths = [home.joinpath(*parts) for home in homes]
    candidates = (file for path in paths for file in (path.parent / f"{path.name}.py", path / "__init__.py"))
    return tuple(file for file in candidates if file.is_file())
