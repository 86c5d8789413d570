"""The operator's pages attacked: whatever comes, nothing is done, and nothing runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from html import escape
from pathlib import Path
from urllib.parse import urlencode

import pytest
import pytest_asyncio

from admin_client import AdminClient
from admin_server import AdminServer, admin_server
from arena.store.tokens import hash_token
from arena.web.admin.forms import MAX_FORM_BYTES
from arena.web.admin_config import AdminConfig
from arena.web.app import content_security_policy
from machine.keyed_limiter import WRONG_TOKEN_BACKOFF
from web_client import Visitor, answer, open_pages

pytestmark = pytest.mark.asyncio(loop_scope="module")
REVOKE = [("bot", "anna"), ("do", "revoke"), ("sure", "yes")]
READ = ("/admin", "/admin/add", "/admin/matches", "/admin/seasons", "/admin/log")
OPTIONS = ("--admin-host", "arena.example.org", "--trusted-proxy", "127.0.0.1")
"""As behind a proxy, where the page as a whole answers to any name."""
EVIL = "http://evil.example"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[AdminServer]:
    """One for the tests of this file, with a bot called anna."""
    async with admin_server(tmp_path_factory.mktemp("admin"), *OPTIONS) as server:
        operator = await server.operator()
        assert (await operator.post("/admin/add", [("names", "anna")])).status == 200
        yield server


async def unharmed(server: AdminServer) -> bool:
    """Whether anna may still come in, and nobody asked for anything else."""
    return not (await server.bots())["anna"].revoked and all(one.do == "register" for one in await server.actions())


async def test_who_signs_in_gets_the_page_that_was_asked_for_and_never_another_site(
    server: AdminServer,
) -> None:
    visitor = AdminClient(server.url)
    asked = "/admin/log?before=9&do=register"
    form = await visitor.get((await visitor.get(asked)).headers["location"])
    assert f'name="to" value="{escape(asked)}"' in form.text
    mistyped = await visitor.send("POST", "/admin/sign-in", urlencode({"token": "x", "to": asked}))
    assert f'name="to" value="{escape(asked)}"' in mistyped.text
    for to, at in ((asked, asked), ("//evil.example/admin/", "/admin"), ("https://evil.example", "/admin")):
        told = await visitor.send("POST", "/admin/sign-in", urlencode({"token": server.token, "to": to}))
        assert (told.status, told.headers["location"]) == (303, at)


async def test_without_the_option_there_is_nothing_and_no_body_is_read(visitor: Visitor) -> None:
    assert visitor.get("/admin").status == 404
    stranger = AdminClient(visitor.url)
    assert (await stranger.sign_in("x")).status == 413
    assert "set-cookie" not in visitor.get("/").headers


async def test_who_is_not_signed_in_sees_the_form_for_the_token_alone(server: AdminServer) -> None:
    stranger = AdminClient(server.url)
    first = await stranger.get()
    assert (first.status, "anna" in first.text, 'name="token"' in first.text) == (200, False, True)
    for path in READ[1:]:
        told = await stranger.get(path)
        assert (told.status, told.headers["location"], told.body) == (303, f"/admin?{urlencode({'to': path})}", b"")
    for cookie in ("", "arena_admin=", "arena_admin=guessed", f"arena_admin={server.token}"):
        told = await stranger.post("/admin/bots", REVOKE, "guessed", Cookie=cookie)
        assert (told.status, "nothing was changed" in told.text) == (403, True)
    assert await unharmed(server)


async def test_a_wrong_token_opens_nothing_and_the_hash_of_the_right_one_is_wrong(server: AdminServer) -> None:
    for token in ("", "x", hash_token(server.token), server.token + "x", server.token[:-1], "ä\u0000"):
        stranger = AdminClient(server.url)
        told = await stranger.sign_in(token)
        assert (told.status, "set-cookie" in told.headers) == (403, False)
    assert (await AdminClient(server.url).sign_in(server.token)).status == 303


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": EVIL},
        {"Origin": "null"},
        {"Origin": ""},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "{https}"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Sec_Fetch_Site": "none"},
        {"Origin": EVIL, "Referer": "{url}/admin"},
    ],
)
async def test_a_stolen_session_is_worth_nothing_to_a_page_of_another_origin(
    server: AdminServer, headers: dict[str, str]
) -> None:
    operator = await server.operator()
    known = {"{https}": server.url.replace("http:", "https:"), "{url}/admin": f"{server.url}/admin"}
    sent = {name: known.get(value, value) for name, value in headers.items()}
    told = await operator.post("/admin/bots", REVOKE, **sent)
    assert (told.status, "this form was sent from another site" in told.text.lower()) == (403, True)
    assert (await AdminClient(server.url).sign_in(server.token, **sent)).status == 403
    assert await unharmed(server)


async def test_a_form_without_the_token_of_the_session_does_nothing(server: AdminServer) -> None:
    operator, other = await server.operator(), await server.operator()
    assert operator.csrf != other.csrf
    for forged in ("", "guessed", other.csrf, operator.csrf[:-1], "ä"):
        told = await operator.post("/admin/bots", REVOKE, forged)
        assert (told.status, "belongs to another session" in told.text) == (403, True)
    twice = urlencode([("csrf", "guessed"), ("csrf", operator.csrf), *REVOKE])
    assert (await operator.send("POST", "/admin/bots", twice)).status == 403
    assert await unharmed(server)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8080", "arena.example.org.evil.example", "", "[::1"])
async def test_a_name_that_somebody_else_has_lead_here_gets_nothing(server: AdminServer, host: str) -> None:
    operator = await server.operator()
    for path in READ:
        assert (await operator.get(path, Host=host or " ")).status in (400, 421)
    told = await operator.post("/admin/bots", REVOKE, Host=host or " ", Origin=f"http://{host}")
    assert told.status in (400, 421)
    assert (await AdminClient(server.url).sign_in(server.token, Host=host or " ")).status in (400, 421)
    assert await unharmed(server)


async def test_names_of_this_machine_addresses_and_those_that_were_named_are_answered(server: AdminServer) -> None:
    operator = await server.operator()
    for host in ("localhost", "127.0.0.1:8080", "10.0.0.7", "[2001:db8::1]:80", "ARENA.example.org:8080"):
        told = await operator.get(Host=host)
        assert (told.status, "anna" in told.text) == (200, True), host


async def test_what_changes_something_is_not_done_by_get(server: AdminServer) -> None:
    operator = await server.operator()
    query = urlencode([("csrf", operator.csrf), *REVOKE])
    for path in ("/admin/bots", "/admin/sign-in", "/admin/sign-out"):
        told = await operator.get(f"{path}?{query}")
        assert (told.status, told.headers["allow"]) == (405, "POST")
        assert "accepts only forms, by POST" in told.text
    told = await operator.send("POST", f"/admin/bots?{query}", "")
    assert told.status == 403
    assert (await operator.get()).status == 200
    assert await unharmed(server)


async def test_a_form_that_is_too_large_is_refused_unread(server: AdminServer) -> None:
    operator = await server.operator()
    large = "names=" + "x" * MAX_FORM_BYTES
    refused = await operator.send("POST", "/admin/add", large)
    assert (refused.status, "A form has 262,144 bytes at most" in refused.text) == (413, True)
    assert (await AdminClient(server.url).sign_in("x" * 3000)).status == 413
    for path in ("/", "/matches", "/administration", "/api/v1/bots"):
        assert (await operator.send("POST", path, "x=1")).status == 413
    chunked = await operator.send("POST", "/admin/add", b"", Transfer_Encoding="chunked")
    assert chunked.status == 413
    reader, writer = await asyncio.open_connection(*server.url.removeprefix("http://").split(":"))
    writer.write(f"POST /admin/sign-in HTTP/1.1\r\nHost: {operator.host}\r\nContent-Length: 999999999\r\n\r\n".encode())
    assert (await reader.readline()).startswith(b"HTTP/1.1 413")
    writer.close()


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        ("csrf=x", {"Content_Type": "text/plain"}, 415),
        ("csrf=x", {"Content_Type": "multipart/form-data; boundary=x"}, 415),
        (b"csrf=\xff", {}, 400),
        ("csrf=%ff", {}, 400),
        ("&".join(["a=1"] * 10_001), {}, 400),
        ("", {}, 403),
    ],
)
async def test_what_is_no_form_is_refused_in_one_line(
    server: AdminServer, body: str | bytes, headers: dict[str, str], status: int
) -> None:
    operator = await server.operator()
    told = await operator.send("POST", "/admin/bots", body, **headers)
    assert (told.status, "Traceback" in told.text) == (status, False)
    assert await unharmed(server)


async def test_a_session_is_over_when_it_is_signed_out_and_another_goes_on(server: AdminServer) -> None:
    first, second = await server.operator(), await server.operator()
    kept = first.cookie
    out = await first.post("/admin/sign-out", [])
    assert (out.status, "You are signed out" in out.text, first.cookie) == (200, True, 'arena_admin=""')
    told = await first.post("/admin/bots", REVOKE, Cookie=kept)
    assert told.status == 403
    assert 'name="token"' in (await first.get(Cookie=kept)).text
    assert "anna" in (await second.get()).text
    assert await unharmed(server)


async def test_the_cookie_is_for_these_pages_alone_and_nothing_of_them_is_kept(server: AdminServer) -> None:
    told = await AdminClient(server.url).sign_in(server.token)
    parts = {part.strip().lower().partition("=")[0] for part in told.headers["set-cookie"].split(";")[1:]}
    assert parts == {"httponly", "max-age", "path", "samesite"}
    for word in ("Path=/admin", "SameSite=strict"):
        assert word in told.headers["set-cookie"]
    operator = await server.operator()
    for path in (*READ, "/admin/nothing"):
        page = await operator.get(path, Origin=EVIL)
        assert page.headers["cache-control"] == "no-store"
        assert page.headers["referrer-policy"] == "same-origin"
        assert page.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
        assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
        assert not [name for name in page.headers if name.startswith("access-control")]
    assert "etag" not in (await operator.get()).headers
    public = await operator.get("/")
    assert (public.headers["referrer-policy"], public.headers["cache-control"]) == ("no-referrer", "no-cache")
    assert content_security_policy("x", "1").startswith("default-src 'none'")


async def test_under_https_the_cookie_goes_nowhere_else(tmp_path: Path) -> None:
    config = AdminConfig(url="ws://127.0.0.1:1", token_hash=hash_token("t"))
    with open_pages(tmp_path, admin=config) as visitor:
        # the test's own uvicorn believes a proxy on this machine what it says of the scheme
        encrypted = {"X_Forwarded_Proto": "https", "Origin": visitor.url.replace("http:", "https:")}
        told = await AdminClient(visitor.url).sign_in("t", **encrypted)
        assert (told.status, "secure" in told.headers["set-cookie"].lower()) == (303, True)
        assert (await AdminClient(visitor.url).sign_in("t", X_Forwarded_Proto="https")).status == 403


async def test_guesses_are_held_up_and_the_right_token_never_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = WRONG_TOKEN_BACKOFF._replace(free_failures=1, first_wait_s=300.0)
    monkeypatch.setattr("arena.web.admin.access_control.WRONG_TOKEN_BACKOFF", few)
    config = AdminConfig(url="ws://127.0.0.1:1", token_hash=hash_token("t"))
    with open_pages(tmp_path, admin=config) as visitor:
        told = [await AdminClient(visitor.url).sign_in("x") for _ in range(3)]
        assert [one.status for one in told] == [403, 403, 429]
        assert 0 < int(told[-1].headers["retry-after"]) <= 300
        assert "too many wrong tokens from your address" in told[-1].text.lower()
        assert (await AdminClient(visitor.url).sign_in("x", X_Forwarded_For="10.0.0.7")).status == 403
        assert (await AdminClient(visitor.url).sign_in("t")).status == 303


async def test_no_websites_page_reads_anything_with_a_visitors_cookie(server: AdminServer) -> None:
    operator = await server.operator()
    told = await asyncio.to_thread(answer, f"{server.url}/admin", "OPTIONS", Origin=EVIL, Cookie=operator.cookie)
    assert told.status == 405
    assert "access-control-allow-origin" not in told.headers
