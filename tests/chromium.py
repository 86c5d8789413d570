"""The system's Chromium without its windows, and visits with it in which no page may complain."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Literal
from urllib.parse import urlsplit

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    WebSocket,
    async_playwright,
    expect,
)

import programs
from timeouts import WITHIN

DESKTOP = (1280, 800)
PHONE = (360, 800)
RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
"""What axe-core looks for."""
expect.set_options(timeout=WITHIN * 1000)
_ABORTED = "net::ERR_ABORTED"
_REPORT = """document.addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy: ${event.violatedDirective} forbids ${event.blockedURI} in ${event.sourceFile}`))"""
_HURRY = """for (const name of ["setTimeout", "setInterval"]) {
  const own = window[name].bind(window);
  window[name] = (act, ms = 0, ...more) => own(act, ms / HASTE, ...more);
}"""


def program() -> str:
    """Where Chromium is."""
    return shutil.which("chromium-headless-shell") or programs.program("chromium")  # the former takes a third less time


@asynccontextmanager
async def running(*options: str) -> AsyncIterator[Browser]:
    """Chromium without a window, with these options of its command line."""
    sandbox = [] if os.geteuid() else ["--no-sandbox"]  # root has none
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program(), args=[*sandbox, *options])
        yield browser
        await browser.close()


class Visit:
    """One person's browser at one site: cookies, storage and all pages that are opened in it.

    `complaints` has what pages said against themselves: errors and warnings of the console, what the policy forbade,
    failed requests, and whatever was asked of another host. Those that a test makes on purpose it `expects`.
    """

    def __init__(self, context: BrowserContext, home: str) -> None:
        self.context = context
        self.home = home
        self.complaints: list[str] = []
        self._host = urlsplit(home).hostname
        context.on("console", self._said)
        context.on("weberror", lambda told: self.complaints.append(f"exception: {told.error}"))
        context.on("request", self._asked)
        context.on("requestfailed", self._failed)
        context.on("page", lambda page: page.on("websocket", self._connected))

    async def open(self, address: str = "/") -> Page:
        """A page in a tab of its own, loaded."""
        page = await self.context.new_page()
        await page.goto(self.home + address)
        return page

    def expects(self, pattern: str) -> None:
        """Take back the complaints that the pattern is found in; there has to be one."""
        before = self.complaints
        self.forgives(pattern)
        assert len(self.complaints) < len(before), f"nobody complained of {pattern}: {before}"

    def forgives(self, pattern: str) -> None:
        """Take back the complaints that the pattern is found in, if there are any."""
        self.complaints = [complaint for complaint in self.complaints if not re.search(pattern, complaint)]

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning", "assert"):
            self.complaints.append(f"{message.type}: {message.text} ({message.location.get('url', '')})")

    def _asked(self, request: Request) -> None:
        if urlsplit(request.url).scheme not in ("data", "blob") and urlsplit(request.url).hostname != self._host:
            self.complaints.append(f"another host: {request.url}")

    def _failed(self, request: Request) -> None:
        if request.failure != _ABORTED:  # that is a page which was left
            self.complaints.append(f"failed: {request.url}: {request.failure}")

    def _connected(self, socket: WebSocket) -> None:
        if urlsplit(socket.url).hostname != self._host:
            self.complaints.append(f"another host: {socket.url}")


Visits = Callable[..., AbstractAsyncContextManager[Visit]]
"""`visit` with a browser."""


@asynccontextmanager
async def visit(
    browser: Browser,
    home: str,
    size: tuple[int, int] = DESKTOP,
    theme: Literal["light", "dark"] = "light",
    *,
    haste: float = 1,
    **options: Any,
) -> AsyncIterator[Visit]:
    """A new person's visit to a site. At its end nothing may have been complained of. Timers by which a page waits
    go so many times as fast as its `haste` says.
    """
    width, height = size
    context = await browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=theme, locale="en-GB", timezone_id="UTC", **options
    )
    context.set_default_timeout(WITHIN * 1000)
    await context.add_init_script(_REPORT)
    await context.add_init_script(_HURRY.replace("HASTE", str(haste)))
    visit = Visit(context, home)
    try:
        yield visit
        assert visit.complaints == [], visit.complaints
    finally:
        await context.close()


async def barriers(page: Page) -> str:
    """What axe-core finds in a page that keeps people out, a line each; nothing where it is well."""
    found = await Axe().run(page, options={"runOnly": list(RULES), "resultTypes": ["violations"]})
    return "\n".join(
        f"{violation['id']}: {violation['help']}: {node['target']} {node['html']} {node['failureSummary']}"
        for violation in found.response["violations"]
        for node in violation["nodes"]
    )


async def sideways(page: Page) -> int:
    """By how many pixels a page is wider than its window."""
    return int(await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))
