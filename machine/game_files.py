"""The sources of games from files: a file with rules and the files beside it, which a database can keep.

Such a game is run from a copy in the cache folder, which is named after its content. So the author may change or remove
the file while matches are under way, and processes that are started later load the same rules.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from msgspec import Struct

from machine.cache import cache_folder
from machine.game_discovery import brought_games, file_of_game, is_from_file, load_game_file, replace_game
from protocol.errors import ArenaFault, UsageFault, os_errors_as
from protocol.games import game_spec, is_known_game
from protocol.games.spec import GameSpec

COPIES_FOLDER = "games"
"""The folder of the copies in the cache folder."""
ROOT_CACHE_FOLDER = Path("/var/cache/bot-arena")
"""The cache folder of root for copies: bots in a sandbox run as other users, which can't read the home of root."""
_READABLE_FOLDER_MODE, _READABLE_FILE_MODE = 0o755, 0o644
"""The permissions of the folders and files of copies, which all users may read."""
COPIED_SUFFIXES = (".css", ".js", ".md", ".txt")
"""The suffixes of the files that belong to a game if they lie beside its file, under its name."""
MAX_FILE_BYTES = 4 * 1024 * 1024
"""Maximum size of a file of a game. A command reads all files of all games that its database keeps."""


class GameFiles(Struct, frozen=True, kw_only=True):
    """The files of one game: `source` is the content of the file with the rules, `file` its name without a folder.
    `beside` has the files of the board and the documents, by name.
    """

    file: str
    source: bytes
    beside: Mapping[str, bytes]

    @classmethod
    def read(cls, file: Path) -> GameFiles:
        """Read the files of a game. Raise `UsageFault` if one can't be read or is too large."""
        others = [file.with_suffix(suffix) for suffix in COPIED_SUFFIXES]
        return cls(
            file=file.name, source=_read(file), beside={other.name: _read(other) for other in others if other.is_file()}
        )

    @property
    def digest(self) -> str:
        """The digest of the rules, as `GameSpec.digest` has it."""
        return hashlib.sha256(self.source).hexdigest()

    def write_copy(self) -> Path:
        """Write the files to a folder that is named after their content, unless they are there. Return the path of the
        file with the rules. Raise `UsageFault` if they can't be written.
        """
        files = {self.file: self.source, **self.beside}
        content = hashlib.sha256()
        for name, data in sorted(files.items()):
            content.update(f"{name}\n{len(data)}\n".encode() + data)
        with os_errors_as(UsageFault, f"the copy of {self.file} can't be written"):
            folder = _copies_folder() / content.hexdigest()[:32]
            folder.mkdir(exist_ok=True)
            folder.chmod(_READABLE_FOLDER_MODE)
            for name, data in files.items():
                _write(folder / name, data)
        return folder / self.file

    def load(self) -> list[GameSpec]:
        """Run the rules from a copy, and return the games in them. They are not registered. Raise `UsageFault`."""
        return load_game_file(self.write_copy())

    def register(self) -> None:
        """Register the games in the rules, in place of those with other rules under their names. Raise `UsageFault`."""
        for spec in self.load():
            if not is_known_game(spec.name) or game_spec(spec.name).digest != spec.digest:
                replace_game(spec)


def use_copy(game: str) -> GameFiles:
    """Run a registered game of a file, and the other games in the file, from a copy from now on. Return the files of
    the copy. Raise `UsageFault`.
    """
    file = file_of_game(game)
    files = GameFiles.read(file)
    for spec in files.load():
        if spec.name in brought_games() and file_of_game(spec.name) == file:
            replace_game(spec)
    return files


def use_source(source: GameFiles, game: str, *, offered: bool) -> None:
    """Register a game that a database keeps. A game of the same name that was registered before stays: the command
    line and the environment come before the database. Raise `UsageFault` if the rules can't be loaded.
    """
    if not is_known_game(game):
        for spec in source.load():
            if spec.name == game:
                replace_game(spec._replace(offered=offered))
        return
    known = game_spec(game)
    if not is_from_file(known):
        raise UsageFault(f"the name {game} is that of a built-in game, or of an installed package")
    if known.digest == source.digest:
        replace_game(known._replace(offered=offered))


def copied_folders() -> list[Path]:
    """Return the folders of all registered games of files, for programs that must be shown what they may read."""
    return list(dict.fromkeys(file_of_game(game).parent for game in brought_games()))


def _read(file: Path) -> bytes:
    with os_errors_as(UsageFault, f"the game {file} can't be read"):
        content = file.read_bytes()
    if len(content) > MAX_FILE_BYTES:
        raise UsageFault(f"{file} has {len(content)} bytes: a game's file has at most {MAX_FILE_BYTES}")
    return content


def _write(file: Path, content: bytes) -> None:
    """Write a file unless it has this content. Processes that write it at the same time do not disturb each other."""
    if file.is_file() and file.read_bytes() == content:
        return
    part = file.with_name(f"{file.name}.{os.getpid()}.part")
    part.write_bytes(content)
    part.chmod(_READABLE_FILE_MODE)
    part.replace(file)


def _copies_folder() -> Path:
    """Return the folder of all copies: a temporary one where the cache folder can't be written."""
    is_root = os.geteuid() == 0
    folder = (ROOT_CACHE_FOLDER if is_root else cache_folder()) / COPIES_FOLDER
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if is_root:
            for shown in (folder.parent, folder):
                shown.chmod(_READABLE_FOLDER_MODE)
    except OSError:
        return _temporary_folder()
    return folder if os.access(folder, os.W_OK) else _temporary_folder()


@cache
def _temporary_folder() -> Path:
    with os_errors_as(ArenaFault, "no folder can be made for a copy of the game"):
        folder = Path(tempfile.mkdtemp(prefix="arena-games-"))
    folder.chmod(_READABLE_FOLDER_MODE)
    atexit.register(_remove_folder, folder, os.getpid())
    return folder


def _remove_folder(folder: Path, owner: int) -> None:
    """Remove a folder at the end of the process that made it, and not at the end of one that was forked from it."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)
