"""Who is signed in: sessions in memory, which end by themselves. Time comes in as `now`, in seconds."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

LIFETIME = 8 * 3600.0
MOST_SESSIONS = 32
"""At once. Only who has the token begins one: the oldest makes room."""


@dataclass
class Session:
    """One browser that is signed in. `token` is the operator's, which it gave; `csrf` is in each of its forms.

    Its `repr` has none of the secrets, for the sake of logs.
    """

    token: str = field(repr=False)
    ends: float
    id: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    notice: tuple[str, str] | None = None
    """What came of its last form, to be shown once: `done` or `failed`, and a sentence."""

    def take_notice(self) -> tuple[str, str] | None:
        """What is to be shown now, and not again."""
        notice, self.notice = self.notice, None
        return notice


class Sessions:
    """Those that go on, by their ids."""

    def __init__(self) -> None:
        self._sessions: dict[str, Session] = {}

    def begin(self, token: str, now: float) -> Session:
        """A new one for who brought the operator's token."""
        session = Session(token, now + LIFETIME)
        self._sessions[session.id] = session
        if len(self._sessions) > MOST_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        return session

    def find(self, name: str, now: float) -> Session | None:
        """The one of this id, if it goes on."""
        session = self._sessions.get(name)
        if session is None or now < session.ends:
            return session
        self.end(session)
        return None

    def end(self, session: Session) -> None:
        """It is over, also if it was already."""
        self._sessions.pop(session.id, None)
