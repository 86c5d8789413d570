"""A browser without scripts at the operator's pages: it keeps the cookie, and sends the forms that it is shown."""

from __future__ import annotations

import asyncio
import http.client
import re
from html import unescape
from typing import Self
from urllib.parse import urlencode, urlsplit

from timeouts import WITHIN
from web_client import Answer

Fields = list[tuple[str, str]]
_CSRF = re.compile(r'name="csrf" value="([^"]+)"')
_NOTICE = re.compile(r'<p class="banner[^"]*" role="(?:status|alert)"[^>]*>(.*?)</p>', re.DOTALL)


class AdminClient:
    """One browser; `cookie` and `csrf` are what it was given last."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.host = urlsplit(url).netloc
        self.cookie = ""
        self.csrf = ""

    @classmethod
    async def signed_in(cls, url: str, token: str) -> Self:
        client = cls(url)
        answer = await client.sign_in(token)
        assert answer.status == 303, answer.text
        await client.get()
        assert client.csrf
        return client

    async def sign_in(self, token: str, **headers: str) -> Answer:
        return await self.send("POST", "/admin/sign-in", urlencode({"token": token}), **headers)

    async def get(self, path: str = "/admin", **headers: str) -> Answer:
        return await self.send("GET", path, **headers)

    async def post(self, path: str, fields: Fields, csrf: str | None = None, **headers: str) -> Answer:
        """Send a form, as the pages have it, with their token or another."""
        given = self.csrf if csrf is None else csrf
        return await self.send("POST", path, urlencode([("csrf", given), *fields]), **headers)

    async def told(self, path: str, *fields: tuple[str, str]) -> str:
        """What the page says that is shown after a form was sent."""
        answer = await self.post(path, list(fields))
        if answer.status == 303:
            answer = await self.get(answer.headers["location"])
        found = _NOTICE.search(answer.text)
        assert found, answer.text
        return unescape(found[1])

    async def send(self, method: str, path: str, body: str | bytes | None = None, **headers: str) -> Answer:
        """The answer; headers are given with `_` for `-`, and None for those that are not to be sent."""
        return await asyncio.to_thread(self._send, method, path, body, headers)

    def _send(self, method: str, path: str, body: str | bytes | None, headers: dict[str, str]) -> Answer:
        named = {"Host": self.host, "Cookie": self.cookie}
        if method == "POST":
            named |= {"Origin": self.url, "Content-Type": "application/x-www-form-urlencoded"}
        named |= {name.replace("_", "-").title(): value for name, value in headers.items()}
        connection = http.client.HTTPConnection(self.host, timeout=WITHIN)
        try:
            connection.request(method, path, body, {name: value for name, value in named.items() if value})
            told = connection.getresponse()
            answer = Answer(told.status, {name.lower(): value for name, value in told.getheaders()}, told.read())
        finally:
            connection.close()
        if (said := answer.headers.get("set-cookie")) is not None:
            self.cookie = said.partition(";")[0]
        if found := _CSRF.search(answer.text):
            self.csrf = found[1]
        return answer
