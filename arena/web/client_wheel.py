"""Builds a wheel of the client alone from the running sources: the modules behind `from bots import Bot, Turn, run`.

It contains every module reachable by imports, including imports in functions. The same sources give the same bytes.
"""

from __future__ import annotations

import ast
import base64
import csv
import hashlib
import io
import re
import zipfile
from collections.abc import Iterator
from functools import cache
from importlib.metadata import distribution
from pathlib import Path

from msgspec import Struct

from machine.source_digest import PACKAGES
from protocol import VERSION
from protocol.games import builtin_game_names, game_class

PACKAGES_FOLDER = Path(__file__).resolve().parents[2]
"""The folder that contains the packages `arena`, `bots`, `protocol` and the others."""
ENTRY_MODULES = (
    "bots",
    "bots.client.run",
    "bots.playing.versions",
    "bots.submission",
    "machine.game_discovery",
    *sorted({game_class(name).__module__ for name in builtin_game_names()}),
)
"""The modules from which all others of the wheel are found by their imports. Some of these are only imported by name at
run time, so no import statement leads to them.
"""
REQUIREMENTS = ("msgpack", "msgspec", "websockets")
"""The distributions that the wheel requires, in the versions that the arena requires."""
DATA_PATTERNS = ("*.toml", "py.typed")
"""Patterns for the files besides modules that the wheel includes."""
OMITTED_DATA = ("levels.toml",)
"""Names of files that match `DATA_PATTERNS` but are left out. Only the reference bots read them, and the wheel does not
include these bots.
"""
_DIST_INFO = f"bot_arena_client-{VERSION}.dist-info"
"""The folder in the wheel with its metadata."""
_TIMESTAMP = (1980, 1, 1, 0, 0, 0)
"""The time of every file in the wheel, so that the bytes are always the same."""
_FILE_ATTRIBUTES = 0o100644 << 16
"""The attributes of every file in the wheel: a regular file that its owner may write and all may read."""
_WHEEL_METADATA = "Wheel-Version: 1.0\nGenerator: bot-arena\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
"""The content of the file WHEEL in the wheel."""


class ClientWheel(Struct, frozen=True, kw_only=True):
    """A wheel of the client: its file name, its content, and the SHA-256 of the content in hexadecimal."""

    name: str
    content: bytes
    sha256: str


@cache
def build_client_wheel() -> ClientWheel:
    held = io.BytesIO()
    recorded = io.StringIO()
    record = csv.writer(recorded, lineterminator="\n")
    with zipfile.ZipFile(held, "w") as archive:
        for name, content in _files():
            _add(archive, name, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.writerow((name, f"sha256={digest}", len(content)))
        record.writerow((f"{_DIST_INFO}/RECORD", "", ""))
        _add(archive, f"{_DIST_INFO}/RECORD", recorded.getvalue().encode())
    content = held.getvalue()
    name = f"bot_arena_client-{VERSION}-py3-none-any.whl"
    return ClientWheel(name=name, content=content, sha256=hashlib.sha256(content).hexdigest())


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    entry = zipfile.ZipInfo(name, _TIMESTAMP)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = _FILE_ATTRIBUTES
    archive.writestr(entry, content)


def _files() -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of every file in the wheel except RECORD, which comes last."""
    for file in sorted(find_contents()):
        yield file.relative_to(PACKAGES_FOLDER).as_posix(), file.read_bytes()
    arena = distribution("bot-arena")
    yield f"{_DIST_INFO}/METADATA", _metadata().encode()
    yield f"{_DIST_INFO}/WHEEL", _WHEEL_METADATA.encode()
    if licence := arena.read_text("licenses/LICENSE"):
        yield f"{_DIST_INFO}/licenses/LICENSE", licence.encode()


def _metadata() -> str:
    arena = distribution("bot-arena")
    named = {re.split(r"[^\w.-]", each, maxsplit=1)[0].lower(): each for each in arena.requires or []}
    fields = [
        ("Metadata-Version", "2.4"),
        ("Name", "bot-arena-client"),
        ("Version", VERSION),
        ("Summary", "What a bot in Python needs to play in a Bot Arena: from bots import Bot, Turn, run."),
        ("Requires-Python", arena.metadata["Requires-Python"]),
        ("License-Expression", arena.metadata["License-Expression"]),
        ("License-File", "LICENSE"),
        *(("Requires-Dist", named[name]) for name in REQUIREMENTS),
    ]
    return "".join(f"{name}: {value}\n" for name, value in fields)


def find_contents() -> set[Path]:
    """Return the modules reachable by imports from `ENTRY_MODULES`, and the data files of their packages."""
    modules: set[Path] = set()
    waiting = [*ENTRY_MODULES]
    while waiting:
        for file in _find_sources(waiting.pop()):
            if file not in modules:
                modules.add(file)
                waiting += _find_imports(file)
    packages = {file.parent for file in modules if file.name == "__init__.py"}
    data = {file for package in packages for pattern in DATA_PATTERNS for file in package.glob(pattern)}
    return modules | {file for file in data if file.name not in OMITTED_DATA}


def _find_sources(module: str) -> Iterator[Path]:
    """Yield the source files of a module and of the packages that contain it. Yield none for a module of another
    distribution.
    """
    parts = module.split(".")
    if parts[0] not in PACKAGES:
        return
    for end in range(1, len(parts) + 1):
        path = PACKAGES_FOLDER.joinpath(*parts[:end])
        for file in (path / "__init__.py", path.with_suffix(".py")):
            if file.is_file():
                yield file


def _find_imports(file: Path) -> Iterator[str]:
    """Yield the names that a source imports at run time. `from a import b` yields `a.b`, as `b` may be a module."""
    waiting: list[ast.AST] = [ast.parse(file.read_bytes())]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            waiting += node.orelse
        else:
            waiting += ast.iter_child_nodes(node)
