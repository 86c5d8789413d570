"""The nodes of an arena, to which its pages may connect: looked up for pages alone, and together."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from arena.store.database import StoreUnavailable
from arena.store.database_url import open_database_url
from arena.store.store import Reader, Store
from arena.web import node_urls
from arena.web.node_urls import NodeUrls
from arena.web.site import Site
from web_client import answer, served

URLS = ["ws://arena/a", "ws://arena/b"]


class Looked:
    """In place of a reader of PostgreSQL, which can be away; how often it was asked."""

    def __init__(self) -> None:
        self.database = open_database_url("postgresql://host/arena")
        self.times = 0
        self.away = False

    def read(self, query: Any) -> list[str]:
        self.times += 1
        if self.away:
            raise StoreUnavailable("away")
        return URLS


async def test_who_asks_while_they_are_looked_up_for_the_first_time_waits_for_that() -> None:
    reader: Any = Looked()
    nodes = NodeUrls(reader)
    assert await asyncio.gather(*(nodes.all() for _ in range(3))) == [URLS] * 3
    assert reader.times == 1


async def test_while_the_database_is_away_they_are_what_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    reader: Any = Looked()
    nodes = NodeUrls(reader)
    await nodes.all()
    monkeypatch.setattr(node_urls, "CACHE_TTL_S", -1.0)
    reader.away = True
    assert await nodes.all() == URLS
    assert reader.times == 2


def test_a_page_may_connect_to_all_of_them_and_what_is_no_page_asks_for_none(tmp_path: Path) -> None:
    Store.open(tmp_path / "arena.db").close()
    reader = Reader.open(tmp_path / "arena.db")
    looked: list[bool] = []

    async def noted() -> list[str]:
        looked.append(True)
        return URLS

    site = Site(reader)
    site.nodes = SimpleNamespace(all=noted)  # type: ignore[assignment]
    with served(site) as url:
        for address in ("/api/v1/pools", site.static("style.css")):
            assert "default-src 'none'" in answer(url + address).headers["content-security-policy"]
        assert looked == []
        assert f"connect-src 'self' {' '.join(URLS)};" in answer(url + "/rules").headers["content-security-policy"]
    reader.close()
