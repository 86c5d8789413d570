"""The state that all pages of one arena share: its store, its limits, and its URLs."""

from __future__ import annotations

import hashlib
import math
import re
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from arena.store.registry import display_names
from arena.store.store import Reader
from arena.store.tournaments import StandingsCache
from arena.web.admin_config import AdminConfig
from arena.web.grading import Grading
from arena.web.hosting_config import HostingConfig
from arena.web.node_urls import NodeUrls
from arena.web.room_files import ROOMS_FOLDER, list_room_files, room_folders
from arena.web.serving import AnswerScheduler
from protocol.games import clear_on_registration

STATIC_FOLDER = Path(__file__).parent / "static"
"""The folder of the static files."""
HOST_PATTERN = re.compile(r"[a-z0-9.-]+|\[[0-9a-f:.]+\]", re.IGNORECASE)
"""The pattern of a host name or address without port, as in a URL or a Content-Security-Policy."""
_HOST_AND_PORT = re.compile(rf"(?:{HOST_PATTERN.pattern})(?::\d{{1,5}})?", re.IGNORECASE)
"""The pattern of a host name or address, with or without a port."""

MAX_DISPLAYS = 10_000
"""Maximum number of display names that pages show."""
DISPLAYS_TTL_S = 5.0
"""Seconds for which display names are cached, so that a page with a hundred bots queries the store once."""


class Site:
    """The state that all pages of an arena share.

    `socket` is where browsers reach the arena: a port on the page's host, or a complete `ws://` or `wss://` URL. It is
    empty if no arena runs and pages only show a store. `admin` turns on the admin pages, `hosting` submissions.
    """

    def __init__(
        self,
        reader: Reader,
        *,
        socket: str = "",
        registration: bool = False,
        admin: AdminConfig | None = None,
        hosting: HostingConfig | None = None,
    ) -> None:
        self.reader = reader
        self.socket = socket
        self.registration = registration
        self.admin = admin
        self.hosting = hosting
        self.serving = AnswerScheduler()
        self.grading = Grading()
        self.nodes = NodeUrls(reader)
        self._displays: dict[str, str] = {}
        self._displays_read = -math.inf
        self.cached_standings: StandingsCache = {}
        """The cached standings of tournaments."""

    def displays(self) -> Mapping[str, str]:
        """Return display names by folded bot name, at most `DISPLAYS_TTL_S` old."""
        now = time.monotonic()
        if now - self._displays_read > DISPLAYS_TTL_S:
            self._displays = self.reader.read(display_names, MAX_DISPLAYS)
            self._displays_read = now
        return self._displays

    def static(self, path: str) -> str:
        return static_address(path)


def static_address(path: str) -> str:
    """Return the address of a path among the static files."""
    return f"/static/{static_version()}/{path}"


@clear_on_registration
@cache
def static_version() -> str:
    """Return a hash of the static files. It is part of their URLs, so that browsers may cache them forever."""
    found = hashlib.sha256()
    for path, file in list_static_files():
        found.update(f"{path}\n".encode() + file.read_bytes())
    return found.hexdigest()[:12]


def list_static_files() -> list[tuple[str, Path]]:
    """Return the path and the file of every static file, including the files of rooms."""
    own = sorted(path for path in STATIC_FOLDER.rglob("*") if path.is_file())
    return [*((file.relative_to(STATIC_FOLDER).as_posix(), file) for file in own), *list_room_files()]


def static_file(path: str) -> Path:
    """Return the static file at a path: a file of the site itself or of a game's room."""
    folder, _, name = path.rpartition("/")
    start, _, room = folder.partition("/")
    return room_folders()[room] / name if start == ROOMS_FOLDER else STATIC_FOLDER / path


def arena_url(socket: str, host: str, *, encrypted: bool) -> str:
    """Return the arena's URL for a visitor who reached the page under `host`. `socket` is `Site.socket`."""
    if not socket.isdecimal():
        return socket
    name = HOST_PATTERN.match(host) if _HOST_AND_PORT.fullmatch(host) else None
    return f"{'wss' if encrypted else 'ws'}://{name[0] if name else 'localhost'}:{socket}"


def page_url(host: str, *, encrypted: bool) -> str:
    """Return the pages' URL for a visitor who reached them under `host`, port included."""
    name = _HOST_AND_PORT.fullmatch(host)
    return f"{'https' if encrypted else 'http'}://{name[0] if name else 'localhost'}"
