"""The limits on what the authors of hosted bots hand in, which the operator sets."""

from __future__ import annotations

from msgspec import Struct, field
from msgspec.structs import replace

from protocol.errors import UsageFault
from protocol.match_logs import DEFAULT_STATE_BYTES
from protocol.submissions import MAX_SUBMISSION_BYTES, MAX_SUBMISSION_LIMIT_BYTES

KIB = 1024
"""Bytes of a KiB."""
MAX_REPORT_CHARS = 16_384
"""Maximum characters of the report of a check. Of a longer one, the end is kept."""


class SubmissionLimits(Struct, frozen=True, kw_only=True):
    """The limits on one submission."""

    packed_bytes: int = MAX_SUBMISSION_BYTES
    unpacked_bytes: int = 32 * KIB * KIB
    files: int = 200

    def repacked(self) -> SubmissionLimits:
        """Return the limits for a submission that was packed again, perhaps less tightly than by its author."""
        return replace(self, packed_bytes=2 * self.packed_bytes)

    def check_packed(self, size: int) -> None:
        """Raise `UsageFault` if what was handed in has too many bytes."""
        if size > self.packed_bytes:
            raise UsageFault(f"{size} bytes were handed in: {self.packed_bytes} at most")


MAX_LIMITS = SubmissionLimits(packed_bytes=MAX_SUBMISSION_LIMIT_BYTES, unpacked_bytes=1024 * KIB * KIB, files=10_000)
"""The largest limits that an arena can have, for runners: what they fetch is within the limits of their arena."""

DAY_S = 86_400
"""Seconds of a day."""
CACHE_DAYS = 7
"""Days for which a runner keeps a program that it no longer runs, and the log of its client, also of a bot that was
deleted.
"""


class VersionLimits(Struct, frozen=True, kw_only=True):
    """The limits on the versions of each hosted bot, and on all of them together."""

    per_day: int = 50
    """Maximum number of new versions of a bot within 24 hours."""
    kept: int = 20
    """Number of versions of a bot that are kept for longer than a day. Older ones go, but never the active one."""
    stored_bytes: int = 4096 * KIB * KIB
    """Maximum bytes of the versions of all bots, packed; 0 for no limit."""


class HostingLimits(Struct, frozen=True, kw_only=True):
    """The limits on one submission, on the versions that are stored, and on what a bot keeps between matches."""

    submission: SubmissionLimits = field(default_factory=SubmissionLimits)
    versions: VersionLimits = field(default_factory=VersionLimits)
    kept_bytes: int = DEFAULT_STATE_BYTES
    """Maximum bytes of the files that a bot keeps between its matches."""
