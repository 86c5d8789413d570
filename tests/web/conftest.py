"""A site on a real port, and who asks it; the modules of its pages in Node."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from node import page_scripts
from web_client import Visitor, open_pages


@pytest.fixture
def visitor(tmp_path: Path) -> Iterator[Visitor]:
    """A visitor of an empty arena; `visitor.store` is where a test puts matches."""
    with open_pages(tmp_path) as visitor:
        yield visitor


@pytest.fixture(scope="session")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Any]]:
    """Run functions in JavaScript on the modules of the pages, all in one process."""
    with page_scripts(tmp_path_factory.mktemp("modules")) as run:
        yield run
