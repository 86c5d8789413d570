"""A running arena with its page, and persons at it, for tests in a browser."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

from playwright.async_api import Page, expect

from arena.store.registry import add_bots
from arena.store.store import Store
from arena.store.tokens import hash_token
from chromium import Visit
from in_process import hosting
from players import token_of
from processes import Served, serving


class House(NamedTuple):
    """A running arena: its address for bots, and the URL of its page."""

    url: str
    page: str


class HouseProcess(NamedTuple):
    """The same, of an arena that is a process of its own."""

    url: str
    page: str
    served: Served


@contextlib.contextmanager
def page_elsewhere(body: str) -> Iterator[str]:
    """A page on another port of this machine, which is another origin of the same site: its cookies come along."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *words: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def register(data: Path, *names: str) -> None:
    """Give names and their tokens, as an operator does."""
    with contextlib.closing(Store.open(data / "arena.db")) as store:
        store.write(add_bots, {name: hash_token(token_of(name)) for name in names})


@contextlib.asynccontextmanager
async def open_house(data: Path, *options: str) -> AsyncIterator[House]:
    """`arena serve` with its page over a data folder, in the process of the test."""
    async with hosting(data, "--web-port", "0", *options) as hosted:
        yield House(hosted.url, await hosted.page())


@contextlib.asynccontextmanager
async def house_process(data: Path, *options: str) -> AsyncIterator[HouseProcess]:
    """`arena serve` with its page, as a process that a test may kill, and a page process."""
    async with serving(data, "--web-port", "0", *options) as served:
        yield HouseProcess(served.url, await served.page(), served)


async def come(visit: Visit, name: str, address: str = "") -> Page:
    """The play page of a person who has said their name there."""
    page = await visit.open(f"/play?{address}")
    await page.get_by_label("Your name").fill(name)
    return page


async def start_playing(page: Page) -> None:
    await page.get_by_role("button", name="Play", exact=True).click()


async def sit_down(visit: Visit, name: str, address: str) -> Page:
    """The play page of a person who seeks there what the address says."""
    page = await come(visit, name, address)
    await start_playing(page)
    return page


async def choose(page: Page) -> bool:
    """Make the person's last listed move as soon as it is their turn; whether the match goes on."""
    turn = page.locator(".moves:not([hidden])")
    over = page.locator(".ending h2")
    await expect(over.or_(turn)).to_be_visible()
    if await over.is_visible():
        return False
    if await turn.get_attribute("open") is None:
        await turn.locator("summary").click()
    await turn.get_by_role("button").last.click()
    return True


async def play_out(*pages: Page) -> None:
    """Have everybody make their last listed move when it is their turn, until the match is over."""

    async def play(page: Page) -> None:
        while await choose(page):
            pass

    async with asyncio.TaskGroup() as playing:
        for page in pages:
            playing.create_task(play(page))
