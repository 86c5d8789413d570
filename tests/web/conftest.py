"""A site on a real port, and who asks it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from arena.store.store import Reader, Store
from arena.web.site import Site
from web_client import Visitor, served


@pytest.fixture
def visitor(tmp_path: Path) -> Iterator[Visitor]:
    """A visitor of an empty arena; `visitor.store` is where a test puts matches."""
    store = Store.open(tmp_path / "arena.db")
    reader = Reader.open(tmp_path / "arena.db")
    with served(Site(reader)) as url:
        yield Visitor(url, store)
    reader.close()
    store.close()
