"""The files that games bring for pages: which are served, and that their scripts need nothing but what is theirs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from arena.web.room_files import describe_games, list_room_files, picture_of, room_folders, style_sheets
from arena.web.site import static_file, static_version
from protocol.games import game_class, game_names, game_spec
from web_client import Visitor, open_pages

FILES = dict(list_room_files())
MEDIA_TYPES = {".js": ("text/javascript", "application/javascript"), ".css": "text/css", ".svg": "image/svg+xml"}
REFUSED_NAMES = (
    "__init__.py",
    "rules.py",
    "levels.toml",
    "rules.md",
    "../__init__.py",
    "..%2frules.py",
    "web/board.js",
    "",
)


def test_every_file_of_a_room_is_served_and_may_be_kept_for_ever(visitor: Visitor) -> None:
    for path, file in FILES.items():
        told = visitor.get(f"/static/{static_version()}/{path}")
        assert (told.status, told.body) == (200, file.read_bytes()), path
        assert "immutable" in told.headers["cache-control"]
        assert told.headers["content-type"].startswith(MEDIA_TYPES[file.suffix])


def test_nothing_else_of_a_room_is_served(visitor: Visitor) -> None:
    for room in room_folders():
        for name in REFUSED_NAMES:
            assert visitor.get(f"/static/{static_version()}/games/{room}/{name}").status == 404, name


def test_a_file_of_another_kind_is_not_served_from_the_folder_web(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("arena.web.app.room_folders", lambda: {"mine": tmp_path})
    names = ("notes.md", "table.toml", "secret.py", "plain", "board.js.bak")
    for name in ("board.js", *names):
        (tmp_path / name).write_text("1")
    (tmp_path.parent / "outside.js").write_text("1")
    with open_pages(tmp_path) as visitor:
        static = f"/static/{static_version()}/games/mine"
        assert visitor.get(f"{static}/board.js").status == 200
        for name in (*names, "../outside.js", "%2e%2e/outside.js", "arena.db"):
            assert visitor.get(f"{static}/{name}").status == 404, name


@pytest.mark.parametrize("path", [path for path in FILES if path.endswith(".js")])
def test_a_script_of_a_room_imports_files_of_its_own_folder_alone(path: str) -> None:
    script = re.sub(r"/\*.*?\*/", "", FILES[path].read_text(), flags=re.DOTALL)
    assert not re.search(r"\bimport\s*\(|^export \s*[*{]", script, re.MULTILINE)
    for line in re.findall("^import .*", script, re.MULTILINE):
        name = re.fullmatch(r'import .* from "\./([\w-]+\.js)";', line)
        assert name, line
        assert (FILES[path].parent / name[1]).is_file(), line


@pytest.mark.parametrize("game", game_names())
def test_every_file_that_a_game_names_is_there(game: str) -> None:
    spec = game_spec(game)
    told = describe_games(str, game)[game]
    for address in (told.board, told.check, told.tutorial, *style_sheets(game)):
        assert address is None or static_file(address) == FILES[address]
    assert (spec.tutorial is None) == (game_class(game).tutorial is None)
    picture = picture_of(game)
    assert picture is not None
    assert picture.startswith("<svg ")


def test_every_file_in_a_folder_web_is_one_that_pages_need() -> None:
    for folder in room_folders().values():
        assert set(folder.iterdir()) == {file for file in FILES.values() if file.parent == folder}


def test_a_change_in_a_room_changes_the_version_of_all_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = static_version()
    changed = tmp_path / "board.js"
    changed.write_text("1")
    monkeypatch.setattr("arena.web.site.list_room_files", lambda: iter([("games/nim/board.js", changed)]))
    assert static_version.__wrapped__() != before
