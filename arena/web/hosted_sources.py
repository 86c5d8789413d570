"""Reads the sources of hosted bots for the pages."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Collection, Iterator
from io import BytesIO
from typing import NamedTuple

from arena.store.bot_versions import BotVersion, active_version, has_versions, is_paused, published_versions, source_of
from arena.store.store import Reader
from arena.store.tokens import hash_token
from protocol.messages import MAX_TOKEN_CHARS, MIN_TOKEN_CHARS

MAX_SHOWN_BYTES = 128 * 1024
"""The size in bytes up to which a page shows a source. A larger one is a download."""
MAX_SEARCHED_BYTES = 4 * 1024 * 1024
"""Maximum bytes of a version's files in which tokens are looked for, the smallest files first: programs are small."""
_TOKEN_PATTERN = re.compile(rb"(?<![\w-])[\w-]{%d,%d}(?![\w-])" % (MIN_TOKEN_CHARS, MAX_TOKEN_CHARS))
"""The pattern of texts that may be a token that was drawn."""


class PublishedSource(NamedTuple):
    """A version whose source everybody may read, with its text if the page can show it."""

    version: BotVersion
    text: str | None


class HostingView(NamedTuple):
    """The facts that everybody may know of how an arena hosts a bot."""

    version: BotVersion | None
    """The active version."""
    is_paused: bool
    has_versions: bool
    sources: list[PublishedSource]


def view_hosting(reader: Reader, bot: str) -> HostingView:
    """Read how a bot is hosted. Only the newest published source has a text."""
    published = reader.read(published_versions, bot)
    texts = [_read_text(reader, bot, version) for version in published[:1]] + [None] * (len(published) - 1)
    return HostingView(
        version=reader.read(active_version, bot),
        is_paused=reader.read(is_paused, bot),
        has_versions=reader.read(has_versions, bot),
        sources=[PublishedSource(*source) for source in zip(published, texts, strict=True)],
    )


def _read_text(reader: Reader, bot: str, version: BotVersion) -> str | None:
    if version.source_file is None:
        return None
    content = reader.read(source_of, bot, version.number, MAX_SHOWN_BYTES)
    if content is None or size_of_only_file(content, version.source_file) > MAX_SHOWN_BYTES:
        return None
    return read_only_file(content, version.source_file).decode(errors="replace")


def size_of_only_file(content: bytes, file: str) -> int:
    """Return the unpacked size in bytes of a file in a version's zip, which the pages have packed."""
    with zipfile.ZipFile(BytesIO(content)) as archive:
        return archive.getinfo(file).file_size


def find_file_with(content: bytes, secret: bytes) -> str | None:
    """Return the path of a file in a version's zip that contains a secret; None if there is none."""
    with zipfile.ZipFile(BytesIO(content)) as archive:
        return next((path for path in archive.namelist() if secret in archive.read(path)), None)


def find_file_with_token(content: bytes, read_hashes: Callable[[], Collection[str]]) -> str | None:
    """Return the path of a file in a version's zip that contains a token of a bot; None if there is none.
    `read_hashes` returns the hashes of all tokens.
    """
    found = {text: path for path, file in _searched_files(content) for text in _TOKEN_PATTERN.findall(file)}
    hashes = read_hashes() if found else ()
    return next((path for text, path in found.items() if hash_token(text.decode()) in hashes), None)


def _searched_files(content: bytes) -> Iterator[tuple[str, bytes]]:
    room = MAX_SEARCHED_BYTES
    with zipfile.ZipFile(BytesIO(content)) as archive:
        for entry in sorted(archive.infolist(), key=lambda entry: entry.file_size):
            room -= entry.file_size
            if room < 0:
                return
            yield entry.filename, archive.read(entry)


def read_only_file(content: bytes, file: str) -> bytes:
    """Return a file in a version's zip."""
    with zipfile.ZipFile(BytesIO(content)) as archive:
        return archive.read(file)
