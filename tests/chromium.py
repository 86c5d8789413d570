"""The system's Chromium without its windows, and visits with it in which no page may complain."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Literal

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    async_playwright,
    expect,
)

import programs
from timeouts import WITHIN

Size = tuple[int, int]
DESKTOP: Size = (1280, 800)
PHONE: Size = (360, 800)
Theme = Literal["light", "dark"]
RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
"""What axe-core looks for."""
expect.set_options(timeout=WITHIN * 1000)
_FLAGS = (
    *("--in-process-gpu", "--disable-site-isolation-trials", "--process-per-site"),  # fewer processes
    "--js-flags=--no-opt,--no-maglev",  # a page is left before optimized code would have paid
    # Other hosts are not found, which pages complain of, but for a name that is led here.
    "--host-resolver-rules=MAP evil.example 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
)
_BLANK = "about:blank"
_AXE = Axe().axe_script
_ABORTED = "net::ERR_ABORTED"
_REPORT = """document.addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy: ${event.violatedDirective} forbids ${event.blockedURI} in ${event.sourceFile}`))"""
_HURRY = """for (const name of ["setTimeout", "setInterval"]) {
  const own = window[name].bind(window);
  window[name] = (act, ms = 0, ...more) => own(act, ms / HASTE, ...more);
}"""
_HOLD_TIMERS = """(() => {
  const [own, held] = [window.setTimeout, []];
  window.setTimeout = (act, ms = 0, ...more) => {
    if (ms !== HELD_MS) return own(act, ms, ...more);
    held.push(() => act(...more));
    return 0;
  };
  window.releaseTimers = () => held.splice(0).forEach((act) => act());
})()"""
_FIND_BARRIERS = """async (tags) => {
  const groups = new Map();
  const numberOf = (...parts) => {
    const key = parts.join();
    if (!groups.has(key)) groups.set(key, groups.size);
    return groups.get(key);
  };
  const places = new Map([[null, 0]]);
  const placeOf = (element) => {
    if (!places.has(element)) {
      const { backgroundColor, backgroundImage, opacity, position, filter, mixBlendMode } = getComputedStyle(element);
      const overlay = position === "static" ? 0 : places.size;
      const parent = placeOf(element.parentElement);
      places.set(element, numberOf(parent, overlay, backgroundColor, backgroundImage, opacity, filter, mixBlendMode));
    }
    return places.get(element);
  };
  const seen = new Set();
  const samples = [...document.querySelectorAll("body *")].filter((element) => {
    const hasText = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim() !== "");
    if (!hasText || !element.checkVisibility()) return element.matches("input, select, textarea");
    const { color, fontSize, fontWeight, textShadow } = getComputedStyle(element);
    const look = numberOf(placeOf(element), color, fontSize, fontWeight, textShadow);
    return !seen.has(look) && seen.add(look);
  });
  for (const element of samples) element.setAttribute("data-contrast-sample", "");
  axe.configure({ rules: [{ id: "color-contrast", selector: "[data-contrast-sample]" }] });
  try {
    return (await axe.run({ runOnly: tags, resultTypes: ["violations"], preload: false })).violations;
  } finally {
    for (const element of samples) element.removeAttribute("data-contrast-sample");
  }
}"""
"""Axe's check of colours takes three quarters of its time, so it looks at one text of each look: of the same colours,
backgrounds, size and weight. What is positioned may lie over something else, and is a look of its own.
"""


def program() -> str:
    """Where Chromium is."""
    return shutil.which("chromium-headless-shell") or programs.program("chromium")  # the former takes a third less time


@asynccontextmanager
async def running(*options: str) -> AsyncIterator[Browser]:
    """Chromium without a window, with these options of its command line."""
    executable = program()  # before playwright starts a program of its own
    sandbox = [] if os.geteuid() else ["--no-sandbox"]  # root has none
    async with async_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=executable, args=[*sandbox, *_FLAGS, *options], timeout=WITHIN * 1000
        )
        async with await launched as browser:
            yield browser


class Visit:
    """One person's browser at one site: cookies, storage and all pages that are opened in it.

    `complaints` has what pages said against themselves: errors and warnings of the console, what the policy forbade,
    and failed requests, such as all to other hosts. Nothing is ignored but what Chromium aborts when a page is left.
    A test `expects` the complaints that it causes, and `forgives` those that may or may not come, as of a closed port
    while an arena is away. `size` is that of windows which are opened from now on. `names` has what stands for names in
    braces in addresses.
    """

    def __init__(self, context: BrowserContext, home: str, size: Size = DESKTOP) -> None:
        self.context = context
        self.home = home
        self.size = size
        self.names: Mapping[str, str] = {}
        self.complaints: list[str] = []
        self._complained = asyncio.Event()
        self._forgiven: list[str] = []
        """The patterns of complaints that the test expects or forgives."""
        context.on("console", self._said)
        context.on("weberror", lambda told: self._complain(f"exception: {told.error}"))
        context.on("requestfailed", self._failed)

    async def open(self, address: str = "/") -> Page:
        """A page in a tab of its own, loaded."""
        page = await self.new_tab()
        await resize(page, self.size)
        await page.goto(self.home + (address.format_map(self.names) if self.names else address))
        return page

    async def new_tab(self) -> Page:
        return await self.context.new_page()

    async def hold_timers(self, ms: int) -> None:
        """Have pages that are opened from now on wait with what they do after exactly so many milliseconds until
        `release_timers`: however busy the machine, what they show until then is seen. The visit must be fresh.
        """
        await self.context.add_init_script(_HOLD_TIMERS.replace("HELD_MS", str(ms)))

    async def expects(self, pattern: str) -> None:
        """Wait for a complaint that the pattern is found in. Take it back, with all others like it, now and later.

        A page may show what failed before the browser complains of it.
        """
        try:
            async with asyncio.timeout(WITHIN):
                while not any(re.search(pattern, complaint) for complaint in self.complaints):
                    self._complained.clear()
                    await self._complained.wait()
        except TimeoutError:
            raise AssertionError(f"nobody complained of {pattern}") from None
        self.forgives(pattern)

    def forgives(self, pattern: str) -> None:
        """Take back the complaints that the pattern is found in, if there are any, now and later. "" takes all back."""
        self._forgiven.append(pattern)
        self.complaints = [complaint for complaint in self.complaints if not re.search(pattern, complaint)]

    def note_complaints(self, failure: BaseException) -> None:
        """Add what the pages complained of to a failure: it may be the cause."""
        for complaint in self.complaints:
            failure.add_note(f"a page complained: {complaint}")

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning", "assert"):
            self._complain(f"{message.type}: {message.text} ({message.location.get('url', '')})")

    def _failed(self, request: Request) -> None:
        if request.failure != _ABORTED:  # that is a page which was left
            self._complain(f"failed: {request.url}: {request.failure}")

    def _complain(self, complaint: str) -> None:
        if not any(re.search(pattern, complaint) for pattern in self._forgiven):
            self.complaints.append(complaint)
            self._complained.set()


class ReusedVisit(Visit):
    """A visit in a context that stays: its first page is loaded in the tab of the visit before, which takes a third of
    the work of a new context.
    """

    def __init__(self, tab: Page) -> None:
        super().__init__(tab.context, _BLANK)
        self._tab = tab
        self._is_tab_free = True

    async def new_tab(self) -> Page:
        if not self._is_tab_free:
            return await super().new_tab()
        self._is_tab_free = False
        return self._tab

    async def prepare(self, home: str, size: Size, theme: Theme) -> None:
        """Take the look of the next visit."""
        self.home, self.size, self.names = home, size, {}
        await self._tab.emulate_media(
            color_scheme=theme, media="null", reduced_motion="null", forced_colors="null", contrast="null"
        )

    async def leave(self) -> None:
        """Forget all that the visit left behind: other tabs, cookies, storage, complaints."""
        for page in self.context.pages:
            if page is not self._tab:
                await page.close()
        if not self._is_tab_free:
            await self._tab.unroute_all()
            await self._tab.evaluate("localStorage.clear()")
            await self._tab.goto(_BLANK)
            await self.context.clear_cookies()
        self._is_tab_free = True
        self.complaints.clear()
        self._forgiven.clear()


class TabPool:
    """Visits in tabs that are used again: those of several people at once, each in a context of its own.

    A visit is `fresh`, in a new context, where a test asks for that, for options of its own or for a file: it may leave
    behind what `leave` of `ReusedVisit` does not remove, such as listeners, permissions, scripts or a false clock.
    """

    def __init__(self, browser: Browser, haste: float) -> None:
        self._browser = browser
        self._haste = haste
        self._free: list[ReusedVisit] = []

    @asynccontextmanager
    async def visit(
        self,
        home: str,
        size: Size = DESKTOP,
        theme: Theme = "light",
        *,
        fresh: bool = False,
        **options: Any,
    ) -> AsyncIterator[Visit]:
        """Visit a site. After a failure the tab is given up."""
        if fresh or options or not home.startswith("http"):
            async with visit(self._browser, home, size, theme, **{"haste": self._haste, **options}) as new:
                yield new
            return
        if not self._free:
            context = await _new_context(self._browser, self._haste)
            self._free.append(ReusedVisit(await context.new_page()))
        used = self._free.pop()
        try:
            await used.prepare(home, size, theme)
            yield used
            assert used.complaints == [], used.complaints
            await used.leave()
        except BaseException as failure:
            used.note_complaints(failure)
            await used.context.close()
            raise
        self._free.append(used)


Visits = Callable[..., AbstractAsyncContextManager[Visit]]
"""The `visit` of a pool of tabs."""


@asynccontextmanager
async def visit(
    browser: Browser,
    home: str,
    size: Size = DESKTOP,
    theme: Theme = "light",
    *,
    haste: float = 1,
    **options: Any,
) -> AsyncIterator[Visit]:
    """A new person's visit to a site. At its end nothing may have been complained of. Timers by which a page waits
    go so many times as fast as its `haste` says.
    """
    width, height = size
    looks = {"viewport": {"width": width, "height": height}, "color_scheme": theme}
    context = await _new_context(browser, haste, **looks, **options)
    visit = Visit(context, home, size)
    try:
        yield visit
        assert visit.complaints == [], visit.complaints
    except BaseException as failure:
        visit.note_complaints(failure)
        raise
    finally:
        await context.close()


async def _new_context(browser: Browser, haste: float, **options: Any) -> BrowserContext:
    context = await browser.new_context(locale="en-GB", timezone_id="UTC", **options)
    context.set_default_timeout(WITHIN * 1000)
    await context.add_init_script(_REPORT)
    await context.add_init_script(_HURRY.replace("HASTE", str(haste)))
    return context


async def barriers(page: Page) -> str:
    """What axe-core finds in a page that keeps people out, a line each; nothing where it is well."""
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(_AXE)
    return "\n".join(
        f"{violation['id']}: {violation['help']}: {node['target']} {node['html']} {node['failureSummary']}"
        for violation in await page.evaluate(_FIND_BARRIERS, RULES)
        for node in violation["nodes"]
    )


async def release_timers(page: Page) -> None:
    """Have a page do what `Visit.hold_timers` holds."""
    await page.evaluate("releaseTimers()")


async def resize(page: Page, size: Size) -> None:
    width, height = size
    await page.set_viewport_size({"width": width, "height": height})


async def sideways(page: Page) -> int:
    """By how many pixels a page is wider than its window."""
    return int(await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


async def demand_fit(page: Page) -> None:
    """Nobody is kept out of a page, and nothing sticks out of it."""
    assert await barriers(page) == ""
    assert await sideways(page) == 0


_OUT_OF_REACH = """() => [...document.querySelectorAll("a[href], button:enabled, summary")].flatMap((target) => {
  if (!target.checkVisibility({ opacityProperty: true, visibilityProperty: true })) return [];
  target.scrollIntoView({ block: "center", behavior: "instant" });
  const line = [...target.getClientRects()].find(({ width, height }) => width > 1 && height > 1);
  if (line === undefined) return [];
  const [x, y] = [line.x + line.width / 2, line.y + line.height / 2];
  if (x < 0 || y < 0) return []; // it comes into sight for who reaches it by the keyboard
  const hit = document.elementFromPoint(x, y);
  if (hit !== null && target.contains(hit)) return [];
  return [`${target.outerHTML.slice(0, 90)} is under ${hit?.outerHTML.slice(0, 90)}`];
})"""


async def out_of_reach(page: Page) -> list[str]:
    """Find the links and buttons that a pointer at their centre does not hit, each with what it hits instead."""
    return [str(found) for found in await page.evaluate(_OUT_OF_REACH)]
