"""Renders Markdown as HTML that a strict Content-Security-Policy allows: no styles, no scripts, and of inline HTML only
pictures and anchors.

Headings get the same anchors as on code hosting sites. The text of each section is kept for search.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from html import escape
from html.parser import HTMLParser

from markdown_it import MarkdownIt
from markdown_it.token import Token
from msgspec import Struct
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

_INVALID_ANCHOR_CHARS = re.compile(r"[^\w\- ]")
"""The pattern of the characters of a heading that are left out of its anchor."""
_HTML_COMMENT_PATTERN = re.compile(r"<!--.*?-->", re.DOTALL)
"""The pattern of a comment in HTML."""
_ALIGNMENT_PATTERN = re.compile(r"text-align:(\w+)")
"""The pattern that finds the alignment of a table cell in the cell's style. Its group is the alignment."""
_SCROLL_BLOCK_TAG = '<div class="scroll" role="group" aria-label="A table" tabindex="0">'
"""The HTML tag that begins a scrolling block, which contains a table."""
_HIGHLIGHTER = HtmlFormatter(nowrap=True, classprefix="hl-")
"""The formatter of code as HTML with colours."""


class Target(Struct, frozen=True, kw_only=True):
    """The target of a link on this site, with the title if it is a document."""

    address: str
    title: str = ""


Resolve = Callable[[str], Target | None]
"""A function that resolves the address of a link or picture, or returns None if the address is not available here."""


class Section(Struct, frozen=True, kw_only=True):
    """A heading with its level and anchor, and the plain text up to the next heading."""

    level: int
    title: str
    anchor: str
    text: str


class RenderedDocument(Struct, frozen=True, kw_only=True):
    """A rendered document. Its `html` does not contain the document's title, which is in `title`. The first section has
    the same title.
    """

    title: str
    html: str
    sections: list[Section]


def render(text: str, resolve: Resolve) -> RenderedDocument:
    """Render Markdown, with tables as an extension. `resolve` finds the targets of links and pictures."""
    parser = MarkdownIt("commonmark", {"highlight": _render_code, "xhtmlOut": False}).enable("table")
    parser.add_render_rule("table_open", lambda *_: f"{_SCROLL_BLOCK_TAG}<table>\n")
    parser.add_render_rule("table_close", lambda *_: "</table></div>\n")
    tokens = list(_replace_html(parser.parse(text)))
    _place_anchors(tokens)
    sections = list(_sections(tokens))
    _adapt_tokens(tokens, resolve)
    titled = tokens[:1] and tokens[0].tag == "h1"
    html = parser.renderer.render(tokens[3:] if titled else tokens, parser.options, {})
    return RenderedDocument(title=sections[0].title, html=html, sections=sections)


def _render_code(code: str, language: str, _: str) -> str:
    try:
        coloured = highlight(code, get_lexer_by_name(language), _HIGHLIGHTER) if language else escape(code)
    except ClassNotFound:
        coloured = escape(code)
    return f'<pre tabindex="0"><code>{coloured}</code></pre>'


def _replace_html(tokens: Sequence[Token]) -> Iterator[Token]:
    """Yield the tokens without raw HTML: pictures and anchors become tokens, comments vanish, other tags are text."""
    for token in tokens:
        if token.type == "html_block":
            if children := [made for made in _from_html(token.content) if made.content.strip() or made.attrs]:
                yield Token("paragraph_open", "p", 1, block=True)
                yield Token("inline", "", 0, content=token.content, children=children)
                yield Token("paragraph_close", "p", -1, block=True)
            continue
        if token.children:
            token.children = [
                made
                for child in token.children
                for made in (_from_html(child.content) if child.type == "html_inline" else [child])
            ]
        yield token


class _Tags(HTMLParser):
    """Converts the HTML in a Markdown document into tokens of the renderer."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.made: list[Token] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = {name: value or "" for name, value in attrs}
        if tag == "img":
            alt = Token("text", "", 0, content=said.get("alt", ""))
            self.made.append(Token("image", "img", 0, {"src": said.get("src", ""), "alt": ""}, children=[alt]))
        elif tag == "a" and "id" in said:
            self.made.append(Token("anchor", "span", 1, {"id": said["id"]}))
            self.made.append(Token("anchor", "span", -1))
        else:
            self.made.append(Token("text", "", 0, content=self.get_starttag_text() or ""))

    def handle_endtag(self, tag: str) -> None:
        if tag != "a":
            self.made.append(Token("text", "", 0, content=f"</{tag}>"))

    def handle_data(self, data: str) -> None:
        self.made.append(Token("text", "", 0, content=data))


def _from_html(html: str) -> list[Token]:
    tags = _Tags()
    tags.feed(_HTML_COMMENT_PATTERN.sub("", html))
    tags.close()
    return tags.made


def _place_anchors(tokens: Sequence[Token]) -> None:
    taken: dict[str, int] = {}
    for at, token in enumerate(tokens):
        if token.type == "heading_open":
            plain = _INVALID_ANCHOR_CHARS.sub("", _plain(tokens[at + 1]).lower()).replace(" ", "-")
            number = taken.get(plain, 0)
            taken[plain] = number + 1
            token.attrSet("id", f"{plain}-{number}" if number else plain)


def _plain(token: Token) -> str:
    if token.type in ("softbreak", "hardbreak"):
        return " "
    if token.children is None:
        return token.content
    return "".join(_plain(child) for child in token.children)


def _sections(tokens: Sequence[Token]) -> Iterator[Section]:
    level, title, anchor, texts = 1, "", "", list[str]()
    for at, token in enumerate(tokens):
        if token.type == "heading_open":
            if title:
                yield Section(level=level, title=title, anchor=anchor, text=" ".join(texts))
            level, title, anchor, texts = int(token.tag[1:]), _plain(tokens[at + 1]), str(token.attrs["id"]), []
        elif token.type in ("inline", "fence", "code_block") and tokens[at - 1].type != "heading_open":
            texts += _plain(token).split()
    yield Section(level=level, title=title, anchor=anchor, text=" ".join(texts))


def _adapt_tokens(tokens: list[Token], resolve: Resolve) -> None:
    """Resolve links, and adapt tables and code to a page."""
    for at, token in enumerate(tokens):
        if token.type in ("th_open", "td_open"):
            aligned = _ALIGNMENT_PATTERN.search(str(token.attrs.pop("style", "")))
            if aligned and aligned[1] == "right":
                token.attrSet("class", "number")
            if token.tag == "th" and tokens[at + 1].content:
                token.attrSet("scope", "col")
            else:  # a column without a name
                token.tag = tokens[at + 2].tag = "td"
        elif token.type == "code_block":  # indented code
            token.type = "fence"
        elif token.type == "inline" and token.children:
            token.children = list(_resolve_links(token.children, resolve))
            if tokens[at - 1].type == "heading_open" and tokens[at - 1].tag != "h1":
                _link_to_itself(token, str(tokens[at - 1].attrs["id"]))


def _link_to_itself(heading: Token, anchor: str) -> None:
    children = heading.children or []
    if not any(child.type == "link_open" for child in children):
        own = Token("link_open", "a", 1, {"href": f"#{anchor}", "class": "itself"})
        heading.children = [own, *children, Token("link_close", "a", -1)]


def _resolve_links(children: Sequence[Token], resolve: Resolve) -> Iterator[Token]:
    """Yield the tokens with links and pictures resolved: file names become titles, and unresolved links become text."""
    target: Target | None = None
    for child in children:
        if child.type == "link_open":
            target = resolve(str(child.attrs["href"]))
            if target is not None:
                child.attrSet("href", target.address)
                yield child
        elif child.type == "link_close":
            if target is not None:
                yield child
            target = None
        elif child.type == "image":
            yield _picture(child, resolve(str(child.attrs["src"])))
        else:
            if target is not None and target.title and child.content.endswith(".md"):
                child.content = target.title
            yield child


def _picture(image: Token, target: Target | None) -> Token:
    if target is None:
        return Token("text", "", 0, content=_plain(image))
    image.attrSet("src", target.address)
    image.attrSet("loading", "lazy")
    return image
