"""A client of the JSON API of an arena's web page, for finished matches (docs/api.md). It also finds the page's URL."""

from __future__ import annotations

import http.client
import re
import urllib.error
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlencode

import msgspec

from machine.bounded_fetch import fetch
from machine.client.connecting import is_loopback
from machine.host_names import host_of_url, split_address
from protocol.display import escape_unprintable, short_repr
from protocol.errors import Fault, UsageFault
from protocol.submissions import MIN_UPLOAD_BYTES_PER_S

ANSWER_TIMEOUT_S = 40.0
"""Seconds to wait for the page's answer. A client of the Model Context Protocol waits sixty seconds for a tool."""
FIND_TIMEOUT_S = 5.0
"""Seconds to wait for the arena to answer with the URL of its web page."""
MAX_ANSWER_BYTES = 64 * 1024 * 1024
"""The maximum number of bytes of the page's answer. The longest match with its states is smaller."""
_PAGE_LINK_PATTERN = re.compile(r'<(https?://[^>]+)>; rel="alternate"')
"""The pattern that finds the URL of the arena's web page in the `Link` header of the arena's HTTP answer."""


class PageError(Fault):
    """The page does not answer, or its answer is an error or not valid. `status` is that of an error, else 0.

    `retry_after_s` is the number of seconds after which a page that is busy may be asked again, else None.
    """

    def __init__(self, message: str, status: int = 0, retry_after_s: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after_s = retry_after_s


def check_page(url: str) -> str:
    """Return the address `url` without a trailing slash. Raise `UsageFault` unless it is an HTTP or HTTPS address."""
    if split_address(url, "http", "https") is None:
        raise UsageFault(f"the page's address is {short_repr(url, 80)}: write it like http://127.0.0.1:8080")
    return url.rstrip("/")


class PageClient:
    """A client of the web page at the address `page`. If it is None, the arena at the URL `arena` names the page.
    `hint` says how the user gives another address of the page. A `token` is sent with each request to the page.
    """

    def __init__(
        self, arena: str, page: str | None = None, hint: str = "with --page", token: str | None = None
    ) -> None:
        self._arena = arena
        self._token = token
        self._page = page
        self._hint = hint

    def fetch(self, *path: str, **query: Any) -> Any:
        """Return the API's decoded answer for a path and query. If it is an error, raise `PageError` with its text."""
        return self._ask(path, query)

    def post(self, body: bytes, *path: str, **query: Any) -> Any:
        """Post a body to a path of the API with a query. Return the answer, and raise errors, as `fetch` does."""
        return self._ask(path, query, body)

    def download(self, *path: str) -> bytes:
        """Return the file at a path of the API. Raise `PageError` as `fetch` does."""
        url = self._url(path, {})
        status, told, _ = self._get(url, ANSWER_TIMEOUT_S, self._authorization())
        return told if status == HTTPStatus.OK else self._ask(path, {})

    def url_of(self, *path: str) -> str:
        """Return the address of a page for people."""
        return "/".join([self._find_page(), *(quote(part, safe="") for part in path)])

    def _url(self, path: Sequence[str], query: Mapping[str, Any]) -> str:
        given = {key: value for key, value in query.items() if value is not None}
        where = "/".join(quote(part, safe="") for part in path)
        return f"{self._find_page()}/api/v1/{where}{'?' if given else ''}{urlencode(given, doseq=True)}"

    def _authorization(self) -> Mapping[str, str]:
        return {} if self._token is None else {"Authorization": f"Bearer {self._token}"}

    def _ask(self, path: Sequence[str], query: Mapping[str, Any], body: bytes | None = None) -> Any:
        url = self._url(path, query)
        timeout_s = ANSWER_TIMEOUT_S + len(body or b"") / MIN_UPLOAD_BYTES_PER_S
        status, told, headers = self._get(url, timeout_s, self._authorization(), body)
        try:
            answer = msgspec.json.decode(told)
        except (msgspec.DecodeError, UnicodeError) as exc:
            if "Location" in headers:
                raise PageError(f"{url} is at {headers['Location']} now: give the page's address {self._hint}") from exc
            linked = _PAGE_LINK_PATTERN.search(headers.get("Link", ""))
            hint = f"; the page is at {linked[1].rstrip('/')}" if linked else ""
            raise PageError(f"{url} is no page of an arena: it answers HTTP {status} without JSON{hint}") from exc
        if status not in (HTTPStatus.OK, HTTPStatus.ACCEPTED):
            error = answer.get("error", {}) if isinstance(answer, dict) else {}
            message = escape_unprintable(str(error.get("message", f"the page answers HTTP {status}")))
            wait = next((value for name, value in headers.items() if name.lower() == "retry-after"), "")
            is_busy = status == HTTPStatus.SERVICE_UNAVAILABLE and wait.isdecimal()
            raise PageError(message, status, int(wait) if is_busy else None)
        return answer

    def _find_page(self) -> str:
        """Return the address of the page: the one that was given, or the one that the arena's HTTP answer links to,
        which must be on the arena's host. A token goes to it by TLS if the arena has that.
        """
        if self._page is not None:
            return self._page
        asked = re.sub("^ws", "http", self._arena)
        _, _, headers = self._get(asked, FIND_TIMEOUT_S)
        found = _PAGE_LINK_PATTERN.search(headers.get("Link", ""))
        if found is None or host_of_url(found[1]) != host_of_url(self._arena):
            raise PageError(
                f"the arena at {self._arena} names no page: give the page's address, as in a browser, {self._hint}"
            )
        is_secret = self._token is not None and self._arena.startswith("wss:")
        if is_secret and not found[1].startswith("https:"):
            raise PageError(
                f"the arena at {self._arena} names the page {short_repr(found[1], 80)}, where the token would travel "
                f"in clear text: give the page's address, as in a browser, {self._hint}"
            )
        self._page = found[1].rstrip("/")
        return self._page

    def _get(
        self, url: str, timeout_s: float, headers: Mapping[str, str] = {}, body: bytes | None = None
    ) -> tuple[int, bytes, Mapping[str, str]]:
        """Return status, body and headers of a URL's answer, whatever its status. Raise `PageError` without one."""
        try:
            told = fetch(
                url,
                MAX_ANSWER_BYTES,
                timeout_s,
                headers={"Accept": "application/json", **headers},
                proxies=not is_loopback(url),
                body=body,
            )
            return told.status, told.body, told.headers
        except (OSError, http.client.HTTPException, ValueError) as exc:
            reason = exc.reason if isinstance(exc, urllib.error.URLError) else exc
            why = reason.strerror if isinstance(reason, OSError) and reason.strerror else reason
            where, advice = f"page answers at {url.split('/api/')[0]}", f"give the page's address {self._hint}"
            if self._page is None:
                where, advice = f"arena answers at {self._arena}", "is it running, and is this its address?"
            raise PageError(f"no {where}: {why or type(exc).__name__}; {advice}") from exc
