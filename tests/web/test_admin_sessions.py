"""Who is signed in to the operator's pages, for how long, and what their process is told."""

from __future__ import annotations

from arena.commands.settings import ServerSettings
from arena.commands.web import admin_config
from arena.web.admin import sessions
from arena.web.admin.sessions import Sessions
from arena.web.process_messages import WebServerConfig


def test_sessions_end_by_themselves_and_are_bounded() -> None:
    known = Sessions()
    first = known.begin("t", 0.0)
    assert known.find(first.id, sessions.SESSION_LIFETIME_S - 1) is first
    assert known.find(first.id, sessions.SESSION_LIFETIME_S) is None
    assert known.find(first.id, 0.0) is None, "it was forgotten"
    begun = [known.begin("t", 0.0) for _ in range(sessions.MAX_SESSIONS + 1)]
    assert [known.find(one.id, 0.0) for one in begun] == [None, *begun[1:]]
    assert len({one.id for one in begun} | {one.csrf for one in begun}) == 2 * len(begun)


def test_a_session_in_a_log_has_no_secrets() -> None:
    session = Sessions().begin("the-token", 0.0)
    shown = repr(session)
    assert [secret for secret in ("the-token", session.id, session.csrf) if secret in shown] == []


def test_the_page_process_is_told_no_secret() -> None:
    settings = ServerSettings(admin=True, admin_host="Arena.lan", socket_url="wss://arena.example.org/socket")
    config = admin_config(settings, "ws://127.0.0.1:9", "the-token")
    assert config is not None
    assert config.hosts == ("arena.lan", "127.0.0.1", "arena.example.org")
    order = WebServerConfig(where="x", descriptors=[], socket="1", registration=True, admin=config)
    assert b"the-token" not in order.encode()
    assert admin_config(ServerSettings(), "ws://127.0.0.1:9", "the-token") is None
