"""A client of the page sends a bot's token nowhere in clear text if the arena has TLS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from bots.agents import page
from bots.agents.page import PageClient, PageError
from machine.bounded_fetch import HttpAnswer


@pytest.mark.parametrize(
    ("arena", "named", "token", "is_asked"),
    [
        ("wss://a.example", "http://a.example:8080/", "secret", False),
        ("wss://a.example", "https://a.example/", "secret", True),
        ("wss://a.example", "http://a.example:8080/", None, True),
        ("ws://a.example", "http://a.example:8080/", "secret", True),
    ],
)
def test_a_token_goes_to_a_page_without_tls_only_if_the_arena_has_none(
    monkeypatch: pytest.MonkeyPatch, arena: str, named: str, token: str | None, *, is_asked: bool
) -> None:
    asked = []

    def fetch(url: str, *_: Any, headers: Mapping[str, str], **__: Any) -> HttpAnswer:
        asked.append((url, headers.get("Authorization")))
        return HttpAnswer(200, b"{}", {"Link": f'<{named}>; rel="alternate"'}, "OK")

    monkeypatch.setattr(page, "fetch", fetch)
    client = PageClient(arena, token=token)
    if is_asked:
        assert client.fetch("games") == {}
        assert asked[1:] == [(f"{named}api/v1/games", token and f"Bearer {token}")]
    else:
        with pytest.raises(PageError, match="the token would travel in clear text"):
            client.fetch("games")
        assert [token for _, token in asked] == [None]
