"""Sessions of the admin pages, kept in memory with an expiry time. Callers pass the time as `now`, in seconds."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

SESSION_LIFETIME_S = 8 * 3600.0
MAX_SESSIONS = 32
"""Maximum sessions; a new one, which needs the token, replaces the oldest."""


@dataclass
class AdminSession:
    """A signed-in browser. `token` is the operator's; `csrf` is in each of its forms.

    Its `repr` omits the secrets, so they never reach a log.
    """

    token: str = field(repr=False)
    expires_at: float
    id: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    notice: tuple[str, str] | None = None
    """The result of its last form, shown once: `done` or `failed`, and a sentence."""

    def take_notice(self) -> tuple[str, str] | None:
        """Return and clear the notice."""
        notice, self.notice = self.notice, None
        return notice


class Sessions:
    """The sessions by id."""

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
        """End a session, if it has not ended."""
        self._sessions.pop(session.id, None)
