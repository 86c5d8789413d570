"""The page beside a server, as processes: it comes with the server, comes back, and goes with it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from arena.commands import web
from arena.commands.settings import ServerSettings
from arena.store.store import Store
from certificates import make
from commands import call, ends
from in_process import hosting
from log_events import set_when_logged
from process_tree import children
from processes import Served, pages_process, run, serving
from timeouts import WITHIN
from virtual_time import advance
from web_client import Answer, answer

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def get(url: str, trust: Path | None = None, **headers: str) -> Answer:
    """What a browser gets; what the server says is read meanwhile."""
    return await asyncio.to_thread(answer, url, trust=trust, **headers)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    """A server with its page, for the tests of this file that leave it as it was."""
    async with serving(tmp_path_factory.mktemp("page"), "--web-port", "0") as served:
        yield served


def page_process(served: Served) -> int:
    (found,) = children(served.process.pid)
    return found


async def test_a_server_brings_up_a_page_that_knows_where_it_listens(server: Served) -> None:
    answer = await get(await server.page())
    port = server.url.rpartition(":")[2]
    assert (answer.status, f'data-socket="{port}"' in answer.text) == (200, True)
    assert f"the pages are at {await server.page()}/" in (await get(f"http://127.0.0.1:{port}/")).text
    assert [line.split()[1] for line in server.said[:2]] == ["listening", "the"]


async def test_a_bot_that_comes_to_the_page_is_told_where_bots_connect_and_ends(server: Served) -> None:
    wrong = (await server.page()).replace("http", "ws")
    code, _, err = await run("arena-bot", "run", "random", "--game", "nim", "--url", wrong, folder=server.data)
    says = f"this is the arena's page for browsers; bots connect to {server.url}"
    assert (code, err) == (1, f"random: {wrong} answered HTTP 404: {says}\n")


async def test_its_own_page_may_connect_and_no_other_port_of_the_host(server: Served) -> None:
    async with connect(server.url, origin=await server.page()):  # type: ignore[arg-type]
        pass
    for origin in ("http://127.0.0.1:1", (await server.page()).replace("http", "https"), "http://evil.example"):
        with pytest.raises(InvalidStatus) as refused:
            await connect(server.url, origin=origin)  # type: ignore[arg-type]
        assert refused.value.response.status_code == 403


async def test_a_page_on_loopback_answers_to_no_name_of_a_stranger(server: Served) -> None:
    answer = await get(await server.page(), Host="evil.example")
    assert (answer.status, answer.text.partition(";")[0]) == (421, "'evil.example' is no name of this machine")


async def test_a_page_gives_way_to_play_and_is_not_reached_by_ctrl_c(server: Served) -> None:
    assert (await get(await server.page())).status == 200
    server, page = server.process.pid, page_process(server)
    assert os.getpriority(os.PRIO_PROCESS, page) > os.getpriority(os.PRIO_PROCESS, server)
    assert os.getsid(page) == os.getsid(server), "Linux may weigh sessions against each other"
    assert os.getpgid(page) == page


@pytest.mark.ci
async def test_a_page_that_was_killed_comes_back_and_visitors_wait_for_it(tmp_path: Path) -> None:
    async with serving(tmp_path, "--web-port", "0") as served:
        url = await served.page()
        assert (await get(url)).status == 200
        killed = page_process(served)
        os.kill(killed, signal.SIGKILL)
        assert (await get(url)).status == 200
        assert page_process(served) != killed
        await served.says("the page was killed by signal 9; it is restarted in 0.5 s")


async def test_a_page_ends_with_a_server_that_was_killed(tmp_path: Path) -> None:
    async with serving(tmp_path, "--web-port", "0") as served:
        assert (await get(await served.page())).status == 200
        page = page_process(served)
        served.process.kill()
        assert await asyncio.to_thread(ends, page)


def test_a_page_whose_port_is_in_use_is_said_in_a_line_before_anything_begins(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = call("arena", "serve", "--port", "0", "--web-port", str(port), "--data", str(tmp_path / "data"))
    says = f"port {port} on 127.0.0.1 is in use: choose another one for the page with --web-port, 0 for a free one, or"
    assert (done.code, done.err) == (1, f"arena: {says} --no-web\n")
    assert not (tmp_path / "data").exists()


async def test_a_page_is_encrypted_with_the_certificate_of_its_arena_and_reads_it_again(tmp_path: Path) -> None:
    pair, other = make(tmp_path, "localhost"), make(tmp_path, "other")
    words = ("--web-port", "0", "--tls-cert", str(pair.certificate), "--tls-key", str(pair.key))
    async with serving(tmp_path, *words) as served:
        url = await served.page()
        assert url.startswith("https://")
        assert (await get(url, pair.certificate)).status == 200
        pair.certificate.write_bytes(other.certificate.read_bytes())
        pair.key.write_bytes(other.key.read_bytes())
        served.process.send_signal(signal.SIGHUP)
        await served.says("the page read the certificate again")
        assert (await get(url, other.certificate)).status == 200
        os.kill(page_process(served), signal.SIGKILL)
        await served.says("the page was killed by signal 9; it is restarted in 0.5 s")
        before = len(served.said)
        served.process.send_signal(signal.SIGHUP)  # while the page is away
        await served.says("the certificate was reloaded", after=before)
        assert (await get(url, other.certificate)).status == 200
    assert served.process.returncode == 0
    assert served.said[-1].split()[1] == "stopped"
    assert not [line for line in served.said if not line.startswith("arena: ")], served.said


async def test_a_proxy_that_is_trusted_may_ask_under_any_name(tmp_path: Path) -> None:
    proxied = ("--trusted-proxy", "127.0.0.1", "--socket-url", "wss://arena.example.org/socket")
    async with hosting(tmp_path, "--web-port", "0", *proxied) as hosted:
        answer = await get(await hosted.page(), Host="arena.example.org", X_Forwarded_Proto="https")
        assert 'data-socket="wss://arena.example.org/socket"' in answer.text
        assert "connect-src 'self' wss://arena.example.org/socket;" in answer.headers["content-security-policy"]


def test_where_there_is_no_data_the_page_says_what_makes_some(tmp_path: Path) -> None:
    done = call("arena", "web", "--data", str(tmp_path), "--web-port", "0")
    says = f"no arena data in {tmp_path}/arena.db: start `arena serve` or `arena tournament` first"
    assert (done.code, done.err) == (1, f"arena: {says}\n")


def test_sighup_does_no_harm_to_a_page_of_its_own(tmp_path: Path) -> None:
    Store.open(tmp_path / "arena.db").close()
    with pages_process(tmp_path) as pages:
        assert pages.wait_until_ready(WITHIN)
        pages.process.send_signal(signal.SIGHUP)
        pages.wait_for_line("SIGHUP: there is no certificate to reload", WITHIN)
    assert pages.process.returncode == 0


@pytest.mark.virtual_time
async def test_a_page_that_hangs_is_started_again_after_a_time_that_is_longer_on_a_slow_machine(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARENA_TIMEOUT_FACTOR", "2")
    told = set_when_logged(caplog, "has not answered for 120 s")
    Store.open(tmp_path / "arena.db").close()
    before = children(os.getpid())
    settings = ServerSettings(web_port=0)
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(one) for one in web.bind_web(settings)]
        async with web.serve_pages(settings, str(tmp_path / "arena.db"), sockets, 8765):
            url = web.page_url(settings, sockets)
            assert (await get(url)).status == 200
            (hung,) = set(children(os.getpid())) - set(before)
            os.kill(hung, signal.SIGSTOP)
            await advance(2 * web.HEALTH_CHECK_TIMEOUT_S + web.SHUTDOWN_TIMEOUT_S)
            assert await asyncio.to_thread(ends, hung)
            await told.wait()
            await advance(web.RESTART_DELAY_S)
            assert (await get(url)).status == 200
