"""The recipe for nginx in docs/operating.md, tried: bots play through it, and each address counts for itself."""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from arena.operator.client import connect_to_url
from arena.operator.credentials import read_or_make_token
from arena.operator.status import ServerStatus, StatusRequest
from arena.web.client_wheel import build_client_wheel
from certificates import Pair, make
from conftest import free_port
from in_process import hosting
from nginx import nginx, replaced
from processes import REPOSITORY, run
from web_client import answer, code

FRAME = """pid {folder}/nginx.pid;
error_log stderr notice;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {server}
}}
"""


@asynccontextmanager
async def proxy(folder: Path, pair: Pair, to: str, page: str) -> AsyncIterator[int]:
    """nginx with the recipe, in front of this server and its page: its port."""
    found = re.search(r"```nginx\n(.*?)```", (REPOSITORY / "docs" / "operating.md").read_text(), re.DOTALL)
    assert found is not None
    port = free_port()
    recipe = replaced(
        found[1],
        {
            r"listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
            r"ssl_certificate \S+;": f"ssl_certificate {pair.certificate};",
            r"ssl_certificate_key \S+;": f"ssl_certificate_key {pair.key};",
            r"http://127.0.0.1:8765": to,
            r"http://127.0.0.1:8080": page,
        },
    )
    async with nginx(folder, FRAME.format(folder=folder, server=recipe)):
        yield port


async def test_bots_play_through_nginx_as_the_manual_sets_it_up_and_an_operator_gets_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = make(tmp_path, "localhost")
    async with (
        hosting(tmp_path, "--web-port", "0", "--trusted-proxy", "127.0.0.1", "--max-per-address", "2") as served,
        proxy(tmp_path, pair, served.url.replace("ws://", "http://"), await served.page()) as port,
    ):
        command = (
            "arena-bot",
            "run",
            "random",
            "--url",
            f"wss://localhost:{port}/socket",
            "--game",
            "nim",
            "--matches",
            "1",
        )
        trusting = {"SSL_CERT_FILE": str(pair.certificate)}
        bots = [run(*command, "--name", name, folder=tmp_path, **trusting) for name in ("ann", "bob")]
        assert [(code, err) for code, _, err in await asyncio.gather(*bots)] == [(0, "")] * 2

        async def hold(address: str) -> None:
            trust = ssl.create_default_context(cafile=pair.certificate)
            wire = await connect(
                f"wss://localhost:{port}/socket",
                ssl=trust,
                local_addr=(address, 0),
                additional_headers={"X-Forwarded-For": "203.0.113.9"},
            )
            held.append(wire)

        trust = ssl.create_default_context(cafile=pair.certificate)
        async with connect(f"wss://localhost:{port}/socket", ssl=trust, origin=f"https://localhost:{port}"):  # type: ignore[arg-type]
            pass
        page = await asyncio.to_thread(urlopen, f"https://localhost:{port}/", context=trust)
        shown = await asyncio.to_thread(answer, f"https://localhost:{port}/connect", trust=pair.certificate)
        client = code(shown.text, "pip").removeprefix("python -m pip install ")
        assert client.startswith(f"https://localhost:{port}/download/")
        assert (await asyncio.to_thread(answer, client, trust=pair.certificate)).body == build_client_wheel().content
        assert b"Bot Arena" in page.read()

        monkeypatch.setenv("SSL_CERT_FILE", str(pair.certificate))
        async with connect_to_url(f"wss://localhost:{port}/socket", read_or_make_token(served.data)) as operator:
            assert (await operator.ask(StatusRequest(), ServerStatus)).bots == []

        held: list[object] = []
        for address in ("127.0.0.2", "127.0.0.2", "127.0.0.3"):
            await hold(address)
        with pytest.raises(InvalidStatus) as refused:
            await hold("127.0.0.2")
        assert refused.value.response.body == b"127.0.0.2 has 2 connections, which is the maximum\n"
