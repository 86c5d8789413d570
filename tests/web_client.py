"""A site on a real port, and a browser without scripts that asks it."""

from __future__ import annotations

import asyncio
import html
import re
import socket
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from msgspec import Struct

from arena.network.addresses import parse_networks
from arena.store.store import Reader, Store
from arena.web.app import application
from arena.web.http_connections import PageServer
from arena.web.site import Site
from timeouts import WITHIN


class Answer(Struct):
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


class Visitor:
    """Asks one site."""

    def __init__(self, url: str, store: Store) -> None:
        self.url = url
        self.store = store

    def get(self, address: str, method: str = "GET", **headers: str) -> Answer:
        """The answer to a request, whatever its status."""
        return answer(self.url + address, method, **headers)


def answer(url: str, method: str = "GET", *, trust: Path | None = None, **headers: str) -> Answer:
    """What a browser gets, whatever its status, that trusts one certificate alone where one is given."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    asked = urllib.request.Request(url, headers=named, method=method)
    context = ssl.create_default_context(cafile=trust) if trust else None
    try:
        with urllib.request.urlopen(asked, timeout=WITHIN, context=context) as told:
            return Answer(told.status, {k.lower(): v for k, v in told.headers.items()}, told.read())
    except urllib.error.HTTPError as told:
        return Answer(told.code, {k.lower(): v for k, v in told.headers.items()}, told.read())


def code(page: str, name: str) -> str:
    """What a page shows as code, as it is copied."""
    found = re.search(rf'<code id="{name}"[^>]*>(.*?)</code>', page, re.DOTALL)
    assert found, f"no code {name}"
    return html.unescape(re.sub(r"<[^>]*>", "", found[1]))


@contextmanager
def served(site: Site) -> Iterator[str]:
    """A site on a free port, in a thread; its URL."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(application(site), log_config=None, lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


@contextmanager
def open_pages(folder: Path, **options: Any) -> Iterator[Visitor]:
    """A visitor of the pages over the database of a data folder, by the options of `Site`."""
    file = folder / "arena.db"
    with (
        closing(Store.open(file, checkpoint=False)) as store,
        closing(Reader.open(file)) as reader,
        served(Site(reader, **options)) as url,
    ):
        yield Visitor(url, store)


@asynccontextmanager
async def page_server(folder: Path, proxies: str = "") -> AsyncIterator[int]:
    """The pages over the database of a data folder, by the arena's own server in the event loop of a test; its port."""
    with (
        closing(Reader.open(folder / "arena.db")) as reader,
        closing(socket.create_server(("127.0.0.1", 0))) as listening,
    ):
        listening.setblocking(False)
        server = PageServer(Site(reader), proxies=parse_networks(proxies))
        running = asyncio.create_task(server.serve([listening]))
        yield listening.getsockname()[1]
        server.stop()
        await asyncio.wait_for(running, WITHIN)
