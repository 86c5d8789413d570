"""The documents as pages: what is made of Markdown, that every link leads somewhere, and what is found in them."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from arena.web.docs.library import Library, library
from arena.web.docs.markdown import Target, render
from arena.web.docs.search import search, search_partially, split_query
from arena.web.errors import NotFound
from web_client import Visitor

HERE = re.compile(r'(?:href|src)="((?:/docs/|#)[^"]*)"')


def here(address: str) -> Target | None:
    """Finds a document and a picture."""
    found = {"rules.md": Target(address="/docs/rules", title="The rules"), "a.svg": Target(address="/docs/a.svg")}
    return found.get(address)


def html(text: str) -> str:
    return render(f"# T\n\n{text}", here).html.strip()


@pytest.mark.parametrize("name", library().names())
def test_every_link_of_a_document_leads_to_a_place_that_there_is(name: str) -> None:
    shelf = library()
    document = shelf.document(name)
    assert document.title
    for address in HERE.findall(document.html):
        path, _, place = address.partition("#")
        target = path.removeprefix("/docs/") or name
        assert shelf.path(target).is_file()
        if place:
            assert f'id="{place}"' in shelf.document(target).html, f"{name} leads to {address}"


@pytest.mark.parametrize("name", library().names())
def test_nothing_of_a_document_needs_more_than_the_policy_allows(name: str) -> None:
    made = library().document(name).html
    assert not re.search(r"<[^>]*\s(?:style|on\w+)=|<(?:script|style|iframe)|javascript:", made)


def test_a_heading_has_the_anchor_that_it_has_where_code_is_hosted() -> None:
    made = render("# T\n\n## What it *is* worth, `a.b`?\n\ntext\n\n## Nim\n\n### Nim", here)
    assert [section.anchor for section in made.sections] == ["t", "what-it-is-worth-ab", "nim", "nim-1"]
    assert '<h2 id="nim"><a href="#nim" class="itself">Nim</a></h2>' in made.html


def test_columns_of_numbers_are_told_by_a_class() -> None:
    made = html("| | b |\n|---|--:|\n| x | 1 |")
    assert "<td></td>\n<th" in made
    assert '<th class="number" scope="col">b</th>' in made
    assert '<td class="number">1</td>' in made
    assert "style" not in made


def test_a_document_is_called_by_its_title_and_what_is_not_here_is_no_link() -> None:
    assert html("see [rules.md](rules.md) and [them](rules.md)") == (
        '<p>see <a href="/docs/rules">The rules</a> and <a href="/docs/rules">them</a></p>'
    )
    assert html("[the code](../a.py), [x](javascript:alert(1))") == "<p>the code, [x](javascript:alert(1))</p>"


def test_of_html_pictures_and_anchors_are_made_and_all_else_is_text() -> None:
    assert html('<img src="a.svg" alt="A map" width="300" onerror="alert(1)">') == (
        '<p><img src="/docs/a.svg" alt="A map" loading="lazy"></p>'
    )
    assert html('<a id="old"></a>**Old.**') == '<p><span id="old"></span><strong>Old.</strong></p>'
    for text in (
        "<script>alert(1)</script>",
        "a <b onclick=x>b</b>",
        "<iframe src='//x'>\n\n",
        "<IMG SRC=javascript:1>",
    ):
        assert not re.search(r"<(?!/?p>)", html(text)), html(text)


def test_code_has_classes_for_its_words_and_is_text_where_its_language_is_not_known() -> None:
    assert '<span class="hl-k">return</span>' in html("```python\nreturn 1\n```")
    assert html("```odd\na < b\n```") == '<pre tabindex="0"><code>a &lt; b\n</code></pre>'


def test_documents_are_found_by_all_words_and_those_in_titles_come_first() -> None:
    hits = search(split_query("Clock"), library().searchable_documents())
    assert hits[0].section in ("Clocks", "The clock")
    for hit in search(split_query("reconnect TIMEOUT"), library().searchable_documents()):
        shown = "".join(hit.excerpt).lower()
        assert "reconnect" in shown or "timeout" in shown
        assert all(piece.lower() in ("reconnect", "timeout") for piece in hit.excerpt[1::2])
    assert search(split_query("reconnect qqqq"), library().searchable_documents()) == []


def test_of_words_that_no_section_has_all_of_the_rare_ones_find_it_and_those_that_are_nowhere_are_said() -> None:
    near = search_partially(["how", "the", "reconnect", "qqqq"], library().searchable_documents())
    assert near.unknown_words == ["qqqq"]
    assert "reconnect" in "".join([near.hits[0].section, *near.hits[0].excerpt]).lower()
    assert search_partially(["qqqq", "zzzz"], library().searchable_documents()).hits == []


def test_a_question_in_plain_words_leads_somewhere(visitor: Visitor) -> None:
    page = visitor.get("/docs?q=how+can+qqqq+reconnect").text
    assert (
        "No section contains all of these words: how can qqqq reconnect. Found nowhere: qqqq. The closest sections:"
        in page
    )
    assert "<mark>reconnect</mark>" in page
    assert "nearest" not in visitor.get("/docs?q=qqqq").text


def test_the_list_a_document_a_picture_and_what_is_found_are_pages(visitor: Visitor) -> None:
    assert '<a href="/docs/rules">The rules</a>' in visitor.get("/docs").text
    assert "<title>Writing a bot" in visitor.get("/docs/writing-a-bot").text
    assert visitor.get("/docs/writing-a-bot.md").status == visitor.get("/docs/").status == 200
    picture = visitor.get("/docs/maps/africa.svg")
    assert (picture.status, picture.headers["content-type"]) == (200, "image/svg+xml")
    assert visitor.get("/docs/examples/bot.mjs").headers["content-type"].startswith("text/plain")
    found = visitor.get("/docs?q=%3Cb%3E+clock").text
    assert "No section contains all of these words: &lt;b&gt; clock" in found
    assert "<mark>clock</mark>" in visitor.get("/docs?q=clock").text


def test_only_what_lies_with_the_documents_is_one_of_them(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("# R\n\n[code](arena/cli.py) [d](docs/a.md#b)\n")
    shutil.copy(__file__, tmp_path / "docs" / "secret.key")
    (tmp_path / "docs" / "a.md").write_text("# A\n")
    shelf = Library(tmp_path)
    assert shelf.names() == ["README", "a"]
    assert shelf.document("README").html == '<p>code <a href="/docs/a#b">d</a></p>\n'
    with pytest.raises(NotFound):
        shelf.path("secret.key")
