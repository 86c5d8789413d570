"""Searches documents for words: first for sections that have all the words, then for sections that have some."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from arena.web.docs.markdown import RenderedDocument, Section

MAX_WORDS = 8
"""Maximum number of words in a query; further words are ignored."""
MAX_HITS = 30
"""Maximum number of sections that a search returns."""
_EXCERPT_LEAD_CHARS, _EXCERPT_CHARS = 60, 240
"""Characters of an excerpt (`_EXCERPT_CHARS`) and of its part before the first search word (`_EXCERPT_LEAD_CHARS`)."""
_TITLE_WEIGHT, _DOCUMENT_WEIGHT, _MAX_COUNT = 20, 8, 5
"""`_TITLE_WEIGHT` is the weight of a search word in a section's title, `_DOCUMENT_WEIGHT` its weight in the document's
title. `_MAX_COUNT` is the maximum number of occurrences that count in the section's text.
"""


class Hit(Struct, frozen=True, kw_only=True):
    """A section that a search found. Its excerpt alternates between plain text and search words."""

    document: str
    title: str
    section: str
    anchor: str
    excerpt: list[str]


def split_query(query: str) -> list[str]:
    """Return the distinct words of a query in lower case, at most `MAX_WORDS`."""
    return list(dict.fromkeys(query.lower().split()))[:MAX_WORDS]


class PartialHits(Struct, frozen=True, kw_only=True):
    """The result of a search for sections with some of the words. No section has the `unknown_words`."""

    hits: list[Hit]
    unknown_words: list[str]


def search(words: Sequence[str], documents: Iterable[tuple[str, RenderedDocument]]) -> list[Hit]:
    """Return the sections that have all words in their text or title, or in the title of their document."""
    found = [
        (sum(worths), name, document, section)
        for name, document in documents
        for section in document.sections
        if all(worths := _weigh_words(words, section, document.title.lower()))
    ]
    return _best(words, found)


def search_partially(words: Sequence[str], documents: Iterable[tuple[str, RenderedDocument]]) -> PartialHits:
    """Return the sections with some of the words, best first. Rare words weigh more; a word in a quarter or more of all
    sections weighs nothing.
    """
    places = [(name, document, section) for name, document in documents for section in document.sections]
    worths = [_weigh_words(words, section, document.title.lower()) for _, document, section in places]
    having = {word: sum(map(bool, column)) for word, column in zip(words, zip(*worths, strict=True), strict=True)}
    rarity = [math.log(len(places) / n) if 0 < n < len(places) / 4 else 0.0 for n in having.values()]
    found = [
        (worth, *place)
        for own, place in zip(worths, places, strict=True)
        if (worth := sum(rare * math.log1p(each) for each, rare in zip(own, rarity, strict=True)))
    ]
    telling = [word for word, rare in zip(words, rarity, strict=True) if rare]
    return PartialHits(hits=_best(telling, found), unknown_words=[word for word, n in having.items() if not n])


def _best(words: Sequence[str], found: Sequence[tuple[float, str, RenderedDocument, Section]]) -> list[Hit]:
    return [
        Hit(
            document=name,
            title=document.title,
            section=section.title,
            anchor=section.anchor,
            excerpt=_excerpt(words, section.text),
        )
        for _, name, document, section in sorted(found, key=lambda each: -each[0])[:MAX_HITS]
    ]


def _weigh_words(words: Sequence[str], section: Section, name: str) -> list[int]:
    """Return the weight of each searched word in a section. A word weighs more if `name`, the title of the document,
    contains it. All weights are 0 if neither the section's title nor its text contains any of the words.
    """
    title, text = section.title.lower(), section.text.lower()
    own = [_TITLE_WEIGHT * (word in title) + min(text.count(word), _MAX_COUNT) for word in words]
    if not any(own):
        return own
    return [worth + _DOCUMENT_WEIGHT * (word in name) for word, worth in zip(words, own, strict=True)]


def _excerpt(words: Sequence[str], text: str) -> list[str]:
    asked = re.compile(f"({'|'.join(map(re.escape, sorted(words, key=len, reverse=True)))})", re.IGNORECASE)
    first = asked.search(text)
    start = max(0, (first.start() if first else 0) - _EXCERPT_LEAD_CHARS)
    start = text.rfind(" ", 0, start) + 1
    end = min(len(text), start + _EXCERPT_CHARS)
    shown = f"{'… ' if start else ''}{text[start:end]}{' …' if end < len(text) else ''}"
    return asked.split(shown)
