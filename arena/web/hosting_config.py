"""The configuration of submissions, which a server sends to the pages' process."""

from __future__ import annotations

import msgspec

from arena.hosting.limits import SubmissionLimits


class HostingConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The place where the pages pass submissions on: the operator's socket, and the operator's token.

    The token is no more than the pages' process could read anyway: it runs as the server's user, beside operator.json.
    """

    url: str
    token: str
    limits: SubmissionLimits = msgspec.field(default_factory=SubmissionLimits)
    starts_runners: bool = False
    """True if the server starts runners itself: if none is connected, they are about to be."""

    def __repr__(self) -> str:
        return f"HostingConfig(url={self.url!r})"
