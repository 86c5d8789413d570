"""Sections of documents that have all of some words, the best first, each with the place where they are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct

from arena.web.docs.markdown import Document, Section

MOST_WORDS = 8
MOST_HITS = 30
_BEFORE, _LONG = 60, 240
"""Characters of an excerpt: before the first word that is found, and in all."""
_IN_TITLE, _IN_NAME, _MOST_TIMES = 20, 8, 5
"""What a word is worth in a section's title, in its document's, and how often it counts in its text."""


class Hit(Struct, frozen=True, kw_only=True):
    """A section that was found. Of the pieces of its excerpt every second one is a word that was asked for."""

    document: str
    title: str
    section: str
    anchor: str
    excerpt: list[str]


def words_of(query: str) -> list[str]:
    """What is looked for: the words, small."""
    return list(dict.fromkeys(query.lower().split()))[:MOST_WORDS]


def search(words: Sequence[str], documents: Iterable[tuple[str, Document]]) -> list[Hit]:
    """The sections that have all of the words, in their text or title or in that of their document."""
    found = [
        (worth, name, document, section)
        for name, document in documents
        for section in document.sections
        if (worth := _worth(words, section, document.title.lower()))
    ]
    found.sort(key=lambda each: -each[0])
    return [
        Hit(
            document=name,
            title=document.title,
            section=section.title,
            anchor=section.anchor,
            excerpt=_excerpt(words, section.text),
        )
        for _, name, document, section in found[:MOST_HITS]
    ]


def _worth(words: Sequence[str], section: Section, name: str) -> int:
    """0 where one of the words is nowhere, or none is in the section itself."""
    title, text = section.title.lower(), section.text.lower()
    own = name_only = 0
    for word in words:
        worth = _IN_TITLE * (word in title) + min(text.count(word), _MOST_TIMES)
        if not worth and word not in name:
            return 0
        own += worth
        name_only += _IN_NAME * (word in name)
    return own and own + name_only


def _excerpt(words: Sequence[str], text: str) -> list[str]:
    asked = re.compile(f"({'|'.join(map(re.escape, sorted(words, key=len, reverse=True)))})", re.IGNORECASE)
    first = asked.search(text)
    start = max(0, (first.start() if first else 0) - _BEFORE)
    start = text.rfind(" ", 0, start) + 1
    end = min(len(text), start + _LONG)
    shown = f"{'… ' if start else ''}{text[start:end]}{' …' if end < len(text) else ''}"
    return asked.split(shown)
