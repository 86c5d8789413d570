"""Reads the sources of hosted bots for the pages."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping
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


def find_token(
    files: Mapping[str, bytes], token: bytes, read_hashes: Callable[[], Collection[str]]
) -> tuple[str, bool] | None:
    """Return the path of a file that contains the `token` of a program's owner, or the token of another bot, and
    whether it is the owner's; None if there is none. `read_hashes` returns the hashes of the tokens of all bots.
    """
    own = next((path for path, content in files.items() if token in content), None)
    if own is not None:
        return own, True
    found = {text: path for path in _searched_paths(files) for text in _TOKEN_PATTERN.findall(files[path])}
    hashes = read_hashes() if found else ()
    return next(((path, False) for text, path in found.items() if hash_token(text.decode()) in hashes), None)


def _searched_paths(files: Mapping[str, bytes]) -> Iterator[str]:
    room = MAX_SEARCHED_BYTES
    for path in sorted(files, key=lambda path: len(files[path])):
        room -= len(files[path])
        if room < 0:
            return
        yield path


def read_only_file(content: bytes, file: str) -> bytes:
    """Return a file in a version's zip."""
    with zipfile.ZipFile(BytesIO(content)) as archive:
        return archive.read(file)
