"""The rules of each game as a page, from the same text as docs/rules.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from protocol.games import game_class, game_document, game_names
from web_client import Visitor

DOC = (Path(__file__).parents[2] / "docs" / "rules.md").read_text()


def words(html: str) -> str:
    """The text of HTML, or of Markdown, its letters and digits alone, without links to other documents."""
    own = re.sub(r'<a href="/docs/.*?</a>|\[[^]]*\]\([^)]*\)', "", html)
    return re.sub(r"[\W_]+", "", re.sub(r"<[^>]*>|&\w+;", "", own))


@pytest.mark.parametrize("game", game_names())
def test_the_page_of_a_games_rules_says_all_that_the_document_says_of_it(visitor: Visitor, game: str) -> None:
    told = visitor.get(f"/rules/{game}")
    assert told.status == 200
    document = game_document(game, "rules_document")
    assert document is not None
    assert document in DOC
    section = document.partition("\n")[2]
    rows = re.sub(r"^\|[-|]+\|$|^```.*$", "", section, flags=re.MULTILINE)
    for paragraph in rows.strip().split("\n\n"):
        assert words(paragraph) in words(told.text), paragraph
    assert "<strong>In thirty seconds.</strong>" in told.text
    assert f'href="/play?game={game}"' in told.text
    assert (f"/play/tutorial/{game}" in told.text) == (game_class(game).tutorial is not None)


def test_links_to_other_documents_lead_to_their_pages(visitor: Visitor) -> None:
    text = visitor.get("/rules/risk-campaign").text
    assert 'href="/docs/maps"' in text
    assert 'href="/docs/protocol#the-deal-of-the-campaign"' in text
    assert ".md" not in re.sub(r">[^<]*<", "", text)
