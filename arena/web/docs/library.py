"""The documents that come with the package, by their names in URLs."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from arena.web.errors import NotFound
from protocol.display import short_repr

if TYPE_CHECKING:
    from arena.web.docs.markdown import RenderedDocument, Target

_ARENA_FOLDER = Path(__file__).parents[2]
"""The folder of the package `arena`."""
_PACKAGED_DOCUMENTS = _ARENA_FOLDER / "documents"
"""The folder of the documents in the installed package."""
ROOT_FOLDER = _PACKAGED_DOCUMENTS if _PACKAGED_DOCUMENTS.is_dir() else _ARENA_FOLDER.parent
"""The folder that contains README.md and docs. In a checkout, it also contains the package `arena`. In an installation,
it is inside that package.
"""
ROOT_DOCUMENTS = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
"""The documents that are not in the folder docs."""
MEDIA_TYPES = {
    ".c": "text/plain",
    ".go": "text/plain",
    ".ipynb": "text/plain",
    ".java": "text/plain",
    ".json": "application/json",
    ".mjs": "text/plain",
    ".png": "image/png",
    ".py": "text/plain",
    ".sh": "text/plain",
    ".svg": "image/svg+xml",
    ".toml": "text/plain",
}
"""The media types of files that documents link to, by suffix."""
PREFIX = "/docs"
"""The beginning of the paths of all pages with documents."""


class Library:
    """The documents and files below a folder."""

    def __init__(self, root: Path = ROOT_FOLDER) -> None:
        found = [root / name for name in ROOT_DOCUMENTS] + sorted((root / "docs").rglob("*"))
        self._files = {
            _name(path.relative_to(root).as_posix()): path
            for path in found
            if path.is_file() and (path.suffix in MEDIA_TYPES or path.suffix == ".md")
        }
        self._root = root
        self._read: dict[str, RenderedDocument] = {}

    def names(self) -> list[str]:
        return [name for name, path in self._files.items() if path.suffix == ".md"]

    def searchable_documents(self) -> Iterator[tuple[str, RenderedDocument]]:
        """Yield the name and content of each document to search: all but the changelog, which would always match."""
        return ((name, self.document(name)) for name in self.names() if name != "CHANGELOG")

    def path(self, name: str) -> Path:
        """Return the path of a document or file. Raise `NotFound` if there is none of this name."""
        found = self._files.get(name.removesuffix(".md"))
        if found is None:
            raise NotFound(f"there is no document {short_repr(name)}: {PREFIX} lists them")
        return found

    def document(self, name: str) -> RenderedDocument:
        """Return a document, which is rendered only the first time. Raise `NotFound` if there is none of this name."""
        path = self.path(name)
        if (document := self._read.get(name)) is None:
            folder = path.parent.relative_to(self._root).as_posix()
            text = path.read_text(encoding="utf-8")
            document = self._read[name] = self._render(text, folder)
        return document

    @cached_property
    def overview(self) -> str:
        """The README's list of documents, as HTML."""
        _, _, text = self.path("README").read_text(encoding="utf-8").partition("\n## Documents\n")
        part, _, _ = text.partition("\n## ")
        return self.rendered(part, ".")

    def rendered(self, text: str, folder: str) -> str:
        """Render Markdown that comes from a document in `folder`."""
        return self._render(text, folder).html

    def _render(self, text: str, folder: str) -> RenderedDocument:
        from arena.web.docs.markdown import render  # loaded only if somebody reads documents

        return render(text, lambda address: self._resolve_link(address, folder))

    def _title(self, name: str) -> str:
        """Return the title of a document from its first line; "" for any other file."""
        path = self._files[name]
        if path.suffix != ".md":
            return ""
        with path.open(encoding="utf-8") as file:
            return file.readline().removeprefix("# ").strip()

    def _resolve_link(self, address: str, folder: str) -> Target | None:
        """Return the target of a link in a document, or None if it is a file that is only in the repository. `folder`
        is the folder of the document.
        """
        from arena.web.docs.markdown import Target

        parts = urlsplit(address)
        if parts.scheme:
            return Target(address=address) if parts.scheme in ("http", "https") else None
        if not parts.path:
            return Target(address=address)
        name = _name(posixpath.normpath(posixpath.join(folder, unquote(parts.path))))
        if name not in self._files:
            return None
        place = f"#{parts.fragment}" if parts.fragment else ""
        return Target(address=f"{PREFIX}/{name}{place}", title=self._title(name))


def _name(path: str) -> str:
    return path.removeprefix("docs/").removesuffix(".md")


@cache
def library() -> Library:
    """Return the documents of this package."""
    return Library()
