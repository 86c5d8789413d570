"""A site on a real port, and who asks it; the modules of its pages in Node."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from arena.store.store import Reader, Store
from arena.web.site import Site
from node import page_scripts
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


@pytest.fixture(scope="session")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Any]]:
    """Run functions in JavaScript on the modules of the pages, all in one process."""
    with page_scripts(tmp_path_factory.mktemp("modules")) as run:
        yield run
