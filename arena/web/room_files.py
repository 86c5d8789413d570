"""Finds the files that games bring for the pages: scripts, style sheets and pictures in the folder web of each room.

They are served among the static files, below `games/` and the last part of the room's name. A game in a single Python
file has its files beside it. Of those, only the files that its spec names are served.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path

from msgspec import Struct

from protocol.games import clear_on_registration, game_class, game_names, game_spec, is_in_package

ROOMS_FOLDER = "games"
"""The folder of the rooms among the static files."""
SERVED_SUFFIXES = frozenset({".css", ".js", ".svg"})
"""The suffixes of the files that are served."""


class DescribedGame(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The data of a game for the scripts of a page: its titles, and the addresses of its own scripts."""

    title: str
    presets: Mapping[str, str]
    board: str | None
    check: str | None
    tutorial: str | None
    digest: str | None = None
    """The digest of the rules; None if they come with bot-arena."""


@clear_on_registration
@cache
def room_folders() -> dict[str, Path]:
    """Return the folder with the files of each room that has one, by the last part of the room's name."""
    folders = {_last_part(game_spec(name).room): _folder_of(name) for name in game_names()}
    return {room: folder for room, folder in folders.items() if folder.is_dir()}


def _folder_of(game: str) -> Path:
    room = game_spec(game).room
    if is_in_package(game):
        return Path(str(files(room).joinpath("web")))
    return Path(str(import_module(room).__file__)).parent


def _last_part(room: str) -> str:
    return room.rpartition(".")[2]


def list_room_files() -> Iterator[tuple[str, Path]]:
    """Yield (path among the static files, file) for every file that rooms have for pages."""
    for room, folder in room_folders().items():
        for file in sorted(folder.glob("*")):
            if is_served(room, file.name):
                yield f"{ROOMS_FOLDER}/{room}/{file.name}", file


def is_served(room: str, name: str) -> bool:
    """Return whether pages serve a file in a room's folder. `room` is the last part of the room's name."""
    return Path(name).suffix in SERVED_SUFFIXES and name in _named_files().get(room, (name,))


@clear_on_registration
@cache
def _named_files() -> dict[str, list[str]]:
    """Return the files for pages that the specs name, for each room that is a single Python file."""
    return {
        _last_part(spec.room): [
            name for name in (spec.board, spec.check, spec.tutorial, spec.picture, *spec.styles) if name is not None
        ]
        for spec in map(game_spec, game_names())
        if not is_in_package(spec.name)
    }


def room_path(game: str, name: str) -> str:
    """Return the path, among the static files, of the file `name` in the folder `web` of a game's room."""
    return f"{ROOMS_FOLDER}/{_last_part(game_spec(game).room)}/{name}"


def style_sheets(game: str | None = None) -> list[str]:
    """Return the paths of the style sheets of a game's board; without a game, of all boards."""
    games = game_names() if game is None else [game] if game in game_names() else []
    return list(dict.fromkeys(room_path(name, sheet) for name in games for sheet in game_spec(name).styles))


def script_paths(game: str, *parts: str) -> list[str]:
    """Return the paths of the scripts that a game has for these parts: `board`, `check` or `tutorial`."""
    if game not in game_names():
        return []
    return [room_path(game, name) for part in parts if (name := getattr(game_spec(game), part)) is not None]


@clear_on_registration
@cache
def picture_of(game: str) -> str | None:
    """Return the picture of a game as SVG; None if it has none."""
    spec = game_spec(game)
    if spec.picture is None:
        return None
    return room_folders()[_last_part(spec.room)].joinpath(spec.picture).read_text(encoding="utf-8")


def describe_games(address: Callable[[str], str], *games: str) -> dict[str, DescribedGame]:
    """Return the data of games for the scripts of a page, by game. Without names, the data of all games.

    `address` returns the address of a path among the static files.
    """
    return {game: _describe(game, address) for game in games or game_names()}


def _describe(game: str, address: Callable[[str], str]) -> DescribedGame:
    def address_of(name: str | None) -> str | None:
        return None if name is None else address(room_path(game, name))

    rules, spec = game_class(game), game_spec(game)
    return DescribedGame(
        title=rules.title,
        presets=rules.preset_titles,
        board=address_of(spec.board),
        check=address_of(spec.check),
        tutorial=address_of(spec.tutorial),
        digest=spec.digest or None,
    )
