"""The documents of the project as HTML, with links that lead to their pages."""

from __future__ import annotations

import re
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

DOCS = Path(__file__).parents[2] / "docs"
_DOCUMENT = re.compile(r"([\w-]+)\.md(#[\w-]+)?")
_parser = MarkdownIt("commonmark", {"html": False}).enable("table")


def rendered(text: str) -> str:
    """Markdown as HTML. What is HTML in it is text."""
    tokens = _parser.parse(text)
    for token in tokens:
        for child in token.children or ():
            _lead(child)
    html: str = _parser.renderer.render(tokens, _parser.options, {})
    return html


def _lead(token: Token) -> None:
    """Have a link to another document lead to its page."""
    if token.type == "link_open" and (found := _DOCUMENT.fullmatch(str(token.attrs["href"]))):
        token.attrs["href"] = f"/docs/{found[1]}{found[2] or ''}"
