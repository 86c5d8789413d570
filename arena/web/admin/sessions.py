"""Sessions of the admin pages, kept in memory with an expiry time. Callers pass the time as `now`, in seconds."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

SESSION_LIFETIME_S = 8 * 3600.0
"""Seconds after which a session on the admin pages ends."""
MAX_SESSIONS = 32
"""Maximum number of sessions. Beyond it, a new session replaces the oldest; only the operator's token can start one."""


@dataclass
class AdminSession:
    """The session of a signed-in browser. `token` is the operator's token. Each form of the session contains `csrf`.

    The `repr` of a session omits these secrets, so they never reach a log.
    """

    token: str = field(repr=False)
    expires_at: float
    id: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    notice: tuple[str, str] | None = None
    """The result of the last submitted form, shown once: `done` or `failed`, and a sentence."""

    def take_notice(self) -> tuple[str, str] | None:
        notice, self.notice = self.notice, None
        return notice


class Sessions:
    """The sessions of all signed-in browsers, by id."""

    def __init__(self) -> None:
        self._sessions: dict[str, AdminSession] = {}

    def begin(self, token: str, now: float) -> AdminSession:
        """Start a session for a visitor who gave the operator's token."""
        session = AdminSession(token, now + SESSION_LIFETIME_S)
        self._sessions[session.id] = session
        if len(self._sessions) > MAX_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        return session

    def find(self, name: str, now: float) -> AdminSession | None:
        """Return the session with this id, unless it has expired."""
        session = self._sessions.get(name)
        if session is None or now < session.expires_at:
            return session
        self.end(session)
        return None

    def end(self, session: AdminSession) -> None:
        """End a session. A session that has ended already is ignored."""
        self._sessions.pop(session.id, None)
