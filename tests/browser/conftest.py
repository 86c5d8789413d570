"""One Chromium for all tests of a process, pages to visit, and visits in which nothing may be complained of."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, closing
from pathlib import Path
from typing import Any, TypeVar

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from arena.store.store import Store
from budget import CostMeter
from chromium import TabPool, Visit, Visits, running
from house import House, open_house
from library import Library, fill
from processes import showing

T = TypeVar("T")
HASTE = 6
"""Pages wait a sixth of the time: for a move to be seen, or before they ask again. Where a test looks at what is shown
for a while alone, it takes its time."""


@asynccontextmanager
async def _shared(config: pytest.Config, service: AbstractAsyncContextManager[T]) -> AsyncIterator[T]:
    """A service of the session, whose end costs the test nothing that happens to be the last to use it."""
    meter = config.pluginmanager.get_plugin("cost-meter")
    assert isinstance(meter, CostMeter)
    async with AsyncExitStack() as stack:
        yield await stack.enter_async_context(service)
        with meter.sharing():
            await stack.aclose()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser(pytestconfig: pytest.Config) -> AsyncIterator[Browser]:
    async with _shared(pytestconfig, running()) as browser:
        yield browser


@pytest.fixture(scope="session")
def visiting(browser: Browser) -> Visits:
    """`async with visiting(home, size, theme) as visit`: a new person's visit, `fresh=True` if it leaves behind what
    `TabPool` does not remove.
    """
    return TabPool(browser, HASTE).visit


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A data folder with matches of every game, and the ids of some of them."""
    data = tmp_path_factory.mktemp("library")
    with closing(Store.open(data / "arena.db")) as store:
        return data, fill(Library(store))


@pytest.fixture(scope="session")
def kept(shelf: tuple[Path, dict[str, str]]) -> dict[str, str]:
    """The ids of the library's matches, by what is in them."""
    return shelf[1]


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def library(pytestconfig: pytest.Config, shelf: tuple[Path, dict[str, Any]]) -> AsyncIterator[str]:
    """The URL of `arena web` over these matches."""
    async with _shared(pytestconfig, showing(shelf[0])) as home:
        yield home


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    """An arena with its page, for the tests of a file."""
    async with open_house(tmp_path_factory.mktemp("house")) as house:
        yield house


@pytest_asyncio.fixture(loop_scope="session")
async def stored(visiting: Visits, library: str, kept: dict[str, str]) -> AsyncIterator[Visit]:
    """A visit to the library, in whose addresses `{nim}` stands for the id of the match of that name."""
    async with visiting(library) as visit:
        visit.names = kept
        yield visit


@pytest_asyncio.fixture(loop_scope="session")
async def visit(visiting: Visits, house: House) -> AsyncIterator[Visit]:
    """A new person's visit to the arena of the tests of a file."""
    async with visiting(house.page) as visit:
        yield visit
